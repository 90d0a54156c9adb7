//go:build cgo && mlx

// The kernels for x86 processors with AVX2, FMA and F16C. Sixteen weights take 2k bytes of a block, and their states lie
// within 2k + 2: one load and a shuffle give each lane the bytes of its state.

#include "trellis_avx2.h"

#include <algorithm>
#include <vector>

#include "trellis_code.h"
#include "trellis_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define GR_AVX2 __attribute__((target("avx2,fma,f16c")))
#define GR_AVX2_INLINE GR_AVX2 __attribute__((always_inline)) inline

namespace gr::trellis {

namespace {

// The integer codes of sixteen weights, as floats: weights 0 to 7, 8 to 15.
struct Sixteen {
  __m256 a, b;
};

// States of 2 and 3 bits in lanes of 32 bits: one shuffle takes the three bytes of each, a shift and a mask the state.
template <int k>
struct Lanes {
  alignas(32) int8_t bytes[2][32];
  alignas(32) int32_t shifts[8];
  constexpr Lanes() : bytes(), shifts() {
    for (int i = 0; i < 8; i++) {
      const int at = (7 - i) * k;  // bits from the start of the eight: weight i is the later one, so it lies lower
      for (int h = 0; h < 2; h++)
        for (int b = 0; b < 4; b++) bytes[h][4 * i + b] = static_cast<int8_t>(b < 3 ? at / 8 + b + (h == 0 ? k : 0) : -1);
      shifts[i] = at % 8;
    }
  }
};

template <int k>
constexpr Lanes<k> lanes;

inline const __m256i &vector_at(const void *p) { return *static_cast<const __m256i *>(p); }

// From the states in the lanes.
GR_AVX2_INLINE __m256 value(__m256i states) {
  const __m256i x = _mm256_add_epi32(_mm256_mullo_epi32(states, _mm256_set1_epi32(GR_TRELLIS_FACTOR)), _mm256_set1_epi32(GR_TRELLIS_ADDEND));
  const __m256i sum = _mm256_madd_epi16(_mm256_maddubs_epi16(x, _mm256_set1_epi8(1)), _mm256_set1_epi16(1));
  return _mm256_cvtepi32_ps(_mm256_sub_epi32(sum, _mm256_set1_epi32(GR_TRELLIS_MIDDLE)));
}

// Of 4 bits, a state begins at the start or in the middle of a byte: two bytes hold it, and lanes of 16 bits do for all
// sixteen. The product s * F + A of 32 bits is (s + c) * F + (H << 16) for the c that gives A's lower half, so that its
// upper half is made without a carry.
struct Halves {
  alignas(32) int8_t bytes[32];
  alignas(32) int16_t left[16];  // 16 where the state is to be moved up, so that all end at the upper end
  constexpr Halves() : bytes(), left() {
    for (int lane = 0; lane < 16; lane++) {
      const int weight = lane % 8 < 4 ? lane / 8 * 4 + lane % 4 : 8 + lane / 8 * 4 + lane % 4;  // what interleaving puts in order
      const int at = (15 - weight) * 4;
      for (int b = 0; b < 2; b++) bytes[2 * lane + b] = static_cast<int8_t>(at / 8 + b);
      left[lane] = at % 8 == 0 ? 16 : 1;
    }
  }
};

constexpr Halves halves;

constexpr uint32_t kFactorLow = GR_TRELLIS_FACTOR & 0xffff, kFactorHigh = GR_TRELLIS_FACTOR >> 16;
constexpr uint32_t kBefore = 10586;                                                  // c
constexpr uint32_t kAfter = GR_TRELLIS_ADDEND - kBefore * GR_TRELLIS_FACTOR;  // H << 16
static_assert((kAfter & 0xffff) == 0 && kBefore + GR_TRELLIS_STATES < 1 << 15 && kFactorLow < 1 << 15);

template <int k>
GR_AVX2_INLINE Sixteen sixteen(__m128i loaded) {
  const __m256i w = _mm256_broadcastsi128_si256(loaded);
  if constexpr (k == 4) {
    const __m256i up = _mm256_mullo_epi16(_mm256_shuffle_epi8(w, vector_at(halves.bytes)), vector_at(halves.left));
    const __m256i s = _mm256_add_epi16(_mm256_srli_epi16(up, 4), _mm256_set1_epi16(kBefore));
    __m256i factor = _mm256_set1_epi16(kFactorHigh);
    __asm__("" : "+x"(factor));  // else GCC makes four shifts and sums of this product
    const __m256i low = _mm256_mullo_epi16(s, _mm256_set1_epi16(kFactorLow));
    const __m256i high = _mm256_add_epi16(_mm256_mulhi_epi16(s, _mm256_set1_epi16(kFactorLow)),
                                          _mm256_add_epi16(_mm256_mullo_epi16(s, factor), _mm256_set1_epi16(kAfter >> 16)));
    const __m256i ones = _mm256_set1_epi8(1);
    const __m256i sum = _mm256_add_epi16(_mm256_maddubs_epi16(low, ones), _mm256_maddubs_epi16(high, ones));
    // 0x4b000000 are the bits of 2^23, below which a float's last place is 1.
    const __m256i upper = _mm256_set1_epi16(0x4b00);
    const __m256 middle = _mm256_set1_ps(0x1p23f + GR_TRELLIS_MIDDLE);
    return {_mm256_sub_ps(_mm256_castsi256_ps(_mm256_unpacklo_epi16(sum, upper)), middle), _mm256_sub_ps(_mm256_castsi256_ps(_mm256_unpackhi_epi16(sum, upper)), middle)};
  } else {
    const __m256i shifts = vector_at(lanes<k>.shifts), mask = _mm256_set1_epi32(GR_TRELLIS_STATE_MASK);
    return {value(_mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(w, vector_at(lanes<k>.bytes[0])), shifts), mask)),
            value(_mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(w, vector_at(lanes<k>.bytes[1])), shifts), mask))};
  }
}

