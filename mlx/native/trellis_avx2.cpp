//go:build cgo && mlx

// The kernels for x86 processors with AVX2 and FMA. Eight weights take k bytes of a block, and their states lie
// within k + 2: one load, a shuffle that gives each lane its three bytes, a shift and a mask make eight states.

#include "trellis_avx2.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "trellis_code.h"
#include "trellis_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define GR_AVX2 __attribute__((target("avx2,fma")))

namespace gr::trellis {

namespace {

struct Decoder {
  __m256i bytes, shifts;
  int k;
};

GR_AVX2 inline void prepare(Decoder &d, int k) {
  alignas(32) int8_t bytes[32];
  alignas(32) int32_t shifts[8];
  for (int i = 0; i < 8; i++) {
    int at = (7 - i) * k;  // bits from the start of the eight: weight i is the later one, so it lies lower
    for (int b = 0; b < 4; b++) bytes[4 * i + b] = static_cast<int8_t>(b < 3 ? at / 8 + b : -1);
    shifts[i] = at % 8;
  }
  d.bytes = _mm256_load_si256(reinterpret_cast<const __m256i *>(bytes));
  d.shifts = _mm256_load_si256(reinterpret_cast<const __m256i *>(shifts));
  d.k = k;
}

// The integer codes of eight weights, as floats.
GR_AVX2 inline __m256 codes(const Decoder &d, const uint8_t *at) {
  __m256i w = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(at)));
  __m256i s = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(w, d.bytes), d.shifts), _mm256_set1_epi32(GR_TRELLIS_STATE_MASK));
  __m256i x = _mm256_add_epi32(_mm256_mullo_epi32(s, _mm256_set1_epi32(GR_TRELLIS_FACTOR)), _mm256_set1_epi32(GR_TRELLIS_ADDEND));
  __m256i pairs = _mm256_maddubs_epi16(x, _mm256_set1_epi8(1));
  __m256i sum = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  return _mm256_cvtepi32_ps(_mm256_sub_epi32(sum, _mm256_set1_epi32(GR_TRELLIS_MIDDLE)));
}

// The windows of a block's first few weights wrap to its first bytes: they are read from a copy of its last sixteen bytes with its first
// sixteen behind them.
struct Turn {
  uint8_t bytes[32];
  Turn(const uint8_t *block, int total) {
    std::memcpy(bytes, block + total - 16, 16);
    std::memcpy(bytes + 16, block, 16);
  }
};

// Gives a block's weights to the sink, eight at a time, in order.
template <class Sink>
GR_AVX2 inline void each(const Decoder &d, const uint32_t *words, int T, Sink &sink) {
  const auto *block = reinterpret_cast<const uint8_t *>(words);
  const int total = T * d.k / 8;
  const Turn turn(block, total);
  int start = total - d.k, t = 0;
  for (; start > total - 16; start -= d.k, t += 8) sink.put(t, codes(d, turn.bytes + (start - (total - 16))));
  for (; start >= d.k; start -= 2 * d.k, t += 16) {
    const __m256 a = codes(d, block + start), b = codes(d, block + start - d.k);
    sink.put(t, a);
    sink.put(t + 8, b);
  }
  if (start >= 0) sink.put(t, codes(d, block + start));
}

// The same of two rows' blocks at once: what they are multiplied with is read once, and their sums do not wait for one another.
template <class Sink>
GR_AVX2 inline void each_of_two(const Decoder &d, const uint32_t *first, const uint32_t *second, int T, Sink &sink) {
  const auto *one = reinterpret_cast<const uint8_t *>(first), *two = reinterpret_cast<const uint8_t *>(second);
  const int total = T * d.k / 8;
  const Turn turn_one(one, total), turn_two(two, total);
  int start = total - d.k, t = 0;
  for (; start > total - 16; start -= d.k, t += 8) sink.put(t, codes(d, turn_one.bytes + (start - (total - 16))), codes(d, turn_two.bytes + (start - (total - 16))));
  for (; start >= 0; start -= d.k, t += 8) sink.put(t, codes(d, one + start), codes(d, two + start));
}

