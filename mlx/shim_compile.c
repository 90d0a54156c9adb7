//go:build cgo && mlx

#include "mlx/c/mlx.h"
#include "shim_take.h"

// In compile.go: traces the Go function. in are new handles that Go frees; out is filled with at most room handles
// whose ownership passes to C; the number of results is given, or -1 when the function failed.
extern int64_t grTrace(uint64_t handle, uintptr_t *in, size_t n, uintptr_t **out);

typedef struct {
  uint64_t handle;
} gr_callback;

static int trace(mlx_vector_array *res, const mlx_vector_array in, void *payload) {
  size_t n = mlx_vector_array_size(in);
  uintptr_t *handles = calloc(n ? n : 1, sizeof *handles), *out = NULL;
  if (!handles) return 1;
  for (size_t i = 0; i < n; i++) {
    mlx_array a = {0};
    if (mlx_vector_array_get(&a, in, i)) {
      gr_free(handles, i);
      free(handles);
      return 1;
    }
    gr_count(1);
    handles[i] = (uintptr_t)a.ctx;
  }
  int64_t got = grTrace(((gr_callback *)payload)->handle, handles, n, &out);
  free(handles);
  if (got < 0) return 1;
  *res = mlx_vector_array_new_data((const mlx_array *)out, (size_t)got);
  gr_free(out, (size_t)got);
  free(out);
  return res->ctx == NULL;
}

// The payload outlives the closure in MLX's cache, and may be dropped on a thread that is ending: no Go is called there.
gr_one gr_compile(uint64_t handle, bool shapeless) {
  gr_one r = {0};
  gr_begin();
  gr_callback *p = malloc(sizeof *p);
  if (!p) {
    r.err = gr_errorf("no memory");
    return r;
  }
  p->handle = handle;
  mlx_closure fun = mlx_closure_new_func_payload(trace, p, free);
  if (!fun.ctx) {
    r.err = gr_message();
    return r;
  }
  mlx_closure compiled = {0};
  if (mlx_compile(&compiled, fun, shapeless)) r.err = gr_message();
  r.a = (uintptr_t)compiled.ctx;
  mlx_closure_free(fun);
  return r;
}

gr_many gr_compiled_call(uintptr_t closure, const uintptr_t *in, size_t n) {
  gr_many r = {0};
  mlx_vector_array v = {0};
  gr_begin();
  if (!(r.err = gr_to_vector(&v, "in", in, n))) {
    mlx_vector_array res = {0};
    gr_take_many(&r, mlx_closure_apply(&res, (mlx_closure){(void *)closure}, v), res);
  }
  gr_vector_free(v);
  return r;
}

void gr_compiled_free(uintptr_t closure) { mlx_closure_free((mlx_closure){(void *)closure}); }

char *gr_compile_mode(bool on) {
  gr_begin();
  return (on ? mlx_enable_compile() : mlx_disable_compile()) ? gr_message() : NULL;
}
