//go:build cgo && mlx

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include "mlx/c/mlx.h"
#include "shim_take.h"

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

#ifndef GRAPHRUN_MLXC_VERSION // the pkg-config file of `make setup` gives these
#error "build with PKG_CONFIG_PATH=<root>/.deps/lib/pkgconfig, as the Makefile does"
#endif

char *gr_mlx_version(char **text) {
  mlx_string s = mlx_string_new();
  gr_begin();
  char *err = mlx_version(&s) ? gr_message() : NULL;
  if (!err) *text = strdup(mlx_string_data(s));
  mlx_string_free(s);
  return err;
}

const char *gr_built(int which) {
  const char *const facts[] = {TEXT(GRAPHRUN_MLX_VERSION), TEXT(GRAPHRUN_MLXC_VERSION), TEXT(GRAPHRUN_MLXC_EXPECTED),
                               TEXT(GRAPHRUN_BACKEND), TEXT(GRAPHRUN_MLXC_SOURCE)};
  return facts[which];
}

// gr_blas asks the dynamic linker which library's BLAS wins, and OpenBLAS for its facts, when that is the one.
// 0: the file that cblas_sgemm comes from; 1: OpenBLAS's configuration; 2: its kernels; 3: its threads. "" for none.
char *gr_blas(int which) {
  if (which == 0) {
    void *f = dlsym(RTLD_DEFAULT, "cblas_sgemm");
    Dl_info info;
    return strdup(f && dladdr(f, &info) && info.dli_fname ? info.dli_fname : "");
  }
  if (which == 3) {
    int (*threads)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
    return threads ? gr_errorf("%d", threads()) : strdup("");
  }
  char *(*text)(void) = (char *(*)(void))dlsym(RTLD_DEFAULT, which == 1 ? "openblas_get_config" : "openblas_get_corename");
  return strdup(text ? text() : "");
}
