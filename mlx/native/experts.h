// The chosen experts of rows, each a whole MLP with affine weights, on an engine's threads, apart from MLX.

#pragma once
#include "product.h"

namespace gr {

// A weight of all experts: the matrix of expert e is the `outputs` rows of `all` from e * stride + first on.
struct Stack {
  Affine all{};
  int64_t first = 0, outputs = 0, stride = 0;
  Span bias;             // of all's rows, may be null
  Type type = Type::f32; // that its product is rounded to

  Affine matrix(int64_t e) const {
    Affine m = all;
    const int64_t row = e * stride + first, scales = row * all.groups() * (int64_t)size_of(all.type);
    m.outputs = outputs;
    m.codes += row * all.row_bytes();
    m.scales = (const char *)all.scales + scales, m.biases = (const char *)all.biases + scales;
    return m;
  }
};

// The weights of experts, which go together.
struct Mixture {
  Stack gate, up, down;
  int64_t count;
  Type hidden; // that the activation is rounded to
};

// y [rows * each, down.outputs] of x [rows, inputs]: result i is down(silu(gate(r)) * up(r)) by expert indices[i] of row r = i / each.
// Products are by activations in int16, by runs of 32, and their sums in float; what each gives is rounded to its type. The
// results of one expert, of however many rows, share the readings of its codes. An index that names no expert gives NaN.
// May throw std::bad_alloc. The lock of the pool is held.
void experts(Workers &on, const Mixture &m, Span x, int64_t rows, const uint32_t *indices, int64_t each, Span y);

}  // namespace gr
