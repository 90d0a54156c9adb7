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

// What stands around products: a norm of x before, with a gain or without; a residual after, of one product.
struct Around {
  bool norm, gain, sum;
  float eps;
};

// Products of one value with weights. in: x, the gain, the residual, and of each weight codes, scales, biases and its bias.
class AffineProducts : public Native {
 public:
  AffineProducts(mlx::core::Stream s, std::shared_ptr<Workers> on, std::vector<AffineLayout> l, std::vector<bool> bias, Form form, int tile, Around around, Type normed)
      : Native(s, std::move(on)), layouts_(std::move(l)), bias_(std::move(bias)), form_(form), tile_(tile), around_(around), normed_(normed) {}
  const char *name() const override { return "AffineProducts"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    const Span x = rows_of(in[0], "x");
    size_t at = 1;
    Norm norm{around_.norm, {}, around_.eps, normed_};
    if (around_.gain) norm.gain = rows_of(in[at++], "the gain");
    Span sum;
    if (around_.sum) sum = rows_of(in[at++], "the residual");
    std::vector<Member> members;
    for (size_t i = 0; i < layouts_.size(); i++) {
      array &y = out[i];
      allocate(y);
      Member m{affine_of(layouts_[i], in[at], in[at + 1], in[at + 2]), span_of(y, "y"), {}, sum};
      at += 3;
      if (bias_[i]) need_rows(in[at], "bias"), m.bias = span_of(in[at++], "bias");
      members.push_back(m);
    }
    const int64_t rows = (int64_t)(in[0].size() / layouts_[0].inputs);
    dispatch([=, members = std::move(members), form = form_, tile = tile_](Workers &on) { products(on, members, form, tile, x, rows, norm); });
  }

 private:
  std::vector<AffineLayout> layouts_;
  std::vector<bool> bias_;
  Form form_;
  int tile_;
  Around around_;
  Type normed_;
};

std::vector<array> affine_products(const grn_affine *w, int n, uintptr_t xa, const grn_around &a) {
  const array &x = array_of(xa, "x");
  std::vector<array> in{x};
  auto normed = x.dtype();
  if (a.gain) {
    in.push_back(array_of(a.gain, "the gain"));
    type_of(in[1].dtype(), "the gain");
    if (x.ndim() < 1 || in[1].size() != (size_t)x.shape(-1)) throw std::invalid_argument("the gain has not the length of x's last axis");
    normed = mlx::core::promote_types(normed, in[1].dtype());
  }
  if (a.residual) in.push_back(array_of(a.residual, "the residual"));
  std::vector<AffineLayout> layouts;
  std::vector<bool> biases;
  std::vector<mlx::core::Shape> shapes;
  std::vector<Dtype> dtypes;
  for (int i = 0; i < n; i++) {
    const AffineLayout l = affine_layout(array_of(w[i].weight, "weight"), array_of(w[i].scales, "scales"), array_of(w[i].biases, "biases"), w[i].bits, w[i].group);
    if (x.ndim() < 1 || x.shape(-1) != l.inputs)
      throw std::invalid_argument("x has rows of " + std::to_string(x.ndim() < 1 ? 0 : x.shape(-1)) + ", the weight takes " + std::to_string(l.inputs));
    type_of(x.dtype(), "x");
    for (const uintptr_t part : {w[i].weight, w[i].scales, w[i].biases}) in.push_back(array_of(part, "weight"));
    auto dtype = mlx::core::promote_types(normed, in.back().dtype());
    if (w[i].bias) {
      in.push_back(array_of(w[i].bias, "bias"));
      type_of(in.back().dtype(), "bias");
      if (in.back().size() != (size_t)l.outputs) throw std::invalid_argument("the bias has not as many entries as there are outputs");
      dtype = mlx::core::promote_types(dtype, in.back().dtype());
    }
    auto shape = x.shape();
    shape[shape.size() - 1] = (int)l.outputs;
    layouts.push_back(l), biases.push_back(w[i].bias != 0), shapes.push_back(std::move(shape)), dtypes.push_back(dtype);
  }
  if (a.residual) {
    const array &r = array_of(a.residual, "the residual");
    if (n != 1 || r.dtype() != dtypes[0] || r.shape() != shapes[0]) throw std::invalid_argument("the residual is not of the product's shape and dtype");
  }
  auto p = std::make_shared<AffineProducts>(stream_of(w->stream), workers_of(w->workers), std::move(layouts), std::move(biases), (Form)w->form, w->tile,
                                            Around{a.norm, a.gain != 0, a.residual != 0, a.eps}, type_of(normed, "x"));
  if (n == 1) return {array(std::move(shapes[0]), dtypes[0], std::move(p), std::move(in))};
  return array::make_arrays(std::move(shapes), dtypes, std::move(p), in);
}

}  // namespace
}  // namespace gr

char *grn_affine_products(const grn_affine *w, int n, uintptr_t x, grn_around around, uintptr_t *out) {
  try {
    auto all = gr::affine_products(w, n, x, around);
    for (int i = 0; i < n; i++) out[i] = reinterpret_cast<uintptr_t>(new gr::array(std::move(all[i])));
  } catch (std::exception &e) {
    return strdup(e.what());
  } catch (...) {
    return strdup("unknown error");
  }
  return nullptr;
}
