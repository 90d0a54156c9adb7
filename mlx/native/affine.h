// Affine weights between MLX's arrays and the kernels.

#pragma once
#include "arrays.h"

namespace gr {

struct AffineLayout {
  int bits, group;
  int64_t inputs, outputs;
  Type type; // of scales and biases
};

// Checks a weight and tells its layout.
AffineLayout affine_layout(const array &codes, const array &scales, const array &biases, int bits, int group);

// Its memory, once it is evaluated.
Affine affine_of(const AffineLayout &l, const array &codes, const array &scales, const array &biases);

}  // namespace gr
