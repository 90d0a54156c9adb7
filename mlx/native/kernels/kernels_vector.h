// What every kernel stands on: vectors of 8 floats, conversions and reads of codes. Included by isa.h inside the
// namespace of an instruction set; GR_AVX2, GR_VNNI (dpbusd and dpwssd), GR_AVX512 (vectors of 512 bits) and GR_NEON
// say what there is.

// GCC's and Clang's vector types: the same source becomes SSE, AVX or NEON by the target it is compiled for.
typedef float vf __attribute__((vector_size(32)));
typedef int32_t vi __attribute__((vector_size(32)));
typedef uint32_t vu __attribute__((vector_size(32)));
typedef float vf_mem __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t vu_mem __attribute__((vector_size(32), aligned(4), may_alias));

#define GR_INLINE inline __attribute__((always_inline))

template <class T> GR_INLINE T least(T a, T b) { return a < b ? a : b; }
template <class T> GR_INLINE T most(T a, T b) { return a < b ? b : a; }

GR_INLINE vf load(const float *p) { return *(const vf_mem *)p; }
GR_INLINE void store(float *p, vf v) { *(vf_mem *)p = v; }
GR_INLINE vf all(float x) { return vf{x, x, x, x, x, x, x, x}; }

GR_INLINE vf fma(vf a, vf b, vf c) {
#if GR_AVX2
  return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}

// a * b + c rounded twice, as MLX computes weights: one that is 0 there has to be 0 here, or 0 times an infinity is another.
// Compilers would fuse the two.
GR_INLINE vf apart(vf a, vf b, vf c) {
  vf p = a * b;
#if GR_AVX2
  __asm__("" : "+x"(p));
#elif defined(__aarch64__)
  typedef float v4 __attribute__((vector_size(16)));
  v4 half[2];
  __builtin_memcpy(half, &p, sizeof p);
  __asm__("" : "+w"(half[0]), "+w"(half[1]));
  __builtin_memcpy(&p, half, sizeof p);
#endif
  return p + c;
}

GR_INLINE float sum(vf v) {
#if GR_AVX2
  __m128 x = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
#else
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
#endif
}

GR_INLINE float highest(vf v) {
  float m = v[0];
  for (int i = 1; i < 8; i++) m = m < v[i] ? v[i] : m;
  return m;
}

GR_INLINE vf larger(vf a, vf b) {
#if GR_AVX2
  return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#else
  vf r;
  for (int i = 0; i < 8; i++) r[i] = a[i] > b[i] ? a[i] : b[i];
  return r;
#endif
}

GR_INLINE uint32_t bits_of(float x) {
  uint32_t u;
  __builtin_memcpy(&u, &x, 4);
  return u;
}

GR_INLINE float float_of(uint32_t u) {
  float x;
  __builtin_memcpy(&x, &u, 4);
  return x;
}

// Exact; infinities and NaN stay.
GR_INLINE float from_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
  if (rest >= 0x7c00) return float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  return float_of(sign | bits_of(float_of(rest << 13) * 0x1p112f));
}

GR_INLINE uint16_t to_f16(float x) {
  uint32_t u = bits_of(x), sign = u >> 16 & 0x8000, rest = u & 0x7fffffff;
  if (rest > 0x7f800000) return sign | 0x7e00;
  if (rest >= 0x477ff000) return sign | 0x7c00;
  if (rest < 0x38800000) // subnormal: adding 0.5 puts units of 2^-24 at the end of the mantissa, rounded by the addition
    return sign | (uint16_t)(bits_of(float_of(rest) + 0.5f) - 0x3f000000);
  return sign | (uint16_t)((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
}

GR_INLINE uint16_t to_bf16(float x) {
  uint32_t u = bits_of(x);
  if ((u & 0x7fffffff) > 0x7f800000) return 0x7fc0 | (u >> 16 & 0x8000);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

template <Type T> GR_INLINE float number(const void *p, int64_t i) {
  if constexpr (T == Type::f32) return ((const float *)p)[i];
  uint16_t h;
  __builtin_memcpy(&h, (const char *)p + 2 * i, 2);
  if constexpr (T == Type::bf16) return float_of((uint32_t)h << 16);
#if GR_AVX2
  return _cvtsh_ss(h);
#else
  return from_f16(h);
#endif
}

GR_INLINE float number(Type t, const void *p, int64_t i) {
  return t == Type::f32 ? number<Type::f32>(p, i) : t == Type::f16 ? number<Type::f16>(p, i) : number<Type::bf16>(p, i);
}

// 8 values of a type.
template <Type T> GR_INLINE vf numbers(const void *p) {
  if constexpr (T == Type::f32) return load((const float *)p);
#if GR_AVX2
  __m128i h = _mm_loadu_si128((const __m128i *)p);
  if constexpr (T == Type::f16) return (vf)_mm256_cvtph_ps(h);
  return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16);
#else
  vf r;
  for (int i = 0; i < 8; i++) r[i] = number<T>(p, i);
  return r;
#endif
}

// 8 values to a type, rounded to nearest even.
template <Type T> GR_INLINE void put(void *p, vf v) {
  if constexpr (T == Type::f32) return store((float *)p, v);
#if GR_AVX2
  if constexpr (T == Type::f16) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph((__m256)v, 0));
    return;
  }
#endif
  uint16_t h[8];
  if constexpr (T == Type::bf16) {
    const vu u = (vu)v, rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16, none = (u >> 16 & 0x8000u) | 0x7fc0u;
    const vu r = (vu)((u & 0x7fffffffu) > 0x7f800000u) ? none : rounded;
#if GR_AVX2
    const __m256i w = _mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)r, (__m256i)r), 0xd8);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(w));
    return;
