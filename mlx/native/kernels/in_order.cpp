//go:build cgo && mlx

#include "in_order.h"

#if defined(__x86_64__)

#include <immintrin.h>

// Without FMA: a compiler that has it may fuse what must be rounded twice.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c,bmi,bmi2")
#endif

namespace gr {
namespace in_order_ {
namespace {

typedef float vf __attribute__((vector_size(32)));
typedef float vf_mem __attribute__((vector_size(32), aligned(4), may_alias));

#define GR_INLINE inline __attribute__((always_inline))

GR_INLINE vf load(const float *p) { return *(const vf_mem *)p; }
GR_INLINE void store(float *p, vf v) { *(vf_mem *)p = v; }
GR_INLINE vf all(float x) { return vf{x, x, x, x, x, x, x, x}; }

constexpr int kTile = 256; // inputs whose weights are unpacked at a time

struct Room {
  float w[kTile][kPanel];
  uint8_t codes[kPanel][kTile];
  float scales[2][kTile / 32][kPanel]; // and biases, of a tile's groups
};
static_assert(sizeof(Room) <= kInOrderRoom);

// Rounding to a type, of floats.
template <Type T> GR_INLINE vf rounded(vf v) {
  if constexpr (T == Type::f16) return (vf)_mm256_cvtph_ps(_mm256_cvtps_ph((__m256)v, 0));
  if constexpr (T == Type::bf16) { // a NaN stays one: operands have nothing in the lower half
    const __m256i u = (__m256i)v, odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
    return (vf)_mm256_and_si256(up, _mm256_set1_epi32((int)0xffff0000));
  }
  return v;
}

// 8 numbers of a type.
GR_INLINE vf numbers(Type t, const void *p) {
  if (t == Type::f32) return load((const float *)p);
  const __m128i h = _mm_loadu_si128((const __m128i *)p);
  if (t == Type::f16) return (vf)_mm256_cvtph_ps(h);
  return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16);
}

GR_INLINE float number(Type t, const void *p, int64_t i) {
  if (t == Type::f32) return ((const float *)p)[i];
  const uint16_t h = ((const uint16_t *)p)[i];
  if (t == Type::f16) return _cvtsh_ss(h);
  const uint32_t u = (uint32_t)h << 16;
  float x;
  __builtin_memcpy(&x, &u, 4);
  return x;
}

// n codes of N bits as bytes; 32 divides n.
template <int N> void bytes(const uint8_t *p, int n, uint8_t *to) {
  if constexpr (N == 8) {
    __builtin_memcpy(to, p, n);
  } else if constexpr (N == 4) {
    const __m128i low = _mm_set1_epi8(15);
    for (int i = 0; i < n; i += 32, p += 16) {
      const __m128i c = _mm_loadu_si128((const __m128i *)p), even = _mm_and_si128(c, low), odd = _mm_and_si128(_mm_srli_epi16(c, 4), low);
      _mm_storeu_si128((__m128i *)(to + i), _mm_unpacklo_epi8(even, odd));
      _mm_storeu_si128((__m128i *)(to + i + 16), _mm_unpackhi_epi8(even, odd));
    }
  } else {
    for (int i = 0; i < n; i += 8, p += N) {
      uint64_t c = 0;
      __builtin_memcpy(&c, p, N);
      c = _pdep_u64(c, 0x0101010101010101u * ((1u << N) - 1));
      __builtin_memcpy(to + i, &c, 8);
    }
  }
}

// 16 bytes of 16 rows, by columns.
GR_INLINE void transpose(__m128i (&r)[16]) {
  __m128i t[16];
#pragma GCC unroll 4
  for (int step = 0; step < 4; step++) { // four perfect shuffles of the rows
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
      t[2 * i] = _mm_unpacklo_epi8(r[i], r[i + 8]);
      t[2 * i + 1] = _mm_unpackhi_epi8(r[i], r[i + 8]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) r[i] = t[i];
  }
}

// The matrix' rows that a panel holds: the last is repeated behind the matrix' end.
GR_INLINE int64_t row_of(const Affine &w, int64_t first, int i) {
  const int64_t n = first + i;
  return n < w.outputs ? n : w.outputs - 1;
}

// 8 rows of 8 numbers, by columns.
GR_INLINE void transpose(vf (&r)[8]) {
  vf t[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = (vf)_mm256_unpacklo_ps((__m256)r[i], (__m256)r[i + 1]);
    t[i + 1] = (vf)_mm256_unpackhi_ps((__m256)r[i], (__m256)r[i + 1]);
  }
  vf u[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i++) {
    const __m256d a = (__m256d)t[i / 4 * 4 + i % 4 / 2], b = (__m256d)t[i / 4 * 4 + i % 4 / 2 + 2];
    u[i] = i % 2 ? (vf)_mm256_unpackhi_pd(a, b) : (vf)_mm256_unpacklo_pd(a, b);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    r[i] = (vf)_mm256_permute2f128_ps((__m256)u[i], (__m256)u[i + 4], 0x20);
    r[i + 4] = (vf)_mm256_permute2f128_ps((__m256)u[i], (__m256)u[i + 4], 0x31);
  }
}

// Scales and biases of the groups of n inputs from k on, a column for each output.
void scales_of(const Affine &w, int64_t first, int64_t k, int n, Room &room) {
  const int groups = n / w.group;
  const int64_t per_row = w.groups(), size = (int64_t)size_of(w.type);
  const char *from[2] = {(const char *)w.scales, (const char *)w.biases};
  for (int which = 0; which < 2; which++)
    for (int half = 0; half < kPanel; half += 8) {
      vf v[8];
      for (int o = 0; o < 8; o++) {
        const char *p = from[which] + (row_of(w, first, half + o) * per_row + k / w.group) * size;
        alignas(32) char few[32] = {};
        if (groups < 8) __builtin_memcpy(few, p, groups * size), p = few;
        v[o] = numbers(w.type, p);
      }
      transpose(v);
      for (int g = 0; g < groups; g++) store(room.scales[which][g] + half, v[g]);
    }
}

template <int N, Type T> void unpack(const Affine &w, int64_t first, int64_t k, int n, Room &room) {
  scales_of(w, first, k, n, room);
  for (int o = 0; o < kPanel; o++) bytes<N>(w.codes + row_of(w, first, o) * w.row_bytes() + k / 8 * N, n, room.codes[o]);
  for (int i = 0; i < n; i += 16) {
    const float *s = room.scales[0][i / w.group], *b = room.scales[1][i / w.group];
    const vf scale[2] = {load(s), load(s + 8)}, bias[2] = {load(b), load(b + 8)};
    __m128i c[16];
#pragma GCC unroll 16
    for (int o = 0; o < 16; o++) c[o] = _mm_loadu_si128((const __m128i *)(room.codes[o] + i));
    transpose(c);
#pragma GCC unroll 16
    for (int j = 0; j < 16; j++) {
      const vf low = (vf)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(c[j])), high = (vf)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(c[j], 8)));
      store(room.w[i + j], rounded<T>(rounded<T>(scale[0] * low) + bias[0]));
      store(room.w[i + j] + 8, rounded<T>(rounded<T>(scale[1] * high) + bias[1]));
    }
  }
}

