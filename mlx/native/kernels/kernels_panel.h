// Products of many rows: 16 outputs' codes are unpacked into cache once and multiplied with every row there.

inline constexpr int kDepth = 256; // inputs that are unpacked at a time as floats: 16 KiB

size_t panel_f32_room(const Affine &w) { return sizeof(float) * kPanel * least<int64_t>(w.inputs, kDepth); }

// Unpacks `depth` inputs from `from` on of outputs first to first + 15: to[k][16].
template <int N> void unpack_f32(const Affine &w, int64_t first, int64_t from, int64_t depth, float *to) {
  const int64_t groups = w.groups(), row = w.row_bytes();
  for (int h = 0; h < 2; h++) {
    for (int64_t k = 0; k < depth; k += 8) {
      vf r[8];
      for (int i = 0; i < 8; i++) {
        const int64_t n = first + 8 * h + i;
        if (n >= w.outputs) {
          r[i] = all(0);
          continue;
        }
        const int64_t g = n * groups + (from + k) / w.group;
        r[i] = apart(floats(codes<N>(w.codes + n * row + (from + k) / 8 * N)), all(number(w.type, w.scales, g)), all(number(w.type, w.biases, g)));
      }
      transpose(r);
      for (int i = 0; i < 8; i++) store(to + (k + i) * kPanel + 8 * h, r[i]);
    }
  }
}

// M rows of x with a panel of `depth` inputs, added to y.
template <int M> void multiply_f32(const float *x, int64_t x_stride, const float *panel, int64_t depth, float *y) {
  vf acc[M][2];
#pragma GCC unroll 6
  for (int m = 0; m < M; m++) acc[m][0] = load(y + m * kPanel), acc[m][1] = load(y + m * kPanel + 8);
  for (int64_t k = 0; k < depth; k++) {
    const vf a = load(panel + k * kPanel), b = load(panel + k * kPanel + 8);
#pragma GCC unroll 6
    for (int m = 0; m < M; m++) {
      const vf v = all(x[m * x_stride + k]);
      acc[m][0] = fma(a, v, acc[m][0]);
      acc[m][1] = fma(b, v, acc[m][1]);
    }
  }
#pragma GCC unroll 6
  for (int m = 0; m < M; m++) store(y + m * kPanel, acc[m][0]), store(y + m * kPanel + 8, acc[m][1]);
}

void panel_f32(const Affine &w, const float *x, int64_t x_stride, int64_t rows, int64_t first, float *y, void *room) {
  float *panel = (float *)room;
  __builtin_memset(y, 0, sizeof(float) * kPanel * rows);
  for (int64_t from = 0; from < w.inputs; from += kDepth) {
    const int64_t depth = least<int64_t>(kDepth, w.inputs - from);
    with_bits(w.bits, [&]<int N>() { unpack_f32<N>(w, first, from, depth, panel); });
    int64_t m = 0;
    for (; m + 6 <= rows; m += 6) multiply_f32<6>(x + m * x_stride + from, x_stride, panel, depth, y + m * kPanel);
    const float *rest = x + m * x_stride + from;
    switch (rows - m) {
      case 5: multiply_f32<5>(rest, x_stride, panel, depth, y + m * kPanel); break;
      case 4: multiply_f32<4>(rest, x_stride, panel, depth, y + m * kPanel); break;
      case 3: multiply_f32<3>(rest, x_stride, panel, depth, y + m * kPanel); break;
      case 2: multiply_f32<2>(rest, x_stride, panel, depth, y + m * kPanel); break;
      case 1: multiply_f32<1>(rest, x_stride, panel, depth, y + m * kPanel); break;
    }
  }
}

// With whole numbers: codes of Q bytes, for each 4 bytes' worth of inputs 16 outputs side by side, then for each run of 32
// inputs the scales and biases of the 16.
size_t panel_q_room(int q, const Affine &w) { return (size_t)(w.inputs * kPanel * q + w.inputs / kRun * 2 * kPanel * (int64_t)sizeof(float)); }

