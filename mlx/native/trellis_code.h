// The arithmetic of trellis-coded weights, in one place for every device: C++ (clang, gcc), Metal and CUDA sources include
// it. It uses fixed-width integers, float and nothing of a library, so that each compiler gives the same bits.
//
// Package trellis says what the format is. L = 12 bits of state, code 1MAD; blocks of T weights with k bits each.

#pragma once

#if defined(__METAL_VERSION__)
#include <metal_stdlib>
#define GR_TRELLIS_FN inline
#define GR_TRELLIS_PTR device const
#elif defined(__CUDACC__)
#include <stdint.h>
#define GR_TRELLIS_FN __host__ __device__ inline
#define GR_TRELLIS_PTR const
#else
#include <stdint.h>
#define GR_TRELLIS_FN static inline
#define GR_TRELLIS_PTR const
#endif

#define GR_TRELLIS_STATE_BITS 12
#define GR_TRELLIS_STATES 4096
#define GR_TRELLIS_STATE_MASK 4095u
#define GR_TRELLIS_FACTOR 34038481u
#define GR_TRELLIS_ADDEND 76625530u
#define GR_TRELLIS_MIDDLE 510
#define GR_TRELLIS_DIVISOR 147.800537109375f

// Words of a block.
GR_TRELLIS_FN int gr_trellis_block_words(int k, int T) { return T * k / 32; }

// Where a block's words begin: codes [rows, blocks * words], or [blocks / 2, rows, 2 * words] where they are interleaved.
GR_TRELLIS_FN int64_t gr_trellis_block_at(int64_t row, int64_t block, int64_t rows, int64_t blocks, int words, bool interleaved) {
  return interleaved ? ((block / 2) * rows + row) * 2 * words + (block % 2) * words : (row * blocks + block) * words;
}

// The state of weight t: 12 bits from the bit offset (T-1-t)*k, wrapping to the block's first word.
GR_TRELLIS_FN uint32_t gr_trellis_state(GR_TRELLIS_PTR uint32_t *block, int k, int T, int t) {
  int at = (T - 1 - t) * k;
  int word = at / 32, shift = at % 32;
  uint32_t s = block[word] >> shift;
  if (shift + GR_TRELLIS_STATE_BITS > 32) {
    int next = word + 1 == gr_trellis_block_words(k, T) ? 0 : word + 1;
    s |= block[next] << (32 - shift);
  }
  return s & GR_TRELLIS_STATE_MASK;
}

// The integer code of a state: the sum of the four bytes, -510 to 510 (of 12-bit states -448 to 454). Two masked adds.
GR_TRELLIS_FN int gr_trellis_integer(uint32_t state) {
  uint32_t x = state * GR_TRELLIS_FACTOR + GR_TRELLIS_ADDEND;
  uint32_t pairs = (x & 0x00ff00ffu) + ((x >> 8) & 0x00ff00ffu);
  return (int)((pairs + (pairs >> 16)) & 0xffffu) - GR_TRELLIS_MIDDLE;
}

// The value of an integer code, correctly rounded. Where division is not (a GPU's fast arithmetic), the same bits come from
// q = y*r; fma(fma(-q, d, y), r, q) with r the float nearest to 1/d.
GR_TRELLIS_FN float gr_trellis_value(int integer) { return (float)integer / GR_TRELLIS_DIVISOR; }