GR_AVX2_INLINE __m128i load16(const uint8_t *p) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p)); }

// The windows of a block's first weights end in its last bytes and wrap to its first: 16 bytes from `from` on of the last
// sixteen with the first sixteen behind them.
template <int from>
GR_AVX2_INLINE __m128i turned(const uint8_t *block, int total) {
  return _mm_alignr_epi8(load16(block), load16(block + total - 16), from);
}

// Calls f(t, load) for each sixteen weights of a block from t on; load(block) gives the bytes that hold their states.
template <int k, class F>
GR_AVX2_INLINE void each_sixteen(int T, F &&f) {
  constexpr int step = 2 * k;
  const int total = T / 8 * k;
  f(0, [total](const uint8_t *b) GR_AVX2 { return turned<16 - step>(b, total); });
  if constexpr (16 - 2 * step > 0) f(16, [total](const uint8_t *b) GR_AVX2 { return turned<16 - 2 * step>(b, total); });
  if constexpr (16 - 3 * step > 0) f(32, [total](const uint8_t *b) GR_AVX2 { return turned<16 - 3 * step>(b, total); });
  constexpr int first = 15 / step;
  int t = 16 * first;
  for (int start = total - (first + 1) * step; start >= 0; start -= step, t += 16) f(t, [start](const uint8_t *b) GR_AVX2 { return load16(b + start); });
}

inline const uint8_t *bytes_of(const uint32_t *words) { return reinterpret_cast<const uint8_t *>(words); }

// Asks for a block that is needed soon: blocks of one column of them lie apart, where no prefetcher of the hardware looks.
inline void prefetch(const uint32_t *words, int bytes) {
  for (int i = 0; i < bytes; i += 64) __builtin_prefetch(bytes_of(words) + i);
}

GR_AVX2_INLINE float scale_of(const Coded &w, int64_t row) { return _cvtsh_ss(w.scales[row]); }
GR_AVX2_INLINE float factor_of(const Coded &w, int64_t row) { return scale_of(w, row) * (1.0f / GR_TRELLIS_DIVISOR); }

