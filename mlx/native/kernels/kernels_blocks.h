// Products of a few rows of whole numbers (Blocks). A block is four pairs of runs; its dot products, scales and biases stand
// with the four even runs first (place_of), because a vector of codes has a pair in its halves.

// How scales and biases lie: 8 of a block, and those of a pair.
class Scales {
 public:
  explicit Scales(const Affine &w)
      : share(w.group / kRun), type(w.type), per_block((kBlock / w.group) * (int64_t)size_of(w.type)), per_row(w.groups() * (int64_t)size_of(w.type)) {
#if GR_AVX2
    int8_t b[16];
    int32_t f[8];
    for (int i = 0; i < 8; i++) {
      f[i] = run_at(i) / share;
      b[2 * i] = (int8_t)(2 * f[i]), b[2 * i + 1] = (int8_t)(2 * f[i] + 1);
    }
    halves_ = _mm_loadu_si128((const __m128i *)b);
    floats_ = _mm256_loadu_si256((const __m256i *)f);
#endif
  }

  const int share; // runs that have one scale
  const Type type;
  const int64_t per_block, per_row; // bytes

  // The run at a place.
  static int run_at(int i) { return i % 4 * 2 + i / 4; }

  // Of the block whose first are at s and b.
  GR_INLINE void block(const char *s, const char *b, vf &scale, vf &bias) const {
#if GR_AVX2
    if (type == Type::f16 && share == 1)
      scale = of_f16(load16(s)), bias = of_f16(load16(b));
    else if (type == Type::bf16 && share == 1)
      scale = of_bf16(load16(s)), bias = of_bf16(load16(b));
    else
      scale = any(s), bias = any(b);
#else
    for (int i = 0; i < 8; i++) scale[i] = number(type, s, run_at(i) / share), bias[i] = number(type, b, run_at(i) / share);
#endif
  }

  // Of the runs i and i + 1 of some outputs, one or four: of all even runs, then of all odd ones.
  template <int O> GR_INLINE void pair(const Affine &w, const int64_t *n, int64_t i, vf &scale, vf &bias) const {
#if GR_AVX2
    if (O == 4 && type != Type::f32 && share == 1 && i + 1 < w.groups()) {
      __m128i s, b;
#pragma GCC unroll 4
      for (int o = 0; o < O; o++) {
        int32_t k, l;
        __builtin_memcpy(&k, (const char *)w.scales + n[o] * per_row + 2 * i, 4);
        __builtin_memcpy(&l, (const char *)w.biases + n[o] * per_row + 2 * i, 4);
        s = o ? _mm_insert_epi32(s, k, o) : _mm_cvtsi32_si128(k);
        b = o ? _mm_insert_epi32(b, l, o) : _mm_cvtsi32_si128(l);
      }
      if (type == Type::f16) scale = of_f16(s), bias = of_f16(b);
      else scale = of_bf16(s), bias = of_bf16(b);
      return;
    }
#endif
    for (int k = 0; k < 8; k++) {
      const int64_t at = n[k % O] * w.groups() + least(i + k / 4, w.inputs / kRun - 1) / share;
      scale[k] = number(type, w.scales, at), bias[k] = number(type, w.biases, at);
    }
  }

 private:
#if GR_AVX2
  __m128i halves_; // places of half-precision numbers
  __m256i floats_; // of floats

  static __m128i load16(const char *p) { return _mm_loadu_si128((const __m128i *)p); }
  GR_INLINE vf of_f16(__m128i v) const { return (vf)_mm256_cvtph_ps(_mm_shuffle_epi8(v, halves_)); }
  GR_INLINE vf of_bf16(__m128i v) const { return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_shuffle_epi8(v, halves_)), 16); }

  GR_INLINE vf any(const char *p) const {
    int64_t few = 0;
    if (type == Type::f32) {
      __m256i v;
      if (share == 1)
        v = _mm256_loadu_si256((const __m256i *)p);
      else if (share == 2)
        v = _mm256_castsi128_si256(load16(p));
      else
        __builtin_memcpy(&few, p, 8), v = _mm256_castsi128_si256(_mm_cvtsi64_si128(few)); // p is of floats: a double's load wants 8 bytes' alignment
      return (vf)_mm256_permutevar8x32_ps((__m256)v, floats_);
    }
    __builtin_memcpy(&few, p, share == 2 ? 8 : 4);
    return type == Type::f16 ? of_f16(_mm_cvtsi64_si128(few)) : of_bf16(_mm_cvtsi64_si128(few));
  }
