//go:build cgo && mlx

#include "experts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace gr {
namespace {

// Slots of the pool's scratch memory, beyond those of rows_in; those from kThread on are of threads, two each.
enum Slot { kHidden = 1000, kRowCodes, kHiddenCodes = kRowCodes + 9, kSorted = kHiddenCodes + 9, kThread = kSorted + 3 };

constexpr int64_t kFew = 7;          // of an expert's rows that are multiplied with codes as these lie; more are with panels
constexpr int64_t kRowsAtOnce = 256; // of a panel's product
constexpr int64_t kBatch = 1024;     // results on the way at once: what lies between gate, up and down stays small

float *floats(Workers &on, int slot, int64_t n) { return (float *)on.pool.scratch(slot, sizeof(float) * n); }

// Rows of one expert.
struct Part {
  int64_t expert, first, rows; // first: in the order by experts
  bool few() const { return rows <= kFew; }
};

// How rows are to be written as whole numbers: as blocks, of which those for weights of 4 bits lie otherwise than those for
// others, or as runs.
enum Want : uint8_t { kOthers = 1, kFours = 2, kRuns = 4 };

Want blocks_for(const Stack &w) { return w.all.bits == 4 ? kFours : kOthers; }

// Rows of floats and, as far as wanted, the whole numbers that stand for them.
class Coded {
 public:
  Coded(Workers &on, int slot, const float *x, int64_t rows, int64_t width, const std::vector<uint8_t> &wants)
      : x(x), width(width), finite(rows, 1) {
    uint8_t any = 0;
    for (const uint8_t w : wants) any |= w;
    const int64_t padded = blocks_of(width) * kBlock;
    for (int form = 0; form < 3; form++) {
      if (!(any >> form & 1)) continue;
      const int64_t n = form == 2 ? width : padded, scales = form == 2 ? width / kRun : padded / kRun;
      forms_[form] = {(int16_t *)on.pool.scratch(slot + 3 * form, rows * n * sizeof(int16_t)), floats(on, slot + 3 * form + 1, rows * scales),
                      floats(on, slot + 3 * form + 2, rows * scales), n, scales};
    }
    const int64_t per = rows * width >= 1 << 14 ? ceil_div(rows, 4 * on.pool.threads()) : rows;
    on.pool.run((int)ceil_div(rows, per), [&](int piece, int) {
      for (int64_t r = piece * per, last = std::min(rows, r + per); r < last; r++) {
        for (int form = 0; form < 2; form++)
          if (wants[r] >> form & 1) finite[r] &= (char)on.kernels.quantise_blocks(2, form ? 4 : 8, x + r * width, width, blocks(form ? 4 : 8, r));
        if (wants[r] & kRuns) finite[r] &= (char)on.kernels.quantise_runs(2, x + r * width, width, runs(r));
      }
    });
  }

  Blocks blocks(int bits, int64_t r) const {
    const Form &f = forms_[bits == 4];
    return {f.codes + r * f.width, f.scale + r * f.scales, f.sum + r * f.scales};
  }
  Runs runs(int64_t r) const {
    const Form &f = forms_[2];
    return {f.codes + r * f.width, f.scale + r * f.scales, f.sum + r * f.scales};
  }
  const float *row(int64_t r) const { return x + r * width; }

 private:
  struct Form {
    int16_t *codes;
    float *scale, *sum;
    int64_t width, scales; // of a row
  };
  std::array<Form, 3> forms_{};

 public:
  const float *const x;
  const int64_t width;
  std::vector<char> finite; // rows whose codes mean something
};

// The rows of one part in their order, as products take them.
struct Operand {
  const Coded &from;
  const int64_t *rows; // of `from`
  const Blocks *blocks[2]; // by: of 4 bits
  Runs runs;
  int64_t n;
};

class Job {
 public:
  Job(Workers &on, const Mixture &m, Span x, int64_t rows, const uint32_t *indices, int64_t each, Span y)
      : on_(on), k_(on.kernels), m_(m), y_(y), inputs_(m.gate.all.inputs), width_(m.gate.outputs), outputs_(m.down.outputs) {
    sort(rows, indices, each);
    const Norm none;
    const float *values = rows_in(on, x, rows, inputs_, none);
    std::vector<uint8_t> wants(rows);
    for (const Part &p : parts_)
      for (int64_t i = p.first; i < p.first + p.rows; i++) wants[source_[i]] |= p.few() ? blocks_for(m.gate) | blocks_for(m.up) : kRuns;
    x_ = std::make_unique<Coded>(on, kRowCodes, values, rows, inputs_, wants);
  }

  void run() {
    for (size_t first = 0, last; first < parts_.size(); first = last) {
      int64_t n = 0;
      for (last = first; last < parts_.size() && (last == first || n + parts_[last].rows <= kBatch); last++) n += parts_[last].rows;
      batch(&parts_[first], last - first, n);
    }
  }

