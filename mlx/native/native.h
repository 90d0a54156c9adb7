// The C face of package native. Arrays and streams are the ctx of mlx-c's handles; what comes back belongs to the caller,
// errors are malloc'd text that the caller frees. Nothing throws.

#pragma once
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uintptr_t a;
  char *err;
} grn_one;

typedef struct {
  uintptr_t a[3];
  char *err;
} grn_three;

// Threads with a table of kernels (package kernels). Primitives hold on to it until they have run.
grn_one grn_workers_new(int threads, uintptr_t kernels);
void grn_workers_free(uintptr_t workers);
const char *grn_workers_kernels(uintptr_t workers);

typedef struct {
  uintptr_t workers;
  uintptr_t weight, scales, biases, bias; // bias may be 0
  int bits, group, form, tile;
} grn_affine;

// n weights that one value is multiplied with, evaluated, of one form and tile. Primitives hold on to them.
grn_one grn_affine_weights(const grn_affine *w, int n);
void grn_affine_weights_free(uintptr_t weights);

typedef struct {
  bool norm; // x is normed before, with gain or, where it is 0, without
  float eps;
  uintptr_t gain, residual; // residual is added to the one product
} grn_around;

// x [.., inputs] w^T + bias -> [.., outputs] for each of the weights, into out. The error, or null.
char *grn_affine_products(uintptr_t weights, uintptr_t stream, uintptr_t x, grn_around around, uintptr_t *out);

// The one weight is `count` matrices below each other, in order (Form): x [.., 1, inputs] times those that indices (uint32 or
// int32, in row order) name, [.., 1, outputs of one]; the axes before are broadcast.
grn_one grn_gather(uintptr_t weights, uintptr_t stream, int count, uintptr_t x, uintptr_t indices);

// numbers: int32 [..]. Those rows of the one weight, [.., inputs], as MLX's dequantize gives them.
grn_one grn_affine_rows(uintptr_t weights, uintptr_t stream, uintptr_t numbers);

// How many primitives evaluating n arrays would run.
int grn_nodes(const uintptr_t *arrays, int n);

// See layer.go. weight may be 0; rates are copied.
grn_one grn_rms_norm(uintptr_t workers, uintptr_t stream, uintptr_t x, uintptr_t weight, float eps);
grn_one grn_swiglu(uintptr_t workers, uintptr_t stream, uintptr_t gate, uintptr_t up);
grn_one grn_log_softmax(uintptr_t workers, uintptr_t stream, uintptr_t x);
grn_three grn_likeliest(uintptr_t workers, uintptr_t stream, uintptr_t x); // which, and its log probability
grn_one grn_rope(uintptr_t workers, uintptr_t stream, uintptr_t x, const float *rates, int n, bool neighbours, int offset, int state);

typedef struct {
  uintptr_t workers, stream, gain_q, gain_k; // gains may be 0
  bool norm_q, norm_k, neighbours;
  float eps_q, eps_k, scale;
  int layout[3]; // of q, k, v: 0 [B, heads, T, D], -1 [B, T, heads, D], n [B, T, n * D]
  bool merged;   // y is [B, T, heads * D], else [B, heads, T, D]
  int rates;
  int position, at, seen;
  int state; // as a chain knows it, -1: not
} grn_attend;

// in: q, k, v, keys, values.
grn_three grn_attention(const grn_attend *a, const uintptr_t *in, const float *rates);

// See chain.go. Arrays of several calls lie one after another, with their numbers beside them. Of each call: -2, other
// primitives than native ones make its results; -1, only those; else they write to the state of this number too.
void grn_native_calls(const uintptr_t *known, int n_known, const uintptr_t *in, const int *ins, const uintptr_t *out, const int *outs, int calls, int *result);

// out: the outputs, and up to `roots` what else is to be computed. Of each call whose primitives are in it a name, ended by a
// zero, and of[i] results, one after another in made: what fails tells whose it is.
grn_one grn_chain_new(uintptr_t workers, const uintptr_t *known, int n_known, const uintptr_t *in, int ins, const uintptr_t *out, int outs, int roots,
                      const char *names, const uintptr_t *made, const int *of, int calls);
void grn_chain_free(uintptr_t chain);
int grn_chain_nodes(uintptr_t chain); // primitives in it

typedef struct {
  int position, at, seen;
} grn_place;

// places: of each state. The outputs into out; the error, or null.
char *grn_chain_run(uintptr_t chain, uintptr_t stream, const uintptr_t *in, const grn_place *places, int n, uintptr_t *out);

#ifdef __cplusplus
}
#endif