#endif
};

// Codes of 8 bits count from -128 where bytes are multiplied as signed ones.
#if GR_VNNI
template <int N, int Q> inline constexpr float kShift = 0;
#else
template <int N, int Q> inline constexpr float kShift = N == 8 && Q == 1 ? 128 : 0;
#endif

// The place of input i of a pair of runs (64 inputs) among a block's activations: as codes are unpacked. A vector's lower half
// is of the even run. Of 4 bits every second code (Q 1: bytes) or every fourth (Q 2: words) comes into one vector; of others
// 16 codes of each run, as bytes in order or as words those at even and those at odd places.
template <int Q> GR_INLINE int place_in_pair(bool four_bits, int i) {
  const int run = i / 32, k = i % 32;
  if (four_bits) return k % (2 * Q) * (32 / Q) + run * (16 / Q) + k / (2 * Q);
  return k / 16 * 32 + k % 16 % Q * 16 + run * (16 / Q) + k % 16 / Q;
}

#if GR_AVX2
typedef __m256i Sums;

GR_INLINE __m256i words(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }

// Keeps the compiler from mixing what follows with what was before, for which there are no registers.
GR_INLINE __m256i now(__m256i v) {
  __asm__("" : "+x"(v));
  return v;
}

// Sums of 4 products of unsigned with signed bytes. Without VNNI: codes of at most 6 bits, or (Wide) of 8, less 128.
template <bool Wide> GR_INLINE __m256i dot4(__m256i u, __m256i s) {
#if GR_VNNI
  return dpbusd(_mm256_setzero_si256(), u, s);
#else
  if constexpr (Wide) { // code - 128 in magnitude and sign: 2 * 128 * 127 fits int16
    u = _mm256_xor_si256(u, _mm256_set1_epi8((char)0x80));
    s = _mm256_sign_epi8(s, u);
    u = _mm256_abs_epi8(u);
  }
  return _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1));
#endif
}

// sum + products of words in pairs.
GR_INLINE __m256i dot2(__m256i sum, __m256i a, __m256i b) {
#if GR_VNNI
  return dpwssd(sum, a, b);
#else
  return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
#endif
}

// The codes of a pair of runs, unpacked to Q bytes each.
template <int N, class C> struct Pair {
  static constexpr int Q = sizeof(C);
  __m256i v[2 * Q];

  GR_INLINE explicit Pair(const uint8_t *p) {
    if constexpr (N == 4 && Q == 1) {
      const __m256i c = words(p), low = _mm256_set1_epi8(15);
      v[0] = _mm256_and_si256(c, low), v[1] = _mm256_and_si256(_mm256_srli_epi16(c, 4), low);
    } else if constexpr (N == 4) {
      const __m256i c = words(p), low = _mm256_set1_epi16(15);
      v[0] = _mm256_and_si256(c, low), v[1] = _mm256_and_si256(_mm256_srli_epi16(c, 4), low);
      v[2] = _mm256_and_si256(_mm256_srli_epi16(c, 8), low), v[3] = _mm256_srli_epi16(c, 12);
    } else {
      const __m256i even = (__m256i)bytes<N>(p), odd = (__m256i)bytes<N>(p + 4 * N);
#pragma GCC unroll 2
      for (int h = 0; h < 2; h++) {
        const __m256i c = h ? _mm256_permute2x128_si256(even, odd, 0x31) : _mm256_permute2x128_si256(even, odd, 0x20);
        if constexpr (Q == 1) v[h] = c;
        else v[2 * h] = _mm256_and_si256(c, _mm256_set1_epi16(255)), v[2 * h + 1] = _mm256_srli_epi16(c, 8);
      }
    }
  }

  // Products with activations, some added up: in the lower half those of the even run, as words where kWords, else as ints.
  GR_INLINE __m256i times(const int16_t *x) const {
    const __m256i a = dot2(_mm256_madd_epi16(v[0], words(x)), v[1], words(x + 16));
    const __m256i b = dot2(_mm256_madd_epi16(v[2], words(x + 32)), v[3], words(x + 48));
    return now(_mm256_add_epi32(a, b));
  }
  GR_INLINE __m256i times(const int8_t *x) const {
    const __m256i a = words(x), b = words(x + 32);
#if GR_VNNI
    return dpbusd(dpbusd(_mm256_setzero_si256(), v[0], a), v[1], b);
#else
    if constexpr (kWords) return now(_mm256_add_epi16(_mm256_maddubs_epi16(v[0], a), _mm256_maddubs_epi16(v[1], b))); // at most 7620
    return now(_mm256_add_epi32(dot4<N == 8>(v[0], a), dot4<N == 8>(v[1], b)));
#endif
  }

#if GR_VNNI
  static constexpr bool kWords = false;
#else
  static constexpr bool kWords = N == 4 && Q == 1;
#endif
};