 private:
  // Results in the order of their experts.
  void sort(int64_t rows, const uint32_t *indices, int64_t each) {
    const int64_t n = rows * each;
    std::vector<int64_t> begin(m_.count + 1);
    int64_t known = 0;
    for (int64_t i = 0; i < n; i++) {
      if (indices[i] < m_.count)
        begin[indices[i] + 1]++, known++;
      else // no such expert: NaN
        std::memset(y_.at(i * outputs_), 0xff, outputs_ * size_of(y_.type));
    }
    for (int64_t e = 0; e < m_.count; e++) begin[e + 1] += begin[e];
    auto next = begin;
    order_.resize(known), source_.resize(known), self_.resize(std::min(known, kBatch + kRowsAtOnce));
    for (int64_t i = 0; i < n; i++)
      if (indices[i] < m_.count) {
        const int64_t at = next[indices[i]]++;
        order_[at] = i, source_[at] = i / each;
      }
    for (size_t i = 0; i < self_.size(); i++) self_[i] = (int64_t)i;
    for (int64_t e = 0; e < m_.count; e++)
      for (int64_t first = begin[e]; first < begin[e + 1]; first += kRowsAtOnce) parts_.push_back({e, first, std::min(kRowsAtOnce, begin[e + 1] - first)});
  }

  // n results of some parts.
  void batch(const Part *parts, size_t count, int64_t n) {
    const int64_t start = parts[0].first;
    float *hidden = floats(on_, kHidden, n * width_);
    {
      const Runs sorted = gathered(parts, count, start, n);
      std::vector<Blocks> blocks[2];
      list(*x_, parts, count, start, n, source_.data() + start, blocks);
      const auto operand = [&](const Part &p) { return take(*x_, source_.data(), p.first, p.first - start, blocks, sorted, inputs_, p.rows); };
      share(parts, count, width_, 2 * inputs_, [&](const Part &p, int64_t first, int64_t last, float *values, void *room) {
        const Operand in = operand(p);
        const int64_t stride = p.few() ? last - first : kPanel;
        float *gate = values, *up = values + p.rows * stride;
        product(m_.gate, p, in, first, last, gate, stride, room);
        product(m_.up, p, in, first, last, up, stride, room);
        k_.swiglu(gate, up, gate, p.rows * stride);
        round_to(k_, m_.hidden, gate, p.rows * stride);
        for (int64_t r = 0; r < p.rows; r++)
          std::memcpy(hidden + (p.first - start + r) * width_ + first, gate + r * stride, sizeof(float) * (last - first));
      });
    }
    std::vector<uint8_t> wants(n);
    for (size_t i = 0; i < count; i++)
      for (int64_t r = 0; r < parts[i].rows; r++) wants[parts[i].first - start + r] = parts[i].few() ? blocks_for(m_.down) : kRuns;
    const Coded mid(on_, kHiddenCodes, hidden, n, width_, wants);
    std::vector<Blocks> blocks[2];
    list(mid, parts, count, start, n, self_.data(), blocks);
    share(parts, count, outputs_, width_, [&](const Part &p, int64_t first, int64_t last, float *values, void *room) {
      const int64_t stride = p.few() ? last - first : kPanel, at = p.first - start;
      product(m_.down, p, take(mid, self_.data(), at, at, blocks, mid.runs(0), width_, p.rows), first, last, values, stride, room);
      for (int64_t r = 0; r < p.rows; r++) k_.narrow(y_.type, values + r * stride, y_.at(order_[p.first + r] * outputs_ + first), last - first);
    });
  }

  // The runs of x of those parts that need them, one below the other.
  Runs gathered(const Part *parts, size_t count, int64_t start, int64_t n) {
    Runs to{};
    if (std::all_of(parts, parts + count, [](const Part &p) { return p.few(); })) return to;
    const int64_t scales = inputs_ / kRun;
    to = {on_.pool.scratch(kSorted, n * inputs_ * sizeof(int16_t)), floats(on_, kSorted + 1, n * scales), floats(on_, kSorted + 2, n * scales)};
    on_.pool.run((int)count, [&](int i, int) {
      if (parts[i].few()) return;
      for (int64_t at = parts[i].first; at < parts[i].first + parts[i].rows; at++) {
        const Runs from = x_->runs(source_[at]), here = nth(to, at - start, inputs_);
        std::memcpy(here.codes, from.codes, inputs_ * sizeof(int16_t));
        std::memcpy(here.scale, from.scale, scales * sizeof(float));
        std::memcpy(here.sum, from.sum, scales * sizeof(float));
      }
    });
    return to;
  }

  static Runs nth(Runs r, int64_t row, int64_t width) {
    if (!r.codes) return r;
    return {(int16_t *)r.codes + row * width, r.scale + row * (width / kRun), r.sum + row * (width / kRun)};
  }

