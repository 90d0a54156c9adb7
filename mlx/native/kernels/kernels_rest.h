// What stands between the products: norm, activation, softmax, rotation.

void rms_norm(const float *x, const float *weight, float eps, int64_t n, float *y) {
  vf s[4] = {};
  int64_t i = 0;
  for (; i + 32 <= n; i += 32)
    for (int k = 0; k < 4; k++) {
      const vf v = load(x + i + 8 * k);
      s[k] = fma(v, v, s[k]);
    }
  float total = sum((s[0] + s[1]) + (s[2] + s[3]));
  for (; i < n; i++) total += x[i] * x[i];
  const float r = 1 / __builtin_sqrtf(total / (float)n + eps);
  for (i = 0; i + 8 <= n; i += 8) {
    const vf v = load(x + i) * r;
    store(y + i, weight ? v * load(weight + i) : v);
  }
  for (; i < n; i++) y[i] = x[i] * r * (weight ? weight[i] : 1);
}

// e^x within 2 units in the last place; 0 below -87.3, infinity above 88.7, NaN stays (Cephes).
GR_INLINE vf exp_of(vf x) {
  const vf low = all(-87.33654f), high = all(88.72283f);
  vf z = x;
  z = (vf)((x < low) ? (vu)low : (vu)z);
  z = (vf)((x > high) ? (vu)high : (vu)z);
  const vf shift = all(0x1.8p23f);
  const vf k = fma(z, all(1.44269504f), shift) - shift;
  vf r = fma(k, all(-0.693359375f), z);
  r = fma(k, all(2.12194440e-4f), r);
  vf p = all(1.9875691500e-4f);
  p = fma(p, r, all(1.3981999507e-3f));
  p = fma(p, r, all(8.3334519073e-3f));
  p = fma(p, r, all(4.1665795894e-2f));
  p = fma(p, r, all(1.6666665459e-1f));
  p = fma(p, r, all(5.0000001201e-1f));
  p = fma(p, r * r, r) + 1.0f;
  const vf finite = (x == x) ? k : all(0);
  const vi e = __builtin_convertvector(finite, vi);
  const vi half = e >> 1; // in two steps: 2^128 is no float
  const vf a = (vf)((half + 127) << 23), b = (vf)((e - half + 127) << 23);
  p = p * a * b;
  p = (vf)((x < low) ? vu{} : (vu)p);
  p = (vf)((x > high) ? (vu)all(__builtin_inff()) : (vu)p);
  return p;
}

GR_INLINE float exp_of(float x) { return exp_of(all(x))[0]; }

GR_INLINE vf silu(vf x) { return x / (1.0f + exp_of(-x)); }

void swiglu(const float *gate, const float *up, float *y, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) store(y + i, silu(load(gate + i)) * load(up + i));
  for (; i < n; i++) y[i] = silu(all(gate[i]))[0] * up[i];
}

void sum_exp(const float *x, int64_t n, float *top, float *total) {
  float most = -__builtin_inff(), sums = 0;
  for (int64_t i = 0; i < n; i++) most = !(x[i] <= most) ? x[i] : most; // a NaN stays
  *top = most;
  if (most == -__builtin_inff()) most = 0;
  vf t = all(0);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) t += exp_of(load(x + i) - most);
  for (; i < n; i++) sums += exp_of(x[i] - most);
  *total = sum(t) + sums;
}

void rotate(const float *x, const float *cosines, const float *sines, int half, bool neighbours, float *y) {
  if (neighbours) {
    for (int i = 0; i < half; i++) {
      const float a = x[2 * i], b = x[2 * i + 1];
      y[2 * i] = a * cosines[i] - b * sines[i];
      y[2 * i + 1] = a * sines[i] + b * cosines[i];
    }
    return;
  }
  int i = 0;
  for (; i + 8 <= half; i += 8) {
    const vf a = load(x + i), b = load(x + half + i), c = load(cosines + i), s = load(sines + i);
    store(y + i, a * c - b * s);
    store(y + half + i, a * s + b * c);
  }
  for (; i < half; i++) {
    const float a = x[i], b = x[half + i];
    y[i] = a * cosines[i] - b * sines[i];
    y[half + i] = a * sines[i] + b * cosines[i];
  }
}
