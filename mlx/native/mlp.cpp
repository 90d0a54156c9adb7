//go:build cgo && mlx

#include "mlp.h"

#include <algorithm>

#include "trellis_product.h"

namespace gr {
namespace {

// Slots of the pool's scratch memory, beyond those of single products, which run within; those from kThread on are of threads.
enum Slot { kGate = 1000, kUp, kHidden, kCodes, kThread = 1020 };
constexpr int kCodeSlots = 3; // of one kind of codes of one input

float *floats(Workers &on, int slot, int64_t n) { return (float *)on.pool.scratch(slot, sizeof(float) * n); }

// y += a x.
void add_scaled(float a, const float *x, float *y, int64_t n) {
  typedef float v4 __attribute__((vector_size(16), aligned(4), may_alias));
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) *(v4 *)(y + i) += a * *(const v4 *)(x + i);
  for (; i < n; i++) y[i] += a * x[i];
}

// The rows that a weight is multiplied with, in the forms that weights ask for.
class Input {
 public:
  Input(Workers &on, const float *x, int64_t rows, int64_t width, int slot) : on_(on), slot_(slot), x(x), rows(rows), width(width) {}

  // Whole numbers of 16 bits in the order that weights of so many bits meet them in; the same for all but 4.
  const std::vector<Blocks> &blocks(int bits) {
    std::vector<Blocks> &list = blocks_[bits == 4];
    if (!list.empty()) return list;
    const int64_t n = blocks_of(width);
    const int slot = slot_ + kCodeSlots * (bits == 4);
    auto *codes = (int16_t *)on_.pool.scratch(slot, rows * n * kBlock * sizeof(int16_t));
    float *scales = floats(on_, slot + 1, rows * n * 8), *sums = floats(on_, slot + 2, rows * n * 8);
    list.resize(rows);
    finite.assign(rows, 1);
    const int64_t per = rows * width >= 1 << 14 ? ceil_div(rows, 2 * on_.pool.threads()) : rows;
    on_.pool.run((int)ceil_div(rows, per), [&](int piece, int) {
      for (int64_t r = piece * per, last = std::min(rows, r + per); r < last; r++) {
        list[r] = {codes + r * n * kBlock, scales + r * n * 8, sums + r * n * 8};
        finite[r] = on_.kernels.quantise_blocks(2, bits, x + r * width, width, list[r]);
      }
    });
    return list;
  }

 private:
  Workers &on_;
  int slot_;
  std::vector<Blocks> blocks_[2];

 public:
  const float *const x;
  const int64_t rows, width;
  std::vector<char> finite; // rows whose blocks mean something
};

// A weight with its input.
class Product {
 public:
  Product(Workers &on, const Matrix &w, Input &in) : on_(on), w_(w), in_(in) {
    if (!w.coded) blocks_ = &in.blocks(w.affine.bits);
    for (const LowRank &s : w.sums) {
      auto &low = low_.emplace_back(in.rows * s.rank);
      for (int64_t m = 0; m < in.rows; m++) low_factors(s, in.x + m * in.width, in.width, low.data() + m * s.rank);
    }
  }

  // Whether outputs can be computed apart from one another.
  bool by_rows() const { return !w_.coded || w_.axis == 1; }

  // y[m * stride + n - first], rounded, of outputs first <= n < last.
  void rows(int64_t first, int64_t last, float *y, int64_t stride) const {
    if (w_.coded) {
      const auto &k = trellis::named(on_.kernels.name);
      if (in_.rows <= 4)
        k.reduce(w_.codes, in_.x, (int)in_.rows, first, last, y, stride);
      else
        k.reduce_tile(w_.codes, trellis::Weights::codes, in_.x, (int)in_.rows, first, last, y, stride);
    } else {
      const Affine &a = w_.affine;
      for (int64_t r = 0, n = 0; r < in_.rows; r += n) {
        n = in_.rows - r >= 4 ? 4 : 1;
        on_.kernels.rows_q(2, a, blocks_->data() + r, (int)n, first, last, y + r * stride, stride);
        for (int64_t i = r; i < r + n; i++)
          if (!in_.finite[i]) on_.kernels.rows_f32(a, in_.x + i * in_.width, in_.width, 1, first, last, y + i * stride, stride);
      }
    }
    finish(first, last, y, stride);
  }

  // All outputs, [rows, outputs], where they are not computed by rows.
  void all(float *y) const {
    trellis::scatter(on_, w_.codes, trellis::Form::packed, {(void *)in_.x, Type::f32}, in_.rows, {y, Type::f32});
    finish(0, w_.outputs(), y, w_.outputs());
  }

 private:
  void finish(int64_t first, int64_t last, float *y, int64_t stride) const {
    float bias[256];
    for (int64_t i = first; w_.bias.data && i < last; i += 256) {
      const int64_t n = std::min<int64_t>(256, last - i);
      on_.kernels.widen(w_.bias.type, w_.bias.at(i), bias, n);
      for (int64_t m = 0; m < in_.rows; m++) add_scaled(1, bias, y + m * stride + i - first, n);
    }
    for (size_t s = 0; s < low_.size(); s++)
      for (int64_t m = 0; m < in_.rows; m++) add_low_rank(w_.sums[s], low_[s].data() + m * w_.sums[s].rank, first, last, y + m * stride);
    for (int64_t m = 0; m < in_.rows; m++) round_to(on_.kernels, w_.type, y + m * stride, last - first);
  }

