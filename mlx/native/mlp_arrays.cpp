//go:build cgo && mlx

// The MLX primitive of a whole MLP.

#include <array>

#include "affine.h"
#include "mlp.h"
#include "mlp_c.h"
#include "trellis_arrays.h"

namespace gr {
namespace {

// A part before its memory is: where its arrays stand among the inputs.
struct Part {
  bool coded = false;
  AffineLayout affine{};
  trellis::Layout codes{};
  Dtype type = mlx::core::float32; // of its result
  size_t weight = 0, bias = 0; // 0: none
  struct Sum {
    size_t at; // of a; b follows
    int first;
    float scale;
  };
  std::vector<Sum> sums;

  int64_t inputs() const { return coded ? codes.inputs() : affine.inputs; }
  int64_t outputs() const { return coded ? codes.outputs() : affine.outputs; }

  Matrix on(const std::vector<array> &in) const {
    Matrix m;
    m.coded = coded, m.axis = codes.axis, m.type = type_of(type, "a product");
    if (coded)
      m.codes = trellis::coded(codes, in[weight], in[weight + 1]);
    else
      m.affine = affine_of(affine, in[weight], in[weight + 1], in[weight + 2]);
    if (bias) need_rows(in[bias], "bias"), m.bias = span_of(in[bias], "bias");
    for (const auto &[at, first, scale] : sums) {
      need_rows(in[at], "a low-rank factor"), need_rows(in[at + 1], "a low-rank factor");
      m.sums.push_back({in[at].data<float>(), in[at + 1].data<float>() + first, in[at].shape(1), in[at + 1].shape(1), scale});
    }
    return m;
  }
};

class MLP : public Native {
 public:
  // norm.gain is not there yet; gain and sum are their places among the inputs, 0 for none.
  MLP(mlx::core::Stream s, std::shared_ptr<Workers> on, std::array<Part, 3> parts, Type hidden, Norm norm, size_t gain, size_t sum)
      : Native(s, std::move(on)), parts_(std::move(parts)), hidden_(hidden), norm_(norm), gain_(gain), sum_(sum) {}
  const char *name() const override { return "NativeMLP"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Span x = rows_of(in[0], "x"), y = span_of(out[0], "y"), sum = sum_ ? rows_of(in[sum_], "the residual") : Span{};
    Norm norm = norm_;
    if (gain_) norm.gain = rows_of(in[gain_], "the gain");
    const int64_t rows = (int64_t)in[0].size() / parts_[0].inputs();
    dispatch([gate = parts_[0].on(in), up = parts_[1].on(in), down = parts_[2].on(in), x, y, sum, norm, rows, hidden = hidden_](Workers &on) {
      mlp(on, gate, up, down, hidden, x, rows, norm, y, sum);
    });
  }

 private:
  std::array<Part, 3> parts_;
  Type hidden_;
  Norm norm_;
  size_t gain_, sum_;
};

// A part of x's dtype, its arrays put behind the inputs.
Part part_of(const grn_matrix &w, Dtype x, std::vector<array> &in) {
  Part p;
  const array &codes = array_of(w.codes, "codes"), &scales = array_of(w.scales, "scales");
  p.weight = in.size();
  in.insert(in.end(), {codes, scales});
  p.coded = !w.biases;
  p.type = x;
  if (p.coded) {
    p.codes = trellis::layout_of(codes, scales, w.bits, w.group, w.axis);
  } else {
    in.push_back(array_of(w.biases, "biases"));
    p.affine = affine_layout(codes, scales, in.back(), w.bits, w.group);
    p.type = mlx::core::promote_types(x, scales.dtype());
  }
  if (w.bias) {
    p.bias = in.size();
    in.push_back(array_of(w.bias, "bias"));
    type_of(in.back().dtype(), "bias");
    if (in.back().size() != (size_t)p.outputs()) throw std::invalid_argument("a bias has not as many entries as there are outputs");
    p.type = mlx::core::promote_types(p.type, in.back().dtype());
  }
  return p;
}

}  // namespace
}  // namespace gr

grn_one grn_mlp(uintptr_t workers, uintptr_t stream, const grn_matrix *w, const grn_low_rank *sums, int n, uintptr_t xa, grn_around around) {
  return gr::guarded([&] {
    using namespace gr;
    const array &x = array_of(xa, "x");
    type_of(x.dtype(), "x");
    std::vector<array> in{x};
    in.reserve(16);
    Dtype normed = x.dtype();
    size_t gain = 0, sum = 0;
    if (around.gain) {
      gain = in.size();
      in.push_back(array_of(around.gain, "the gain"));
      type_of(in.back().dtype(), "the gain");
      if (x.ndim() < 1 || in.back().size() != (size_t)x.shape(-1)) throw std::invalid_argument("the gain has not the length of x's last axis");
      normed = mlx::core::promote_types(normed, in.back().dtype());
    }
    std::array<Part, 3> parts;
    parts[0] = part_of(w[0], normed, in), parts[1] = part_of(w[1], normed, in);
    const Dtype hidden = mlx::core::promote_types(parts[0].type, parts[1].type);
    parts[2] = part_of(w[2], hidden, in);
    if (parts[0].inputs() != parts[1].inputs() || parts[0].outputs() != parts[1].outputs() || parts[2].inputs() != parts[0].outputs())
      throw std::invalid_argument("gate, up and down do not go together");
    if (x.ndim() < 1 || x.shape(-1) != parts[0].inputs())
      throw std::invalid_argument("x has rows of " + std::to_string(x.ndim() < 1 ? 0 : x.shape(-1)) + ", gate takes " + std::to_string(parts[0].inputs()));
    for (int i = 0; i < n; i++) {
      const array &a = array_of(sums[i].a, "a low-rank factor"), &b = array_of(sums[i].b, "a low-rank factor");
      Part &p = parts.at(sums[i].part);
      if (a.dtype() != mlx::core::float32 || b.dtype() != mlx::core::float32 || a.ndim() != 2 || b.ndim() != 2 || a.shape(0) != p.inputs() ||
          a.shape(1) != b.shape(0) || sums[i].first < 0 || b.shape(1) - sums[i].first < p.outputs())
        throw std::invalid_argument("low-rank factors are float32, [inputs, rank] and [rank, outputs]");
      p.sums.push_back({in.size(), sums[i].first, sums[i].scale});
      in.insert(in.end(), {a, b});
    }
    auto shape = x.shape();
    shape[shape.size() - 1] = (int)parts[2].outputs();
    const Dtype type = parts[2].type;
    if (around.residual) {
      sum = in.size();
      in.push_back(array_of(around.residual, "the residual"));
      if (in.back().dtype() != type || in.back().shape() != shape) throw std::invalid_argument("the residual is not of the product's shape and dtype");
    }
    const Norm norm{around.norm, {}, around.eps, type_of(normed, "x")};
    return array(std::move(shape), type, std::make_shared<MLP>(stream_of(stream), workers_of(workers), std::move(parts), type_of(hidden, "the activation"), norm, gain, sum), std::move(in));
  });
}
