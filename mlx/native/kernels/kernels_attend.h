// Attention: of few queries over spans of keys, of many over packed keys.

// The sums of 4 vectors, times a factor.
GR_INLINE void sums(const vf *x, float factor, float *y) {
#if GR_AVX2
  const __m256 a = (__m256)x[0], b = (__m256)x[1], c = (__m256)x[2], d = (__m256)x[3];
  const __m256 ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)), cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
  const __m256 r = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));
  _mm_storeu_ps(y, _mm_mul_ps(_mm_add_ps(_mm256_castps256_ps128(r), _mm256_extractf128_ps(r, 1)), _mm_set1_ps(factor)));
#else
  for (int i = 0; i < 4; i++) y[i] = sum(x[i]) * factor;
#endif
}

// The scores of M queries with 4 keys.
template <Type T, int M>
GR_INLINE void scores_of(const float *q, int64_t q_stride, const char *const *k, int d, float scale, float *scores, int64_t stride) {
  constexpr int size = T == Type::f32 ? 4 : 2;
  vf acc[M][4] = {};
  int c = 0;
  for (; c + 8 <= d; c += 8) {
    vf x[M];
#pragma GCC unroll 3
    for (int m = 0; m < M; m++) x[m] = load(q + m * q_stride + c);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      const vf key = numbers<T>(k[i] + c * size);
#pragma GCC unroll 3
      for (int m = 0; m < M; m++) acc[m][i] = fma(x[m], key, acc[m][i]);
    }
  }
#pragma GCC unroll 3
  for (int m = 0; m < M; m++) sums(acc[m], scale, scores + m * stride);
  if (c == d) return;
  for (int m = 0; m < M; m++)
    for (int i = 0; i < 4; i++)
      for (int rest = c; rest < d; rest++) scores[m * stride + i] += q[m * q_stride + rest] * number<T>(k[i], rest) * scale;
}

// The sums of n values of W vectors each, times the weights of M queries.
template <Type T, int M, int W>
GR_INLINE void values_of(const char *v, int64_t v_bytes, int64_t n, const float *weights, int64_t stride, float *y, int64_t y_stride) {
  constexpr int size = T == Type::f32 ? 4 : 2;
  vf acc[M][W] = {};
  for (int64_t i = 0; i < n; i++, v += v_bytes) {
    vf p[M];
#pragma GCC unroll 3
    for (int m = 0; m < M; m++) p[m] = all(weights[m * stride + i]);
#pragma GCC unroll 8
    for (int w = 0; w < W; w++) {
      const vf x = numbers<T>(v + 8 * w * size);
#pragma GCC unroll 3
      for (int m = 0; m < M; m++) acc[m][w] = fma(p[m], x, acc[m][w]);
    }
  }
  for (int m = 0; m < M; m++)
    for (int w = 0; w < W; w++) store(y + m * y_stride + 8 * w, acc[m][w]);
}

