//go:build cgo && mlx

#include "product.h"

#include <algorithm>
#include <cmath>

namespace gr {
namespace {

// Slots of the pool's scratch memory. Those from kBias on are of members, with kThread three for each thread behind them.
enum Slot { kWide, kGain, kNormed, kCodes, kScale = kCodes + 2, kSum = kScale + 2, kBias = kSum + 2 };

constexpr int64_t kRowsAtOnce = 512; // of a panel's product: their int8 codes stay in the second-level cache

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

struct Job {
  Workers &on;
  const std::vector<Member> &members;
  const float *x;
  int64_t rows;
  std::vector<const float *> bias; // of a member's outputs, or null
  int scratch;                     // the first slot of threads

  // Which rows have codes that mean something; without any, all are floats.
  const std::vector<char> *finite = nullptr;

  void *room(int thread, int i, size_t bytes = 0) const { return on.pool.scratch(scratch + 3 * thread + i, bytes); }
  bool direct(int m) const { return members[m].y.type == Type::f32 && !bias[m]; }

  // Where a panel's products go that need no temporary place.
  PanelOut panel_out(int m, int64_t row, int64_t first) const {
    const Member &o = members[m];
    const int64_t at = row * o.w.outputs + first;
    return {o.y.type, o.y.at(at), o.w.outputs, bias[m] ? bias[m] + first : nullptr, o.sum.data ? o.sum.at(at) : nullptr};
  }

