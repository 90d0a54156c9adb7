// A whole MLP on an engine's threads, apart from MLX: down(silu(gate(x)) * up(x)).

#pragma once
#include "product.h"
#include "trellis_kernels.h"

namespace gr {

// A low-rank sum beside a product: scale * (x a) b.
struct LowRank {
  const float *a;  // [inputs, rank]
  const float *b;  // [rank, outputs], rows `stride` apart
  int64_t rank, stride;
  float scale;
};

// A weight of an MLP with what is added to its product.
struct Matrix {
  bool coded = false;
  Affine affine{};        // not coded
  trellis::Coded codes{}; // coded, along `axis`
  int axis = 1;
  Span bias;              // may be null
  std::vector<LowRank> sums;
  Type type = Type::f32;  // that its product is rounded to

  int64_t inputs() const { return !coded ? affine.inputs : axis == 1 ? codes.columns : codes.rows; }
  int64_t outputs() const { return !coded ? affine.outputs : axis == 1 ? codes.rows : codes.columns; }
};

// For a few rows: y [rows, down.outputs] of x [rows, gate.inputs], normed where asked for, in down.type, and then + sum, of that type, where
// there is one. What gate and up give is rounded to their types and their
// activation, in float, to `hidden`. Affine weights meet activations in int16, by runs of 32, as Form::rows_q16; trellis codes
// are used as they are decoded. Sums are in float. May throw std::bad_alloc. The lock of the pool is held.
void mlp(Workers &on, const Matrix &gate, const Matrix &up, const Matrix &down, Type hidden, Span x, int64_t rows, const Norm &norm, Span y, Span sum);


// The same for many rows, of affine weights alone: what gate, up and down give has the bits of Form::panel_q16.
void mlp_panels(Workers &on, const Matrix &gate, const Matrix &up, const Matrix &down, Type hidden, Span x, int64_t rows, const Norm &norm, Span y, Span sum);

// What both are made of.

// t [rank] = scale * (x a) of one row.
void low_factors(const LowRank &s, const float *x, int64_t inputs, float *t);
// y, outputs first <= n < last, += t b.
void add_low_rank(const LowRank &s, const float *t, int64_t first, int64_t last, float *y);
// y = v of y's type, and then + sum, which is of that type; `at` is where in both. v may change.
void put(const Kernels &k, float *v, int64_t n, Span y, Span sum, int64_t at);

}  // namespace gr
