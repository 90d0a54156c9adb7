# The steps that fetch, build and describe MLX and mlx-c. Sourced by setup.sh; each step keeps its own stamp.

# step NAME LOG COMMAND...: runs quietly; on failure shows the end of the log and stops.
step() {
  local what=$1 log=$deps/log/$2.log
  shift 2
  say "$what"
  "$@" >"$log" 2>&1 </dev/null && return 0
  tail -n 30 "$log" >&2
  fail "$what: failed; the whole log is $log"
}

# The wheel holds libmlx, its headers and its CMake files; a virtual environment needs no pip outside it.
# mlx-c is built against the CPU wheel in every case: the CUDA wheel has the same headers and the same interface, but its
# CMake files want the CUDA toolkit.
install_wheels() {
  install_wheel cpu venv mlx
  mlx_root=$deps/mlx mlx_run=$deps/mlx
  [ "$BACKEND" = cpu ] && return
  install_wheel "$BACKEND" "venv-$BACKEND" "mlx-$BACKEND" # never run by the authors' tests: some GB of CUDA libraries
  mlx_run=$deps/mlx-$BACKEND
}

# install_wheel EXTRA VENV LINK
install_wheel() {
  local want="mlx[$1]==$mlx_version" venv=$deps/$2 link=$deps/$3 lib
  [ "$(cat "$venv/stamp" 2>/dev/null)" = "$want" ] && [ -f "$link/lib/libmlx.so" ] && return
  rm -rf "$venv"
  step "making a virtual environment" venv "$python" -m venv "$venv"
  step "installing $want" wheel "$venv/bin/python" -m pip install --disable-pip-version-check "$want"
  lib=$(find "$venv" -path '*/mlx/lib/libmlx.so' | head -1)
  [ -n "$lib" ] || fail "the wheel $want holds no libmlx.so"
  lib=${lib#"$deps/"}
  ln -sfn "$(dirname "$(dirname "$lib")")" "$link" # relative: the folder may move
  echo "$want" >"$venv/stamp"
}

fetch_mlxc() {
  MLX_C_SRC=$deps/mlx-c-src
  [ "$(cat "$deps/mlxc-src.stamp" 2>/dev/null)" = "$mlxc_version" ] && [ -d "$MLX_C_SRC" ] && return
  local vendor=$deps/vendor
  rm -rf "$vendor" "$MLX_C_SRC"
  step "fetching the sources of mlx-c $mlxc_version" cargo \
    cargo vendor --locked --versioned-dirs --manifest-path "$here/setup/mlx-c/Cargo.toml" "$vendor"
  cp -R "$vendor/mlx-sys-$mlxc_version/src/mlx-c" "$MLX_C_SRC"
  rm -rf "$vendor"
  echo "$mlxc_version" >"$deps/mlxc-src.stamp"
}

build_mlxc() {
  local build=$deps/build/mlx-c
  local want="mlx=$mlx_version mlx-c=$mlxc_version cxx=$CXX $(cksum <"$here/setup/std_format.h") source=$source"
  if [ "$source" = crate ]; then # what was built stays good, also where the folder moved
    [ "$(cat "$deps/mlxc.stamp" 2>/dev/null)" = "$want" ] && [ -d "$deps/mlx-c/include" ] && return
  fi
  if [ "$(cat "$build/configured" 2>/dev/null)" != "$want $MLX_C_SRC $build" ]; then
    rm -rf "$build"
    step "configuring mlx-c" cmake cmake -S "$MLX_C_SRC" -B "$build" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS="-include \"$here/setup/std_format.h\"" \
      -DMLX_C_USE_SYSTEM_MLX=ON -DCMAKE_PREFIX_PATH="$mlx_root" -DMLX_C_BUILD_EXAMPLES=OFF -DBUILD_SHARED_LIBS=ON \
      -DCMAKE_INSTALL_PREFIX="$deps/mlx-c" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_RPATH="\$ORIGIN/../../mlx/lib"
    echo "$want $MLX_C_SRC $build" >"$build/configured"
  fi
  step "building mlx-c (about two minutes the first time)" build cmake --build "$build" -j "$JOBS"
  step "installing mlx-c into .deps" install cmake --install "$build"
  echo "$want" >"$deps/mlxc.stamp"
}

# rebuild_mlxc makes what is out of date, and is silent about it.
rebuild_mlxc() {
  say() { :; }
  step "building mlx-c" build cmake --build "$deps/build/mlx-c" -j "$JOBS"
  step "installing mlx-c into .deps" install cmake --install "$deps/build/mlx-c"
}

# An mlx-c of the user's own folder may be another version; it says so in its CMakeLists.txt.
built_version() {
  local v
  v=$(sed -n 's/^ *set(MLX_C_VERSION \([0-9.]*\)).*/\1/p' "$MLX_C_SRC/CMakeLists.txt" 2>/dev/null | head -1)
  echo "${v:-$mlxc_version}"
}

# The flags name the versions, so that `graphrun doctor` can compare and Go's build cache sees a change.
# OpenBLAS comes first: the wheel's libmlx links the reference BLAS, whose matrix products are some 27 times slower,
# and the first library in link order that has cblas_sgemm wins.
write_pc() {
  local blas=""
  [ "$os" = Darwin ] || blas="-Wl,--no-as-needed $(openblas_flags)"
  # The binary is linked against the CPU's libmlx and runs on mlx_run's, which comes first at run time.
  pc_file "$(built_version)" "-I$deps/mlx-c/include -I$mlx_root/include" \
    "$blas -L$deps/mlx-c/lib -lmlxc -L$mlx_root/lib -lmlx -Wl,-rpath,$mlx_run/lib -Wl,-rpath,$deps/mlx-c/lib" ""
}

use_system() {
  local blas=""
  [ "$os" = Darwin ] || blas="-Wl,--no-as-needed $(openblas_flags)"
  pc_file "$(pkg-config --modversion mlx-c)" "" "$blas" mlx-c
}

# Never run by the authors: no macOS machine was at hand.
use_brew() {
  local c m
  c=$(brew --prefix mlx-c)
  m=$(brew --prefix mlx)
  pc_file "$(brew list --versions mlx-c | awk '{print $2}')" "-I$c/include -I$m/include" \
    "-L$c/lib -lmlxc -L$m/lib -lmlx -Wl,-rpath,$c/lib -Wl,-rpath,$m/lib" ""
}

# pc_file MLX_C_VERSION CFLAGS LIBS REQUIRES
pc_file() {
  cat >"$deps/lib/pkgconfig/graphrun-mlx.pc" <<PC
Name: graphrun-mlx
Description: MLX and mlx-c as tools/setup.sh found or made them
Version: $mlx_version
Requires: $4
Cflags: $2 -DGRAPHRUN_MLX_VERSION=$mlx_version -DGRAPHRUN_MLXC_VERSION=$1 -DGRAPHRUN_MLXC_EXPECTED=$mlxc_version -DGRAPHRUN_BACKEND=$BACKEND -DGRAPHRUN_MLXC_SOURCE=$source
Libs: $3
PC
}