GR_AVX2 inline float total(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

template <int M>
struct Dot {
  __m256 sums[M][2];
  const float *x;
  int64_t stride;
  GR_AVX2 inline void put(int t, __m256 y, __m256 z) {
    for (int m = 0; m < M; m++) {
      const __m256 v = _mm256_loadu_ps(x + m * stride + t);
      sums[m][0] = _mm256_fmadd_ps(y, v, sums[m][0]);
      sums[m][1] = _mm256_fmadd_ps(z, v, sums[m][1]);
    }
  }
};

template <int M>
GR_AVX2 void reduce_rows(const Coded &w, const float *x, int64_t first, int64_t last, float *y, int64_t stride) {
  Decoder d;
  prepare(d, w.k);
  for (int64_t r = first; r < last; r += 2) {
    const int64_t second = std::min(r + 1, last - 1); // the last row once more where it has no neighbour
    Dot<M> dot;
    for (auto &m : dot.sums) m[0] = m[1] = _mm256_setzero_ps();
    dot.stride = w.columns;
    for (int64_t b = 0; b < w.blocks(); b++) {
      dot.x = x + b * w.T;
      each_of_two(d, w.block(r, b), w.block(second, b), w.T, dot);
    }
    for (int m = 0; m < M; m++) {
      y[m * stride + (r - first)] = total(dot.sums[m][0]) * w.factor(r);
      y[m * stride + (second - first)] = total(dot.sums[m][1]) * w.factor(second);
    }
  }
}

void reduce(const Coded &w, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride) {
  constexpr decltype(&reduce_rows<1>) of[] = {reduce_rows<1>, reduce_rows<2>, reduce_rows<3>, reduce_rows<4>};
  of[M - 1](w, x, first, last, y, stride);
}

template <int M>
struct Sum {
  __m256 at[M][2];
  float *sum;
  int T;
  GR_AVX2 inline void put(int t, __m256 y, __m256 z) {
    for (int m = 0; m < M; m++) {
      float *s = sum + m * T + t;
      _mm256_storeu_ps(s, _mm256_fmadd_ps(z, at[m][1], _mm256_fmadd_ps(y, at[m][0], _mm256_loadu_ps(s))));
    }
  }
};

template <int M>
GR_AVX2 void scatter_rows(const Coded &w, const float *x, int64_t block, int64_t first, int64_t last, float *sum) {
  Decoder d;
  prepare(d, w.k);
  Sum<M> s;
  s.sum = sum;
  s.T = w.T;
  for (int64_t r = first; r < last; r += 2) {
    const bool pair = r + 1 < last; // else the last row once more, times zero
    const float one = w.factor(r), two = pair ? w.factor(r + 1) : 0;
    for (int m = 0; m < M; m++) {
      s.at[m][0] = _mm256_set1_ps(x[m * w.rows + r] * one);
      s.at[m][1] = _mm256_set1_ps(pair ? x[m * w.rows + r + 1] * two : 0);
    }
    each_of_two(d, w.block(r, block), w.block(r + pair, block), w.T, s);
  }
}

void scatter(const Coded &w, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum) {
  constexpr decltype(&scatter_rows<1>) of[] = {scatter_rows<1>, scatter_rows<2>, scatter_rows<3>, scatter_rows<4>};
  of[M - 1](w, x, block, first, last, sum);
}

template <Weights kind>
struct Store {
  __m256 scale;
  float *out;
  GR_AVX2 inline void put(int t, __m256 y) {
    if constexpr (kind != Weights::codes) {
      const __m256 divisor = _mm256_set1_ps(GR_TRELLIS_DIVISOR), r = _mm256_set1_ps(1.0f / GR_TRELLIS_DIVISOR);
      __m256 q = _mm256_mul_ps(y, r);  // correctly rounded by the step after it (trellis_code.h)
      y = _mm256_mul_ps(_mm256_fmadd_ps(_mm256_fnmadd_ps(q, divisor, y), r, q), scale);
    }
    if constexpr (kind == Weights::bfloat16) {
      __m256i u = _mm256_castps_si256(y);
      __m256i tie = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
      u = _mm256_add_epi32(u, _mm256_add_epi32(tie, _mm256_set1_epi32(0x7fff)));
      y = _mm256_castsi256_ps(_mm256_and_si256(u, _mm256_set1_epi32(static_cast<int>(0xffff0000))));
    }
    _mm256_storeu_ps(out + t, y);
  }
};

template <Weights kind>
GR_AVX2 inline void decode_with(const Coded &w, const Decoder &d, int64_t row, int64_t block, float *out) {
  Store<kind> s;
  s.scale = _mm256_set1_ps(w.scale(row));
  s.out = out;
  each(d, w.block(row, block), w.T, s);
}

template <Weights kind>
GR_AVX2 void decode_as(const Coded &w, int64_t row, int64_t block, float *out) {
  Decoder d;
  prepare(d, w.k);
  decode_with<kind>(w, d, row, block, out);
}

void decode(const Coded &w, Weights kind, int64_t row, int64_t block, float *out) {
  constexpr decltype(&decode_as<Weights::codes>) as[] = {decode_as<Weights::codes>, decode_as<Weights::float32>, decode_as<Weights::bfloat16>};
  as[(int)kind](w, row, block, out);
}

constexpr int tile = 4;  // rows of weights that share the loads of x

// sums [N rows of x][tile][8] += the products of N rows of x with tile rows of weights over one block.
template <int N>
GR_AVX2 inline void dots(const float *weights, const float *x, int64_t stride, int T, float *sums) {
  __m256 s[N][tile];
  for (int n = 0; n < N; n++)
    for (int i = 0; i < tile; i++) s[n][i] = _mm256_loadu_ps(sums + (n * tile + i) * 8);
  for (int t = 0; t < T; t += 8) {
    __m256 v[N];
    for (int n = 0; n < N; n++) v[n] = _mm256_loadu_ps(x + n * stride + t);
    for (int i = 0; i < tile; i++) {
      __m256 w = _mm256_loadu_ps(weights + i * T + t);
      for (int n = 0; n < N; n++) s[n][i] = _mm256_fmadd_ps(w, v[n], s[n][i]);
    }
  }
  for (int n = 0; n < N; n++)
    for (int i = 0; i < tile; i++) _mm256_storeu_ps(sums + (n * tile + i) * 8, s[n][i]);
}

template <Weights kind>
GR_AVX2 void reduce_tile_as(const Coded &w, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride) {
  Decoder d;
  prepare(d, w.k);
  alignas(32) float weights[tile * 1024];
  std::vector<float> sums(static_cast<size_t>(M) * tile * 8);
  for (int64_t r = first; r < last; r += tile) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int64_t b = 0; b < w.blocks(); b++) {
      for (int i = 0; i < tile; i++) decode_with<kind>(w, d, std::min(r + i, last - 1), b, weights + i * w.T);
      const float *from = x + b * w.T;
      int m = 0;
      for (; m + 2 <= M; m += 2) dots<2>(weights, from + m * w.columns, w.columns, w.T, sums.data() + m * tile * 8);
      if (m < M) dots<1>(weights, from + m * w.columns, w.columns, w.T, sums.data() + m * tile * 8);
    }
    for (int i = 0; i < tile && r + i < last; i++) {
      float factor = kind == Weights::codes ? w.factor(r + i) : 1.0f;
      for (int m = 0; m < M; m++) y[m * stride + (r + i - first)] = total(_mm256_loadu_ps(sums.data() + (m * tile + i) * 8)) * factor;
    }
  }
}

