//go:build cgo && mlx

#include <stdio.h>
#include "mlx/c/mlx.h"
#include "shim_take.h"

static mlx_device device(int type, int index) { return mlx_device_new_type(type ? MLX_GPU : MLX_CPU, index); }

gr_int gr_device_count(int type) {
  gr_int r = {0};
  int n = 0;
  gr_begin();
  if (mlx_device_count(&n, type ? MLX_GPU : MLX_CPU)) r.err = gr_message();
  r.value = n;
  return r;
}

char *gr_default_device(int *type, int *index) {
  mlx_device d = {0};
  mlx_device_type t = MLX_CPU;
  gr_begin();
  char *err = mlx_get_default_device(&d) || mlx_device_get_type(&t, d) || mlx_device_get_index(index, d) ? gr_message() : NULL;
  *type = t == MLX_GPU;
  if (d.ctx) mlx_device_free(d);
  return err;
}

char *gr_set_default_device(int type, int index) {
  gr_begin();
  mlx_device d = device(type, index);
  bool available = false;
  char *err = NULL;
  if (!d.ctx || mlx_device_is_available(&available, d))
    err = gr_message();
  else if (!available)
    err = gr_errorf("this MLX has no device %s:%d", type ? "gpu" : "cpu", index);
  else if (mlx_set_default_device(d))
    err = gr_message();
  if (d.ctx) mlx_device_free(d);
  return err;
}

// gr_device_info writes lines of key, tab, value.
char *gr_device_info(int type, int index, char **text) {
  gr_begin();
  mlx_device d = device(type, index);
  mlx_device_info info = mlx_device_info_new();
  mlx_vector_string keys = mlx_vector_string_new();
  char *err = NULL;
  size_t used = 0, size = 1;
  *text = calloc(1, 1);
  if (mlx_device_info_get(&info, d) || mlx_device_info_get_keys(&keys, info)) err = gr_message();
  for (size_t i = 0; !err && i < mlx_vector_string_size(keys); i++) {
    char *key = NULL, number[32];
    const char *value = number;
    bool text_value = false;
    size_t n = 0;
    if (mlx_vector_string_get(&key, keys, i) || mlx_device_info_is_string(&text_value, info, key) ||
        (text_value ? mlx_device_info_get_string(&value, info, key) : mlx_device_info_get_size(&n, info, key))) {
      err = gr_message();
      break;
    }
    if (!text_value) snprintf(number, sizeof number, "%zu", n);
    size += strlen(key) + strlen(value) + 2;
    *text = realloc(*text, size);
    used += (size_t)sprintf(*text + used, "%s\t%s\n", key, value);
  }
  mlx_vector_string_free(keys);
  if (info.ctx) mlx_device_info_free(info);
  if (d.ctx) mlx_device_free(d);
  return err;
}

static gr_one take_stream(mlx_stream s) {
  gr_one r = {(uintptr_t)s.ctx, NULL};
  if (!s.ctx) r.err = gr_message();
  return r;
}

gr_one gr_stream_new(int type, int index) {
  gr_begin();
  mlx_device d = device(type, index);
  gr_one r = take_stream(mlx_stream_new_device(d));
  mlx_device_free(d);
  return r;
}

gr_one gr_stream_default(int type, int index) {
  gr_begin();
  mlx_device d = device(type, index);
  mlx_stream s = {0};
  gr_one r = {0};
  if (mlx_get_default_stream(&s, d)) r.err = gr_message();
  r.a = (uintptr_t)s.ctx;
  mlx_device_free(d);
  return r;
}

char *gr_stream_device(uintptr_t s, int *type, int *index) {
  mlx_device d = {0};
  mlx_device_type t = MLX_CPU;
  gr_begin();
  char *err = mlx_stream_get_device(&d, gr_stream(s)) || mlx_device_get_type(&t, d) || mlx_device_get_index(index, d)
                  ? gr_message()
                  : NULL;
  *type = t == MLX_GPU;
  if (d.ctx) mlx_device_free(d);
  return err;
}

void gr_stream_free(uintptr_t s) {
  if (s) mlx_stream_free(gr_stream(s));
}

gr_int gr_memory(int which) {
  gr_int r = {0};
  size_t n = 0;
  gr_begin();
  int (*const get[])(size_t *) = {mlx_get_active_memory, mlx_get_peak_memory, mlx_get_cache_memory, mlx_get_memory_limit};
  if (get[which](&n)) r.err = gr_message();
  r.value = n > INT64_MAX ? INT64_MAX : (int64_t)n;
  return r;
}

gr_int gr_set_limit(int which, int64_t limit) {
  gr_int r = {0};
  size_t before = 0;
  gr_begin();
  if ((r.err = gr_size("limit", limit))) return r;
  int (*const set[])(size_t *, size_t) = {mlx_set_memory_limit, mlx_set_cache_limit, mlx_set_wired_limit};
  if (set[which](&before, (size_t)limit)) r.err = gr_message();
  r.value = before > INT64_MAX ? INT64_MAX : (int64_t)before;
  return r;
}

char *gr_clear_cache(void) {
  gr_begin();
  return mlx_clear_cache() ? gr_message() : NULL;
}

char *gr_reset_peak(void) {
  gr_begin();
  return mlx_reset_peak_memory() ? gr_message() : NULL;
}