// The scales and biases of 8 of the outputs, `to` for each run 2 kPanel apart, the biases kPanel behind.
template <int N, int Q, Type T> void unpack_scales(const Affine &w, int64_t first, float *to) {
  const int64_t groups = w.groups();
  const int share = w.group / kRun;
  const auto at = [&](const void *of, int o, int64_t g) { return (const char *)of + ((first + o) * groups + g) * (int64_t)size_of(T); };
  for (int64_t done = 0; done < groups;) {
    const int64_t n = least<int64_t>(8, groups), g = least(done, groups - n); // eight at a time, at the end some again
    vf s[8], b[8];
    for (int o = 0; o < 8; o++) {
      s[o] = b[o] = all(0);
      if (first + o >= w.outputs) continue;
      if (n == 8)
        s[o] = numbers<T>(at(w.scales, o, g)), b[o] = numbers<T>(at(w.biases, o, g));
      else
        for (int k = 0; k < n; k++) s[o][k] = number<T>(at(w.scales, o, g), k), b[o][k] = number<T>(at(w.biases, o, g), k);
    }
    transpose(s), transpose(b);
    for (int64_t k = done - g; k < n; k++, done++) {
      if constexpr (kShift<N, Q> != 0) b[k] = fma(s[k], all(kShift<N, Q>), b[k]);
      for (int i = 0; i < share; i++, to += 2 * kPanel) store(to, s[k]), store(to + kPanel, b[k]);
    }
  }
}

// `next`: the first output of another panel, which is asked for meanwhile: its rows lie one after another, but are read side
// by side, which the processor does not foresee.
template <int N, int Q> void unpack_codes(const Affine &w, int64_t first, int64_t next, uint8_t *codes, float *scales) {
  const int64_t row = w.row_bytes();
  next = least(next, w.outputs);
  const char *ahead = (const char *)w.codes + next * row, *ahead_end = (const char *)w.codes + least(next + kPanel, w.outputs) * row;
  const int64_t per_row = w.groups() * (int64_t)size_of(w.type), at_once = least<int64_t>(kPanel, w.outputs - next) * per_row;
  for (int64_t i = 0; i < at_once; i += 64) {
    __builtin_prefetch((const char *)w.scales + next * per_row + i);
    __builtin_prefetch((const char *)w.biases + next * per_row + i);
  }
  for (int h = 0; h < 2; h++, first += 8) {
    switch (w.type) {
      case Type::f32: unpack_scales<N, Q, Type::f32>(w, first, scales + 8 * h); break;
      case Type::f16: unpack_scales<N, Q, Type::f16>(w, first, scales + 8 * h); break;
      case Type::bf16: unpack_scales<N, Q, Type::bf16>(w, first, scales + 8 * h);
    }
    for (int64_t i = 0; i < w.inputs / kRun; i++) {
      for (int k = 0; k < N && ahead < ahead_end; k += 2, ahead += 64) __builtin_prefetch(ahead);
      vf r[8]; // 32 codes of an output, then 4 of 8 outputs
      for (int o = 0; o < 8; o++) r[o] = first + o < w.outputs ? bytes<N>(w.codes + (first + o) * row + 4 * N * i) : all(0);
      transpose(r);
      for (int k = 0; k < 8; k++) {
        uint8_t *to = codes + (8 * i + k) * Q * 4 * kPanel + 32 * h;
        if constexpr (Q == 1) {
          store((float *)to, kShift<N, Q> == 0 ? r[k] : (vf)((vu)r[k] ^ 0x80808080u));
        } else {
#if GR_AVX2
          const auto wide = [&](int f) { // the codes f and f + 1 of each four as words
            const int8_t a = (int8_t)f, b = (int8_t)(f + 1);
            const __m128i places = _mm_setr_epi8(a, -1, b, -1, a + 4, -1, b + 4, -1, a + 8, -1, b + 8, -1, a + 12, -1, b + 12, -1);
            return (vf)_mm256_shuffle_epi8((__m256i)r[k], _mm256_set_m128i(places, places));
          };
          store((float *)to, wide(0)), store((float *)(to + 4 * kPanel), wide(2));
#else
          const vu low = (vu)r[k] & 0x00ff00ffu, high = (vu)r[k] >> 8 & 0x00ff00ffu; // codes 0 and 2, 1 and 3
          store((float *)to, (vf)((low & 0xffffu) | high << 16)), store((float *)(to + 4 * kPanel), (vf)(low >> 16 | (high & 0xffff0000u)));
#endif
        }
      }
    }
  }
}