GR_AVX2_INLINE float total(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

// Two rows at once: what they are multiplied with is read once, and their sums do not wait for one another.
template <int k, int M>
GR_AVX2 void reduce_rows(const Coded &w, const float *x, int64_t first, int64_t last, float *y, int64_t stride) {
  const Places place(w);
  const int64_t blocks = w.blocks(), columns = w.columns;
  const int T = w.T, bytes = T / 8 * k;
  for (int64_t r = first; r < last; r += 2) {
    const int64_t second = std::min(r + 1, last - 1);  // the last row once more where it has no neighbour
    const int64_t soon = std::min(r + 2, last - 1), sooner = std::min(r + 3, last - 1);
    __m256 one[M], two[M];
#pragma GCC unroll 4
    for (int m = 0; m < M; m++) one[m] = two[m] = _mm256_setzero_ps();
    for (int64_t b = 0; b < blocks; b++) {
      const uint8_t *codes = bytes_of(place(r, b)), *others = bytes_of(place(second, b));
      prefetch(place(soon, b), bytes), prefetch(place(sooner, b), bytes);
      const float *at = x + b * T;
      each_sixteen<k>(T, [&](int t, auto &&load) GR_AVX2 {
        const Sixteen u = sixteen<k>(load(codes)), v = sixteen<k>(load(others));
#pragma GCC unroll 4
        for (int m = 0; m < M; m++) {
          const __m256 p = _mm256_loadu_ps(at + m * columns + t), q = _mm256_loadu_ps(at + m * columns + t + 8);
          one[m] = _mm256_fmadd_ps(u.b, q, _mm256_fmadd_ps(u.a, p, one[m]));
          two[m] = _mm256_fmadd_ps(v.b, q, _mm256_fmadd_ps(v.a, p, two[m]));
        }
      });
    }
    const float f = factor_of(w, r), g = factor_of(w, second);
#pragma GCC unroll 4
    for (int m = 0; m < M; m++) {
      y[m * stride + (r - first)] = total(one[m]) * f;
      y[m * stride + (second - first)] = total(two[m]) * g;
    }
  }
}

template <int k, int M>
GR_AVX2 void scatter_rows(const Coded &w, const float *x, int64_t block, int64_t first, int64_t last, float *sum) {
  constexpr int64_t ahead = 16;  // rows
  const Places place(w);
  const int T = w.T, bytes = T / 8 * k;
  for (int64_t r = first; r < last; r += 2) {
    const bool pair = r + 1 < last;  // else the last row once more, times zero
    const uint8_t *codes = bytes_of(place(r, block)), *others = bytes_of(place(r + pair, block));
    prefetch(place(std::min(r + ahead, last - 1), block), bytes), prefetch(place(std::min(r + 1 + ahead, last - 1), block), bytes);
    const float f = factor_of(w, r), g = pair ? factor_of(w, r + 1) : 0;
    __m256 one[M], two[M];
#pragma GCC unroll 4
    for (int m = 0; m < M; m++) {
      one[m] = _mm256_set1_ps(x[m * w.rows + r] * f);
      two[m] = _mm256_set1_ps(pair ? x[m * w.rows + r + 1] * g : 0);
    }
    each_sixteen<k>(T, [&](int t, auto &&load) GR_AVX2 {
      const Sixteen u = sixteen<k>(load(codes)), v = sixteen<k>(load(others));
#pragma GCC unroll 4
      for (int m = 0; m < M; m++) {
        float *s = sum + m * T + t;
        _mm256_storeu_ps(s, _mm256_fmadd_ps(v.a, two[m], _mm256_fmadd_ps(u.a, one[m], _mm256_loadu_ps(s))));
        _mm256_storeu_ps(s + 8, _mm256_fmadd_ps(v.b, two[m], _mm256_fmadd_ps(u.b, one[m], _mm256_loadu_ps(s + 8))));
      }
    });
  }
}

template <int k>
void reduce_of(const Coded &w, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride) {
  constexpr decltype(&reduce_rows<k, 1>) of[] = {reduce_rows<k, 1>, reduce_rows<k, 2>, reduce_rows<k, 3>, reduce_rows<k, 4>};
  of[M - 1](w, x, first, last, y, stride);
}

template <int k>
void scatter_of(const Coded &w, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum) {
  constexpr decltype(&scatter_rows<k, 1>) of[] = {scatter_rows<k, 1>, scatter_rows<k, 2>, scatter_rows<k, 3>, scatter_rows<k, 4>};
  of[M - 1](w, x, block, first, last, sum);
}

void reduce(const Coded &w, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride) {
  constexpr decltype(&reduce_of<2>) of[] = {reduce_of<2>, reduce_of<3>, reduce_of<4>};
  of[w.k - 2](w, x, M, first, last, y, stride);
}

void scatter(const Coded &w, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum) {
  constexpr decltype(&scatter_of<2>) of[] = {scatter_of<2>, scatter_of<3>, scatter_of<4>};
  of[w.k - 2](w, x, M, block, first, last, sum);
}

template <Weights kind>
GR_AVX2_INLINE __m256 weights_of(__m256 y, __m256 scale) {
  // y / divisor, correctly rounded: for every integer code the product with the reciprocal in two floats gives its bits.
  constexpr float r = 1.0f / GR_TRELLIS_DIVISOR, rest = static_cast<float>(1.0 / GR_TRELLIS_DIVISOR - r);
  if constexpr (kind != Weights::codes) y = _mm256_mul_ps(_mm256_fmadd_ps(y, _mm256_set1_ps(r), _mm256_mul_ps(y, _mm256_set1_ps(rest))), scale);
  if constexpr (kind == Weights::bfloat16) {
    // Veltkamp's splitting: the upper eight bits, rounded to nearest and, of these eight, ties to even. Not to be fused.
    __m256 far = _mm256_mul_ps(y, _mm256_set1_ps(0x1p16f + 1));
    __asm__("" : "+x"(far));
    y = _mm256_add_ps(far, _mm256_sub_ps(y, far));
  }
  return y;
}

template <int k, Weights kind>
GR_AVX2_INLINE void decode_block(const uint32_t *words, float scale, int T, float *out) {
  const __m256 s = _mm256_set1_ps(scale);
  each_sixteen<k>(T, [&](int t, auto &&load) GR_AVX2 {
    const Sixteen u = sixteen<k>(load(bytes_of(words)));
    _mm256_storeu_ps(out + t, weights_of<kind>(u.a, s));
    _mm256_storeu_ps(out + t + 8, weights_of<kind>(u.b, s));
  });
}

template <int k, Weights kind>
GR_AVX2 void decode_as(const Coded &w, int64_t row, int64_t block, float *out) {
  decode_block<k, kind>(Places(w)(row, block), scale_of(w, row), w.T, out);
}

// So many of `left` rows of x at once, at most `most`, that the parts are alike.
inline int part(int left, int most) {
  const int parts = (left + most - 1) / most;
  return (left + parts - 1) / parts;
}

constexpr int tile = 4;  // rows of weights that share the loads of x

// sums [N rows of x][tile][8] += the products of N rows of x with tile rows of weights over one block.
template <int N>
GR_AVX2 void dots(const float *weights, const float *x, int64_t stride, int T, float *sums) {
  __m256 s[N][tile];
#pragma GCC unroll 4
  for (int n = 0; n < N; n++)
#pragma GCC unroll 4
    for (int i = 0; i < tile; i++) s[n][i] = _mm256_loadu_ps(sums + (n * tile + i) * 8);
  for (int t = 0; t < T; t += 8) {
    __m256 v[N];
#pragma GCC unroll 4
    for (int n = 0; n < N; n++) v[n] = _mm256_loadu_ps(x + n * stride + t);
#pragma GCC unroll 4
    for (int i = 0; i < tile; i++) {
      const __m256 w = _mm256_loadu_ps(weights + i * T + t);
#pragma GCC unroll 4
      for (int n = 0; n < N; n++) s[n][i] = _mm256_fmadd_ps(w, v[n], s[n][i]);
    }
  }
#pragma GCC unroll 4
  for (int n = 0; n < N; n++)
#pragma GCC unroll 4
    for (int i = 0; i < tile; i++) _mm256_storeu_ps(sums + (n * tile + i) * 8, s[n][i]);
}

template <int k, Weights kind>
GR_AVX2 void reduce_tile_as(const Coded &w, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride) {
  const Places place(w);
  const int64_t blocks = w.blocks();
  const int T = w.T, bytes = T / 8 * k;
  alignas(32) float weights[tile * 1024];
  std::vector<float> sums(static_cast<size_t>(M) * tile * 8);
  for (int64_t r = first; r < last; r += tile) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int64_t b = 0; b < blocks; b++) {
      for (int i = 0; i < tile; i++) {
        const int64_t row = std::min(r + i, last - 1);
        prefetch(place(std::min(row + tile, last - 1), b), bytes);
        decode_block<k, kind>(place(row, b), scale_of(w, row), T, weights + i * T);
      }
      for (int m = 0, n = 0; m < M; m += n) {
        n = part(M - m, 3);
        constexpr decltype(&dots<1>) of[] = {dots<1>, dots<2>, dots<3>};
        of[n - 1](weights, x + m * w.columns + b * T, w.columns, T, sums.data() + m * tile * 8);
      }
    }
    for (int i = 0; i < tile && r + i < last; i++) {
      const float factor = kind == Weights::codes ? factor_of(w, r + i) : 1.0f;
      for (int m = 0; m < M; m++) y[m * stride + (r + i - first)] = total(_mm256_loadu_ps(sums.data() + (m * tile + i) * 8)) * factor;
    }
  }
}