// The sums of four pairs: of the even runs, then of the odd ones.
template <bool Words> GR_INLINE vf gather(const Sums *p) {
  if constexpr (Words) {
    const __m256i h = _mm256_hadd_epi16(_mm256_hadd_epi16(p[0], p[1]), _mm256_hadd_epi16(p[2], p[3])); // at most 30480
    return (vf)_mm256_cvtepi32_ps(_mm256_madd_epi16(h, _mm256_set1_epi16(1)));
  }
  return (vf)_mm256_cvtepi32_ps(_mm256_hadd_epi32(_mm256_hadd_epi32(p[0], p[1]), _mm256_hadd_epi32(p[2], p[3])));
}
#else
// The products of an even and an odd run.
struct Sums {
  int32_t of[2];
};

// The codes of a pair of runs, in the order of activations.
template <int N, class C> struct Pair {
  static constexpr int Q = sizeof(C), kHalf = 16 / Q; // of a vector of 32 bytes
  static constexpr bool kWords = false;
  C v[64];

  explicit Pair(const uint8_t *p) {
    uint8_t b[64];
    bytes<N>(p, b), bytes<N>(p + 4 * N, b + 32);
    for (int i = 0; i < 64; i++) v[place_in_pair<Q>(N == 4, i)] = (C)(b[i] - (int)kShift<N, Q>);
  }

  Sums times(const C *x) const {
    Sums t = {};
    for (int run = 0; run < 2; run++) {
      const C *a = v + kHalf * run, *b = x + kHalf * run;
#if GR_NEON
      int32x4_t s = vdupq_n_s32(0);
      for (int i = 0; i < 2 * Q; i++) {
        if constexpr (Q == 1) {
          s = vdotq_s32(s, vld1q_s8(a + 32 * i), vld1q_s8(b + 32 * i));
        } else {
          const int16x8_t c = vld1q_s16(a + 16 * i), d = vld1q_s16(b + 16 * i);
          s = vmlal_high_s16(vmlal_s16(s, vget_low_s16(c), vget_low_s16(d)), c, d);
        }
      }
      t.of[run] = vaddvq_s32(s);
#else
      for (int i = 0; i < 2 * Q; i++)
        for (int k = 0; k < kHalf; k++) t.of[run] += a[2 * kHalf * i + k] * b[2 * kHalf * i + k];
#endif
    }
    return t;
  }
};

template <bool Words> vf gather(const Sums *p) {
  vf r;
  for (int i = 0; i < 8; i++) r[i] = (float)p[i % 4].of[i / 4];
  return r;
}
#endif

// Memory that is read some 2 KiB of codes ahead of its use, across rows: the processor alone does not look beyond a page.
inline constexpr int64_t kAhead = 2048;
GR_INLINE void ahead(const void *p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char *)p + i);
}

// The sums of four vectors, each with two of another.
GR_INLINE void sums_of_four(const vf *v, vf more, float *to) {
#if GR_AVX2
  const __m256 t = _mm256_hadd_ps(_mm256_hadd_ps((__m256)v[0], (__m256)v[1]), _mm256_hadd_ps((__m256)v[2], (__m256)v[3]));
  const __m256 u = _mm256_add_ps(t, (__m256)more);
  _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(u), _mm256_extractf128_ps(u, 1)));
#else
  for (int i = 0; i < 4; i++) to[i] = sum(v[i]) + (more[i] + more[i + 4]);
#endif
}

// Dot products of a block with R rows of activations.
template <int N, int R, class C> GR_INLINE void block_dots(const uint8_t *w, const C *const *x, vf *out) {
  Sums p[R][4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; v++) {
    const Pair<N, C> codes(w + 8 * N * v);
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) p[r][v] = codes.times(x[r] + 64 * v);
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; r++) out[r] = gather<Pair<N, C>::kWords>(p[r]);
}

