#!/bin/sh
# Makes .oracle/: checkpoints and the numbers mlx-lm computes for them (tools/oracle/README.md).
# usage: tools/oracle.sh [--force] [PATTERN …]    PATTERN: a case's name, * and ? allowed; none: those in MODELS, or all
# PYTHON names the interpreter (3.10 or later) that the virtual environment is made with.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/venv.sh"

force=
case ${1:-} in --force) force=--force; shift ;; esac

venv "$root/.deps/oracle-venv" "$root/tools/requirements.txt"
checkpoint=$("$root/tools/checkpoint.sh" | tail -n 1)

# float32 products go through BLAS: put the OpenBLAS that graphrun links in front of the one inside MLX's wheel.
openblas=$(openblas_library)
if [ -n "$openblas" ]; then
    LD_PRELOAD=$openblas${LD_PRELOAD:+:$LD_PRELOAD}
    export LD_PRELOAD
fi
exec "$root/.deps/oracle-venv/bin/python" -B "$root/tools/oracle/make.py" \
    --out "$root/.oracle" --checkpoint "$checkpoint" --models "${*:-${MODELS:-}}" $force