// Weights that are numbers.
void widen(const Affine &w, int64_t first, int64_t k, int n, Room &room) {
  const int64_t size = (int64_t)size_of(w.type);
  for (int half = 0; half < kPanel; half += 8) {
    const char *rows[8];
    for (int o = 0; o < 8; o++) rows[o] = (const char *)w.codes + (row_of(w, first, half + o) * w.inputs + k) * size;
    int i = 0;
    for (; i + 8 <= n; i += 8) {
      vf v[8];
#pragma GCC unroll 8
      for (int o = 0; o < 8; o++) v[o] = numbers(w.type, rows[o] + i * size);
      transpose(v);
#pragma GCC unroll 8
      for (int j = 0; j < 8; j++) store(room.w[i + j] + half, v[j]);
    }
    for (; i < n; i++)
      for (int o = 0; o < 8; o++) room.w[i][half + o] = number(w.type, rows[o], i);
  }
}

// Sums of M rows go on with n inputs.
template <Type T, int M> void sum_rows(const Room &room, const float *x, int64_t stride, int n, bool start, float *y) {
  vf sum[M][2];
#pragma GCC unroll 8
  for (int m = 0; m < M; m++) sum[m][0] = start ? all(0) : load(y + m * kPanel), sum[m][1] = start ? all(0) : load(y + m * kPanel + 8);
  for (int k = 0; k < n; k++) {
    const vf low = load(room.w[k]), high = load(room.w[k] + 8);
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) {
      const vf v = all(x[m * stride + k]);
      sum[m][0] = rounded<T>(sum[m][0] + rounded<T>(v * low));
      sum[m][1] = rounded<T>(sum[m][1] + rounded<T>(v * high));
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; m++) store(y + m * kPanel, sum[m][0]), store(y + m * kPanel + 8, sum[m][1]);
}

template <Type T> void panel(const Affine &w, const float *x, int64_t stride, int64_t rows, int64_t first, float *y, Room &room) {
  constexpr int M = T == Type::f32 ? 6 : 3; // rows whose sums stay in registers
  for (int64_t k = 0; k < w.inputs; k += kTile) {
    const int n = (int)(w.inputs - k < kTile ? w.inputs - k : kTile);
    switch (w.bits) {
      case 2: unpack<2, T>(w, first, k, n, room); break;
      case 3: unpack<3, T>(w, first, k, n, room); break;
      case 4: unpack<4, T>(w, first, k, n, room); break;
      case 5: unpack<5, T>(w, first, k, n, room); break;
      case 6: unpack<6, T>(w, first, k, n, room); break;
      case 8: unpack<8, T>(w, first, k, n, room); break;
      default: widen(w, first, k, n, room);
    }
    int64_t r = 0;
    for (; r + M <= rows; r += M) sum_rows<T, M>(room, x + r * stride + k, stride, n, k == 0, y + r * kPanel);
    for (; r < rows; r++) sum_rows<T, 1>(room, x + r * stride + k, stride, n, k == 0, y + r * kPanel);
  }
}

}  // namespace
}  // namespace in_order_

void in_order(Type sums, const Affine &w, const float *x, int64_t x_stride, int64_t rows, int64_t first, float *y, void *room) {
  auto &r = *(in_order_::Room *)room;
  if (w.bits == 16 || sums == Type::f32) return in_order_::panel<Type::f32>(w, x, x_stride, rows, first, y, r);
  if (sums == Type::f16) return in_order_::panel<Type::f16>(w, x, x_stride, rows, first, y, r);
  in_order_::panel<Type::bf16>(w, x, x_stride, rows, first, y, r);
}

}  // namespace gr

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

bool gr::in_order_runs() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
}

#else

bool gr::in_order_runs() { return false; }
void gr::in_order(Type, const Affine &, const float *, int64_t, int64_t, int64_t, float *, void *) {}

#endif
