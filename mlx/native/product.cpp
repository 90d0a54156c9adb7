//go:build cgo && mlx

#include "product.h"

#include <algorithm>
#include <cmath>

namespace gr {
namespace {

// Slots of the pool's scratch memory; those from kThread on are of threads.
enum Slot { kWide, kCodes, kScale, kSum, kBias, kThread };

constexpr int64_t kRowsAtOnce = 512; // of a panel's product: their int8 codes stay in the second-level cache

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// x as floats.
const float *widened(Workers &on, Span x, int64_t rows, int64_t inputs) {
  if (x.type == Type::f32) return (const float *)x.data;
  auto *wide = (float *)on.pool.scratch(kWide, sizeof(float) * rows * inputs);
  on.pool.run((int)(rows * inputs >= 1 << 16 ? ceil_div(rows, 16) : 1), [&](int piece, int) {
    const int64_t first = rows * inputs >= 1 << 16 ? 16 * piece : 0, last = rows * inputs >= 1 << 16 ? std::min(rows, first + 16) : rows;
    on.kernels.widen(x.type, x.at(first * inputs), wide + first * inputs, (last - first) * inputs);
  });
  return wide;
}

// Writes `n` outputs from `first` on of one row.
void put(const Kernels &k, float *values, int64_t n, Span y, int64_t at, const float *bias) {
  if (bias)
    for (int64_t i = 0; i < n; i++) values[i] += bias[i];
  k.narrow(y.type, values, y.at(at), n);
}

struct Job {
  Workers &on;
  const Affine &w;
  const float *x;
  int64_t rows;
  Span y;
  const float *bias; // of all outputs, or null

