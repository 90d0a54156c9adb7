#!/bin/sh
# How far the default's numbers are from the exact classes', beside llama.cpp's: e2e's TestQuality over the default checkpoint.
# Variables: QUALITY_TEXT (a file), QUALITY_VARIANT (in place of the default), PEER=no (without llama.cpp).
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/venv.sh"

QUALITY=$(realpath "$("$root/tools/checkpoint.sh" | tail -n 1)")
QUALITY_PEER=
if [ "${PEER:-}" != no ]; then
    CMAKE_ARGS="-DLLAVA_BUILD=OFF ${CMAKE_ARGS:-}" venv "$root/.deps/bench-venv" "$root/tools/bench/requirements.txt"
    QUALITY_PEER="$root/.deps/bench-venv/bin/python -B $root/tools/bench/llama_cpp_side.py"
fi
export QUALITY QUALITY_PEER
cd "$root"
exec "${GO:-go}" test -tags mlx -count=1 -v -timeout 30m -run 'TestQuality$' ./e2e
