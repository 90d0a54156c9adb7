//go:build cgo && mlx

#include "mlx/c/mlx.h"
#include "shim_take.h"

size_t gr_ndim(uintptr_t a) { return mlx_array_ndim(gr_array(a)); }

void gr_shape(uintptr_t a, int64_t *shape) {
  size_t n = mlx_array_ndim(gr_array(a));
  const int *p = mlx_array_shape(gr_array(a));
  for (size_t i = 0; i < n; i++) shape[i] = p[i];
}

int gr_dtype_of(uintptr_t a) { return (int)mlx_array_dtype(gr_array(a)); }

char *gr_text_of(uintptr_t a, char **text) {
  mlx_string s = mlx_string_new();
  gr_begin();
  char *err = mlx_array_tostring(&s, gr_array(a)) ? gr_message() : NULL;
  if (!err) *text = strdup(mlx_string_data(s));
  mlx_string_free(s);
  return err;
}

gr_one gr_from_data(const void *data, size_t nbytes, const int64_t *shape, size_t n, int dtype) {
  gr_one r = {0};
  gr_ints dims;
  dims.p = dims.small;
  gr_begin();
  (void)nbytes; // checked against the shape by the caller
  if (!(r.err = gr_to_ints(&dims, "shape", shape, n)) && !(r.err = gr_dtype("dtype", dtype))) {
    mlx_array a = mlx_array_new_data(data, dims.p, (int)n, (mlx_dtype)dtype);
    gr_take_one(&r, a.ctx == NULL, a);
  }
  gr_ints_free(&dims);
  return r;
}

// copy_strided writes the elements in row order. Strides count elements and may be 0 or negative.
static void copy_strided(char *out, const char *in, size_t item, const int *shape, const int64_t *strides, size_t ndim) {
  size_t inner = (size_t)shape[ndim - 1], outer = 1;
  int64_t step = strides[ndim - 1] * (int64_t)item;
  for (size_t i = 0; i + 1 < ndim; i++) outer *= (size_t)shape[i];
  for (size_t o = 0; o < outer; o++) {
    int64_t at = 0;
    size_t rest = o;
    for (size_t d = ndim - 1; d-- > 0;) {
      at += (int64_t)(rest % (size_t)shape[d]) * strides[d];
      rest /= (size_t)shape[d];
    }
    const char *p = in + at * (int64_t)item;
    if (step == (int64_t)item) {
      memcpy(out, p, inner * item);
      out += inner * item;
      continue;
    }
    for (size_t i = 0; i < inner; i++, p += step, out += item) memcpy(out, p, item);
  }
}

char *gr_in_rows(uintptr_t h, bool *rows) {
  mlx_array a = gr_array(h);
  char *err;
  gr_begin();
  if ((err = gr_need("the array", h))) return err;
  return mlx_array_eval(a) || _mlx_array_is_row_contiguous(rows, a) ? gr_message() : NULL;
}

char *gr_read(uintptr_t h, void *out, size_t nbytes) {
  mlx_array a = gr_array(h);
  char *err;
  bool rows = false;
  gr_begin();
  if ((err = gr_need("the array", h))) return err;
  if (mlx_array_eval(a) || _mlx_array_is_row_contiguous(&rows, a)) return gr_message(); // a data pointer before this crashes
  if (mlx_array_nbytes(a) != nbytes) return gr_errorf("the array has %zu bytes, not %zu", mlx_array_nbytes(a), nbytes);
  if (nbytes == 0) return NULL;
  const void *data = mlx_array_data_uint8(a);
  if (!data) return gr_message();
  if (rows || mlx_array_ndim(a) == 0)
    memcpy(out, data, nbytes);
  else
    copy_strided(out, data, mlx_array_itemsize(a), mlx_array_shape(a), (const int64_t *)mlx_array_strides(a),
                 mlx_array_ndim(a));
  return NULL;
}
