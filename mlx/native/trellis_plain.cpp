//go:build cgo && mlx

// The kernels in plain C++, for every processor: a block is decoded into memory through a table of the codes, and the
// loops over it are left to the compiler.

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") // loops over a block are to be vectorised
#endif

#include <algorithm>
#include <cstring>
#include <vector>

#include "trellis_avx2.h"
#include "trellis_code.h"
#include "trellis_kernels.h"

namespace gr::trellis {

namespace {

float half_to_float(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
  uint32_t bits;
  if (exponent == 0) {
    float f = static_cast<float>(fraction) * 0x1p-24f;  // zero and subnormals
    std::memcpy(&bits, &f, 4);
  } else {
    bits = (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
  }
  bits |= sign;
  float out;
  std::memcpy(&out, &bits, 4);
  return out;
}

struct Table {
  float integer[GR_TRELLIS_STATES], value[GR_TRELLIS_STATES];
  Table() {
    for (uint32_t s = 0; s < GR_TRELLIS_STATES; s++) {
      int y = gr_trellis_integer(s);
      integer[s] = static_cast<float>(y);
      value[s] = gr_trellis_value(y);
    }
  }
};

const Table &table() {
  static const Table t;
  return t;
}

float factor_of(const Coded &w, int64_t row) { return half_to_float(w.scales[row]) * (1.0f / GR_TRELLIS_DIVISOR); }

float round_bfloat16(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
  std::memcpy(&f, &u, 4);
  return f;
}

void decode(const Coded &w, Weights kind, int64_t row, int64_t block, float *out) {
  const uint32_t *words = Places(w)(row, block);
  const Table &t = table();
  const float *from = kind == Weights::codes ? t.integer : t.value;
  for (int i = 0; i < w.T; i++) out[i] = from[gr_trellis_state(words, w.k, w.T, i)];
  if (kind == Weights::codes) return;
  const float scale = half_to_float(w.scales[row]);
  for (int i = 0; i < w.T; i++) out[i] *= scale;
  if (kind == Weights::bfloat16)
    for (int i = 0; i < w.T; i++) out[i] = round_bfloat16(out[i]);
}

void reduce_tile(const Coded &w, Weights kind, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride) {
  constexpr int lanes = 8;
  float codes[1024];
  std::vector<float> sums(static_cast<size_t>(M) * lanes);
  for (int64_t r = first; r < last; r++) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int64_t b = 0; b < w.blocks(); b++) {
      decode(w, kind, r, b, codes);
      for (int m = 0; m < M; m++) {
        const float *xm = x + m * w.columns + b * w.T;
        float *s = sums.data() + m * lanes;
        for (int c = 0; c < w.T; c += lanes)
          for (int i = 0; i < lanes; i++) s[i] += codes[c + i] * xm[c + i];
      }
    }
    float factor = kind == Weights::codes ? factor_of(w, r) : 1.0f;
    for (int m = 0; m < M; m++) {
      const float *s = sums.data() + m * lanes;
      y[m * stride + (r - first)] = (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))) * factor;
    }
  }
}

void scatter_tile(const Coded &w, Weights kind, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum) {
  float codes[1024];
  for (int64_t r = first; r < last; r++) {
    decode(w, kind, r, block, codes);
    float factor = kind == Weights::codes ? factor_of(w, r) : 1.0f;
    for (int m = 0; m < M; m++) {
      float at = x[m * w.rows + r] * factor;
      float *s = sum + m * w.T;
      for (int c = 0; c < w.T; c++) s[c] += codes[c] * at;
    }
  }
}

void reduce(const Coded &w, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride) {
  reduce_tile(w, Weights::codes, x, M, first, last, y, stride);
}

void scatter(const Coded &w, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum) {
  scatter_tile(w, Weights::codes, x, M, block, first, last, sum);
}

const Kernels kernels = {"plain", decode, reduce, scatter, reduce_tile, scatter_tile};

}  // namespace

const Kernels &plain() { return kernels; }

const Kernels &named(const char *name) {
  const Kernels *vector = std::strncmp(name, "avx", 3) == 0 ? avx2() : nullptr;
  return vector ? *vector : kernels;
}

}  // namespace gr::trellis
