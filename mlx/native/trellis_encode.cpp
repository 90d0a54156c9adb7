//go:build cgo && mlx

// The choice of trellis codes: the Viterbi algorithm over the 2^(L-k) values that two neighbouring states share, in two
// passes for a ring. The costs of all steps are kept, so the way back needs no pointers: it asks each step again for its
// best predecessor. Sums and products are rounded one by one (no fused multiply-add), so the plain and the vector code
// choose the same codes on every machine.

#include "trellis_encode.h"

#include <new>
#include <vector>

#include "trellis_code.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define GR_AVX2 __attribute__((target("avx2")))
#endif

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("O3", "fp-contract=off")
#endif

namespace {

struct Values {
  alignas(32) float of[GR_TRELLIS_STATES];
  Values() {
    for (uint32_t s = 0; s < GR_TRELLIS_STATES; s++) of[s] = gr_trellis_value(gr_trellis_integer(s));
  }
};

const float *values() {
  static const Values v;
  return v.of;
}

constexpr int edges(int k) { return GR_TRELLIS_STATES >> k; }

// One step: next[e] = min over g of prev[(g*E + e) >> k] + (value[g*E + e] - x)^2. The edges e = b*2^k + i of one b have
// the same predecessors.
template <int K>
void step_plain(const float *prev, float x, const float *value, float *next) {
  constexpr int E = edges(K), G = 1 << K, S = E >> K;
  for (int b = 0; b < S; b++) {
    float best[G];
    for (int i = 0; i < G; i++) best[i] = 3e38f;
    for (int g = 0; g < G; g++) {
      float p = prev[g * S + b];
      const float *v = value + g * E + b * G;
      for (int i = 0; i < G; i++) {
        float d = v[i] - x;
        float c = p + d * d;
        best[i] = c < best[i] ? c : best[i];
      }
    }
    for (int i = 0; i < G; i++) next[b * G + i] = best[i];
  }
}

#ifdef GR_AVX2
GR_AVX2 inline __m256 cost(__m256 p, const float *v, __m256 x) {
  __m256 d = _mm256_sub_ps(_mm256_load_ps(v), x);
  return _mm256_add_ps(p, _mm256_mul_ps(d, d));
}

template <int K>
GR_AVX2 void step_avx2(const float *prev, float at, const float *value, float *next) {
  constexpr int E = edges(K), G = 1 << K, S = E >> K;
  __m256 x = _mm256_set1_ps(at);
  if constexpr (K == 4) {
    for (int b = 0; b < S; b++) {
      __m256 p = _mm256_set1_ps(prev[b]);
      __m256 lo = cost(p, value + b * G, x), hi = cost(p, value + b * G + 8, x);
      for (int g = 1; g < G; g++) {
        p = _mm256_set1_ps(prev[g * S + b]);
        lo = _mm256_min_ps(lo, cost(p, value + g * E + b * G, x));
        hi = _mm256_min_ps(hi, cost(p, value + g * E + b * G + 8, x));
      }
      _mm256_store_ps(next + b * G, lo);
      _mm256_store_ps(next + b * G + 8, hi);
    }
  } else if constexpr (K == 3) {
    for (int b = 0; b < S; b++) {
      __m256 best = cost(_mm256_set1_ps(prev[b]), value + b * G, x);
      for (int g = 1; g < G; g++) best = _mm256_min_ps(best, cost(_mm256_set1_ps(prev[g * S + b]), value + g * E + b * G, x));
      _mm256_store_ps(next + b * G, best);
    }
  } else {
    static_assert(K == 2);
    const __m256i pairs = _mm256_set_epi32(1, 1, 1, 1, 0, 0, 0, 0);
    for (int b = 0; b < S; b += 2) {
      __m256 best = {};
      for (int g = 0; g < G; g++) {
        __m256 two = _mm256_castpd_ps(_mm256_broadcast_sd(reinterpret_cast<const double *>(prev + g * S + b)));
        __m256 c = cost(_mm256_permutevar8x32_ps(two, pairs), value + g * E + b * G, x);
        best = g == 0 ? c : _mm256_min_ps(best, c);
      }
      _mm256_store_ps(next + b * G, best);
    }
  }
}
#endif

using Step = void (*)(const float *, float, const float *, float *);

template <int K>
Step step_of(bool plain) {
#ifdef GR_AVX2
  if (!plain && __builtin_cpu_supports("avx2")) return step_avx2<K>;
#endif
  (void)plain;
  return step_plain<K>;
}

// The best state of a step that ends on edge e: the first g of the least cost.
template <int K>
int best_state(const float *prev, float x, const float *value, int e) {
  constexpr int E = edges(K), G = 1 << K;
  int best = e;
  float least = 3.4e38f;
  for (int g = 0; g < G; g++) {
    int s = g * E + e;
    float d = value[s] - x;
    float c = prev[s >> K] + d * d;
    if (c < least) least = c, best = s;
  }
  return best;
}

struct Costs { // [T + 1, E], of which row t holds the costs before weight t
  std::vector<float> memory;
  float *first;
  Costs(int T, int E) : memory(static_cast<size_t>(T + 1) * E + 16) {
    auto at = reinterpret_cast<uintptr_t>(memory.data());
    first = memory.data() + (32 - at % 32) % 32 / sizeof(float);
  }
};

template <int K>
void block(const float *x, int T, Step step, Costs &costs, uint32_t *words, double *error) {
  constexpr int E = edges(K);
  const float *value = values();
  auto row = [&](int t) { return costs.first + static_cast<size_t>(t) * E; };
  // A free pass over the block turned by half tells which edge the best ring crosses between its last and first weight.
  int half = T / 2;
  for (int e = 0; e < E; e++) row(0)[e] = 0;
  for (int t = 0; t < T; t++) step(row(t), x[(t + half) % T], value, row(t + 1));
  int edge = 0;
  for (int e = 1; e < E; e++)
    if (row(T)[e] < row(T)[edge]) edge = e;
  for (int t = T - 1; t >= T - half; t--) edge = best_state<K>(row(t), x[(t + half) % T], value, edge) >> K;
  // A pass in order with that edge at both ends.
  for (int e = 0; e < E; e++) row(0)[e] = 1e30f;
  row(0)[edge] = 0;
  for (int t = 0; t < T; t++) step(row(t), x[t], value, row(t + 1));
  for (int w = 0; w < gr_trellis_block_words(K, T); w++) words[w] = 0;
  for (int t = T - 1; t >= 0; t--) {
    int s = best_state<K>(row(t), x[t], value, edge);
    edge = s >> K;
    uint32_t symbol = s & ((1 << K) - 1);
    int at = (T - 1 - t) * K;
    words[at / 32] |= symbol << (at % 32);
    if (at % 32 + K > 32) words[at / 32 + 1] |= symbol >> (32 - at % 32);
    double d = static_cast<double>(value[s]) - x[t];
    *error += d * d;
  }
}

template <int K>
void rows_of(const float *rows, int64_t count, int64_t columns, int T, const float *scales, uint32_t *words, double *errors, bool plain) {
  Costs costs(T, edges(K));
  std::vector<float> x(T);
  Step step = step_of<K>(plain);
  int block_words = gr_trellis_block_words(K, T);
  for (int64_t r = 0; r < count; r++) {
    double sum = 0;
    for (int64_t c = 0; c < columns; c += T, rows += T, words += block_words) {
      for (int t = 0; t < T; t++) x[t] = rows[t] / scales[r];
      block<K>(x.data(), T, step, costs, words, &sum);
    }
    errors[r] = sum * scales[r] * scales[r];
  }
}

}  // namespace

int gr_trellis_encode(const float *rows, int64_t count, int64_t columns, int k, int T, const float *scales, uint32_t *words, double *errors, int plain) {
  try {
    switch (k) {
      case 2: rows_of<2>(rows, count, columns, T, scales, words, errors, plain); return 0;
      case 3: rows_of<3>(rows, count, columns, T, scales, words, errors, plain); return 0;
      case 4: rows_of<4>(rows, count, columns, T, scales, words, errors, plain); return 0;
    }
    return 2;
  } catch (const std::bad_alloc &) {
    return 1;
  }
}