#endif
    for (int i = 0; i < 8; i++) h[i] = (uint16_t)r[i];
  } else {
    for (int i = 0; i < 8; i++) h[i] = to_f16(v[i]);
  }
  __builtin_memcpy(p, h, sizeof h);
}

// N bytes as a number. (Copied into a larger variable they would be stored and read again, which waits for the store.)
template <int N> GR_INLINE uint64_t number_of(const uint8_t *p) {
  uint16_t a;
  uint32_t b;
  __builtin_memcpy(&a, p, 2);
  if constexpr (N == 2) return a;
  if constexpr (N == 3) return a | (uint32_t)p[2] << 16;
  __builtin_memcpy(&b, p, least(N, 4));
  if constexpr (N == 4) return b;
  if constexpr (N == 5) return b | (uint64_t)p[4] << 32;
  __builtin_memcpy(&a, p + least(N - 2, 4), 2);
  return b | (uint64_t)a << 32;
}

// 8 codes of N bits each, from N bytes, as integers.
template <int N> GR_INLINE vu codes(const uint8_t *p) {
  if constexpr (N == 8) {
#if GR_AVX2
    return (vu)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
#else
    return vu{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
#endif
  } else if constexpr (N <= 4) {
    const uint32_t w = (uint32_t)number_of<N>(p);
    const vu shifts = {0, N, 2 * N, 3 * N, 4 * N, 5 * N, 6 * N, 7 * N};
    return (vu{w, w, w, w, w, w, w, w} >> shifts) & ((1u << N) - 1);
  } else {
    const uint64_t w = number_of<N>(p);
    vu r;
    for (int i = 0; i < 8; i++) r[i] = (uint32_t)(w >> (i * N)) & ((1u << N) - 1);
    return r;
  }
}

GR_INLINE vf floats(vu v) { return __builtin_convertvector((vi)v, vf); }
GR_INLINE vf floats(vi v) { return __builtin_convertvector(v, vf); }

// 32 codes of N bits, as bytes in order.
template <int N> GR_INLINE void bytes(const uint8_t *p, uint8_t *out) {
  if constexpr (N == 8) {
    __builtin_memcpy(out, p, 32);
  } else if constexpr (N == 4) {
#if GR_AVX2
    const __m128i low = _mm_set1_epi8(15);
    __m128i w = _mm_loadu_si128((const __m128i *)p);
    __m128i a = _mm_and_si128(w, low), b = _mm_and_si128(_mm_srli_epi16(w, 4), low);
    _mm_storeu_si128((__m128i *)out, _mm_unpacklo_epi8(a, b));
    _mm_storeu_si128((__m128i *)(out + 16), _mm_unpackhi_epi8(a, b));
#else
    for (int i = 0; i < 16; i++) out[2 * i] = p[i] & 15, out[2 * i + 1] = p[i] >> 4;
#endif
  } else {
    for (int i = 0; i < 4; i++) {
      uint64_t w = number_of<N>(p + N * i);
#if GR_AVX2
      w = _pdep_u64(w, 0x0101010101010101u * ((1u << N) - 1));
      __builtin_memcpy(out + 8 * i, &w, 8);
#else
      for (int k = 0; k < 8; k++) out[8 * i + k] = (uint8_t)(w >> (k * N)) & ((1u << N) - 1);
#endif
    }
  }
}

// The same in a vector.
template <int N> GR_INLINE vf bytes(const uint8_t *p) {
#if GR_AVX2
  if constexpr (N == 4) {
    const __m128i low = _mm_set1_epi8(15), w = _mm_loadu_si128((const __m128i *)p);
    const __m128i a = _mm_and_si128(w, low), b = _mm_and_si128(_mm_srli_epi16(w, 4), low);
    return (vf)_mm256_set_m128i(_mm_unpackhi_epi8(a, b), _mm_unpacklo_epi8(a, b));
  } else if constexpr (N != 8) {
    const auto eight = [p](int i) { return (int64_t)_pdep_u64(number_of<N>(p + N * i), 0x0101010101010101u * ((1u << N) - 1)); };
    return (vf)_mm256_setr_epi64x(eight(0), eight(1), eight(2), eight(3));
  }
#endif
  vf v;
  bytes<N>(p, (uint8_t *)&v);
  return v;
}

// Rows of 8 become columns.
GR_INLINE void transpose(vf *r) {
#if GR_AVX2
  __m256 a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_ps((__m256)r[i], (__m256)r[i + 1]);
    a[i + 1] = _mm256_unpackhi_ps((__m256)r[i], (__m256)r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
    b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
  }
  for (int i = 0; i < 4; i++) {
    r[i] = (vf)_mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
    r[i + 4] = (vf)_mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
  }
#else
  vf t[8];
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 8; k++) t[k][i] = r[i][k];
  for (int i = 0; i < 8; i++) r[i] = t[i];
#endif
}
