//go:build cgo && mlx

// The MLX primitive of chosen experts.

#include <array>

#include "affine.h"
#include "experts.h"
#include "experts_c.h"

namespace gr {
namespace {

// The weights of experts, ready. They are no inputs of the primitive, each of which costs MLX as much as a primitive does.
struct ExpertsWeights {
  std::shared_ptr<Workers> on;
  std::vector<array> kept; // evaluated
  Mixture mixture;
  std::array<Dtype, 3> types{mlx::core::float32, mlx::core::float32, mlx::core::float32}; // of scales and biases
};

class Experts : public Native {
 public:
  Experts(mlx::core::Stream s, std::shared_ptr<ExpertsWeights> w, Mixture m) : Native(s, w->on), weights_(std::move(w)), mixture_(m) {}
  const char *name() const override { return "NativeExperts"; }

  // in: x, indices.
  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Span x = rows_of(in[0], "x"), y = span_of(out[0], "y");
    const int64_t rows = (int64_t)in[0].size() / mixture_.gate.all.inputs, each = in[1].shape(-1);
    dispatch([w = weights_, m = mixture_, x, y, indices = (const uint32_t *)rows_of(in[1]), rows, each](Workers &on) { experts(on, m, x, rows, indices, each, y); });
  }

 private:
  std::shared_ptr<ExpertsWeights> weights_;
  Mixture mixture_;
};

Stack stack_of(ExpertsWeights &all, int part, const grn_stack &w, int count) {
  const array &codes = array_of(w.codes, "codes"), &scales = array_of(w.scales, "scales"), &biases = array_of(w.biases, "biases");
  Stack s;
  s.all = affine_of(affine_layout(codes, scales, biases, w.bits, w.group), codes, scales, biases);
  if (count < 1 || w.runs < 1 || w.run < 0 || w.run >= w.runs || s.all.outputs % ((int64_t)count * w.runs) != 0)
    throw std::invalid_argument(std::to_string(s.all.outputs) + " rows are not those of " + std::to_string(count) + " matrices");
  s.stride = s.all.outputs / count, s.outputs = s.stride / w.runs, s.first = s.outputs * w.run;
  all.kept.insert(all.kept.end(), {codes, scales, biases});
  all.types[part] = scales.dtype();
  if (w.bias) {
    const array &bias = array_of(w.bias, "bias");
    type_of(bias.dtype(), "bias");
    if (bias.size() != (size_t)s.all.outputs) throw std::invalid_argument("a bias has not as many entries as there are outputs");
    need_rows(bias, "bias");
    s.bias = span_of(bias, "bias");
    all.types[part] = mlx::core::promote_types(all.types[part], bias.dtype());
    all.kept.push_back(bias);
  }
  return s;
}

std::shared_ptr<ExpertsWeights> experts_weights(uintptr_t workers, const grn_stack *w, int count) {
  auto all = std::make_shared<ExpertsWeights>();
  all->on = workers_of(workers);
  Mixture &m = all->mixture;
  m = {stack_of(*all, 0, w[0], count), stack_of(*all, 1, w[1], count), stack_of(*all, 2, w[2], count), count, Type::f32};
  if (m.gate.all.inputs != m.up.all.inputs || m.gate.outputs != m.up.outputs || m.down.all.inputs != m.gate.outputs)
    throw std::invalid_argument("gate, up and down do not go together");
  return all;
}

}  // namespace
}  // namespace gr

grn_one grn_experts_weights(uintptr_t workers, const grn_stack *parts, int count) {
  return gr::guarded<std::shared_ptr<gr::ExpertsWeights>>([&] { return gr::experts_weights(workers, parts, count); });
}

void grn_experts_weights_free(uintptr_t weights) { delete reinterpret_cast<std::shared_ptr<gr::ExpertsWeights> *>(weights); }

grn_one grn_experts(uintptr_t weights, uintptr_t stream, uintptr_t xa, uintptr_t ia) {
  return gr::guarded([&] {
    using namespace gr;
    const auto &w = *reinterpret_cast<std::shared_ptr<ExpertsWeights> *>(weights);
    Mixture m = w->mixture;
    const array &x = array_of(xa, "x"), &indices = array_of(ia, "indices");
    if (x.ndim() < 1 || x.shape(-1) != m.gate.all.inputs)
      throw std::invalid_argument("x has rows of " + std::to_string(x.ndim() < 1 ? 0 : x.shape(-1)) + ", gate takes " + std::to_string(m.gate.all.inputs));
    if (indices.dtype() != mlx::core::uint32 && indices.dtype() != mlx::core::int32) throw std::invalid_argument("indices are neither uint32 nor int32");
    auto shape = indices.shape();
    bool alike = shape.size() == x.ndim();
    for (size_t i = 0; alike && i + 1 < shape.size(); i++) alike = shape[i] == x.shape((int)i);
    if (!alike) throw std::invalid_argument("x and indices are not alike but for their last axes");
    shape.push_back((int)m.down.outputs);
    type_of(x.dtype(), "x");
    const Dtype gate = mlx::core::promote_types(x.dtype(), w->types[0]), up = mlx::core::promote_types(x.dtype(), w->types[1]);
    const Dtype hidden = mlx::core::promote_types(gate, up), down = mlx::core::promote_types(hidden, w->types[2]);
    m.gate.type = type_of(gate, "gate"), m.up.type = type_of(up, "up"), m.down.type = type_of(down, "down"), m.hidden = type_of(hidden, "the activation");
    return array(std::move(shape), down, std::make_shared<Experts>(stream_of(stream), w, m), {x, indices});
  });
}
