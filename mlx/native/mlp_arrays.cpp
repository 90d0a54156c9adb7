//go:build cgo && mlx

// The MLX primitive of a whole MLP.

#include <array>

#include "affine.h"
#include "mlp.h"
#include "mlp_c.h"
#include "trellis_arrays.h"

namespace gr {
namespace {

// The weights of an MLP, ready. They are no inputs of the primitive, each of which costs MLX as much as a primitive does.
struct MLPWeights {
  std::shared_ptr<Workers> on;
  std::vector<array> kept; // evaluated
  std::array<Matrix, 3> parts;
  std::array<Dtype, 3> types{mlx::core::float32, mlx::core::float32, mlx::core::float32}; // of scales and biases
  bool panels = false;
  std::array<bool, 3> typed{};                                                          // codes keep the type of what they meet

  Dtype type(int part, Dtype x) const { return typed[part] ? mlx::core::promote_types(x, types[part]) : x; }
};

class MLP : public Native {
 public:
  // norm.gain is not there yet; gain and sum are their places among the inputs, 0 for none.
  MLP(mlx::core::Stream s, std::shared_ptr<MLPWeights> w, std::array<Type, 3> types, Type hidden, Norm norm, size_t gain, size_t sum)
      : Native(s, w->on), weights_(std::move(w)), types_(types), hidden_(hidden), norm_(norm), gain_(gain), sum_(sum) {}
  const char *name() const override { return "NativeMLP"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Span x = rows_of(in[0], "x"), y = span_of(out[0], "y"), sum = sum_ ? rows_of(in[sum_], "the residual") : Span{};
    Norm norm = norm_;
    if (gain_) norm.gain = rows_of(in[gain_], "the gain");
    const int64_t rows = (int64_t)in[0].size() / weights_->parts[0].inputs();
    dispatch([w = weights_, types = types_, x, y, sum, norm, rows, hidden = hidden_](Workers &on) {
      auto parts = w->parts;
      for (int i = 0; i < 3; i++) parts[i].type = types[i];
      (w->panels ? mlp_panels : mlp)(on, parts[0], parts[1], parts[2], hidden, x, rows, norm, y, sum);
    });
  }

 private:
  std::shared_ptr<MLPWeights> weights_;
  std::array<Type, 3> types_;
  Type hidden_;
  Norm norm_;
  size_t gain_, sum_;
};

void add_part(MLPWeights &all, int i, const grn_matrix &w) {
  const array &codes = array_of(w.codes, "codes"), &scales = array_of(w.scales, "scales");
  Matrix &m = all.parts[i];
  const auto promote = [&](Dtype d) { all.types[i] = all.typed[i] ? mlx::core::promote_types(all.types[i], d) : d, all.typed[i] = true; };
  m.coded = !w.biases;
  all.kept.insert(all.kept.end(), {codes, scales});
  if (m.coded) {
    const auto layout = trellis::layout_of(codes, scales, w.bits, w.group, w.axis);
    m.axis = layout.axis;
    m.codes = trellis::coded(layout, codes, scales);
  } else {
    const array &biases = array_of(w.biases, "biases");
    all.kept.push_back(biases);
    m.affine = affine_of(affine_layout(codes, scales, biases, w.bits, w.group), codes, scales, biases);
    promote(scales.dtype());
  }
  if (w.bias) {
    const array &bias = array_of(w.bias, "bias");
    type_of(bias.dtype(), "bias");
    if (bias.size() != (size_t)m.outputs()) throw std::invalid_argument("a bias has not as many entries as there are outputs");
    need_rows(bias, "bias");
    m.bias = span_of(bias, "bias");
    promote(bias.dtype());
    all.kept.push_back(bias);
  }
}

std::shared_ptr<MLPWeights> mlp_weights(uintptr_t workers, const grn_matrix *w, const grn_low_rank *sums, int n, bool panels) {
  auto all = std::make_shared<MLPWeights>();
  all->on = workers_of(workers), all->panels = panels;
  auto &parts = all->parts;
  for (int i = 0; i < 3; i++) {
    if (panels && !w[i].biases) throw std::invalid_argument("trellis codes are not taken in panels");
    add_part(*all, i, w[i]);
  }
  if (parts[0].inputs() != parts[1].inputs() || parts[0].outputs() != parts[1].outputs() || parts[2].inputs() != parts[0].outputs())
    throw std::invalid_argument("gate, up and down do not go together");
  for (int i = 0; i < n; i++) {
    const array &a = array_of(sums[i].a, "a low-rank factor"), &b = array_of(sums[i].b, "a low-rank factor");
    Matrix &m = parts.at(sums[i].part);
    if (a.dtype() != mlx::core::float32 || b.dtype() != mlx::core::float32 || a.ndim() != 2 || b.ndim() != 2 || a.shape(0) != m.inputs() ||
        a.shape(1) != b.shape(0) || sums[i].first < 0 || b.shape(1) - sums[i].first < m.outputs())
      throw std::invalid_argument("low-rank factors are float32, [inputs, rank] and [rank, outputs]");
    need_rows(a, "a low-rank factor"), need_rows(b, "a low-rank factor");
    m.sums.push_back({a.data<float>(), b.data<float>() + sums[i].first, a.shape(1), b.shape(1), sums[i].scale});
    all->kept.insert(all->kept.end(), {a, b});
  }
  return all;
}

}  // namespace
}  // namespace gr

