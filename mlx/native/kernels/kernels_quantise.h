// Conversions of types, and of activations to int8.

void widen(Type from, const void *x, float *y, int64_t n) {
  int64_t i = 0;
  switch (from) {
    case Type::f32:
      __builtin_memcpy(y, x, 4 * n);
      return;
    case Type::f16:
      for (; i + 8 <= n; i += 8) store(y + i, numbers<Type::f16>((const char *)x + 2 * i));
      for (; i < n; i++) y[i] = number<Type::f16>(x, i);
      return;
    case Type::bf16:
      for (; i + 8 <= n; i += 8) store(y + i, numbers<Type::bf16>((const char *)x + 2 * i));
      for (; i < n; i++) y[i] = number<Type::bf16>(x, i);
  }
}

void narrow(Type to, const float *x, void *y, int64_t n) {
  if (to == Type::f32) {
    __builtin_memcpy(y, x, 4 * n);
    return;
  }
  uint16_t *out = (uint16_t *)y;
  int64_t i = 0;
  if (to == Type::f16) {
    for (; i + 8 <= n; i += 8) put<Type::f16>(out + i, load(x + i));
    for (; i < n; i++) out[i] = to_f16(x[i]);
    return;
  }
  for (; i + 8 <= n; i += 8) put<Type::bf16>(out + i, load(x + i));
  for (; i < n; i++) out[i] = to_bf16(x[i]);
}

// One run of 32 values to codes of Q bytes in order; gives the scale and scale * sum of codes. False where that cannot be.
template <int Q, class C> GR_INLINE bool quantise_run(const float *x, C *to, float *scale, float *total) {
  static_assert(sizeof(C) == Q);
  vf v[4], m = all(0), zero = all(0);
  for (int i = 0; i < 4; i++) {
    v[i] = load(x + 8 * i);
    m = larger((vf)((vu)v[i] & 0x7fffffffu), m); // a NaN is not larger
    zero += v[i] * 0.0f;                         // 0, or NaN where a value is not finite
  }
  const float most = highest(m), check = sum(zero);
  if (!(check == 0)) return false;
  constexpr float kMost = Q == 1 ? 127 : 32767;
  float s = most / kMost, inverse = s > 0 ? 1 / s : 0;
  if (!(inverse <= 3.0e38f)) s = 0, inverse = 0; // too small to have an inverse: the run is zero
  int32_t count = 0;
#if GR_AVX2
  __m256i q[4];
  for (int i = 0; i < 4; i++) q[i] = _mm256_cvtps_epi32((__m256)(v[i] * inverse));
  const vi c = ((vi)q[0] + (vi)q[1]) + ((vi)q[2] + (vi)q[3]);
  for (int i = 0; i < 8; i++) count += c[i];
  const __m256i a = _mm256_packs_epi32(q[0], q[1]), b = _mm256_packs_epi32(q[2], q[3]);
  if constexpr (Q == 1) {
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(_mm256_packs_epi16(a, b), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
  } else {
    _mm256_storeu_si256((__m256i *)to, _mm256_permute4x64_epi64(a, 0xd8));
    _mm256_storeu_si256((__m256i *)(to + 16), _mm256_permute4x64_epi64(b, 0xd8));
  }
#else
  for (int i = 0; i < 32; i++) {
    const float f = v[i / 8][i % 8] * inverse;
    const int32_t k = (int32_t)(f + 0x1.8p23f - 0x1.8p23f); // to nearest even
    to[i] = (C)k;
    count += k;
  }
#endif
  *scale = s;
  *total = s * (float)count;
  return true;
}

template <class C> bool quantise_runs_of(const float *x, int64_t inputs, Runs to) {
  for (int64_t i = 0; i < inputs / kRun; i++)
    if (!quantise_run<sizeof(C)>(x + kRun * i, (C *)to.codes + kRun * i, to.scale + i, to.sum + i)) return false;
  return true;
}

bool quantise_runs(int q, const float *x, int64_t inputs, Runs to) {
  return q == 1 ? quantise_runs_of<int8_t>(x, inputs, to) : quantise_runs_of<int16_t>(x, inputs, to);
}

// The place of run i in a block's scale and sum.
GR_INLINE int place_of(int i) { return (i & 1) * 4 + i / 2; }

// Puts a run where the codes of a weight meet it: place_in_pair, `odd` the second of its pair.
template <int Q, class C> GR_INLINE void spread(bool four_bits, const C *run, int odd, C *pair) {
#if GR_AVX2
  const __m256i a = words(run);
  if constexpr (Q == 1) {
    const __m256i apart = _mm256_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    const __m256i r = four_bits ? _mm256_permute4x64_epi64(_mm256_shuffle_epi8(a, apart), 0xd8) : a;
    _mm_storeu_si128((__m128i *)(pair + 16 * odd), _mm256_castsi256_si128(r));
    _mm_storeu_si128((__m128i *)(pair + 32 + 16 * odd), _mm256_extracti128_si256(r, 1));
  } else {
    // Even and odd words apart, then of 4 bits once more: of each 16 first those at 0, 4, 8 and 12, then 2, 6, 10, 14, and so on.
    const __m256i apart = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    const __m256i fours = _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15, 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    __m256i v[2] = {a, words(run + 16)};
    if (four_bits) {
      for (auto &h : v) h = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(h, fours), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
      // Now of each half pairs of words of one place in their four.
      const __m256i l = _mm256_unpacklo_epi64(v[0], v[1]), u = _mm256_unpackhi_epi64(v[0], v[1]);
      v[0] = _mm256_permute2x128_si256(l, u, 0x20), v[1] = _mm256_permute2x128_si256(l, u, 0x31);
    } else {
      for (auto &h : v) h = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(h, apart), 0xd8);
    }
    for (int h = 0; h < 2; h++) {
      _mm_storeu_si128((__m128i *)(pair + 32 * h + 8 * odd), _mm256_castsi256_si128(v[h]));
      _mm_storeu_si128((__m128i *)(pair + 32 * h + 16 + 8 * odd), _mm256_extracti128_si256(v[h], 1));
    }
  }
#else
  for (int k = 0; k < kRun; k++) pair[place_in_pair<Q>(four_bits, kRun * odd + k)] = run[k];
#endif
}

template <class C> bool quantise_blocks_of(int bits, const float *x, int64_t inputs, Blocks to) {
  constexpr int Q = sizeof(C);
  const int64_t whole = inputs / kBlock * kBlock;
  for (int64_t j = 0, n = blocks_of(inputs); j < n; j++) {
    int64_t start = j * kBlock, skip = 0;
    if (start == whole) {
      start = most<int64_t>(inputs - kBlock, 0);
      skip = (whole - start) / kRun; // runs that the block before has
    }
    C *codes = (C *)to.codes + kBlock * j;
    float *scale = to.scale + 8 * j, *total = to.sum + 8 * j;
    for (int i = 0; i < 8; i++) {
      C run[kRun] = {};
      float s = 0, t = 0;
      if (i >= skip && start + kRun * i < inputs && !quantise_run<Q>(x + start + kRun * i, run, &s, &t)) return false;
      scale[place_of(i)] = s, total[place_of(i)] = t;
      spread<Q>(bits == 4, run, i & 1, codes + 64 * (i / 2));
    }
  }
  return true;
}

bool quantise_blocks(int q, int bits, const float *x, int64_t inputs, Blocks to) {
  return q == 1 ? quantise_blocks_of<int8_t>(bits, x, inputs, to) : quantise_blocks_of<int16_t>(bits, x, inputs, to);
}
