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

class AffineProduct : public Native {
 public:
  AffineProduct(mlx::core::Stream s, std::shared_ptr<Workers> on, AffineLayout l, Form form, int tile)
      : Native(s, std::move(on)), layout_(l), form_(form), tile_(tile) {}
  const char *name() const override { return "AffineProduct"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    array &y = out[0];
    allocate(y);
    const Affine w = affine_of(layout_, in[1], in[2], in[3]);
    const Span x = rows_of(in[0], "x"), to = span_of(y, "y");
    Span bias;
    if (in.size() > 4) need_rows(in[4], "bias"), bias = span_of(in[4], "bias");
    const int64_t rows = (int64_t)(in[0].size() / layout_.inputs);
    dispatch([w, x, rows, to, bias, form = form_, tile = tile_](Workers &on) { product(on, w, form, tile, x, rows, to, bias); });
  }

 private:
  AffineLayout layout_;
  Form form_;
  int tile_;
};

}  // namespace
}  // namespace gr

grn_one grn_affine_product(const grn_affine *w, uintptr_t xa) {
  return gr::guarded([&] {
    using namespace gr;
    const array &codes = array_of(w->weight, "weight"), &scales = array_of(w->scales, "scales"), &biases = array_of(w->biases, "biases");
    const AffineLayout l = affine_layout(codes, scales, biases, w->bits, w->group);
    const array &x = array_of(xa, "x");
    if (x.ndim() < 1 || x.shape(-1) != l.inputs)
      throw std::invalid_argument("x has rows of " + std::to_string(x.ndim() < 1 ? 0 : x.shape(-1)) + ", the weight takes " + std::to_string(l.inputs));
    type_of(x.dtype(), "x");
    const auto stream = stream_of(w->stream);
    auto shape = x.shape();
    shape[shape.size() - 1] = (int)l.outputs;
    std::vector<array> in{x, codes, scales, biases};
    auto dtype = mlx::core::promote_types(x.dtype(), scales.dtype());
    if (w->bias) {
      in.push_back(array_of(w->bias, "bias"));
      type_of(in[4].dtype(), "bias");
      if (in[4].size() != (size_t)l.outputs) throw std::invalid_argument("the bias has not as many entries as there are outputs");
      dtype = mlx::core::promote_types(dtype, in[4].dtype());
    }
    return array(std::move(shape), dtype, std::make_shared<AffineProduct>(stream, workers_of(w->workers), l, (Form)w->form, w->tile), std::move(in));
  });
}