void reduce_tile(const Coded &w, Weights kind, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride) {
  constexpr decltype(&reduce_tile_as<Weights::codes>) as[] = {reduce_tile_as<Weights::codes>, reduce_tile_as<Weights::float32>, reduce_tile_as<Weights::bfloat16>};
  as[(int)kind](w, x, M, first, last, y, stride);
}

constexpr int held = 4096;  // decoded weights that scatter_tile keeps

// sum [N, T] at 16 columns += x [N, stride] times n rows of weights.
template <int N>
GR_AVX2 inline void sums16(const float *weights, int n, int T, const float *x, int stride, float *sum) {
  __m256 s[N][2];
  for (int m = 0; m < N; m++) s[m][0] = _mm256_loadu_ps(sum + m * T), s[m][1] = _mm256_loadu_ps(sum + m * T + 8);
  for (int i = 0; i < n; i++) {
    __m256 a = _mm256_loadu_ps(weights + i * T), b = _mm256_loadu_ps(weights + i * T + 8);
    for (int m = 0; m < N; m++) {
      __m256 at = _mm256_set1_ps(x[m * stride + i]);
      s[m][0] = _mm256_fmadd_ps(a, at, s[m][0]);
      s[m][1] = _mm256_fmadd_ps(b, at, s[m][1]);
    }
  }
  for (int m = 0; m < N; m++) _mm256_storeu_ps(sum + m * T, s[m][0]), _mm256_storeu_ps(sum + m * T + 8, s[m][1]);
}

template <Weights kind>
GR_AVX2 void scatter_tile_as(const Coded &w, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum) {
  Decoder d;
  prepare(d, w.k);
  alignas(32) float weights[held];
  int step = held / w.T;
  std::vector<float> at(static_cast<size_t>(M) * step);
  for (int64_t r = first; r < last; r += step) {
    int n = static_cast<int>(std::min<int64_t>(step, last - r));
    for (int i = 0; i < n; i++) {
      decode_with<kind>(w, d, r + i, block, weights + i * w.T);
      float factor = kind == Weights::codes ? w.factor(r + i) : 1.0f;
      for (int m = 0; m < M; m++) at[m * step + i] = x[m * w.rows + r + i] * factor;
    }
    for (int c = 0; c < w.T; c += 16) {
      int m = 0;
      for (; m + 4 <= M; m += 4) sums16<4>(weights + c, n, w.T, at.data() + m * step, step, sum + m * w.T + c);
      for (; m < M; m++) sums16<1>(weights + c, n, w.T, at.data() + m * step, step, sum + m * w.T + c);
    }
  }
}

void scatter_tile(const Coded &w, Weights kind, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum) {
  constexpr decltype(&scatter_tile_as<Weights::codes>) as[] = {scatter_tile_as<Weights::codes>, scatter_tile_as<Weights::float32>, scatter_tile_as<Weights::bfloat16>};
  as[(int)kind](w, x, M, block, first, last, sum);
}

const Kernels kernels = {"avx2", decode, reduce, scatter, reduce_tile, scatter_tile};

}  // namespace

const Kernels *avx2() {
  static const bool have = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return have ? &kernels : nullptr;
}

}  // namespace gr::trellis

#else

namespace gr::trellis {

const Kernels *avx2() { return nullptr; }

}  // namespace gr::trellis

#endif