// What a row has behind its whole blocks, by pairs of runs, of four products side by side: of one row of activations with four
// outputs, or of four with one. It is a part of the row's last block; of a row shorter than a block, of a copy.
template <int N, int R, class C> struct Tail {
  const Affine &w;
  const Scales &scales;
  const int64_t whole, tail;
  int first, last; // pairs
  const C *x[R];
  vf scale[4], sum[4]; // of the activations: even runs of the four products, then odd ones

  Tail(const Affine &w, const Scales &s, const Blocks *b) : w(w), scales(s), whole(w.inputs / kBlock), tail(w.inputs % kBlock) {
    const int pairs = (int)(tail + 63) / 64;
    first = whole ? 4 - pairs : 0, last = first + pairs;
    for (int r = 0; r < R; r++) x[r] = (const C *)b[r].codes + kBlock * whole;
    for (int v = first; v < last; v++)
      for (int i = 0; i < 8; i++) {
        const int64_t at = 8 * whole + v + i / 4 * 4;
        scale[v][i] = b[i % R].scale[at], sum[v][i] = b[i % R].sum[at];
      }
  }

  // Of output n, or those from n on; beyond `most` it is taken again.
  GR_INLINE vf operator()(int64_t n, int64_t most) const {
    constexpr int O = 4 / R;
    vf t = all(0);
    int64_t at[O];
    for (int o = 0; o < O; o++) at[o] = least(n + o, most);
    for (int v = first; v < last; v++) {
      Sums p[4];
      vf s, b;
#pragma GCC unroll 4
      for (int o = 0; o < O; o++) {
        const uint8_t *c = w.codes + at[o] * w.row_bytes() + 8 * N * v;
        alignas(32) uint8_t part[8 * N];
        if (whole) {
          c += w.row_bytes() - 32 * N;
        } else if (32 * (2 * v + 2) > tail) {
          __builtin_memset(part, 0, sizeof part);
          __builtin_memcpy(part, c, 4 * N);
          c = part;
        }
        const Pair<N, C> codes(c);
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) p[o + r] = codes.times(x[r] + 64 * v);
      }
      scales.template pair<O>(w, at, (whole ? w.inputs / kRun - 8 : 0) + 2 * v, s, b);
      if constexpr (kShift<N, sizeof(C)> != 0) b = fma(s, all(kShift<N, sizeof(C)>), b);
      t = fma(gather<Pair<N, C>::kWords>(p), s * scale[v], t);
      t = fma(b, sum[v], t);
    }
    return t;
  }
};

template <int N, int R, class C> void rows_q_of(const Affine &w, const Blocks *x, int64_t first, int64_t last, float *y, int64_t stride) {
  constexpr int O = 4 / R; // four sums at a time
  const Scales scales(w);
  const Tail<N, R, C> tail(w, scales, x);
  const int64_t row = w.row_bytes(), whole = w.inputs / kBlock, per_row = scales.per_row, per_block = scales.per_block;
  for (int64_t n = first; n < last; n += O) {
    alignas(32) vf acc[4];
    ahead((const char *)w.scales + n * per_row + kAhead / 8, O * per_row);
    ahead((const char *)w.biases + n * per_row + kAhead / 8, O * per_row);
#pragma GCC unroll 1
    for (int o = 0; o < O; o++) {
      const int64_t at = least(n + o, last - 1);
      const uint8_t *p = w.codes + at * row;
      const char *s = (const char *)w.scales + at * per_row, *b = (const char *)w.biases + at * per_row;
      vf sums[R];
      for (int r = 0; r < R; r++) sums[r] = all(0);
      for (int64_t j = 0; j < whole; j++, p += 32 * N, s += per_block, b += per_block) {
        ahead(p + kAhead, 32 * N);
        const C *codes[R];
        for (int r = 0; r < R; r++) codes[r] = (const C *)x[r].codes + kBlock * j;
        vf d[R], scale, bias;
        block_dots<N, R>(p, codes, d);
        scales.block(s, b, scale, bias);
        if constexpr (kShift<N, sizeof(C)> != 0) bias = fma(scale, all(kShift<N, sizeof(C)>), bias);
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) {
          sums[r] = fma(d[r], scale * load(x[r].scale + 8 * j), sums[r]);
          sums[r] = fma(bias, load(x[r].sum + 8 * j), sums[r]);
        }
      }
      for (int r = 0; r < R; r++) acc[o + r] = sums[r];
    }
    float four[4];
    sums_of_four(acc, tail(n, last - 1), four);
    for (int i = 0; i < 4; i++)
      if (R == 4)
        y[i * stride + n - first] = four[i];
      else if (n + i < last)
        y[n + i - first] = four[i];
  }
}