// 16 products to where they go.
template <Type T> GR_INLINE void give(const PanelOut &to, int64_t row, vf a, vf b) {
  const int64_t size = (int64_t)size_of(T);
  char *y = (char *)to.y + row * to.stride * size;
  if (to.bias) a += load(to.bias), b += load(to.bias + 8);
  if (to.sum) {
    const char *sum = (const char *)to.sum + row * to.stride * size;
    if constexpr (T != Type::f32) put<T>(y, a), put<T>(y + 8 * size, b), a = numbers<T>(y), b = numbers<T>(y + 8 * size);
    a += numbers<T>(sum), b += numbers<T>(sum + 8 * size);
  }
  put<T>(y, a), put<T>(y + 8 * size, b);
}

GR_INLINE void give(const PanelOut &to, int64_t row, vf a, vf b) {
  switch (to.type) {
    case Type::f32: return give<Type::f32>(to, row, a, b);
    case Type::f16: return give<Type::f16>(to, row, a, b);
    case Type::bf16: return give<Type::bf16>(to, row, a, b);
  }
}

// The rows that give will write and read, asked for before the products are there: each lies on a page of its own.
GR_INLINE void foresee(const PanelOut &to, int64_t row, int rows) {
  const int64_t size = (int64_t)size_of(to.type), at = row * to.stride * size, stride = to.stride * size;
  for (int m = 0; m < rows; m++) {
    __builtin_prefetch((char *)to.y + at + m * stride, 1);
    if (to.sum) __builtin_prefetch((const char *)to.sum + at + m * stride, 0);
  }
}

#if GR_AVX2
GR_INLINE __m256i four_bytes(const void *p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm256_set1_epi32(v);
}

// The sums of one run for M rows and 16 outputs. S: how many sums of two products of bytes an int16 holds; 1 for codes of 8
// bits, which count from -128.
template <int M, int S> GR_INLINE void run_sums(const int8_t *q, int64_t stride, const uint8_t *codes, __m256i (*t)[2]) {
#if GR_VNNI
#pragma GCC unroll 4
  for (int m = 0; m < M; m++) t[m][0] = t[m][1] = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int k = 0; k < 8; k++) {
    const __m256i a = words(codes + 64 * k), b = words(codes + 64 * k + 32);
#pragma GCC unroll 4
    for (int m = 0; m < M; m++) {
      const __m256i v = four_bytes(q + m * stride + 4 * k);
      t[m][0] = dpbusd(t[m][0], a, v), t[m][1] = dpbusd(t[m][1], b, v);
    }
  }
#else
#pragma GCC unroll 8
  for (int f = 0; f < 8 / S; f++) {
    __m256i p[M][2];
#pragma GCC unroll 8
    for (int k = 0; k < S; k++) {
      const uint8_t *at = codes + 64 * (f * S + k);
      const __m256i a = words(at), b = words(at + 32);
#pragma GCC unroll 4
      for (int m = 0; m < M; m++) {
        const __m256i v = four_bytes(q + m * stride + 4 * (f * S + k));
        __m256i pa, pb;
        if constexpr (S == 1) {
          pa = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(v, a));
          pb = _mm256_maddubs_epi16(_mm256_abs_epi8(b), _mm256_sign_epi8(v, b));
        } else {
          pa = _mm256_maddubs_epi16(a, v), pb = _mm256_maddubs_epi16(b, v);
        }
        p[m][0] = k == 0 ? pa : now(_mm256_add_epi16(p[m][0], pa));
        p[m][1] = k == 0 ? pb : now(_mm256_add_epi16(p[m][1], pb));
      }
    }
#pragma GCC unroll 4
    for (int m = 0; m < M; m++)
#pragma GCC unroll 2
      for (int h = 0; h < 2; h++) {
        const __m256i d = _mm256_madd_epi16(p[m][h], _mm256_set1_epi16(1));
        t[m][h] = f == 0 ? d : _mm256_add_epi32(t[m][h], d);
      }
  }
#endif
}