constexpr int held = 4096;  // decoded weights that scatter_tile keeps

// sum [N, T] += x [N, stride] times n rows of weights, 16 columns at a time.
template <int N>
GR_AVX2 void sums_of(const float *weights, int n, int T, const float *x, int stride, float *sum) {
  for (int c = 0; c < T; c += 16, weights += 16, sum += 16) {
    __m256 s[N][2];
#pragma GCC unroll 6
    for (int m = 0; m < N; m++) s[m][0] = _mm256_loadu_ps(sum + m * T), s[m][1] = _mm256_loadu_ps(sum + m * T + 8);
    for (int i = 0; i < n; i++) {
      const __m256 a = _mm256_loadu_ps(weights + i * T), b = _mm256_loadu_ps(weights + i * T + 8);
#pragma GCC unroll 6
      for (int m = 0; m < N; m++) {
        const __m256 at = _mm256_set1_ps(x[m * stride + i]);
        s[m][0] = _mm256_fmadd_ps(a, at, s[m][0]);
        s[m][1] = _mm256_fmadd_ps(b, at, s[m][1]);
      }
    }
#pragma GCC unroll 6
    for (int m = 0; m < N; m++) _mm256_storeu_ps(sum + m * T, s[m][0]), _mm256_storeu_ps(sum + m * T + 8, s[m][1]);
  }
}

