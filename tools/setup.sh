#!/usr/bin/env bash
# Makes .deps/: MLX, mlx-c built against it, and the pkg-config file that cgo uses. Installs nothing outside the folder.
#
#   tools/setup.sh                    MLX's CPU wheel (Linux), Homebrew's mlx-c (macOS; never run by the authors)
#   BACKEND=cuda13 tools/setup.sh     MLX's CUDA 13 wheel (Linux)
#   MLX_C_SRC=DIR tools/setup.sh      mlx-c from your own source folder
#
# An mlx-c that pkg-config knows wins over .deps, if its version fits. A second run does nothing, and needs no network.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$(dirname "$here")
deps=$root/.deps
os=$(uname -s)
BACKEND=${BACKEND:-cpu}
MLX_C_SRC=${MLX_C_SRC:-}
CXX=${CXX:-c++}
JOBS=${JOBS:-2}

fail() { echo "setup: $*" >&2; exit 1; }
say() { echo "setup: $*"; }

case $root in *[[:space:]]*) fail "the path $root holds a blank, which pkg-config loses in linker flags: move the folder" ;; esac
case $BACKEND in cpu | cuda13) ;; *) fail "BACKEND=$BACKEND: must be cpu or cuda13" ;; esac
[ "$BACKEND" = cpu ] || [ "$os" = Linux ] || fail "BACKEND=$BACKEND is for Linux only"
if [ -n "$MLX_C_SRC" ]; then
  [ -d "$MLX_C_SRC" ] || fail "MLX_C_SRC=$MLX_C_SRC: no such folder"
  MLX_C_SRC=$(cd "$MLX_C_SRC" && pwd -P)
fi

# The versions are pinned in one place each.
mlx_version=$(sed -n 's/^mlx\[cpu\]==\([0-9.]*\).*/\1/p' "$here/requirements.txt")
mlxc_version=$(sed -n 's/^mlx-sys = .*"=\([0-9.]*\)".*/\1/p' "$here/setup/mlx-c/Cargo.toml")
[ -n "$mlx_version" ] && [ -n "$mlxc_version" ] || fail "tools/requirements.txt or tools/setup/mlx-c/Cargo.toml names no version"

# Where mlx-c comes from: folder, system, brew or crate.
if [ -n "$MLX_C_SRC" ]; then
  source=folder
elif [ "$BACKEND" = cpu ] && pkg-config --atleast-version="$mlxc_version" mlx-c 2>/dev/null &&
  pkg-config --max-version="${mlxc_version%.*}.999" mlx-c; then
  source=system
elif [ "$os" = Darwin ]; then
  source=brew
else
  source=crate
fi

stamp="mlx=$mlx_version mlx-c=$mlxc_version backend=$BACKEND source=$source:$MLX_C_SRC cxx=$CXX root=$root
scripts=$(cat "$here/setup.sh" "$here"/setup/*.sh "$here/setup/std_format.h" "$here/setup/mlx-c/Cargo.lock" | cksum)"

mkdir -p "$deps"
if command -v flock >/dev/null 2>&1; then # two makes at once must not build into one folder
  exec 9>"$deps/lock"
  flock 9
fi

. "$here/setup/build.sh"

if [ -f "$deps/lib/pkgconfig/graphrun-mlx.pc" ] && [ "$(cat "$deps/stamp" 2>/dev/null)" = "$stamp" ]; then
  [ "$source" != folder ] || rebuild_mlxc # the user's own sources may have changed
  exit 0
fi

. "$here/setup/prereqs.sh"

check_prereqs
report_missing || exit 1
rm -f "$deps/stamp"
mkdir -p "$deps/log" "$deps/lib/pkgconfig"

case $source in
system) use_system ;;
brew) use_brew ;;
*)
  if [ "$os" = Darwin ]; then mlx_root=$(brew --prefix mlx) mlx_run=$mlx_root; else install_wheels; fi
  [ "$source" = folder ] || fetch_mlxc
  build_mlxc
  write_pc
  ;;
esac
echo "$stamp" >"$deps/stamp"
say "ready: MLX $mlx_version, mlx-c $mlxc_version ($source), backend $BACKEND"
