//go:build cgo && mlx

// A whole MLP of many rows: gate, up and their activation come out 32 columns at a time and are quantised for down at once.

#include <algorithm>
#include <atomic>

#include "mlp.h"

namespace gr {
namespace {

// Slots of the pool's scratch memory, beyond those of mlp.cpp; of kThread three for each thread.
enum Slot { kIn = 1100, kMid = 1103, kHidden = 1106, kLow, kBias = 1110, kThread = 1120 };

constexpr int64_t kBlockRows = 512; // that share the unpacking of a panel
constexpr int64_t kTile = 32;       // rows whose gate and up stay in the first-level cache

// Rows as whole numbers of 16 bits, in order.
struct Quantised {
  Quantised(Workers &on, int slot, int64_t rows, int64_t width)
      : width(width), runs{on.pool.scratch(slot, sizeof(int16_t) * rows * width), (float *)on.pool.scratch(slot + 1, sizeof(float) * rows * (width / kRun)),
                           (float *)on.pool.scratch(slot + 2, sizeof(float) * rows * (width / kRun))} {}

  Runs at(int64_t row, int64_t column = 0) const {
    const int64_t run = (row * width + column) / kRun;
    return {(int16_t *)runs.codes + row * width + column, runs.scale + run, runs.sum + run};
  }

  const int64_t width;
  const Runs runs;
};

// A weight with what is ready for all rows of a block.
class Part {
 public:
  // low: a slot, of which as many are taken as there are sums.
  Part(Workers &on, const Matrix &w, int slot) : on_(on), w_(w), slot_(slot) {
    if (!w.bias.data || w.bias.type == Type::f32) {
      bias_ = (const float *)w.bias.data;
      return;
    }
    auto *wide = (float *)on.pool.scratch(slot, sizeof(float) * w.outputs());
    on.kernels.widen(w.bias.type, w.bias.data, wide, w.outputs());
    bias_ = wide;
  }

  const Matrix &matrix() const { return w_; }
  const float *bias(int64_t first) const { return bias_ ? bias_ + first : nullptr; }

  // The factors of the low-rank sums of `rows` rows of x.
  void meet(const float *x, int64_t rows) {
    low_.clear();
    int64_t rank = 0;
    for (const LowRank &s : w_.sums) rank += s.rank;
    if (rank == 0) return;
    auto *low = (float *)on_.pool.scratch(slot_ + 1, sizeof(float) * rows * rank);
    for (const LowRank &s : w_.sums) {
      low_.push_back(low);
      on_.pool.run((int)ceil_div(rows, 8), [&](int piece, int) {
        for (int64_t m = 8 * piece, last = std::min(rows, m + 8); m < last; m++) low_factors(s, x + m * w_.inputs(), w_.inputs(), low + m * s.rank);
      });
      low += rows * s.rank;
    }
  }

  // y[i * stride + n - first] of rows row + i, + the low-rank sums.
  void add_low(int64_t row, int64_t rows, int64_t first, int64_t last, float *y, int64_t stride) const {
    for (size_t s = 0; s < low_.size(); s++)
      for (int64_t i = 0; i < rows; i++) add_low_rank(w_.sums[s], low_[s] + (row + i) * w_.sums[s].rank, first, last, y + i * stride);
  }

 private:
  Workers &on_;
  const Matrix &w_;
  int slot_;
  const float *bias_ = nullptr;
  std::vector<const float *> low_;
};

class Panels {
 public:
  Panels(Workers &on, const Matrix &gate, const Matrix &up, const Matrix &down, Type hidden, int64_t rows)
      : on_(on), gate_(on, gate, kBias), up_(on, up, kBias + 2), down_(on, down, kBias + 4), hidden_type_(hidden), inputs_(gate.inputs()),
        width_(gate.outputs()), outputs_(down.outputs()), in_(on, kIn, rows, inputs_), mid_(on, kMid, rows, width_), finite_(rows) {
    if (!down.sums.empty()) hidden_ = (float *)on.pool.scratch(kHidden, sizeof(float) * rows * width_);
    gate_room_ = padded(on.kernels.panel_q_room(2, gate.affine)), up_room_ = padded(on.kernels.panel_q_room(2, up.affine));
    const size_t room = std::max(2 * (gate_room_ + up_room_), on.kernels.panel_q_room(2, down.affine));
    for (int t = 0; t < on.pool.threads(); t++) {
      on.pool.scratch(kThread + 3 * t, room);
      on.pool.scratch(kThread + 3 * t + 1, sizeof(float) * std::max(2 * kTile * kRun, rows * kPanel));
    }
  }

  // Rows of floats through all of it; what was not finite says `finite` afterwards.
  void block(const float *x, int64_t rows, Span y, Span sum) {
    on_.pool.run((int)ceil_div(rows, 8), [&](int piece, int) {
      for (int64_t r = 8 * piece, last = std::min(rows, r + 8); r < last; r++)
        finite_[r].store(on_.kernels.quantise_runs(2, x + r * inputs_, inputs_, in_.at(r)), std::memory_order_relaxed);
    });
    gate_.meet(x, rows), up_.meet(x, rows);
    on_.pool.run((int)(width_ / kRun), [&](int piece, int thread) { columns(kRun * piece, rows, thread); });
    if (hidden_) down_.meet(hidden_, rows);
    on_.pool.run((int)ceil_div(outputs_, kPanel), [&](int piece, int thread) { outputs(kPanel * piece, rows, y, sum, thread); });
  }

