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

// Weights that one value is multiplied with, ready: MLX is not told of them in a forward, since each input of a primitive
// costs it as much as a primitive does.
struct Weights {
  std::shared_ptr<Workers> on;
  std::vector<array> kept; // codes, scales, biases and bias of each, evaluated
  std::vector<AffineLayout> layouts;
  std::vector<Member> members; // without y and sum
  std::vector<Dtype> dtypes;   // that x is promoted to
  Form form;
  int tile;
};

}  // namespace gr
