// Products with affine weights on an engine's threads, apart from MLX.

#pragma once
#include <algorithm>

#include "kernels/in_order.h"
#include "kernels/kernels.h"
#include "pool.h"

namespace gr {

// Cosines and sines of rotary positions, kept from one layer of a forward to the next.
class Angles {
 public:
  // For each of `rows` positions from `position` on: the cosines of position * rates, then the sines. Valid until the next call.
  const float *of(const std::vector<float> &rates, int64_t position, int64_t rows);

 private:
  struct Table {
    std::vector<float> rates, values;
    int64_t position = 0, rows = 0;
  };
  Table tables_[2]; // some models have layers of two kinds
  int next_ = 0;
};

// What an engine computes with.
struct Workers {
  Workers(int threads, const Kernels &k) : pool(threads), kernels(k) {}
  Pool pool;
  Angles angles; // under the pool's lock
  const Kernels &kernels;
};

enum class Form : int {
  rows_f32,  // each output's codes read in place, activations in float
  rows_q8,   // activations as whole numbers of 8 bits, by runs of 32
  rows_q16,  // of 16 bits
  panel_f32, // codes of 16 outputs unpacked into cache, all rows multiplied there
  panel_q8,
  panel_q16,
  in_order,  // with MLX's own bits, see kernels/in_order.h
};

// Numbers of a type in a row: what a product takes and gives.
struct Span {
  void *data = nullptr;
  Type type = Type::f32;

  char *at(int64_t i) const { return (char *)data + i * (int64_t)size_of(type); }
};

// x as floats; from `slot` of the scratch memory where it is of another type.
inline const float *floats_of(Workers &on, Span x, int64_t n, int slot) {
  if (x.type == Type::f32) return (const float *)x.data;
  auto *wide = (float *)on.pool.scratch(slot, sizeof(float) * n);
  on.kernels.widen(x.type, x.data, wide, n);
  return wide;
}

// v rounded to a type.
inline void round_to(const Kernels &k, Type t, float *v, int64_t n) {
  if (t == Type::f32) return;
  uint16_t half[256];
  for (int64_t i = 0; i < n; i += 256) {
    const int64_t m = std::min<int64_t>(256, n - i);
    k.narrow(t, v + i, half, m);
    k.widen(t, half, v + i, m);
  }
}

// A root-mean-square norm of each row before what computes with it, rounded to a type as if it stood by itself.
struct Norm {
  bool on = false;
  Span gain; // data null: 1
  float eps = 0;
  Type type = Type::f32;
};

// x [rows, width] as floats, normed where asked for; in scratch memory where these are not x itself.
const float *rows_in(Workers &on, Span x, int64_t rows, int64_t width, const Norm &norm);

// One of the products of a value: y [rows, w.outputs] = x [rows, w.inputs] w^T + bias, and then + sum; the data of bias and
// sum may be null. Sums are in float, rounded to y's type, and once more after `sum`, which is of that type.
struct Member {
  Affine w;
  Span y, bias, sum;
};

// All members' products, of one x and with one sharing out of their rows to the threads. May throw std::bad_alloc. The lock
// of the pool is held.
void products(Workers &on, const std::vector<Member> &members, Form form, int tile, Span x, int64_t rows, const Norm &norm);

}  // namespace gr
