// Products with trellis-coded weights on the CPU, on plain memory. A kernel computes a piece (rows, or a block of
// columns); who calls it shares the pieces among threads. All sums are float32.
//
// Two contracts:
//   packed   the weight is code * scale in float32, of which the scale is taken out of the sum: (sum y x) * (scale * r)
//            where the rows are outputs, sum y * (x * (scale * r)) where they are inputs; y is the integer code and r the
//            float nearest to 1 / divisor.
//   stored   the weight is bfloat16(value * scale), whatever the dtype of x.

#pragma once
#include <cstddef>
#include <cstdint>

#include "trellis_code.h"

namespace gr::trellis {

enum class Weights { codes, float32, bfloat16 };  // what a decoded block holds: y, value * scale, or that rounded to bfloat16

struct Coded {  // S [rows, columns]
  const uint32_t *words;
  const uint16_t *scales;  // float16
  int k, T;
  int64_t rows, columns;
  bool interleaved;

  int64_t blocks() const { return columns / T; }
};

// Where the blocks of a matrix lie.
class Places {
 public:
  explicit Places(const Coded &w) : from_(w.words), rows_(w.rows), blocks_(w.blocks()), words_(gr_trellis_block_words(w.k, w.T)), interleaved_(w.interleaved) {}
  const uint32_t *operator()(int64_t row, int64_t block) const { return from_ + gr_trellis_block_at(row, block, rows_, blocks_, words_, interleaved_); }

 private:
  const uint32_t *from_;
  int64_t rows_, blocks_;
  int words_;
  bool interleaved_;
};

struct Kernels {
  const char *name;

  // Decodes one block into out [T].
  void (*decode)(const Coded &, Weights, int64_t row, int64_t block, float *out);

  // packed, M = 1..4: y[m * stride + i] = row (first + i) times x [M, columns], for rows first to last.
  void (*reduce)(const Coded &, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride);

  // packed, M = 1..4: sum [M, T] += (x [M, rows] times the factors) times the block, over rows first to last.
  void (*scatter)(const Coded &, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum);

  // As reduce and scatter, any M; each block is decoded once for all of x. With codes the contract is packed: reduce
  // multiplies its sums by the factors, scatter its x.
  void (*reduce_tile)(const Coded &, Weights, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride);
  void (*scatter_tile)(const Coded &, Weights, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum);
};

const Kernels &plain();
// Those that go with a table of gr::Kernels, by its name: vector code where that has AVX2.
const Kernels &named(const char *name);

}  // namespace gr::trellis
