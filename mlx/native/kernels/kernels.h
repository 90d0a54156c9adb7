// The arithmetic of package native, apart from MLX: functions on plain memory, once for each instruction set, in one
// table per set. The templates stand in kernels_*.h and are compiled by isa_*.cpp.

#pragma once
#include <cstddef>
#include <cstdint>

namespace gr {

enum class Type : uint8_t { f32, f16, bf16 };

inline size_t size_of(Type t) { return t == Type::f32 ? 4 : 2; }

// A matrix in MLX's affine layout: rows of codes of `bits` bits, packed with the first lowest; for each group of `group`
// codes of a row a scale and a bias: weight = scale * code + bias. Rows are contiguous.
struct Affine {
  const uint8_t *codes;
  const void *scales, *biases;
  Type type; // of scales and biases
  int bits, group;
  int64_t inputs, outputs; // columns, rows

  int64_t row_bytes() const { return inputs / 8 * bits; }
  int64_t groups() const { return inputs / group; }
};

// Activations may be whole numbers of 8 or 16 bits (Q: 1 or 2 bytes), by runs of 32 with a scale each, whatever the weight's
// group is. Then products and sums of a run are exact.
inline constexpr int kRun = 32;
// Runs are taken 8 at a time: 256 codes.
inline constexpr int kBlock = 256;

// A row of activations as whole numbers. Its blocks start at multiples of 256; a row that 256 does not divide ends in a
// block of its last 256 inputs, in which what an earlier block holds is zero (a row shorter than 256 has one block, zero
// behind). scale and sum (scale * the sum of the codes) have 8 entries a block, in the order in which dot products come out.
struct Blocks {
  void *codes;
  float *scale, *sum;
};

inline int64_t blocks_of(int64_t inputs) { return (inputs + kBlock - 1) / kBlock; }

// The same without padding, in order: codes [inputs], scale and sum [inputs / 32].
struct Runs {
  void *codes;
  float *scale, *sum;
};

// What the packed product of many rows works on: 16 outputs at a time.
inline constexpr int kPanel = 16;

// Where the products of a panel go: of row r, with `bias` of the 16 outputs added, 16 numbers of a type at y + r * stride,
// rounded; then, with the numbers of that type at sum + r * stride added, rounded again. bias and sum may be null.
struct PanelOut {
  Type type;
  void *y;
  int64_t stride;
  const float *bias;
  const void *sum;
};

struct Kernels {
  const char *name;

  // n values of a type to float, and back with rounding to nearest even.
  void (*widen)(Type from, const void *x, float *y, int64_t n);
  void (*narrow)(Type to, const float *x, void *y, int64_t n);

  // Quantise one row; false where a value is not finite, or its run too large for float: the codes mean nothing then.
  bool (*quantise_blocks)(int q, int bits, const float *x, int64_t inputs, Blocks to);
  bool (*quantise_runs)(int q, const float *x, int64_t inputs, Runs to);

  // y[r * stride + n - first] = dot of row n of w with row r of x, for outputs first <= n < last; rows is 1 or 4.
  void (*rows_f32)(const Affine &w, const float *x, int64_t x_stride, int rows, int64_t first, int64_t last, float *y, int64_t stride);
  // The same on quantised rows.
  void (*rows_q)(int q, const Affine &w, const Blocks *x, int rows, int64_t first, int64_t last, float *y, int64_t stride);

  // One panel: y[r * 16 + n - first] for the 16 outputs from first (fewer at the matrix' end: the others are 0) and all
  // rows. room has panel_f32_room bytes, aligned to 64.
  void (*panel_f32)(const Affine &w, const float *x, int64_t x_stride, int64_t rows, int64_t first, float *y, void *room);
  size_t (*panel_f32_room)(const Affine &w);
  // The same on quantised rows, in two steps: the 16 outputs' codes are unpacked into panel_q_room bytes, aligned to 64, and
  // multiplied there. The panel from `next` on, which may lie behind the last, is fetched into cache meanwhile.
  size_t (*panel_q_room)(int q, const Affine &w);
  void (*unpack_q)(int q, const Affine &w, int64_t first, int64_t next, void *room);
  void (*panel_q)(int q, const Affine &w, const void *room, Runs x, int64_t rows, const PanelOut &to);

  // Root-mean-square norm of one row: y = x * rsqrt(mean(x^2) + eps) * weight; weight may be null (1).
  void (*rms_norm)(const float *x, const float *weight, float eps, int64_t n, float *y);
  // y = silu(gate) * up.
  void (*swiglu)(const float *gate, const float *up, float *y, int64_t n);
  // The highest of n values (a NaN stays), and the sum of exp(value - highest); of highest 0 where all are minus infinity.
  void (*sum_exp)(const float *x, int64_t n, float *top, float *total);
  // Queries of d entries over a span of n keys, of which query r sees the first seen + r % turns (none where that is below 1):
  // part r is the sum of the values of dv entries, each times exp(score - top); then top, the highest score (minus infinity
  // where there is none); then the sum of these weights. k and v are rows with the strides given, of one type; scores has
  // room for 3 (n + 7), a part for dv + 2.
  void (*attend)(const float *q, int64_t q_stride, int rows, int64_t seen, int turns, Type type, const void *k, int64_t k_stride, const void *v,
                 int64_t v_stride, int64_t n, int d, int dv, float scale, float *scores, float *parts, int64_t stride);
  // The result of one query: the n parts of its spans together, divided by the sum of all weights.
  void (*join)(const float *parts, int64_t n, int64_t stride, int dv, float *y);
  // Softmax-weighted values of up to 6 queries in a row, of which query i sees the first n + i keys: pack_keys has made k of all
  // keys, v is rows of floats, dv a multiple of 16; scores has room for 6 (n + 21).
  void (*attend_rows)(const float *q, int64_t q_stride, int queries, const float *k, const float *v, int64_t v_stride, int64_t n, int d, int dv,
                      float scale, float *scores, float *y, int64_t y_stride);
  // 16 keys side by side: to[n / 16, rounded up][d][16], zero behind the last.
  void (*pack_keys)(Type type, const void *k, int64_t k_stride, int64_t n, int d, float *to);
  // Rotates one row: of `half` pairs (a, b), at i and i + half or (apart) at 2i and 2i + 1, by the angles' cosines and sines.
  void (*rotate)(const float *x, const float *cosines, const float *sines, int half, bool neighbours, float *y);
};

// The tables that were compiled; null where this processor cannot run one.
const Kernels *plain_kernels();
const Kernels *avx2_kernels();
const Kernels *avxvnni_kernels();
const Kernels *avx512_kernels();
const Kernels *neon_kernels();

}  // namespace gr
