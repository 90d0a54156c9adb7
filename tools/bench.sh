#!/bin/sh
# Tokens per second, time to first token and memory of graphrun (default and exact), mlx-lm and llama.cpp (tools/bench/README.md).
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/venv.sh"

graphrun=${GRAPHRUN:-$root/bin/graphrun}
sides=${SIDES:-graphrun graphrun-exact mlx-lm llama.cpp}
case " $sides " in
*" graphrun "* | *" graphrun-exact "*) [ -x "$graphrun" ] || { echo "bench: no $graphrun: run make build" >&2; exit 1; } ;;
esac
case " $sides " in
*" llama.cpp "*)
    if ! command -v cmake >/dev/null 2>&1; then
        echo "bench: building llama.cpp needs cmake and a C++ compiler (Debian: apt install cmake g++; macOS: brew install cmake);" \
            "SIDES=\"graphrun mlx-lm\" goes without it" >&2
        exit 1
    fi
    # The image reader of llama.cpp is left out; its other defaults stand.
    CMAKE_ARGS="-DLLAVA_BUILD=OFF ${CMAKE_ARGS:-}" venv "$root/.deps/bench-venv" "$root/tools/bench/requirements.txt" ;;
esac

checkpoint=$("$root/tools/checkpoint.sh" | tail -n 1)
"$root/tools/oracle.sh" smollm2 >&2 # the converted folder for mlx-lm

threads=${THREADS:-$(getconf _NPROCESSORS_ONLN)}
exec "$root/.deps/oracle-venv/bin/python" -B "$root/tools/bench/run.py" \
    --graphrun "$graphrun" --checkpoint "$checkpoint" --openblas "$(openblas_library)" \
    --mlx-python "$root/.deps/oracle-venv/bin/python" --mlx-folder "$root/.oracle/smollm2" \
    --llama-python "$root/.deps/bench-venv/bin/python" \
    --sides "$sides" --prompt "${PROMPT_TOKENS:-512}" --decode "${DECODE_TOKENS:-128}" --repeat "${REPEAT:-3}" \
    --threads "$threads" --patience "${PATIENCE:-30}" ${BENCH_JSON:+--json "$BENCH_JSON"}