template <Type T, int M>
void attend_of(const float *q, int64_t q_stride, const int64_t *seen, const void *k, int64_t k_stride, const void *v, int64_t v_stride, int64_t n, int d,
               int dv, float scale, float *scores, float *parts, int64_t stride) {
  constexpr int size = T == Type::f32 ? 4 : 2, wide = M == 1 ? 8 : 4;
  const int64_t room = (n + 7) / 8 * 8;
  for (int64_t i = 0; i < n; i += 4) {
    const char *keys[4];
    for (int j = 0; j < 4; j++) keys[j] = (const char *)k + least(i + j, n - 1) * k_stride * size;
    for (int j = 0; j < 4; j++) { // memory is the limit: values come in while scores are computed
      const char *value = (const char *)v + least(i + j, n - 1) * v_stride * size;
      for (int c = 0; c < dv * size; c += 64) __builtin_prefetch(value + c);
      for (int c = 0; c < d * size; c += 64) __builtin_prefetch(keys[j] + 16 * k_stride * size + c);
    }
    scores_of<T, M>(q, q_stride, keys, d, scale, scores + i, room);
  }
  for (int m = 0; m < M; m++) {
    float *s = scores + m * room;
    for (int64_t i = least(seen[m], n); i < room; i++) s[i] = -__builtin_inff();
    vf top8 = load(s);
    for (int64_t i = 8; i < room; i += 8) top8 = larger(load(s + i), top8);
    const float top = highest(top8), base = top == -__builtin_inff() ? 0 : top;
    vf total = all(0);
    for (int64_t i = 0; i < room; i += 8) {
      const vf e = exp_of(load(s + i) - base);
      store(s + i, e);
      total += e;
    }
    float *part = parts + m * stride;
    part[dv] = top, part[dv + 1] = sum(total);
  }
  const char *values = (const char *)v;
  int c = 0;
  for (; c + 8 * wide <= dv; c += 8 * wide) values_of<T, M, wide>(values + c * size, v_stride * size, n, scores, room, parts + c, stride);
  for (; c + 8 <= dv; c += 8) values_of<T, M, 1>(values + c * size, v_stride * size, n, scores, room, parts + c, stride);
  for (; c < dv; c++)
    for (int m = 0; m < M; m++) {
      float acc = 0;
      for (int64_t i = 0; i < n; i++) acc += scores[m * room + i] * number<T>(values + i * v_stride * size, c);
      parts[m * stride + c] = acc;
    }
}

template <Type T>
void attend_all(const float *q, int64_t q_stride, int rows, int64_t seen, int turns, const void *k, int64_t k_stride, const void *v, int64_t v_stride,
                int64_t n, int d, int dv, float scale, float *scores, float *parts, int64_t stride) {
  for (int r = 0; r < rows;) {
    const int left = rows - r, now = left == 4 ? 2 : least(left, 3); // 3 queries with 4 keys, or 4 vectors of values, fill 16 registers
    int64_t sees[3];
    for (int m = 0; m < now; m++) sees[m] = most<int64_t>(0, seen + (r + m) % turns);
    const auto f = now == 3 ? attend_of<T, 3> : now == 2 ? attend_of<T, 2> : attend_of<T, 1>;
    f(q + r * q_stride, q_stride, sees, k, k_stride, v, v_stride, n, d, dv, scale, scores, parts + r * stride, stride);
    r += now;
  }
}

void attend(const float *q, int64_t q_stride, int rows, int64_t seen, int turns, Type type, const void *k, int64_t k_stride, const void *v,
            int64_t v_stride, int64_t n, int d, int dv, float scale, float *scores, float *parts, int64_t stride) {
  const auto f = type == Type::f32 ? attend_all<Type::f32> : type == Type::f16 ? attend_all<Type::f16> : attend_all<Type::bf16>;
  f(q, q_stride, rows, seen, turns, k, k_stride, v, v_stride, n, d, dv, scale, scores, parts, stride);
}

void join(const float *parts, int64_t n, int64_t stride, int dv, float *y) {
  float top = parts[dv], total = 0;
  for (int64_t i = 1; i < n; i++) top = !(parts[i * stride + dv] <= top) ? parts[i * stride + dv] : top; // a NaN stays
  for (int c = 0; c < dv; c++) y[c] = 0;
  for (int64_t i = 0; i < n; i++) {
    const float *part = parts + i * stride, weight = exp_of(part[dv] - top);
    total += weight * part[dv + 1];
    int c = 0;
    for (; c + 8 <= dv; c += 8) store(y + c, fma(all(weight), load(part + c), load(y + c)));
    for (; c < dv; c++) y[c] += weight * part[c];
  }
  const float inverse = 1 / total;
  for (int c = 0; c < dv; c++) y[c] *= inverse;
}

