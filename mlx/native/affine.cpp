//go:build cgo && mlx

#include "affine.h"

namespace gr {

AffineLayout affine_layout(const array &codes, const array &scales, const array &biases, int bits, int group) {
  const bool known = bits == 2 || bits == 3 || bits == 4 || bits == 5 || bits == 6 || bits == 8;
  if (!known || (group != 32 && group != 64 && group != 128))
    throw std::invalid_argument(std::to_string(bits) + " bits in groups of " + std::to_string(group) +
                                " are not taken: 2, 3, 4, 5, 6 or 8 in groups of 32, 64 or 128 are");
  if (codes.dtype() != mlx::core::uint32 || codes.ndim() != 2 || scales.ndim() != 2)
    throw std::invalid_argument("an affine weight is a matrix of uint32 with a matrix of scales");
  if (scales.shape() != biases.shape() || scales.dtype() != biases.dtype())
    throw std::invalid_argument("scales and biases are not alike");
  AffineLayout l{bits, group, (int64_t)codes.shape(1) * 32 / bits, codes.shape(0), type_of(scales.dtype(), "scales")};
  if (l.inputs % group != 0 || l.inputs / 32 * bits != codes.shape(1) || scales.shape(0) != l.outputs || scales.shape(1) != l.inputs / group)
    throw std::invalid_argument("codes of " + std::to_string(bits) + " bits in rows of " + std::to_string(codes.shape(1)) +
                                " words do not go with " + std::to_string(scales.shape(1)) + " groups of " + std::to_string(group));
  return l;
}

Affine affine_of(const AffineLayout &l, const array &codes, const array &scales, const array &biases) {
  need_rows(codes, "weight"), need_rows(scales, "scales"), need_rows(biases, "biases");
  return {codes.data<uint8_t>(), scales.data<char>(), biases.data<char>(), l.type, l.bits, l.group, l.inputs, l.outputs};
}

namespace {

// A matrix of half-precision numbers.
AffineLayout dense_layout(const array &weight) {
  const Type type = type_of(weight.dtype(), "weight");
  if (type == Type::f32 || weight.ndim() != 2 || weight.shape(1) < 1) throw std::invalid_argument("the weight is not a matrix of float16 or bfloat16");
  return {16, 1, weight.shape(1), weight.shape(0), type};
}

std::shared_ptr<Weights> weights_of(const grn_affine *w, int n) {
  auto all = std::make_shared<Weights>();
  all->on = workers_of(w->workers), all->form = (Form)w->form, all->tile = w->tile;
  for (int i = 0; i < n; i++) {
    const array &weight = array_of(w[i].weight, "weight");
    const bool dense = w[i].bits == 16;
    if (dense && all->form != Form::in_order) throw std::invalid_argument("a weight of numbers is multiplied in order only");
    const AffineLayout l = dense ? dense_layout(weight) : affine_layout(weight, array_of(w[i].scales, "scales"), array_of(w[i].biases, "biases"), w[i].bits, w[i].group);
    if (i && l.inputs != all->layouts[0].inputs) throw std::invalid_argument("the weights take rows of different lengths");
    Member m;
    auto dtype = weight.dtype();
    all->kept.push_back(weight);
    if (dense) {
      need_rows(weight, "weight");
      m.w = {weight.data<uint8_t>(), nullptr, nullptr, l.type, l.bits, l.group, l.inputs, l.outputs};
    } else {
      const array &scales = array_of(w[i].scales, "scales"), &biases = array_of(w[i].biases, "biases");
      m.w = affine_of(l, weight, scales, biases), dtype = scales.dtype();
      all->kept.insert(all->kept.end(), {scales, biases});
    }
    if (w[i].bias) {
      const array &bias = array_of(w[i].bias, "bias");
      type_of(bias.dtype(), "bias");
      if (bias.size() != (size_t)l.outputs) throw std::invalid_argument("the bias has not as many entries as there are outputs");
      need_rows(bias, "bias");
      m.bias = span_of(bias, "bias");
      dtype = mlx::core::promote_types(dtype, bias.dtype());
      all->kept.push_back(bias);
    }
    all->layouts.push_back(l), all->members.push_back(m), all->dtypes.push_back(dtype);
  }
  return all;
}

// What stands around products: a norm of x before, with a gain or without; a residual after, of one product.
struct Around {
  bool norm, gain, sum;
  float eps;
};

// Products of one value with weights. in: x, the gain, the residual.
class AffineProducts : public Native {
 public:
  AffineProducts(mlx::core::Stream s, std::shared_ptr<Weights> w, Around around, Type normed)
      : Native(s, w->on), weights_(std::move(w)), around_(around), normed_(normed) {}
  const char *name() const override { return "AffineProducts"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    const Span x = rows_of(in[0], "x");
    size_t at = 1;
    Norm norm{around_.norm, {}, around_.eps, normed_};
    if (around_.gain) norm.gain = rows_of(in[at++], "the gain");
    Span sum;
    if (around_.sum) sum = rows_of(in[at++], "the residual");
    auto members = weights_->members;
    for (size_t i = 0; i < members.size(); i++) {
      allocate(out[i]);
      members[i].y = span_of(out[i], "y"), members[i].sum = sum;
    }
    const int64_t rows = (int64_t)(in[0].size() / members[0].w.inputs);
    dispatch([=, w = weights_, members = std::move(members)](Workers &on) { products(on, members, w->form, w->tile, x, rows, norm); });
  }

