// What every shim does before and after its call: checks of what Go passed, and the taking of results and messages.
// Needs mlx/c/mlx.h before it.

#pragma once
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "shim.h"

// gr_begin sees to it that mlx-c's error handler is ours: the default one prints and exits.
void gr_begin(void);
// gr_message takes the message of the call that just failed on this thread.
char *gr_message(void);
char *gr_errorf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gr_count(int64_t n);

static inline mlx_array gr_array(uintptr_t a) { return (mlx_array){(void *)a}; }
static inline mlx_stream gr_stream(uintptr_t s) { return (mlx_stream){(void *)s}; }

static inline char *gr_need(const char *name, uintptr_t a) {
  return a ? NULL : gr_errorf("%s is an absent array", name);
}

static inline char *gr_fits(const char *name, int64_t v) {
  return v >= INT_MIN && v <= INT_MAX ? NULL : gr_errorf("%s is %lld, which does not fit 32 bits", name, (long long)v);
}

static inline char *gr_size(const char *name, int64_t v) {
  return v >= 0 ? NULL : gr_errorf("%s is %lld, but must not be negative", name, (long long)v);
}

static inline char *gr_dtype(const char *name, int v) {
  return v >= MLX_BOOL && v <= MLX_COMPLEX64 ? NULL : gr_errorf("%s is no dtype (%d)", name, v);
}

typedef struct {
  int *p;
  int small[16];
} gr_ints;

static inline char *gr_to_ints(gr_ints *out, const char *name, const int64_t *v, size_t n) {
  if (n > sizeof(out->small) / sizeof(int) && !(out->p = malloc(n * sizeof(int)))) {
    out->p = out->small;
    return gr_errorf("%s: no memory for %zu numbers", name, n);
  }
  for (size_t i = 0; i < n; i++) {
    if (v[i] < INT_MIN || v[i] > INT_MAX)
      return gr_errorf("%s[%zu] is %lld, which does not fit 32 bits", name, i, (long long)v[i]);
    out->p[i] = (int)v[i];
  }
  return NULL;
}

static inline void gr_ints_free(gr_ints *v) {
  if (v->p != v->small) free(v->p);
}

typedef struct {
  char buf[128];
} gr_text;

// A '%' is refused: mlx-c passes its error messages, which may quote the text, through printf as a format.
static inline char *gr_to_text(gr_text *out, const char *name, const char *s, size_t n) {
  if (n >= sizeof(out->buf)) return gr_errorf("%s is %zu bytes long, more than %zu", name, n, sizeof(out->buf) - 1);
  if (n > 0) {
    if (memchr(s, 0, n) || memchr(s, '%', n)) return gr_errorf("%s holds a character that it cannot hold", name);
    memcpy(out->buf, s, n);
  }
  out->buf[n] = 0;
  return NULL;
}

static inline char *gr_to_vector(mlx_vector_array *out, const char *name, const uintptr_t *a, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!a[i]) return gr_errorf("%s[%zu] is an absent array", name, i);
  *out = mlx_vector_array_new_data((const mlx_array *)a, n); // an mlx_array is its ctx alone
  return out->ctx ? NULL : gr_message();
}

static inline void gr_vector_free(mlx_vector_array v) {
  if (v.ctx) mlx_vector_array_free(v);
}

static inline void gr_take_one(gr_one *r, int failed, mlx_array a) {
  if (failed) {
    r->err = gr_message();
    return;
  }
  gr_count(1);
  r->a = (uintptr_t)a.ctx;
}

static inline void gr_take_two(gr_two *r, int failed, mlx_array a, mlx_array b) {
  if (failed) {
    r->err = gr_message();
    return;
  }
  gr_count(2);
  r->a = (uintptr_t)a.ctx;
  r->b = (uintptr_t)b.ctx;
}

// gr_take_many opens and frees the vector.
void gr_take_many(gr_many *r, int failed, mlx_vector_array v);
