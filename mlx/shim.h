// The C face of package mlx: what Go calls. Handles of arrays and streams are their ctx as integers, so that Go's
// collector does not look at them; errors come back as malloc'd text that the caller frees.

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GR_FEW = 6 };

typedef struct {
  uintptr_t a;
  char *err;
} gr_one;

typedef struct {
  uintptr_t a, b;
  char *err;
} gr_two;

// The arrays are in few when n <= GR_FEW, else in many, which the caller frees.
typedef struct {
  size_t n;
  uintptr_t few[GR_FEW];
  uintptr_t *many;
  char *err;
} gr_many;

typedef struct {
  int64_t value;
  char *err;
} gr_int;

// lifetimes
void gr_free(const uintptr_t *arrays, size_t n);
int64_t gr_live(void);
void gr_count(int64_t n);
gr_one gr_clone(uintptr_t a);

// evaluation
char *gr_eval(const uintptr_t *arrays, size_t n, bool async);
char *gr_synchronize(uintptr_t s);

// facts of an array; they do not evaluate
size_t gr_ndim(uintptr_t a);
void gr_shape(uintptr_t a, int64_t *shape);
int gr_dtype_of(uintptr_t a);
char *gr_text_of(uintptr_t a, char **text);

// data
gr_one gr_from_data(const void *data, size_t nbytes, const int64_t *shape, size_t n, int dtype);
gr_one gr_from_mapped(void *data, size_t nbytes, const int64_t *shape, size_t n, int dtype, int fd, uint64_t token);
char *gr_read(uintptr_t a, void *out, size_t nbytes);
char *gr_in_rows(uintptr_t a, bool *rows); // evaluates

// devices and streams; a device is a type (0 cpu, 1 gpu) and an index
gr_int gr_device_count(int type);
char *gr_default_device(int *type, int *index);
char *gr_set_default_device(int type, int index);
char *gr_device_info(int type, int index, char **text);
gr_one gr_stream_new(int type, int index);
gr_one gr_stream_default(int type, int index);
char *gr_stream_device(uintptr_t s, int *type, int *index);
void gr_stream_free(uintptr_t s);

// memory
gr_int gr_memory(int which);
gr_int gr_set_limit(int which, int64_t limit);
char *gr_clear_cache(void);
char *gr_reset_peak(void);

char *gr_random_seed(uint64_t seed);

// compiled functions
gr_one gr_compile(uint64_t handle, bool shapeless);
gr_many gr_compiled_call(uintptr_t closure, const uintptr_t *in, size_t n);
void gr_compiled_free(uintptr_t closure);
char *gr_compile_mode(bool on);

// files
typedef struct {
  char **names;      // n of them
  uintptr_t *arrays; // n of them, whose ownership passes to the caller
  size_t n, room;
  char **meta; // key, value, key, value …
  size_t nmeta, meta_room;
  uintptr_t gguf; // for the getters below
  char *err;
} gr_file;
gr_file gr_load_safetensors(const char *path, uintptr_t s);
gr_file gr_load_gguf(const char *path, uintptr_t s);
void gr_file_free(gr_file f);
char *gr_save_safetensors(const char *path, char **names, const uintptr_t *arrays, size_t n, char **meta, size_t nmeta);
void gr_gguf_free(uintptr_t g);
// Each gives false or nothing for a key of another type or none.
char *gr_gguf_string(uintptr_t g, const char *key, bool *has, char **value);
gr_one gr_gguf_array(uintptr_t g, const char *key);
gr_file gr_gguf_strings(uintptr_t g, const char *key, bool *has);

// what is linked
char *gr_mlx_version(char **text);
const char *gr_built(int which);
char *gr_blas(int which);

#ifdef __cplusplus
}
#endif
