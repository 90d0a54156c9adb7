//go:build cgo && mlx

#include "trellis_product.h"

#include <algorithm>
#include <cmath>

namespace gr::trellis {
namespace {

// Slots of the pool's scratch memory; those from kThread on are of threads.
enum Slot { kWide, kSums, kThread };

constexpr int64_t kRun = 512; // rows of S that are summed at once where they are inputs: it does not hang on the threads

const trellis::Kernels &kernels_of(const Workers &on) { return named(on.kernels.name); }

Weights weights_of(Form form) { return form == Form::stored_tile ? Weights::bfloat16 : Weights::codes; }

void reduce_rows(const trellis::Kernels &k, const Coded &w, Form form, const float *x, int64_t M, int64_t first, int64_t last, float *y, int64_t stride) {
  if (form == Form::packed && M <= 4)
    k.reduce(w, x, (int)M, first, last, y, stride);
  else
    k.reduce_tile(w, weights_of(form), x, (int)M, first, last, y, stride);
}

// Output rows of a piece: a multiple of 4, so that tiles are full, some pieces a thread.
int64_t rows_of_piece(const Workers &on, int64_t rows) { return ceil_div(std::clamp<int64_t>(ceil_div(rows, 4 * on.pool.threads()), 8, 256), 4) * 4; }

// A number rounded to a type.
float rounded(const gr::Kernels &k, Type t, float v) {
  round_to(k, t, &v, 1);
  return v;
}

// gate = silu(gate) * up, of numbers that are rounded to t.
void activate(const gr::Kernels &k, Type t, bool split, float *gate, const float *up, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const float g = gate[i];
    float s;
    if (split) {
      const float z = rounded(k, t, 1.0f / rounded(k, t, 1.0f + rounded(k, t, std::exp(std::fabs(g)))));
      s = g < 0 ? z : rounded(k, t, 1.0f - z);
    } else {
      s = rounded(k, t, 1.0f / (1.0f + std::exp(-g)));
    }
    gate[i] = rounded(k, t, rounded(k, t, g * s) * up[i]);
  }
}

}  // namespace

void reduce(Workers &on, const Coded &w, Form form, Span x, int64_t M, Span y) {
  const float *wide = floats_of(on, x, M * w.columns, kWide);
  const auto &k = kernels_of(on);
  const int64_t per = rows_of_piece(on, w.rows);
  for (int t = 0; t < on.pool.threads(); t++) on.pool.scratch(kThread + t, sizeof(float) * M * per);
  on.pool.run((int)ceil_div(w.rows, per), [&](int piece, int thread) {
    const int64_t first = piece * per, last = std::min(w.rows, first + per);
    auto *part = (float *)on.pool.scratch(kThread + thread, 0);
    reduce_rows(k, w, form, wide, M, first, last, part, per);
    for (int64_t m = 0; m < M; m++) on.kernels.narrow(y.type, part + m * per, y.at(m * w.rows + first), last - first);
  });
}

void swiglu(Workers &on, const Coded &gate, const Coded &up, Form form, bool split, Span x, int64_t M, Span y) {
  const float *wide = floats_of(on, x, M * gate.columns, kWide);
  const auto &k = kernels_of(on);
  const int64_t per = rows_of_piece(on, gate.rows);
  for (int t = 0; t < on.pool.threads(); t++) on.pool.scratch(kThread + t, 2 * sizeof(float) * M * per);
  on.pool.run((int)ceil_div(gate.rows, per), [&](int piece, int thread) {
    const int64_t first = piece * per, last = std::min(gate.rows, first + per), n = last - first;
    auto *g = (float *)on.pool.scratch(kThread + thread, 0), *u = g + M * per;
    reduce_rows(k, gate, form, wide, M, first, last, g, per);
    reduce_rows(k, up, form, wide, M, first, last, u, per);
    for (int64_t m = 0; m < M; m++) {
      round_to(on.kernels, y.type, g + m * per, n);
      round_to(on.kernels, y.type, u + m * per, n);
      activate(on.kernels, y.type, split, g + m * per, u + m * per, n);
      on.kernels.narrow(y.type, g + m * per, y.at(m * gate.rows + first), n);
    }
  });
}

void scatter(Workers &on, const Coded &w, Form form, Span x, int64_t M, Span y) {
  const float *wide = floats_of(on, x, M * w.rows, kWide);
  const auto &k = kernels_of(on);
  const int64_t runs = ceil_div(w.rows, kRun), blocks = w.blocks();
  auto *sums = (float *)on.pool.scratch(kSums, sizeof(float) * blocks * runs * M * w.T); // [block][run][M][T]
  on.pool.run((int)(blocks * runs), [&](int piece, int) {
    const int64_t block = piece / runs, first = piece % runs * kRun, last = std::min(w.rows, first + kRun);
    float *sum = sums + piece * M * w.T;
    std::fill(sum, sum + M * w.T, 0.0f);
    if (form == Form::packed && M <= 4)
      k.scatter(w, wide, (int)M, block, first, last, sum);
    else
      k.scatter_tile(w, weights_of(form), wide, (int)M, block, first, last, sum);
  });
  for (int64_t b = 0; b < blocks; b++) {
    float *sum = sums + b * runs * M * w.T;
    for (int64_t r = 1; r < runs; r++)
      for (int64_t i = 0; i < M * w.T; i++) sum[i] += sum[r * M * w.T + i];
    for (int64_t m = 0; m < M; m++) on.kernels.narrow(y.type, sum + m * w.T, y.at(m * w.columns + b * w.T), w.T);
  }
}

void expand(Workers &on, const Coded &w, Weights kind, float *out) {
  const auto &k = kernels_of(on);
  const int64_t per = std::max<int64_t>(1, (1 << 15) / w.columns);
  on.pool.run((int)ceil_div(w.rows, per), [&](int piece, int) {
    for (int64_t r = piece * per, last = std::min(w.rows, r + per); r < last; r++)
      for (int64_t b = 0; b < w.blocks(); b++) k.decode(w, kind, r, b, out + r * w.columns + b * w.T);
  });
}

}  // namespace gr::trellis
