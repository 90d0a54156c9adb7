#!/bin/sh
# Runs the fuzz targets one after another, each for FUZZTIME (30s), and stops at the first crash: `go test` has then
# written the input into the package's testdata/fuzz, where every later test reads it. None of them needs MLX.
#
#   FUZZTIME=5m tools/fuzz.sh            all
#   tools/fuzz.sh Safetensors            those whose name has this in it
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
go=${GO:-go}
time=${FUZZTIME:-30s}
count=0

for dir in $(find . -name '.?*' -prune -o -name '*_test.go' -exec grep -l '^func Fuzz' {} + | xargs -n 1 dirname | sort -u); do
    names=$("$go" test -list '^Fuzz' "$dir")
    for target in $names; do
        case $target in Fuzz*"${1:-}"*) ;; *) continue ;; esac
        echo "fuzz: $target of $dir for $time"
        "$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$dir"
        count=$((count + 1))
    done
done
[ "$count" -gt 0 ] || { echo "fuzz: no target has ${1:-a name} in its name" >&2; exit 1; }
echo "fuzz: $count passed"
