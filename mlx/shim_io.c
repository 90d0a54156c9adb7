//go:build cgo && mlx

#include "mlx/c/mlx.h"
#include "shim_take.h"

static bool grow(void **p, size_t *room, size_t n, size_t item) {
  if (n < *room) return true;
  size_t more = *room ? *room * 2 : 64;
  void *q = realloc(*p, more * item);
  if (!q) return false;
  *p = q;
  *room = more;
  return true;
}

static void add_array(gr_file *f, const char *name, mlx_array a) {
  size_t room = f->room;
  if (!grow((void **)&f->names, &room, f->n, sizeof *f->names) ||
      !grow((void **)&f->arrays, &f->room, f->n, sizeof *f->arrays)) {
    f->err = gr_errorf("no memory for the names of %zu arrays", f->n);
    return;
  }
  f->names[f->n] = strdup(name);
  f->arrays[f->n++] = (uintptr_t)a.ctx;
  gr_count(1);
}

static void add_text(gr_file *f, const char *s) {
  if (!grow((void **)&f->meta, &f->meta_room, f->nmeta, sizeof *f->meta)) {
    f->err = gr_errorf("no memory for %zu strings", f->nmeta);
    return;
  }
  f->meta[f->nmeta++] = strdup(s);
}

gr_file gr_load_safetensors(const char *path, uintptr_t s) {
  gr_file f = {0};
  mlx_map_string_to_array arrays = mlx_map_string_to_array_new();
  mlx_map_string_to_string meta = mlx_map_string_to_string_new();
  gr_begin();
  if (mlx_load_safetensors(&arrays, &meta, path, gr_stream(s))) {
    f.err = gr_message();
  } else {
    const char *key = NULL, *value = NULL;
    mlx_array a = {0};
    mlx_map_string_to_array_iterator it = mlx_map_string_to_array_iterator_new(arrays);
    while (!f.err && mlx_map_string_to_array_iterator_next(&key, &a, it) == 0) {
      add_array(&f, key, a);
      a = (mlx_array){0}; // the next one is a new handle
    }
    mlx_map_string_to_array_iterator_free(it);
    mlx_map_string_to_string_iterator jt = mlx_map_string_to_string_iterator_new(meta);
    while (!f.err && mlx_map_string_to_string_iterator_next(&key, &value, jt) == 0) {
      add_text(&f, key);
      add_text(&f, value);
    }
    mlx_map_string_to_string_iterator_free(jt);
  }
  mlx_map_string_to_array_free(arrays);
  mlx_map_string_to_string_free(meta);
  return f;
}

gr_file gr_load_gguf(const char *path, uintptr_t s) {
  gr_file f = {0};
  mlx_io_gguf g = mlx_io_gguf_new();
  mlx_vector_string keys = mlx_vector_string_new();
  gr_begin();
  if (mlx_load_gguf(&g, path, gr_stream(s)) || mlx_io_gguf_get_keys(&keys, g)) f.err = gr_message();
  for (size_t i = 0; !f.err && i < mlx_vector_string_size(keys); i++) {
    char *key = NULL;
    mlx_array a = {0};
    if (mlx_vector_string_get(&key, keys, i) || mlx_io_gguf_get_array(&a, g, key))
      f.err = gr_message();
    else
      add_array(&f, key, a);
  }
  mlx_vector_string_free(keys);
  f.gguf = (uintptr_t)g.ctx;
  return f;
}

// The arrays are the caller's, unless there was an error.
void gr_file_free(gr_file f) {
  if (f.err) {
    gr_free(f.arrays, f.n);
    gr_gguf_free(f.gguf);
  }
  for (size_t i = 0; i < f.n; i++) free(f.names[i]);
  for (size_t i = 0; i < f.nmeta; i++) free(f.meta[i]);
  free(f.names);
  free(f.arrays);
  free(f.meta);
  free(f.err);
}

char *gr_save_safetensors(const char *path, char **names, const uintptr_t *arrays, size_t n, char **meta, size_t nmeta) {
  mlx_map_string_to_array a = mlx_map_string_to_array_new();
  mlx_map_string_to_string m = mlx_map_string_to_string_new();
  char *err = NULL;
  gr_begin();
  for (size_t i = 0; !err && i < n; i++)
    if (!(err = gr_need(names[i], arrays[i])) && mlx_map_string_to_array_insert(a, names[i], gr_array(arrays[i])))
      err = gr_message();
  for (size_t i = 0; !err && i + 1 < nmeta; i += 2)
    if (mlx_map_string_to_string_insert(m, meta[i], meta[i + 1])) err = gr_message();
  if (!err && mlx_save_safetensors(path, a, m)) err = gr_message();
  mlx_map_string_to_array_free(a);
  mlx_map_string_to_string_free(m);
  return err;
}

static mlx_io_gguf gguf(uintptr_t g) { return (mlx_io_gguf){(void *)g}; }

void gr_gguf_free(uintptr_t g) {
  if (g) mlx_io_gguf_free(gguf(g));
}

char *gr_gguf_string(uintptr_t g, const char *key, bool *has, char **value) {
  mlx_string s = mlx_string_new();
  gr_begin();
  char *err = NULL;
  if (mlx_io_gguf_has_metadata_string(has, gguf(g), key) || (*has && mlx_io_gguf_get_metadata_string(&s, gguf(g), key)))
    err = gr_message();
  else if (*has)
    *value = strdup(mlx_string_data(s));
  mlx_string_free(s);
  return err;
}

gr_one gr_gguf_array(uintptr_t g, const char *key) {
  gr_one r = {0};
  bool has = false;
  gr_begin();
  if (mlx_io_gguf_has_metadata_array(&has, gguf(g), key))
    r.err = gr_message();
  else if (has) {
    mlx_array a = {0};
    gr_take_one(&r, mlx_io_gguf_get_metadata_array(&a, gguf(g), key), a);
  }
  return r;
}

gr_file gr_gguf_strings(uintptr_t g, const char *key, bool *has) {
  gr_file f = {0};
  mlx_vector_string v = mlx_vector_string_new();
  gr_begin();
  if (mlx_io_gguf_has_metadata_vector_string(has, gguf(g), key) ||
      (*has && mlx_io_gguf_get_metadata_vector_string(&v, gguf(g), key)))
    f.err = gr_message();
  for (size_t i = 0; *has && !f.err && i < mlx_vector_string_size(v); i++) {
    char *s = NULL;
    if (mlx_vector_string_get(&s, v, i))
      f.err = gr_message();
    else
      add_text(&f, s);
  }
  mlx_vector_string_free(v);
  return f;
}