template <Type T> void pack_of(const void *k, int64_t k_stride, int64_t n, int d, float *to) {
  constexpr int64_t size = T == Type::f32 ? 4 : 2;
  for (int64_t first = 0; first < n; first += 8) {
    float *panel = to + first / kPanel * kPanel * d + first % kPanel;
    const char *row = (const char *)k + first * k_stride * size;
    const int64_t keys = least<int64_t>(8, n - first);
    int c = 0;
    for (; c + 8 <= d; c += 8) {
      vf r[8];
      for (int i = 0; i < 8; i++) r[i] = i < keys ? numbers<T>(row + (i * k_stride + c) * size) : all(0);
      transpose(r);
      for (int i = 0; i < 8; i++) store(panel + (c + i) * kPanel, r[i]);
    }
    for (; c < d; c++)
      for (int i = 0; i < 8; i++) panel[c * kPanel + i] = i < keys ? number<T>(row + i * k_stride * size, c) : 0;
  }
  if (const int64_t half = (n + 7) / 8 * 8; half % kPanel != 0) // the last panel's other half
    for (int c = 0; c < d; c++) store(to + half / kPanel * kPanel * d + c * kPanel + 8, all(0));
}

void pack_keys(Type type, const void *k, int64_t k_stride, int64_t n, int d, float *to) {
  const auto f = type == Type::f32 ? pack_of<Type::f32> : type == Type::f16 ? pack_of<Type::f16> : pack_of<Type::bf16>;
  f(k, k_stride, n, d, to);
}

template <int M>
void attend_rows_of(const float *q, int64_t q_stride, const float *k, const float *v, int64_t v_stride, int64_t n, int d, int dv, float scale,
                    float *scores, float *y, int64_t y_stride) {
  const int64_t wide = (n + M - 1 + kPanel - 1) / kPanel * kPanel; // keys that the last query sees, in whole panels
  for (int64_t p = 0; p < wide; p += kPanel) {
    vf acc[M][2] = {};
    const float *panel = k + p * d;
    for (int c = 0; c < d; c++) {
      const vf a = load(panel + c * kPanel), b = load(panel + c * kPanel + 8);
#pragma GCC unroll 6
      for (int m = 0; m < M; m++) {
        const vf x = all(q[m * q_stride + c]);
        acc[m][0] = fma(a, x, acc[m][0]), acc[m][1] = fma(b, x, acc[m][1]);
      }
    }
    for (int m = 0; m < M; m++) store(scores + m * wide + p, acc[m][0] * scale), store(scores + m * wide + p + 8, acc[m][1] * scale);
  }
  float inverse[M];
  for (int m = 0; m < M; m++) {
    float *s = scores + m * wide;
    const int64_t seen = n + m;
    for (int64_t i = seen; i < wide; i++) s[i] = -__builtin_inff();
    vf top8 = load(s);
    for (int64_t i = 8; i < wide; i += 8) top8 = larger(load(s + i), top8);
    float top = highest(top8);
    if (top == -__builtin_inff()) top = 0;
    vf total = all(0);
    for (int64_t i = 0; i < wide; i += 8) {
      const vf e = exp_of(load(s + i) - top);
      store(s + i, e);
      total += e;
    }
    inverse[m] = 1 / sum(total);
  }
  for (int c = 0; c < dv; c += kPanel) {
    vf acc[M][2] = {};
    for (int64_t i = 0; i < n + M - 1; i++) {
      const vf a = load(v + i * v_stride + c), b = load(v + i * v_stride + c + 8);
#pragma GCC unroll 6
      for (int m = 0; m < M; m++) {
        const vf p = all(scores[m * wide + i]);
        acc[m][0] = fma(a, p, acc[m][0]), acc[m][1] = fma(b, p, acc[m][1]);
      }
    }
    for (int m = 0; m < M; m++)
      store(y + m * y_stride + c, acc[m][0] * inverse[m]), store(y + m * y_stride + c + 8, acc[m][1] * inverse[m]);
  }
}

void attend_rows(const float *q, int64_t q_stride, int queries, const float *k, const float *v, int64_t v_stride, int64_t n, int d, int dv,
                 float scale, float *scores, float *y, int64_t y_stride) {
  if (queries == 6) return attend_rows_of<6>(q, q_stride, k, v, v_stride, n, d, dv, scale, scores, y, y_stride);
  for (int i = 0; i < queries; i++) attend_rows_of<1>(q + i * q_stride, q_stride, k, v, v_stride, n + i, d, dv, scale, scores, y + i * y_stride, y_stride);
}