template <int M, int S> GR_INLINE void run_sums(const int16_t *q, int64_t stride, const uint8_t *codes, __m256i (*t)[2]) {
#pragma GCC unroll 4
  for (int m = 0; m < M; m++) t[m][0] = t[m][1] = _mm256_setzero_si256();
#pragma GCC unroll 16
  for (int k = 0; k < 16; k++) {
    const __m256i a = words(codes + 64 * k), b = words(codes + 64 * k + 32);
#pragma GCC unroll 4
    for (int m = 0; m < M; m++) {
      const __m256i v = four_bytes(q + m * stride + 2 * k);
      t[m][0] = now(dot2(t[m][0], a, v)), t[m][1] = now(dot2(t[m][1], b, v));
    }
  }
}

#if GR_AVX512
// A panel's 16 outputs are one vector.
template <int M, int S, class C> void multiply_q(Runs x, int64_t row, int64_t inputs, const uint8_t *codes, const float *scales, const PanelOut &to) {
  const int64_t runs = inputs / kRun;
  const C *q = (const C *)x.codes + row * inputs;
  const float *xs = x.scale + row * runs, *xt = x.sum + row * runs;
  __m512 acc[M];
  for (int m = 0; m < M; m++) acc[m] = _mm512_setzero_ps();
  foresee(to, row, M);
  for (int64_t i = 0; i < runs; i++, codes += 32 * kPanel * sizeof(C), q += kRun) {
    __m512i t[M];
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) t[m] = _mm512_setzero_si512();
#pragma GCC unroll 16
    for (int k = 0; k < 8 * (int)sizeof(C); k++) {
      const __m512i a = _mm512_loadu_si512(codes + 64 * k);
#pragma GCC unroll 8
      for (int m = 0; m < M; m++) {
        int32_t four;
        __builtin_memcpy(&four, q + m * inputs + k * (4 / (int)sizeof(C)), 4);
        const __m512i v = _mm512_set1_epi32(four);
        t[m] = sizeof(C) == 1 ? _mm512_dpbusd_epi32(t[m], a, v) : _mm512_dpwssd_epi32(t[m], a, v);
      }
    }
    const __m512 s = _mm512_loadu_ps(scales + 2 * kPanel * i), b = _mm512_loadu_ps(scales + 2 * kPanel * i + kPanel);
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) {
      const __m512 v = _mm512_set1_ps(xs[m * runs + i]), total = _mm512_set1_ps(xt[m * runs + i]);
      acc[m] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(t[m]), s), v, _mm512_fmadd_ps(b, total, acc[m]));
    }
  }
  for (int m = 0; m < M; m++) give(to, row + m, (vf)_mm512_castps512_ps256(acc[m]), (vf)_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(acc[m]), 1)));
}
#else
template <int M, int S, class C> void multiply_q(Runs x, int64_t row, int64_t inputs, const uint8_t *codes, const float *scales, const PanelOut &to) {
  const int64_t runs = inputs / kRun;
  const C *q = (const C *)x.codes + row * inputs;
  const float *xs = x.scale + row * runs, *xt = x.sum + row * runs;
  vf acc[M][2] = {};
  foresee(to, row, M);
  for (int64_t i = 0; i < runs; i++, codes += 32 * kPanel * sizeof(C), q += kRun) {
    __m256i t[M][2];
    run_sums<M, S>(q, inputs, codes, t);
    const float *s = scales + 2 * kPanel * i;
    const vf s0 = load(s), s1 = load(s + 8), b0 = load(s + 16), b1 = load(s + 24);
#pragma GCC unroll 4
    for (int m = 0; m < M; m++) {
      const vf v = all(xs[m * runs + i]), total = all(xt[m * runs + i]);
      acc[m][0] = fma((vf)_mm256_cvtepi32_ps(t[m][0]) * s0, v, fma(b0, total, acc[m][0]));
      acc[m][1] = fma((vf)_mm256_cvtepi32_ps(t[m][1]) * s1, v, fma(b1, total, acc[m][1]));
    }
  }
  for (int m = 0; m < M; m++) give(to, row + m, acc[m][0], acc[m][1]);
}
#endif
#else
template <int M, int S, class C> void multiply_q(Runs x, int64_t row, int64_t inputs, const uint8_t *codes, const float *scales, const PanelOut &to) {
  const int64_t runs = inputs / kRun;
  constexpr int E = 4 / sizeof(C); // inputs side by side
  for (int m = 0; m < M; m++) {
    const C *q = (const C *)x.codes + (row + m) * inputs;
    const float *xs = x.scale + (row + m) * runs, *xt = x.sum + (row + m) * runs;
    float acc[kPanel] = {};
    for (int64_t i = 0; i < runs; i++) {
      const C *w = (const C *)codes + 32 * kPanel * i;
      int32_t t[kPanel] = {};
#if GR_NEON
      int32x4_t d[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
      for (int k = 0; k < 32 / E; k++) {
        int32_t four;
        __builtin_memcpy(&four, q + kRun * i + E * k, 4);
        const int32x4_t v = vdupq_n_s32(four);
        for (int h = 0; h < 4; h++) {
          if constexpr (sizeof(C) == 1) {
            d[h] = vdotq_s32(d[h], vld1q_s8(w + 64 * k + 16 * h), vreinterpretq_s8_s32(v));
          } else {
            const int16x8_t a = vld1q_s16(w + 32 * k + 8 * h), b = vreinterpretq_s16_s32(v);
            d[h] = vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)) + d[h];
          }
        }
      }
      for (int h = 0; h < 4; h++) vst1q_s32(t + 4 * h, d[h]);
#else
      for (int k = 0; k < 32 / E; k++)
        for (int n = 0; n < kPanel; n++)
          for (int j = 0; j < E; j++) t[n] += w[E * (kPanel * k + n) + j] * q[kRun * i + E * k + j];
#endif
      const float *s = scales + 2 * kPanel * i;
      for (int n = 0; n < kPanel; n++) acc[n] += (float)t[n] * s[n] * xs[i] + s[kPanel + n] * xt[i];
    }
    give(to, row + m, load(acc), load(acc + 8));
  }
}
#endif