 private:
  std::shared_ptr<Weights> weights_;
  Around around_;
  Type normed_;
};

// Rows of a weight, each code times its scale and then plus its bias, rounded to their type both times: what MLX makes of
// take and dequantize. in: integers of 4 bytes.
class AffineRows : public Native {
 public:
  AffineRows(mlx::core::Stream s, std::shared_ptr<Weights> w) : Native(s, w->on), weights_(std::move(w)) {}
  const char *name() const override { return "AffineRows"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Span y = span_of(out[0], "y");
    dispatch([w = weights_, numbers = (const int32_t *)rows_of(in[0]), n = (int64_t)in[0].size(), y](Workers &on) {
      const Affine &m = w->members[0].w;
      auto *row = (float *)on.pool.scratch(kRow, sizeof(float) * (m.inputs + 2 * m.groups())), *scales = row + m.inputs, *biases = scales + m.groups();
      for (int64_t i = 0; i < n; i++) {
        const int64_t at = numbers[i] < 0 ? numbers[i] + m.outputs : numbers[i];
        if (at < 0 || at >= m.outputs) throw std::out_of_range("row " + std::to_string(numbers[i]) + " of a weight of " + std::to_string(m.outputs));
        const size_t first = at * m.groups() * size_of(m.type);
        on.kernels.widen(m.type, (const char *)m.scales + first, scales, m.groups());
        on.kernels.widen(m.type, (const char *)m.biases + first, biases, m.groups());
        unpack(m, m.codes + at * m.row_bytes(), row);
        for (int64_t k = 0; k < m.inputs; k++) row[k] *= scales[k / m.group];
        if (m.type != Type::f32) on.kernels.narrow(m.type, row, y.at(i * m.inputs), m.inputs), on.kernels.widen(m.type, y.at(i * m.inputs), row, m.inputs);
        for (int64_t k = 0; k < m.inputs; k++) row[k] += biases[k / m.group];
        on.kernels.narrow(m.type, row, y.at(i * m.inputs), m.inputs);
      }
    });
  }

 private:
  static constexpr int kRow = 130; // scratch memory

  static void unpack(const Affine &m, const uint8_t *codes, float *to) {
    uint32_t held = 0;
    int bits = 0;
    for (int64_t k = 0; k < m.inputs; k++) {
      if (bits < m.bits) held |= (uint32_t)*codes++ << bits, bits += 8;
      to[k] = (float)(held & ((1u << m.bits) - 1));
      held >>= m.bits, bits -= m.bits;
    }
  }

  std::shared_ptr<Weights> weights_;
};

std::vector<array> affine_products(const std::shared_ptr<Weights> &w, uintptr_t stream, uintptr_t xa, const grn_around &a) {
  const array &x = array_of(xa, "x");
  const size_t n = w->members.size();
  const int64_t inputs = w->layouts[0].inputs;
  if (x.ndim() < 1 || x.shape(-1) != inputs)
    throw std::invalid_argument("x has rows of " + std::to_string(x.ndim() < 1 ? 0 : x.shape(-1)) + ", the weight takes " + std::to_string(inputs));
  type_of(x.dtype(), "x");
  std::vector<array> in{x};
  auto normed = x.dtype();
  if (a.gain) {
    in.push_back(array_of(a.gain, "the gain"));
    type_of(in[1].dtype(), "the gain");
    if (in[1].size() != (size_t)inputs) throw std::invalid_argument("the gain has not the length of x's last axis");
    normed = mlx::core::promote_types(normed, in[1].dtype());
  }
  std::vector<mlx::core::Shape> shapes;
  std::vector<Dtype> dtypes;
  for (size_t i = 0; i < n; i++) {
    shapes.push_back(x.shape());
    shapes[i][shapes[i].size() - 1] = (int)w->layouts[i].outputs;
    dtypes.push_back(mlx::core::promote_types(normed, w->dtypes[i]));
  }
  if (a.residual) {
    const array &r = array_of(a.residual, "the residual");
    if (n != 1 || r.dtype() != dtypes[0] || r.shape() != shapes[0]) throw std::invalid_argument("the residual is not of the product's shape and dtype");
    in.push_back(r);
  }
  auto p = std::make_shared<AffineProducts>(stream_of(stream), w, Around{a.norm, a.gain != 0, a.residual != 0, a.eps}, type_of(normed, "x"));
  if (n == 1) return {array(std::move(shapes[0]), dtypes[0], std::move(p), std::move(in))};
  return array::make_arrays(std::move(shapes), dtypes, std::move(p), in);
}

}  // namespace
}  // namespace gr

grn_one grn_affine_weights(const grn_affine *w, int n) {
  return gr::guarded<std::shared_ptr<gr::Weights>>([&] { return gr::weights_of(w, n); });
}

grn_one grn_affine_rows(uintptr_t weights, uintptr_t stream, uintptr_t numbers) {
  return gr::guarded([&] {
    using namespace gr;
    const auto &w = *reinterpret_cast<std::shared_ptr<Weights> *>(weights);
    const array &at = array_of(numbers, "row numbers");
    if (at.dtype() != mlx::core::int32) throw std::invalid_argument("row numbers are not int32");
    if (w->members.size() != 1 || w->members[0].bias.data) throw std::invalid_argument("rows are taken of one weight without a bias");
    auto shape = at.shape();
    shape.push_back((int)w->layouts[0].inputs);
    return array(std::move(shape), w->dtypes[0], std::make_shared<AffineRows>(stream_of(stream), w), {at});
  });
}

void grn_affine_weights_free(uintptr_t weights) { delete reinterpret_cast<std::shared_ptr<gr::Weights> *>(weights); }

char *grn_affine_products(uintptr_t weights, uintptr_t stream, uintptr_t x, grn_around around, uintptr_t *out) {
  return gr::caught([&] {
    auto all = gr::affine_products(*reinterpret_cast<std::shared_ptr<gr::Weights> *>(weights), stream, x, around);
    for (size_t i = 0; i < all.size(); i++) out[i] = reinterpret_cast<uintptr_t>(new gr::array(std::move(all[i])));
  });
}