  // The blocks of the rows of those parts that need them.
  static void list(const Coded &c, const Part *parts, size_t count, int64_t start, int64_t n, const int64_t *rows, std::vector<Blocks> (&to)[2]) {
    for (int four = 0; four < 2; four++) {
      to[four].resize(n);
      for (size_t i = 0; i < count; i++)
        for (int64_t at = parts[i].first - start; parts[i].few() && at < parts[i].first - start + parts[i].rows; at++)
          to[four][at] = c.blocks(four ? 4 : 8, rows[at]);
    }
  }

  static Operand take(const Coded &c, const int64_t *rows, int64_t at, int64_t local, const std::vector<Blocks> (&blocks)[2], Runs runs, int64_t width, int64_t n) {
    return {c, rows + at, {blocks[0].data() + local, blocks[1].data() + local}, nth(runs, local, width), n};
  }

  // Calls f(part, first output, last, memory for two of its products, a panel's room) for all outputs of all parts.
  template <class F> void share(const Part *parts, size_t count, int64_t outputs, int64_t inputs, F &&f) {
    int64_t few = 0, most = 0;
    bool panels = false;
    for (size_t i = 0; i < count; i++) parts[i].few() ? (void)few++ : (void)(panels = true);
    // Pieces of some 16 to 128 KiB of 4-bit codes.
    const int64_t least = ceil_div(16 << 10, inputs / 2), largest = std::max(least, ceil_div(128 << 10, inputs / 2));
    const int64_t per = std::min(ceil_div(std::clamp(ceil_div(few * outputs, 4 * on_.pool.threads()), least, largest), kPanel) * kPanel, outputs);
    std::vector<int64_t> ends(count);
    int64_t pieces = 0;
    for (size_t i = 0; i < count; i++) {
      ends[i] = pieces += ceil_div(outputs, parts[i].few() ? per : kPanel);
      most = std::max(most, parts[i].rows * (parts[i].few() ? per : kPanel));
    }
    size_t room = 0;
    for (const Stack *w : {&m_.gate, &m_.up, &m_.down}) room = std::max(room, panels ? k_.panel_q_room(2, w->all) : 0);
    for (int t = 0; t < on_.pool.threads(); t++) floats(on_, kThread + 2 * t, 2 * most), on_.pool.scratch(kThread + 2 * t + 1, room);
    on_.pool.run((int)pieces, [&](int piece, int thread) {
      const size_t i = std::upper_bound(ends.begin(), ends.end(), piece) - ends.begin();
      const int64_t size = parts[i].few() ? per : kPanel, first = (piece - (i ? ends[i - 1] : 0)) * size;
      f(parts[i], first, std::min(outputs, first + size), (float *)on_.pool.scratch(kThread + 2 * thread, 0), on_.pool.scratch(kThread + 2 * thread + 1, 0));
    });
  }

  // y[r * stride + n - first], rounded, of outputs first <= n < last and the part's rows.
  void product(const Stack &s, const Part &p, const Operand &in, int64_t first, int64_t last, float *y, int64_t stride, void *room) const {
    const Affine w = s.matrix(p.expert);
    if (p.few())
      for (int64_t r = 0, n = 0; r < in.n; r += n) {
        n = in.n - r >= 4 ? 4 : 1;
        k_.rows_q(2, w, in.blocks[w.bits == 4] + r, (int)n, first, last, y + r * stride, stride);
      }
    else
      k_.unpack_q(2, w, first, first + kPanel * on_.pool.threads(), room), k_.panel_q(2, w, room, in.runs, in.n, {Type::f32, y, kPanel, nullptr, nullptr});
    for (int64_t r = 0; r < in.n; r++)
      if (!in.from.finite[in.rows[r]]) k_.rows_f32(w, in.from.row(in.rows[r]), w.inputs, 1, first, last, y + r * stride, stride);
    float bias[256];
    for (int64_t i = first, n = 0; s.bias.data && i < last; i += n) {
      n = std::min<int64_t>(256, last - i);
      k_.widen(s.bias.type, s.bias.at(p.expert * s.stride + s.first + i), bias, n);
      for (int64_t r = 0; r < in.n; r++)
        for (int64_t j = 0; j < n; j++) y[r * stride + i - first + j] += bias[j];
    }
    round_to(k_, s.type, y, in.n * stride);
  }

  Workers &on_;
  const Kernels &k_;
  const Mixture &m_;
  const Span y_;
  const int64_t inputs_, width_, outputs_;
  std::vector<int64_t> order_, source_, self_; // by place in the order of experts: which result, which row of x; 0, 1, 2 ...
  std::vector<Part> parts_;
  std::unique_ptr<Coded> x_;
};

}  // namespace

void experts(Workers &on, const Mixture &m, Span x, int64_t rows, const uint32_t *indices, int64_t each, Span y) {
  if (rows * each > 0) Job(on, m, x, rows, indices, each, y).run();
}

}  // namespace gr