template <int S, class C> void multiply_rows(const Affine &w, Runs x, int64_t rows, const uint8_t *codes, const float *scales, const PanelOut &to) {
  int64_t m = 0;
#if GR_AVX512
  for (; m + 8 <= rows; m += 8) multiply_q<8, S, C>(x, m, w.inputs, codes, scales, to);
#endif
  for (; m + 4 <= rows; m += 4) multiply_q<4, S, C>(x, m, w.inputs, codes, scales, to);
  switch (rows - m) {
    case 3: return multiply_q<3, S, C>(x, m, w.inputs, codes, scales, to);
    case 2: return multiply_q<2, S, C>(x, m, w.inputs, codes, scales, to);
    case 1: return multiply_q<1, S, C>(x, m, w.inputs, codes, scales, to);
  }
}

// Where the scales of a panel stand, behind its codes.
GR_INLINE int64_t scales_at(int q, const Affine &w) { return w.inputs * kPanel * q; }

void unpack_q(int q, const Affine &w, int64_t first, int64_t next, void *room) {
  uint8_t *codes = (uint8_t *)room;
  float *scales = (float *)(codes + scales_at(q, w));
  with_bits(w.bits, [&]<int N>() {
    if (q == 1)
      unpack_codes<N, 1>(w, first, next, codes, scales);
    else
      unpack_codes<N, 2>(w, first, next, codes, scales);
  });
}

void panel_q(int q, const Affine &w, const void *room, Runs x, int64_t rows, const PanelOut &to) {
  const uint8_t *codes = (const uint8_t *)room;
  const float *scales = (const float *)(codes + scales_at(q, w));
  if (q == 2) return multiply_rows<8, int16_t>(w, x, rows, codes, scales, to);
#if GR_AVX2 && !GR_VNNI
  switch (w.bits) {
    case 5: return multiply_rows<4, int8_t>(w, x, rows, codes, scales, to);
    case 6: return multiply_rows<2, int8_t>(w, x, rows, codes, scales, to);
    case 8: return multiply_rows<1, int8_t>(w, x, rows, codes, scales, to);
  }
#endif
  multiply_rows<8, int8_t>(w, x, rows, codes, scales, to);
}
