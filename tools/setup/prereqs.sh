# Checks of what must be on the machine before anything is built. Sourced by setup.sh.
# Every check runs and every miss is named, so that one install command mends all of them.

missing=()
debian_packages=()
brew_packages=()

# miss WHAT DEBIAN_PACKAGES BREW_PACKAGES [NOTE]
miss() {
  missing+=("$1${4:+ ($4)}")
  [ -n "$2" ] && debian_packages+=($2)
  [ -n "$3" ] && brew_packages+=($3)
  return 0
}

have() { command -v "$1" >/dev/null 2>&1; }

# compiles FLAGS...: whether the C++ program on standard input compiles and links
compiles() {
  local dir status
  dir=$(mktemp -d)
  cat >"$dir/probe.cpp"
  "$CXX" -std=c++20 "$dir/probe.cpp" -o "$dir/probe" "$@" >/dev/null 2>&1
  status=$?
  rm -rf "$dir"
  return $status
}

find_python() {
  local p
  for p in "${PYTHON:-}" python3 python3.13 python3.12 python3.11 python3.10; do
    [ -n "$p" ] && have "$p" && "$p" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && { echo "$p"; return; }
  done
  return 1
}

openblas_flags() {
  if [ "$os" = Darwin ]; then return 0; fi # MLX uses Accelerate there
  if pkg-config --exists openblas 2>/dev/null; then pkg-config --libs openblas; else echo -lopenblas; fi
}

check_prereqs() {
  have go || miss "Go" golang go "1.26 or newer; an older distribution's Go fetches it by itself from 1.21 on"
  have pkg-config || miss "pkg-config" pkg-config pkgconf
  if ! have "$CXX" || ! compiles <<<'#include <concepts>
    template <std::integral T> T one() { return 1; }
    int main() { return one<int>() - 1; }'; then
    miss "a C++20 compiler" "g++ libfmt-dev" llvm "GCC 11, Clang 14 or newer, \$CXX names it; with GCC before 13 also {fmt}"
  fi
  if [ "$os" = Darwin ]; then
    brew list --versions mlx-c >/dev/null 2>&1 || [ -n "$MLX_C_SRC" ] || miss "mlx-c" "" mlx-c
    [ -z "$MLX_C_SRC" ] || brew list --versions mlx >/dev/null 2>&1 || miss "MLX" "" mlx
  else
    compiles $(openblas_flags) <<<'extern "C" char *openblas_get_config(); int main() { return !openblas_get_config(); }' ||
      miss "OpenBLAS" libopenblas-dev openblas
  fi
  if [ "$source" = system ]; then return; fi
  have cmake || miss "CMake" cmake cmake
  if [ "$os" != Darwin ]; then
    if ! python=$(find_python); then
      miss "Python 3.10 or newer" "python3 python3-venv" python3 "\$PYTHON names it"
    elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
      miss "Python's venv and pip" python3-venv python3
    fi
    [ "$(uname -m)" = x86_64 ] || [ "$(uname -m)" = aarch64 ] ||
      miss "an x86_64 or aarch64 processor" "" "" "MLX has no wheel for $(uname -m)"
    local glibc
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/glibc //')
    [ -n "$glibc" ] && [ "$(printf '2.35\n%s\n' "$glibc" | sort -V | head -1)" = 2.35 ] ||
      miss "glibc 2.35 or newer" "" "" "here ${glibc:-another C library}; MLX's wheel needs it: Debian 12, Ubuntu 22.04, Fedora 36 or newer"
  fi
  if [ -z "$MLX_C_SRC" ]; then
    have cargo || miss "cargo" cargo rust "fetches mlx-c's sources, unless MLX_C_SRC=DIR names them"
  elif [ ! -f "$MLX_C_SRC/mlx/c/ops.h" ]; then
    miss "mlx-c's sources in MLX_C_SRC=$MLX_C_SRC" "" "" "no mlx/c/ops.h there"
  fi
  if have "$CXX" && ! compiles -include "$here/setup/std_format.h" <<<'int main() { return std::format("{}", 1).size() != 1; }'; then
    miss "std::format, or {fmt} in its place" libfmt-dev fmt "GCC before 13 lacks it"
  fi
}

report_missing() {
  [ ${#missing[@]} -eq 0 ] && return 0
  {
    echo "setup: missing:"
    printf '  - %s\n' "${missing[@]}"
    echo "Install on Debian or Ubuntu:"
    [ ${#debian_packages[@]} -gt 0 ] && echo "  sudo apt-get update && sudo apt-get install -y ${debian_packages[*]}" || echo "  (no package helps)"
    echo "Install on macOS:"
    [ ${#brew_packages[@]} -gt 0 ] && echo "  brew install ${brew_packages[*]}" || echo "  (no package helps)"
  } >&2
  return 1
}