  Workers &on_;
  const Matrix &w_;
  Input &in_;
  const std::vector<Blocks> *blocks_ = nullptr;
  std::vector<std::vector<float>> low_; // of each sum, scale * (x a): [rows, rank]
};

// Outputs of a piece: some pieces a thread, full tiles, no less than some 16 KiB of 4-bit codes.
int64_t per_piece(const Workers &on, int64_t outputs, int64_t inputs) {
  const int64_t least = ceil_div(16 << 10, inputs / 2);
  return std::min(ceil_div(std::max(ceil_div(outputs, 4 * on.pool.threads()), least), 16) * 16, outputs);
}

// silu(gate) * up into `hidden` [rows, width], columns first to last; gate and up have rows of `stride`.
void activate(const Kernels &k, Type t, const float *gate, const float *up, int64_t stride, int64_t rows, float *hidden, int64_t width, int64_t first, int64_t last) {
  for (int64_t m = 0; m < rows; m++) {
    float *h = hidden + m * width + first;
    k.swiglu(gate + m * stride, up + m * stride, h, last - first);
    round_to(k, t, h, last - first);
  }
}

void gate_and_up(Workers &on, const Product &gate, const Product &up, Type t, int64_t inputs, int64_t rows, float *hidden, int64_t width) {
  auto &pool = on.pool;
  const int64_t per = per_piece(on, width, 2 * inputs);
  const int pieces = (int)ceil_div(width, per);
  const bool together = gate.by_rows() && up.by_rows();
  float *g = nullptr, *u = nullptr;
  if (together) {
    for (int i = 0; i < pool.threads(); i++) floats(on, kThread + i, 2 * rows * per);
  } else {
    g = floats(on, kGate, rows * width), u = floats(on, kUp, rows * width);
    gate.by_rows() ? (void)pool.run(pieces, [&](int p, int) { gate.rows(p * per, std::min(width, (p + 1) * per), g + p * per, width); }) : gate.all(g);
    up.by_rows() ? (void)pool.run(pieces, [&](int p, int) { up.rows(p * per, std::min(width, (p + 1) * per), u + p * per, width); }) : up.all(u);
  }
  pool.run(pieces, [&](int piece, int thread) {
    const int64_t first = piece * per, last = std::min(width, first + per);
    if (!together) return activate(on.kernels, t, g + first, u + first, width, rows, hidden, width, first, last);
    float *a = (float *)pool.scratch(kThread + thread, 0), *b = a + rows * per;
    gate.rows(first, last, a, per);
    up.rows(first, last, b, per);
    activate(on.kernels, t, a, b, per, rows, hidden, width, first, last);
  });
}

}  // namespace

void low_factors(const LowRank &s, const float *x, int64_t inputs, float *t) {
  std::fill_n(t, s.rank, 0.0f);
  for (int64_t i = 0; i < inputs; i++) add_scaled(x[i], s.a + i * s.rank, t, s.rank);
  for (int64_t j = 0; j < s.rank; j++) t[j] *= s.scale;
}

void add_low_rank(const LowRank &s, const float *t, int64_t first, int64_t last, float *y) {
  for (int64_t j = 0; j < s.rank; j++) add_scaled(t[j], s.b + j * s.stride + first, y, last - first);
}

void put(const Kernels &k, float *v, int64_t n, Span y, Span sum, int64_t at) {
  if (!sum.data) return k.narrow(y.type, v, y.at(at), n);
  round_to(k, y.type, v, n);
  float more[256];
  for (int64_t i = 0; i < n; i += 256) {
    const int64_t m = std::min<int64_t>(256, n - i);
    k.widen(sum.type, sum.at(at + i), more, m);
    add_scaled(1, more, v + i, m);
  }
  k.narrow(y.type, v, y.at(at), n);
}

void mlp(Workers &on, const Matrix &gate, const Matrix &up, const Matrix &down, Type t, Span x, int64_t rows, const Norm &norm, Span y, Span sum) {
  if (rows == 0) return;
  auto &pool = on.pool;
  const int64_t inputs = gate.inputs(), width = gate.outputs(), outputs = down.outputs();
  Input in(on, rows_in(on, x, rows, inputs, norm), rows, inputs, kCodes);
  float *hidden = floats(on, kHidden, rows * width);
  gate_and_up(on, Product(on, gate, in), Product(on, up, in), t, inputs, rows, hidden, width);

  Input mid(on, hidden, rows, width, kCodes);
  const Product last_product(on, down, mid);
  if (!last_product.by_rows()) {
    float *all = floats(on, kGate, rows * outputs);
    last_product.all(all);
    return put(on.kernels, all, rows * outputs, y, sum, 0);
  }
  const int64_t per = per_piece(on, outputs, width);
  for (int i = 0; i < pool.threads(); i++) floats(on, kThread + i, rows * per);
  pool.run((int)ceil_div(outputs, per), [&](int piece, int thread) {
    const int64_t first = piece * per, last = std::min(outputs, first + per);
    auto *part = (float *)pool.scratch(kThread + thread, 0);
    last_product.rows(first, last, part, per);
    for (int64_t m = 0; m < rows; m++) put(on.kernels, part + m * per, last - first, y, sum, m * outputs + first);
  });
}

}  // namespace gr
