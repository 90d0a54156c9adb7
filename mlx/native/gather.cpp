//go:build cgo && mlx

#include <algorithm>

#include "affine.h"

namespace gr {
namespace {

using mlx::core::Shape;

enum Slot { kRows, kPerThread };

constexpr int64_t kRowsAtOnce = 256; // of a matrix

// Rows times the matrix that each names.
struct Job {
  Workers &on;
  const Affine &w; // of one matrix below the other
  int64_t count;   // of matrices
  Span x, y;
  std::vector<int64_t> source; // by result: which row of x
  const uint32_t *indices;     // by result

  Affine matrix(int64_t i) const {
    Affine m = w;
    m.outputs = w.outputs / count;
    m.codes += i * m.outputs * w.row_bytes();
    const int64_t scales = i * m.outputs * w.groups() * (int64_t)size_of(w.type);
    m.scales = (const char *)w.scales + scales, m.biases = (const char *)w.biases + scales;
    return m;
  }
};

void gather(const Job &j) {
  const Kernels &k = j.on.kernels;
  auto &pool = j.on.pool;
  const int64_t n = (int64_t)j.source.size(), inputs = j.w.inputs, outputs = j.w.outputs / j.count;
  // Results by the matrices that they take, these in order.
  std::vector<int64_t> begin(j.count + 1), order(n);
  for (int64_t i = 0; i < n; i++) {
    if (j.indices[i] < j.count)
      begin[j.indices[i] + 1]++;
    else // no such matrix: NaN
      std::memset(j.y.at(i * outputs), 0xff, outputs * size_of(j.y.type));
  }
  for (int64_t e = 0; e < j.count; e++) begin[e + 1] += begin[e];
  auto next = begin;
  for (int64_t i = 0; i < n; i++)
    if (j.indices[i] < j.count) order[next[j.indices[i]]++] = i;
  struct Part {
    int64_t matrix, first, rows; // of order
  };
  std::vector<Part> parts;
  for (int64_t e = 0; e < j.count; e++)
    for (int64_t first = begin[e]; first < begin[e + 1]; first += kRowsAtOnce) parts.push_back({e, first, std::min(kRowsAtOnce, begin[e + 1] - first)});
  auto *rows = (float *)pool.scratch(kRows, sizeof(float) * std::max<int64_t>(1, n * inputs));
  for (const Part &p : parts)
    for (int64_t i = p.first; i < p.first + p.rows; i++) k.widen(j.x.type, j.x.at(j.source[order[i]] * inputs), rows + i * inputs, inputs);
  const int64_t panels = (outputs + kPanel - 1) / kPanel;
  for (int t = 0; t < pool.threads(); t++) pool.scratch(kPerThread + t, kInOrderRoom + sizeof(float) * kPanel * kRowsAtOnce);
  pool.run((int)(panels * (int64_t)parts.size()), [&](int piece, int thread) {
    const Part &p = parts[piece / panels];
    const int64_t first = piece % panels * kPanel, width = std::min<int64_t>(kPanel, outputs - first);
    auto *room = (char *)pool.scratch(kPerThread + thread, 0);
    auto *values = (float *)(room + kInOrderRoom);
    in_order(j.y.type, j.matrix(p.matrix), rows + p.first * inputs, inputs, p.rows, first, values, room);
    for (int64_t r = 0; r < p.rows; r++) k.narrow(j.y.type, values + r * kPanel, j.y.at(order[p.first + r] * outputs + first), width);
  });
}

class Gather : public Native {
 public:
  Gather(mlx::core::Stream s, std::shared_ptr<Weights> w, int64_t count) : Native(s, w->on), weights_(std::move(w)), count_(count) {}
  const char *name() const override { return "NativeGather"; }

  // in: x, indices.
  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    const Span x = rows_of(in[0], "x");
    need_rows(in[1], "indices");
    array &y = out[0];
    allocate(y);
    // Which row of x each result takes: axes of length 1 are broadcast.
    const int batch = (int)in[1].ndim();
    std::vector<int64_t> source(in[1].size()), step(batch), at(batch);
    for (int d = batch - 1, axis = (int)in[0].ndim() - 3, stride = 1; d >= 0 && axis >= 0; d--, axis--) {
      step[d] = in[0].shape(axis) == 1 ? 0 : stride;
      stride *= in[0].shape(axis);
    }
    for (auto &row : source) {
      row = 0;
      for (int d = 0; d < batch; d++) row += at[d] * step[d];
      for (int d = batch - 1; d >= 0 && ++at[d] == in[1].shape(d); d--) at[d] = 0;
    }
    dispatch([=, w = weights_, count = count_, y = span_of(y, "y"), indices = in[1].data<uint32_t>(), source = std::move(source)](Workers &on) {
      gather({on, w->members[0].w, count, x, y, source, indices});
    });
  }

 private:
  std::shared_ptr<Weights> weights_;
  int64_t count_;
};

}  // namespace
}  // namespace gr

grn_one grn_gather(uintptr_t weights, uintptr_t stream, int count, uintptr_t xa, uintptr_t ia) {
  return gr::guarded([&] {
    using namespace gr;
    const auto &w = *reinterpret_cast<std::shared_ptr<Weights> *>(weights);
    const array &x = array_of(xa, "x"), &indices = array_of(ia, "indices");
    const AffineLayout &l = w->layouts[0];
    if (w->form != Form::in_order || w->members.size() != 1 || l.bits == 16) throw std::invalid_argument("the weight is not one of codes, multiplied in order");
    if (count < 1 || l.outputs % count != 0) throw std::invalid_argument(std::to_string(l.outputs) + " rows are not those of " + std::to_string(count) + " matrices");
    if (x.ndim() < 2 || x.shape(-1) != l.inputs || x.shape(-2) != 1) throw std::invalid_argument("x is not [.., 1, " + std::to_string(l.inputs) + "]");
    if (indices.dtype() != mlx::core::uint32 && indices.dtype() != mlx::core::int32) throw std::invalid_argument("indices are neither uint32 nor int32");
    type_of(x.dtype(), "x");
    for (int axis = (int)x.ndim() - 3, d = (int)indices.ndim() - 1; axis >= 0; axis--, d--)
      if (x.shape(axis) != 1 && (d < 0 || x.shape(axis) != indices.shape(d))) throw std::invalid_argument("the axes of x cannot be broadcast to those of indices");
    Shape shape = indices.shape();
    shape.push_back(1), shape.push_back((int)(l.outputs / count));
    const auto dtype = mlx::core::promote_types(x.dtype(), w->dtypes[0]);
    return array(std::move(shape), dtype, std::make_shared<Gather>(stream_of(stream), w, count), {x, indices});
  });
}