  // Which rows have codes that mean something; without any, all are floats.
  const std::vector<char> *finite = nullptr;
};

// How many rows share a reading of the codes.
int64_t step(int64_t left, int tile) { return left >= 4 && tile >= 4 ? 4 : 1; }

// q: bytes of a whole number, 0: floats.
void by_rows(const Job &j, int tile, int q, const std::vector<Blocks> &blocks) {
  const Affine &w = j.w;
  auto &pool = j.on.pool;
  const Kernels &k = j.on.kernels;
  // Pieces of some 16 to 128 KiB of codes, so that a tile finds them in cache again.
  const int64_t row = w.row_bytes() + 2 * w.groups() * (int64_t)size_of(w.type);
  int64_t per = std::clamp(ceil_div(w.outputs, 4 * pool.threads()), ceil_div(16 << 10, row), std::max<int64_t>(ceil_div(128 << 10, row), 8));
  per = std::min(ceil_div(per, 8) * 8, w.outputs);
  const bool direct = j.y.type == Type::f32 && !j.bias;
  if (!direct)
    for (int t = 0; t < pool.threads(); t++) pool.scratch(kThread + 2 * t, sizeof(float) * 4 * per);
  pool.run((int)ceil_div(w.outputs, per), [&](int piece, int thread) {
    const int64_t first = piece * per, last = std::min(w.outputs, first + per);
    for (int64_t r = 0, n = 0; r < j.rows; r += n) {
      n = step(j.rows - r, tile);
      float *y = direct ? (float *)j.y.data + r * w.outputs + first : (float *)pool.scratch(kThread + 2 * thread, 0);
      const int64_t stride = direct ? w.outputs : per;
      if (q)
        k.rows_q(q, w, blocks.data() + r, (int)n, first, last, y, stride);
      else
        k.rows_f32(w, j.x + r * w.inputs, w.inputs, (int)n, first, last, y, stride);
      for (int64_t i = 0; i < n; i++) {
        if (j.finite && !(*j.finite)[r + i]) k.rows_f32(w, j.x + (r + i) * w.inputs, w.inputs, 1, first, last, y + i * stride, stride);
        if (!direct) put(k, y + i * stride, last - first, j.y, (r + i) * w.outputs + first, j.bias ? j.bias + first : nullptr);
      }
    }
  });
}

void by_panels(const Job &j, int q, Runs runs) {
  const Affine &w = j.w;
  auto &pool = j.on.pool;
  const Kernels &k = j.on.kernels;
  const int64_t at_once = std::min(j.rows, kRowsAtOnce), panels = ceil_div(w.outputs, kPanel);
  for (int t = 0; t < pool.threads(); t++) {
    pool.scratch(kThread + 2 * t, sizeof(float) * kPanel * at_once);
    pool.scratch(kThread + 2 * t + 1, q ? k.panel_q_room(q, w) : k.panel_f32_room(w));
  }
  pool.run((int)(panels * ceil_div(j.rows, at_once)), [&](int piece, int thread) {
    const int64_t first = piece % panels * kPanel, from = piece / panels * at_once, rows = std::min(at_once, j.rows - from);
    const int64_t n = std::min<int64_t>(kPanel, w.outputs - first);
    auto *y = (float *)pool.scratch(kThread + 2 * thread, 0);
    void *room = pool.scratch(kThread + 2 * thread + 1, 0);
    if (q) {
      const int64_t per_row = w.inputs / kRun;
      const Runs at{(char *)runs.codes + from * w.inputs * q, runs.scale + from * per_row, runs.sum + from * per_row};
      k.panel_q(q, w, at, rows, first, y, room);
    } else {
      k.panel_f32(w, j.x + from * w.inputs, w.inputs, rows, first, y, room);
    }
    for (int64_t r = 0; r < rows; r++) {
      float *values = y + r * kPanel;
      if (j.finite && !(*j.finite)[from + r]) k.rows_f32(w, j.x + (from + r) * w.inputs, w.inputs, 1, first, first + n, values, kPanel);
      put(k, values, n, j.y, (from + r) * w.outputs + first, j.bias ? j.bias + first : nullptr);
    }
  });
}

}  // namespace

const float *Angles::of(const std::vector<float> &rates, int64_t position, int64_t rows) {
  for (const Table &t : tables_)
    if (t.position == position && t.rows == rows && t.rates == rates) return t.values.data();
  Table &t = tables_[next_ = 1 - next_];
  const size_t half = rates.size();
  t.rows = 0; // nothing, should memory be short
  t.values.resize(2 * half * rows);
  for (int64_t r = 0; r < rows; r++) {
    float *c = t.values.data() + 2 * half * r, *s = c + half;
    for (size_t i = 0; i < half; i++) {
      const float angle = (float)(position + r) * rates[i];
      c[i] = std::cos(angle), s[i] = std::sin(angle);
    }
  }
  t.rates = rates, t.position = position, t.rows = rows;
  return t.values.data();
}

void product(Workers &on, const Affine &w, Form form, int tile, Span x, int64_t rows, Span y, Span bias) {
  if (rows == 0 || w.outputs == 0) return;
  auto &pool = on.pool;
  Job j{on, w, widened(on, x, rows, w.inputs), rows, y, nullptr};
  if (bias.data) {
    j.bias = (const float *)bias.data;
    if (bias.type != Type::f32) {
      auto *wide = (float *)pool.scratch(kBias, sizeof(float) * w.outputs);
      on.kernels.widen(bias.type, bias.data, wide, w.outputs);
      j.bias = wide;
    }
  }
  if (form == Form::rows_f32) return by_rows(j, tile, 0, {});
  if (form == Form::panel_f32) return by_panels(j, 0, {});

  const bool blocks = form == Form::rows_q8 || form == Form::rows_q16;
  const int q = form == Form::rows_q8 || form == Form::panel_q8 ? 1 : 2;
  const int64_t n = blocks_of(w.inputs), codes = blocks ? n * kBlock : w.inputs, scales = blocks ? n * 8 : w.inputs / kRun;
  const Runs to{pool.scratch(kCodes, rows * codes * q), (float *)pool.scratch(kScale, sizeof(float) * rows * scales),
                (float *)pool.scratch(kSum, sizeof(float) * rows * scales)};
  std::vector<char> finite(rows);
  std::vector<Blocks> list(blocks ? rows : 0);
  const int64_t per = rows * w.inputs >= 1 << 14 ? ceil_div(rows, 4 * pool.threads()) : rows;
  pool.run((int)ceil_div(rows, per), [&](int piece, int) {
    for (int64_t r = piece * per, last = std::min(rows, r + per); r < last; r++) {
      const float *row = j.x + r * w.inputs;
      const Runs at{(char *)to.codes + r * codes * q, to.scale + r * scales, to.sum + r * scales};
      if (blocks) list[r] = {at.codes, at.scale, at.sum};
      finite[r] = blocks ? on.kernels.quantise_blocks(q, w.bits, row, w.inputs, list[r]) : on.kernels.quantise_runs(q, row, w.inputs, at);
    }
  });
  if (std::find(finite.begin(), finite.end(), 0) != finite.end()) j.finite = &finite;
  if (blocks)
    by_rows(j, tile, q, list);
  else
    by_panels(j, q, to);
}

}  // namespace gr
