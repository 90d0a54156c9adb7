//go:build cgo && mlx

// MLX primitives of products with trellis codes.

#include "trellis.h"
#include "trellis_arrays.h"
#include "trellis_code.h"
#include "trellis_product.h"

namespace gr::trellis {

Layout layout_of(const array &codes, const array &scales, int bits, int block, int axis) {
  if (codes.dtype() != mlx::core::uint32 || scales.dtype() != mlx::core::float16 || scales.ndim() != 1)
    throw std::invalid_argument("trellis codes are uint32 with a vector of float16 scales");
  Layout l{bits, block, axis, scales.shape(0), 0, codes.ndim() == 3};
  if (l.bits < 2 || l.bits > 4 || l.block < 64 || l.block > 1024 || l.block % 32 != 0)
    throw std::invalid_argument("trellis codes of " + std::to_string(l.bits) + " bits in blocks of " + std::to_string(l.block) +
                                " are not taken: 2, 3 or 4 in blocks of a multiple of 32 from 64 to 1024 are");
  const int words = gr_trellis_block_words(l.bits, l.block);
  if (l.interleaved) {
    if (codes.shape(1) != l.rows || codes.shape(2) != 2 * words) throw std::invalid_argument("interleaved trellis codes are [columns / 2 blocks, rows, words of 2 blocks]");
    l.columns = 2 * (int64_t)l.block * codes.shape(0);
  } else {
    if (codes.ndim() != 2 || codes.shape(0) != l.rows || codes.shape(1) % words != 0) throw std::invalid_argument("trellis codes are [rows, words of whole blocks]");
    l.columns = (int64_t)codes.shape(1) / words * l.block;
  }
  if (l.rows == 0 || l.columns == 0) throw std::invalid_argument("trellis codes of no weight");
  return l;
}

Coded coded(const Layout &l, const array &codes, const array &scales) {
  need_rows(codes, "codes"), need_rows(scales, "scales");
  return {codes.data<uint32_t>(), reinterpret_cast<const uint16_t *>(scales.data<char>()), l.bits, l.block, l.rows, l.columns, l.interleaved};
}

namespace {

Layout layout(const grn_trellis &w) { return layout_of(array_of(w.codes, "codes"), array_of(w.scales, "scales"), w.bits, w.block, w.axis); }

class Product : public Native {
 public:
  Product(mlx::core::Stream s, std::shared_ptr<Workers> on, Layout l, Form form) : Native(s, std::move(on)), layout_(l), form_(form) {}
  const char *name() const override { return "TrellisProduct"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Coded w = coded(layout_, in[1], in[2]);
    const Span x = rows_of(in[0], "x"), y = span_of(out[0], "y");
    const int64_t M = (int64_t)(in[0].size() / layout_.inputs());
    if (M == 0) return;
    dispatch([w, x, y, M, axis = layout_.axis, form = form_](Workers &on) { axis == 1 ? reduce(on, w, form, x, M, y) : scatter(on, w, form, x, M, y); });
  }

 private:
  Layout layout_;
  Form form_;
};

class Swiglu : public Native {
 public:
  Swiglu(mlx::core::Stream s, std::shared_ptr<Workers> on, Layout gate, Layout up, Form form, bool split)
      : Native(s, std::move(on)), gate_(gate), up_(up), form_(form), split_(split) {}
  const char *name() const override { return "TrellisSwiglu"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Coded gate = coded(gate_, in[1], in[2]), up = coded(up_, in[3], in[4]);
    const Span x = rows_of(in[0], "x"), y = span_of(out[0], "y");
    const int64_t M = (int64_t)(in[0].size() / gate_.columns);
    if (M == 0) return;
    dispatch([gate, up, x, y, M, form = form_, split = split_](Workers &on) { swiglu(on, gate, up, form, split, x, M, y); });
  }

 private:
  Layout gate_, up_;
  Form form_;
  bool split_;
};

class Expand : public Native {
 public:
  Expand(mlx::core::Stream s, std::shared_ptr<Workers> on, Layout l, Weights kind) : Native(s, std::move(on)), layout_(l), kind_(kind) {}
  const char *name() const override { return "TrellisExpand"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Coded w = coded(layout_, in[0], in[1]);
    dispatch([w, kind = kind_, to = out[0].data<float>()](Workers &on) { expand(on, w, kind, to); });
  }

 private:
  Layout layout_;
  Weights kind_;
};

mlx::core::Shape result(const array &x, const Layout &l) {
  if (x.ndim() < 1 || x.shape(-1) != l.inputs())
    throw std::invalid_argument("x has rows of " + std::to_string(x.ndim() < 1 ? 0 : x.shape(-1)) + ", the weight takes " + std::to_string(l.inputs()));
  type_of(x.dtype(), "x");
  auto shape = x.shape();
  shape[shape.size() - 1] = (int)l.outputs();
  return shape;
}

}  // namespace
}  // namespace gr::trellis

grn_one grn_trellis_product(const grn_trellis *w, uintptr_t xa) {
  return gr::guarded([&] {
    using namespace gr;
    using namespace gr::trellis;
    const auto l = layout(*w);
    const array &x = array_of(xa, "x");
    return array(result(x, l), x.dtype(), std::make_shared<trellis::Product>(stream_of(w->stream), workers_of(w->workers), l, (trellis::Form)w->form),
                 {x, array_of(w->codes, "codes"), array_of(w->scales, "scales")});
  });
}

grn_one grn_trellis_swiglu(const grn_trellis *gate, const grn_trellis *up, uintptr_t xa, int split) {
  return gr::guarded([&] {
    using namespace gr;
    using namespace gr::trellis;
    const auto g = layout(*gate), u = layout(*up);
    if (g.axis != 1 || u.axis != 1 || g.rows != u.rows || g.columns != u.columns)
      throw std::invalid_argument("gate and up are coded along their inputs and as large as one another");
    const array &x = array_of(xa, "x");
    return array(result(x, g), x.dtype(), std::make_shared<trellis::Swiglu>(stream_of(gate->stream), workers_of(gate->workers), g, u, (trellis::Form)gate->form, split != 0),
                 {x, array_of(gate->codes, "codes"), array_of(gate->scales, "scales"), array_of(up->codes, "codes"), array_of(up->scales, "scales")});
  });
}

grn_one grn_trellis_expand(const grn_trellis *w, int rounded) {
  return gr::guarded([&] {
    using namespace gr;
    using namespace gr::trellis;
    const auto l = layout(*w);
    return array({(int)l.rows, (int)l.columns}, mlx::core::float32,
                 std::make_shared<trellis::Expand>(stream_of(w->stream), workers_of(w->workers), l, rounded ? trellis::Weights::bfloat16 : trellis::Weights::float32),
                 {array_of(w->codes, "codes"), array_of(w->scales, "scales")});
  });
}
