// Products of a few rows: each output's row of codes is read once, in place.

// f32: w = scale * code + bias, as MLX's own product has it, so that infinities and NaN come out alike.
template <int N, int R>
void rows_f32_of(const Affine &w, const float *x, int64_t x_stride, int64_t first, int64_t last, float *y, int64_t stride) {
  constexpr int A = R == 1 ? 4 : 1; // sums side by side: an addition takes several cycles
  const int64_t groups = w.groups(), row = w.row_bytes();
  const int per_group = w.group / 32;
  for (int64_t n = first; n < last; n++) {
    const uint8_t *p = w.codes + n * row;
    vf acc[R][A] = {};
    const float *at = x;
    for (int64_t g = 0; g < groups; g++) {
      const vf s = all(number(w.type, w.scales, n * groups + g)), b = all(number(w.type, w.biases, n * groups + g));
      for (int i = 0; i < per_group; i++, p += 4 * N, at += 32) {
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++) {
          const vf v = apart(floats(codes<N>(p + N * u)), s, b);
#pragma GCC unroll 4
          for (int r = 0; r < R; r++) acc[r][u % A] = fma(v, load(at + r * x_stride + 8 * u), acc[r][u % A]);
        }
      }
    }
    for (int r = 0; r < R; r++) {
      vf t = acc[r][0];
      for (int a = 1; a < A; a++) t += acc[r][a];
      y[r * stride + n - first] = sum(t);
    }
  }
}

// From numbers to template parameters.
template <class F> GR_INLINE void with_bits(int bits, F f) {
  switch (bits) {
    case 2: return f.template operator()<2>();
    case 3: return f.template operator()<3>();
    case 4: return f.template operator()<4>();
    case 5: return f.template operator()<5>();
    case 6: return f.template operator()<6>();
    case 8: return f.template operator()<8>();
  }
}

void rows_f32(const Affine &w, const float *x, int64_t x_stride, int rows, int64_t first, int64_t last, float *y, int64_t stride) {
  with_bits(w.bits, [&]<int N>() {
    if (rows == 4)
      rows_f32_of<N, 4>(w, x, x_stride, first, last, y, stride);
    else
      rows_f32_of<N, 1>(w, x, x_stride, first, last, y, stride);
  });
}

template <class C> void rows_q_by(const Affine &w, const Blocks *x, int rows, int64_t first, int64_t last, float *y, int64_t stride) {
  with_bits(w.bits, [&]<int N>() {
    if (rows == 4)
      rows_q_of<N, 4, C>(w, x, first, last, y, stride);
    else
      rows_q_of<N, 1, C>(w, x, first, last, y, stride);
  });
}

void rows_q(int q, const Affine &w, const Blocks *x, int rows, int64_t first, int64_t last, float *y, int64_t stride) {
  if (q == 1)
    rows_q_by<int8_t>(w, x, rows, first, last, y, stride);
  else
    rows_q_by<int16_t>(w, x, rows, first, last, y, stride);
}