grn_one grn_mlp_weights(uintptr_t workers, const grn_matrix *parts, const grn_low_rank *sums, int n, bool panels) {
  return gr::guarded<std::shared_ptr<gr::MLPWeights>>([&] { return gr::mlp_weights(workers, parts, sums, n, panels); });
}

void grn_mlp_weights_free(uintptr_t weights) { delete reinterpret_cast<std::shared_ptr<gr::MLPWeights> *>(weights); }

grn_one grn_mlp(uintptr_t weights, uintptr_t stream, uintptr_t xa, grn_around around) {
  return gr::guarded([&] {
    using namespace gr;
    const auto &w = *reinterpret_cast<std::shared_ptr<MLPWeights> *>(weights);
    const array &x = array_of(xa, "x");
    type_of(x.dtype(), "x");
    std::vector<array> in{x};
    Dtype normed = x.dtype();
    size_t gain = 0, sum = 0;
    if (x.ndim() < 1 || x.shape(-1) != w->parts[0].inputs())
      throw std::invalid_argument("x has rows of " + std::to_string(x.ndim() < 1 ? 0 : x.shape(-1)) + ", gate takes " + std::to_string(w->parts[0].inputs()));
    if (around.gain) {
      gain = in.size();
      in.push_back(array_of(around.gain, "the gain"));
      type_of(in.back().dtype(), "the gain");
      if (in.back().size() != (size_t)x.shape(-1)) throw std::invalid_argument("the gain has not the length of x's last axis");
      normed = mlx::core::promote_types(normed, in.back().dtype());
    }
    const Dtype gate = w->type(0, normed), up = w->type(1, normed), hidden = mlx::core::promote_types(gate, up), type = w->type(2, hidden);
    auto shape = x.shape();
    shape[shape.size() - 1] = (int)w->parts[2].outputs();
    if (around.residual) {
      sum = in.size();
      in.push_back(array_of(around.residual, "the residual"));
      if (in.back().dtype() != type || in.back().shape() != shape) throw std::invalid_argument("the residual is not of the product's shape and dtype");
    }
    const Norm norm{around.norm, {}, around.eps, type_of(normed, "x")};
    const std::array<Type, 3> types{type_of(gate, "gate"), type_of(up, "up"), type_of(type, "down")};
    return array(std::move(shape), type, std::make_shared<MLP>(stream_of(stream), w, types, type_of(hidden, "the activation"), norm, gain, sum), std::move(in));
  });
}
