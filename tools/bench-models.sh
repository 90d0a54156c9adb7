#!/bin/sh
# Tokens per second of graphrun's exact graphs beside mlx-lm, for the models of tools/bench/models.yaml (tools/bench/README.md).
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/venv.sh"

graphrun=${GRAPHRUN:-$root/bin/graphrun}
[ -x "$graphrun" ] || { echo "bench-models: no $graphrun: run make build" >&2; exit 1; }
venv "$root/.deps/oracle-venv" "$root/tools/requirements.txt"

exec "$root/.deps/oracle-venv/bin/python" -B "$root/tools/bench/models.py" \
    --graphrun "$graphrun" --python "$root/.deps/oracle-venv/bin/python" --openblas "$(openblas_library)" \
    --out "$root/.deps/bench-models" --models "${MODELS:-}" \
    --prompt "${PROMPT_TOKENS:-32}" --decode "${DECODE_TOKENS:-32}" --repeat "${REPEAT:-5}" \
    --threads "${THREADS:-$(getconf _NPROCESSORS_ONLN)}" ${BENCH_JSON:+--json "$BENCH_JSON"}
