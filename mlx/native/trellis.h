// The C face of products with trellis codes.

#pragma once
#include "native.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uintptr_t workers, stream;
  uintptr_t codes, scales;
  int bits, block, axis;
  int form;
} grn_trellis;

// x [.., inputs] W^T -> [.., outputs], in x's dtype.
grn_one grn_trellis_product(const grn_trellis *w, uintptr_t x);

// The activation of gate and up, both of axis 1 and as large: [.., outputs] in x's dtype. split rounds the steps of the
// activation one by one.
grn_one grn_trellis_swiglu(const grn_trellis *gate, const grn_trellis *up, uintptr_t x, int split);

// S [rows, columns] as float32, rounded to bfloat16 or not.
grn_one grn_trellis_expand(const grn_trellis *w, int rounded);

#ifdef __cplusplus
}
#endif
