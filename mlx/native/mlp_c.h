// The C face of a whole MLP.

#pragma once
#include "native.h"

#ifdef __cplusplus
extern "C" {
#endif

// A weight: affine (biases given), or trellis codes in blocks of `group` along `axis`.
typedef struct {
  uintptr_t codes, scales, biases, bias; // bias may be 0
  int bits, group, axis;
} grn_matrix;

// scale * (x a) b, added to the product of a part: 0 gate, 1 up, 2 down. a [inputs, rank] and b [rank, first + outputs at
// least], of which the columns from first on are taken, are float32.
typedef struct {
  int part, first;
  uintptr_t a, b;
  float scale;
} grn_low_rank;

// parts: gate, up, down, evaluated. Primitives hold on to them. panels: for many rows, of affine weights alone.
grn_one grn_mlp_weights(uintptr_t workers, const grn_matrix *parts, const grn_low_rank *sums, int n, bool panels);
void grn_mlp_weights_free(uintptr_t weights);

// x [.., inputs] -> [.., outputs of down].
grn_one grn_mlp(uintptr_t weights, uintptr_t stream, uintptr_t x, grn_around around);

#ifdef __cplusplus
}
#endif
