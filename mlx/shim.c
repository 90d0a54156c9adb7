//go:build cgo && mlx

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include "mlx/c/mlx.h"
#include "shim_take.h"

// The handler is one global pointer of mlx-c, the message is the thread's.
static _Thread_local char *message;

static void keep_message(const char *msg, void *data) {
  (void)data;
  free(message);
  message = strdup(msg);
}

static void install(void) { mlx_set_error_handler(keep_message, NULL, NULL); }

void gr_begin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
}

char *gr_message(void) {
  char *m = message;
  message = NULL;
  return m ? m : strdup("mlx-c failed and gave no message");
}

char *gr_errorf(const char *format, ...) {
  char buf[512];
  va_list args;
  va_start(args, format);
  vsnprintf(buf, sizeof buf, format, args);
  va_end(args);
  return strdup(buf);
}

static _Atomic int64_t live;

void gr_count(int64_t n) { atomic_fetch_add_explicit(&live, n, memory_order_relaxed); }

int64_t gr_live(void) { return atomic_load_explicit(&live, memory_order_relaxed); }

void gr_free(const uintptr_t *arrays, size_t n) {
  int64_t freed = 0;
  gr_begin();
  for (size_t i = 0; i < n; i++) {
    if (!arrays[i]) continue;
    mlx_array_free(gr_array(arrays[i]));
    freed++;
  }
  gr_count(-freed);
}

gr_one gr_clone(uintptr_t a) {
  gr_one r = {0};
  gr_begin();
  if ((r.err = gr_need("the array", a))) return r;
  mlx_array res = {0};
  gr_take_one(&r, mlx_array_set(&res, gr_array(a)), res);
  return r;
}

void gr_take_many(gr_many *r, int failed, mlx_vector_array v) {
  if (failed) {
    r->err = gr_message();
    gr_vector_free(v);
    return;
  }
  size_t n = mlx_vector_array_size(v);
  uintptr_t *out = r->few;
  if (n > GR_FEW && !(out = r->many = malloc(n * sizeof *out))) {
    r->err = gr_errorf("no memory for %zu arrays", n);
    mlx_vector_array_free(v);
    return;
  }
  for (size_t i = 0; i < n && !r->err; i++) {
    mlx_array a = {0};
    if (mlx_vector_array_get(&a, v, i)) {
      r->err = gr_message();
      break;
    }
    out[i] = (uintptr_t)a.ctx;
    gr_count(1);
    r->n++;
  }
  mlx_vector_array_free(v);
  if (r->err) {
    gr_free(out, r->n);
    free(r->many);
    r->many = NULL;
    r->n = 0;
  }
}

char *gr_eval(const uintptr_t *arrays, size_t n, bool async) {
  mlx_vector_array v = {0};
  gr_begin();
  char *err = gr_to_vector(&v, "arrays", arrays, n);
  if (!err && (async ? mlx_async_eval(v) : mlx_eval(v))) err = gr_message();
  gr_vector_free(v);
  return err;
}

char *gr_synchronize(uintptr_t s) {
  gr_begin();
  return mlx_synchronize(gr_stream(s)) ? gr_message() : NULL;
}

char *gr_random_seed(uint64_t seed) {
  gr_begin();
  return mlx_random_seed(seed) ? gr_message() : NULL;
}