template <int k, Weights kind>
GR_AVX2 void scatter_tile_as(const Coded &w, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum) {
  const Places place(w);
  const int T = w.T, bytes = T / 8 * k, step = held / T;
  alignas(32) float weights[held];
  std::vector<float> at(static_cast<size_t>(M) * step);
  for (int64_t r = first; r < last; r += step) {
    const int n = static_cast<int>(std::min<int64_t>(step, last - r));
    for (int i = 0; i < n; i++) {
      prefetch(place(std::min(r + i + step, last - 1), block), bytes);
      decode_block<k, kind>(place(r + i, block), scale_of(w, r + i), T, weights + i * T);
      const float factor = kind == Weights::codes ? factor_of(w, r + i) : 1.0f;
      for (int m = 0; m < M; m++) at[m * step + i] = x[m * w.rows + r + i] * factor;
    }
    for (int m = 0, c = 0; m < M; m += c) {
      c = part(M - m, 6);
      constexpr decltype(&sums_of<1>) of[] = {sums_of<1>, sums_of<2>, sums_of<3>, sums_of<4>, sums_of<5>, sums_of<6>};
      of[c - 1](weights, n, T, at.data() + m * step, step, sum + m * T);
    }
  }
}

// The function of a width and a kind of weights.
#define GR_TRELLIS_OF(f)                                                                                  \
  {                                                                                                       \
    {f<2, Weights::codes>, f<2, Weights::float32>, f<2, Weights::bfloat16>},                              \
        {f<3, Weights::codes>, f<3, Weights::float32>, f<3, Weights::bfloat16>}, {                        \
      f<4, Weights::codes>, f<4, Weights::float32>, f<4, Weights::bfloat16>                               \
    }                                                                                                     \
  }

void decode(const Coded &w, Weights kind, int64_t row, int64_t block, float *out) {
  constexpr decltype(&decode_as<2, Weights::codes>) of[3][3] = GR_TRELLIS_OF(decode_as);
  of[w.k - 2][(int)kind](w, row, block, out);
}

void reduce_tile(const Coded &w, Weights kind, const float *x, int M, int64_t first, int64_t last, float *y, int64_t stride) {
  constexpr decltype(&reduce_tile_as<2, Weights::codes>) of[3][3] = GR_TRELLIS_OF(reduce_tile_as);
  of[w.k - 2][(int)kind](w, x, M, first, last, y, stride);
}

void scatter_tile(const Coded &w, Weights kind, const float *x, int M, int64_t block, int64_t first, int64_t last, float *sum) {
  constexpr decltype(&scatter_tile_as<2, Weights::codes>) of[3][3] = GR_TRELLIS_OF(scatter_tile_as);
  of[w.k - 2][(int)kind](w, x, M, block, first, last, sum);
}

#undef GR_TRELLIS_OF

const Kernels kernels = {"avx2", decode, reduce, scatter, reduce_tile, scatter_tile};

}  // namespace

const Kernels *avx2() {
  static const bool have = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  return have ? &kernels : nullptr;
}

}  // namespace gr::trellis

#else

namespace gr::trellis {

const Kernels *avx2() { return nullptr; }

}  // namespace gr::trellis

#endif