  // Writes `n` outputs from `at` on of a member: values, which may lie where they belong.
  void put(int m, int thread, float *values, int64_t n, int64_t row, int64_t first) const {
    const Kernels &k = on.kernels;
    const Span &y = members[m].y, &sum = members[m].sum;
    const int64_t at = row * members[m].w.outputs + first;
    if (bias[m])
      for (int64_t i = 0; i < n; i++) values[i] += bias[m][first + i];
    if (sum.data) {
      const float *more = (const float *)sum.at(at);
      if (y.type != Type::f32) {
        k.narrow(y.type, values, y.at(at), n), k.widen(y.type, y.at(at), values, n);
        auto *wide = (float *)room(thread, 2);
        k.widen(sum.type, sum.at(at), wide, n);
        more = wide;
      }
      for (int64_t i = 0; i < n; i++) values[i] += more[i];
    }
    if (values != (const float *)y.at(at)) k.narrow(y.type, values, y.at(at), n);
  }
};

// How many rows share a reading of the codes.
int64_t step(int64_t left, int tile) { return left >= 4 && tile >= 4 ? 4 : 1; }

// Calls f(member, its piece, thread) for every piece of every member; count gives a member's pieces.
template <class C, class F> void share_out(const Job &j, C &&count, F &&f) {
  std::vector<int> ends;
  int n = 0;
  for (size_t m = 0; m < j.members.size(); m++) ends.push_back(n += (int)count((int)m));
  j.on.pool.run(n, [&](int piece, int thread) {
    int m = 0;
    while (piece >= ends[m]) m++;
    f(m, m ? piece - ends[m - 1] : piece, thread);
  });
}

// q: bytes of a whole number, 0: floats. blocks are of weights of 4 bits and of others.
void by_rows(const Job &j, int tile, int q, const std::vector<Blocks> (&blocks)[2]) {
  auto &pool = j.on.pool;
  const Kernels &k = j.on.kernels;
  // Pieces of some 16 to 128 KiB of codes, so that a tile finds them in cache again.
  std::vector<int64_t> per;
  int64_t outputs = 0, most = 0;
  for (const Member &m : j.members) outputs += m.w.outputs;
  for (const Member &m : j.members) {
    const int64_t row = m.w.row_bytes() + 2 * m.w.groups() * (int64_t)size_of(m.w.type);
    const int64_t n = std::clamp(ceil_div(outputs, 4 * pool.threads()), ceil_div(16 << 10, row), std::max<int64_t>(ceil_div(128 << 10, row), 8));
    per.push_back(std::min(ceil_div(n, 8) * 8, m.w.outputs));
    most = std::max(most, per.back());
  }
  for (int t = 0; t < pool.threads(); t++) j.room(t, 0, sizeof(float) * 4 * most), j.room(t, 2, sizeof(float) * most);
  share_out(
      j, [&](int m) { return ceil_div(j.members[m].w.outputs, per[m]); },
      [&](int m, int piece, int thread) {
        const Affine &w = j.members[m].w;
        const int64_t first = piece * per[m], last = std::min(w.outputs, first + per[m]);
        const bool direct = j.direct(m);
        for (int64_t r = 0, n = 0; r < j.rows; r += n) {
          n = step(j.rows - r, tile);
          float *y = direct ? (float *)j.members[m].y.data + r * w.outputs + first : (float *)j.room(thread, 0);
          const int64_t stride = direct ? w.outputs : per[m];
          if (q)
            k.rows_q(q, w, blocks[w.bits != 4].data() + r, (int)n, first, last, y, stride);
          else
            k.rows_f32(w, j.x + r * w.inputs, w.inputs, (int)n, first, last, y, stride);
          for (int64_t i = 0; i < n; i++) {
            if (j.finite && !(*j.finite)[r + i]) k.rows_f32(w, j.x + (r + i) * w.inputs, w.inputs, 1, first, last, y + i * stride, stride);
            j.put(m, thread, y + i * stride, last - first, r + i, first);
          }
        }
      });
}

void by_panels(const Job &j, Form form, int q, Runs runs) {
  auto &pool = j.on.pool;
  const Kernels &k = j.on.kernels;
  const int64_t at_once = std::min(j.rows, kRowsAtOnce);
  size_t room = 0;
  for (const Member &m : j.members) room = std::max(room, form == Form::in_order ? kInOrderRoom : q ? k.panel_q_room(q, m.w) : k.panel_f32_room(m.w));
  for (int t = 0; t < pool.threads(); t++) j.room(t, 0, sizeof(float) * kPanel * at_once), j.room(t, 1, room), j.room(t, 2, sizeof(float) * kPanel);
  const auto panels = [&](int m) { return ceil_div(j.members[m].w.outputs, kPanel); };
  share_out(
      j, [&](int m) { return panels(m) * ceil_div(j.rows, at_once); },
      [&](int m, int piece, int thread) {
        const Affine &w = j.members[m].w;
        const int64_t first = piece % panels(m) * kPanel, from = piece / panels(m) * at_once, rows = std::min(at_once, j.rows - from);
        const int64_t n = std::min<int64_t>(kPanel, w.outputs - first);
        auto *y = (float *)j.room(thread, 0);
        if (q) {
          const int64_t per_row = w.inputs / kRun;
          const Runs at{(char *)runs.codes + from * w.inputs * q, runs.scale + from * per_row, runs.sum + from * per_row};
          const bool whole = n == kPanel;
          k.unpack_q(q, w, first, first + kPanel * pool.threads(), j.room(thread, 1));
          k.panel_q(q, w, j.room(thread, 1), at, rows, whole ? j.panel_out(m, from, first) : PanelOut{Type::f32, y, kPanel, nullptr, nullptr});
          if (whole) {
            for (int64_t r = 0; j.finite && r < rows; r++) {
              if ((*j.finite)[from + r]) continue;
              k.rows_f32(w, j.x + (from + r) * w.inputs, w.inputs, 1, first, first + n, y, kPanel);
              j.put(m, thread, y, n, from + r, first);
            }
            return;
          }
        } else if (form == Form::in_order) {
          in_order(j.members[m].y.type, w, j.x + from * w.inputs, w.inputs, rows, first, y, j.room(thread, 1));
        } else {
          k.panel_f32(w, j.x + from * w.inputs, w.inputs, rows, first, y, j.room(thread, 1));
        }
        for (int64_t r = 0; r < rows; r++) {
          float *values = y + r * kPanel;
          if (j.finite && !(*j.finite)[from + r]) k.rows_f32(w, j.x + (from + r) * w.inputs, w.inputs, 1, first, first + n, values, kPanel);
          j.put(m, thread, values, n, from + r, first);
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

const float *rows_in(Workers &on, Span x, int64_t rows, int64_t width, const Norm &norm) {
  const float *values = widened(on, x, rows, width);
  if (!norm.on) return values;
  auto *y = (float *)on.pool.scratch(kNormed, sizeof(float) * rows * width);
  const float *gain = (const float *)norm.gain.data;
  if (gain && norm.gain.type != Type::f32) {
    auto *wide = (float *)on.pool.scratch(kGain, sizeof(float) * width);
    on.kernels.widen(norm.gain.type, norm.gain.data, wide, width);
    gain = wide;
  }
  const int64_t per = rows * width < 1 << 15 ? rows : std::max<int64_t>(1, rows / (4 * on.pool.threads()));
  on.pool.run((int)ceil_div(rows, per), [&](int piece, int) {
    for (int64_t r = piece * per, last = std::min(rows, r + per); r < last; r++) {
      float *row = y + r * width;
      on.kernels.rms_norm(values + r * width, gain, norm.eps, width, row);
      if (norm.type == Type::f32) continue;
      uint16_t half[64]; // rounded in place, so that what follows sees what a norm by itself would give
      for (int64_t i = 0; i < width; i += 64) {
        const int64_t n = std::min<int64_t>(64, width - i);
        on.kernels.narrow(norm.type, row + i, half, n), on.kernels.widen(norm.type, half, row + i, n);
      }
    }
  });
  return y;
}

void products(Workers &on, const std::vector<Member> &members, Form form, int tile, Span x, int64_t rows, const Norm &norm) {
  const int64_t inputs = members[0].w.inputs;
  if (rows == 0) return;
  auto &pool = on.pool;
  Job j{on, members, rows_in(on, x, rows, inputs, norm), rows, {}, kBias + (int)members.size()};
  for (size_t m = 0; m < members.size(); m++) {
    const Span &bias = members[m].bias;
    j.bias.push_back((const float *)bias.data);
    if (!bias.data || bias.type == Type::f32) continue;
    auto *wide = (float *)pool.scratch(kBias + (int)m, sizeof(float) * members[m].w.outputs);
    on.kernels.widen(bias.type, bias.data, wide, members[m].w.outputs);
    j.bias.back() = wide;
  }
  if (form == Form::rows_f32) return by_rows(j, tile, 0, {});
  if (form == Form::panel_f32 || form == Form::in_order) return by_panels(j, form, 0, {});

  const bool blocks = form == Form::rows_q8 || form == Form::rows_q16;
  const int q = form == Form::rows_q8 || form == Form::panel_q8 ? 1 : 2;
  const int64_t n = blocks_of(inputs), codes = blocks ? n * kBlock : inputs, scales = blocks ? n * 8 : inputs / kRun;
  std::vector<char> finite(rows);
  std::vector<Blocks> list[2];
  Runs runs{};
  // Codes for weights of 4 bits lie otherwise than those for others; in panels all are alike.
  for (int other = 0; other < 2; other++) {
    const auto needs = [&](const Member &m) { return blocks ? (m.w.bits != 4) == other : !other; };
    const auto of = std::find_if(members.begin(), members.end(), needs);
    if (of == members.end()) continue;
    const Runs to{pool.scratch(kCodes + other, rows * codes * q), (float *)pool.scratch(kScale + other, sizeof(float) * rows * scales),
                  (float *)pool.scratch(kSum + other, sizeof(float) * rows * scales)};
    if (blocks) list[other].resize(rows);
    const int64_t per = rows * inputs >= 1 << 14 ? ceil_div(rows, 4 * pool.threads()) : rows;
    pool.run((int)ceil_div(rows, per), [&](int piece, int) {
      for (int64_t r = piece * per, last = std::min(rows, r + per); r < last; r++) {
        const float *row = j.x + r * inputs;
        const Runs at{(char *)to.codes + r * codes * q, to.scale + r * scales, to.sum + r * scales};
        if (blocks) list[other][r] = {at.codes, at.scale, at.sum};
        finite[r] = blocks ? on.kernels.quantise_blocks(q, of->w.bits, row, inputs, list[other][r]) : on.kernels.quantise_runs(q, row, inputs, at);
      }
    });
    runs = to;
  }
  if (std::find(finite.begin(), finite.end(), 0) != finite.end()) j.finite = &finite;
  if (blocks)
    by_rows(j, tile, q, list);
  else
    by_panels(j, form, q, runs);
}

}  // namespace gr