  bool finite(int64_t row) const { return finite_[row].load(std::memory_order_relaxed); }

 private:
  static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

  // A run of gate and up, activated and quantised.
  void columns(int64_t first, int64_t rows, int thread) {
    const Kernels &k = on_.kernels;
    char *gate_room = (char *)on_.pool.scratch(kThread + 3 * thread, 0), *up_room = gate_room + 2 * gate_room_;
    auto *gate = (float *)on_.pool.scratch(kThread + 3 * thread + 1, 0), *up = gate + kTile * kRun;
    const int64_t next = kRun * on_.pool.threads();
    for (int64_t h = 0, n = first; h < 2; h++, n += kPanel) {
      k.unpack_q(2, gate_.matrix().affine, n, n + next, gate_room + h * gate_room_);
      k.unpack_q(2, up_.matrix().affine, n, n + next, up_room + h * up_room_);
    }
    for (int64_t row = 0; row < rows; row += kTile) {
      const int64_t n = std::min(kTile, rows - row);
      product(gate_, gate_room, gate_room_, first, row, n, gate);
      product(up_, up_room, up_room_, first, row, n, up);
      k.swiglu(gate, up, gate, n * kRun);
      round_to(k, hidden_type_, gate, n * kRun);
      for (int64_t i = 0; i < n; i++) {
        if (!k.quantise_runs(2, gate + i * kRun, kRun, mid_.at(row + i, first))) finite_[row + i].store(false, std::memory_order_relaxed);
        if (hidden_) std::copy_n(gate + i * kRun, kRun, hidden_ + (row + i) * width_ + first);
      }
    }
  }

  void product(const Part &p, const char *room, size_t panel, int64_t first, int64_t row, int64_t rows, float *y) const {
    for (int h = 0; h < 2; h++)
      on_.kernels.panel_q(2, p.matrix().affine, room + h * panel, in_.at(row), rows, {Type::f32, y + kPanel * h, kRun, p.bias(first + kPanel * h), nullptr});
    p.add_low(row, rows, first, first + kRun, y, kRun);
    round_to(on_.kernels, p.matrix().type, y, rows * kRun);
  }

  // A panel of down.
  void outputs(int64_t first, int64_t rows, Span y, Span sum, int thread) const {
    const Kernels &k = on_.kernels;
    const Affine &w = down_.matrix().affine;
    void *room = on_.pool.scratch(kThread + 3 * thread, 0);
    k.unpack_q(2, w, first, first + kPanel * on_.pool.threads(), room);
    const int64_t n = std::min<int64_t>(kPanel, outputs_ - first);
    if (n == kPanel && !hidden_) return k.panel_q(2, w, room, mid_.at(0), rows, {y.type, y.at(first), outputs_, down_.bias(first), sum.data ? sum.at(first) : nullptr});
    auto *part = (float *)on_.pool.scratch(kThread + 3 * thread + 1, 0);
    k.panel_q(2, w, room, mid_.at(0), rows, {Type::f32, part, kPanel, nullptr, nullptr});
    for (int64_t r = 0; r < rows; r++) {
      float *v = part + r * kPanel;
      if (const float *bias = down_.bias(first))
        for (int64_t i = 0; i < n; i++) v[i] += bias[i];
      down_.add_low(r, 1, first, first + n, v, kPanel);
      put(k, v, n, y, sum, r * outputs_ + first);
    }
  }

  Workers &on_;
  Part gate_, up_, down_;
  const Type hidden_type_;
  const int64_t inputs_, width_, outputs_;
  Quantised in_, mid_;
  std::vector<std::atomic<bool>> finite_;
  float *hidden_ = nullptr; // what down's low-rank sums are made of
  size_t gate_room_ = 0, up_room_ = 0;
};

}  // namespace

void mlp_panels(Workers &on, const Matrix &gate, const Matrix &up, const Matrix &down, Type hidden, Span x, int64_t rows, const Norm &norm, Span y, Span sum) {
  if (rows == 0) return;
  const int64_t inputs = gate.inputs(), outputs = down.outputs();
  const auto part = [](Span s, int64_t at) { return s.data ? Span{s.at(at), s.type} : s; };
  Panels panels(on, gate, up, down, hidden, std::min(rows, kBlockRows));
  std::vector<int64_t> rest; // rows that whole numbers cannot hold
  for (int64_t from = 0; from < rows; from += kBlockRows) {
    const int64_t n = std::min(kBlockRows, rows - from);
    panels.block(rows_in(on, part(x, from * inputs), n, inputs, norm), n, part(y, from * outputs), part(sum, from * outputs));
    for (int64_t r = 0; r < n; r++)
      if (!panels.finite(r)) rest.push_back(from + r);
  }
  for (int64_t r : rest) mlp(on, gate, up, down, hidden, part(x, r * inputs), 1, norm, part(y, r * outputs), part(sum, r * outputs));
}

}  // namespace gr
