//go:build cgo && mlx

#include <algorithm>
#include <cmath>

#include "arrays.h"

namespace gr {
namespace {

using mlx::core::Shape;
using mlx::core::Strides;

// Slots of scratch memory, beside those of products.
enum Slot { kX = 100, kWeight, kGate, kUp, kPerThread = 110 };

class RMSNorm : public Native {
 public:
  RMSNorm(mlx::core::Stream s, std::shared_ptr<Workers> on, float eps) : Native(s, std::move(on)), eps_(eps) {}
  const char *name() const override { return "NativeRMSNorm"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    array &y = out[0];
    allocate(y);
    const Span x = rows_of(in[0], "x"), w = in.size() > 1 ? rows_of(in[1], "weight") : Span{}, to = span_of(y, "y");
    const int64_t width = y.shape(-1), rows = width ? (int64_t)y.size() / width : 0;
    dispatch([=, eps = eps_](Workers &on) {
      const float *weight = w.data ? floats_of(on, w, width, kWeight) : nullptr;
      const float *values = floats_of(on, x, rows * width, kX);
      const bool direct = to.type == Type::f32;
      if (!direct)
        for (int t = 0; t < on.pool.threads(); t++) on.pool.scratch(kPerThread + t, sizeof(float) * width);
      const int64_t per = rows * width < 1 << 15 ? rows : std::max<int64_t>(1, rows / (4 * on.pool.threads()));
      on.pool.run((int)((rows + per - 1) / std::max<int64_t>(per, 1)), [&](int piece, int thread) {
        for (int64_t r = piece * per, last = std::min(rows, r + per); r < last; r++) {
          float *row = direct ? (float *)to.data + r * width : (float *)on.pool.scratch(kPerThread + thread, 0);
          on.kernels.rms_norm(values + r * width, weight, eps, width, row);
          if (!direct) on.kernels.narrow(to.type, row, to.at(r * width), width);
        }
      });
    });
  }

 private:
  float eps_;
};

class SwiGLU : public Native {
 public:
  using Native::Native;
  const char *name() const override { return "NativeSwiGLU"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    array &y = out[0];
    allocate(y);
    const Span gate = rows_of(in[0], "gate"), up = rows_of(in[1], "up"), to = span_of(y, "y");
    const int64_t n = (int64_t)y.size();
    dispatch([=](Workers &on) {
      const float *g = floats_of(on, gate, n, kGate), *u = floats_of(on, up, n, kUp);
      float *values = to.type == Type::f32 ? (float *)to.data : (float *)on.pool.scratch(kX, sizeof(float) * n);
      const int64_t per = n < 1 << 13 ? n : 4096;
      on.pool.run((int)((n + per - 1) / std::max<int64_t>(per, 1)), [&](int piece, int) {
        const int64_t first = piece * per, count = std::min(per, n - first);
        on.kernels.swiglu(g + first, u + first, values + first, count);
        if (to.type != Type::f32) on.kernels.narrow(to.type, values + first, to.at(first), count);
      });
    });
  }
};

// The logarithm of the sum of exponentials of a long row: of pieces side by side, since there is mostly one row.
class LogSum {
 public:
  static constexpr int64_t kPiece = 4096;

  LogSum(Workers &on, const float *row, int64_t width) : pieces((int)((width + kPiece - 1) / kPiece)),
                                                            parts((float *)on.pool.scratch(kWeight, sizeof(float) * 2 * pieces)) {
    on.pool.run(pieces, [&](int p, int) {
      on.kernels.sum_exp(row + p * kPiece, std::min(kPiece, width - p * kPiece), parts + 2 * p, parts + 2 * p + 1);
    });
    float total = 0;
    for (int p = 0; p < pieces; p++) top = !(parts[2 * p] <= top) ? parts[2 * p] : top;
    for (int p = 0; p < pieces; p++)
      if (parts[2 * p] != -INFINITY) total += parts[2 * p + 1] * std::exp(parts[2 * p] - top);
    value = top + std::log(total);
  }

  float top_of(int piece) const { return parts[2 * piece]; }

  const int pieces;
  float *const parts;
  float top = -INFINITY; // the highest entry; NaN where there is one
  float value;
};

class LogSoftmax : public Native {
 public:
  using Native::Native;
  const char *name() const override { return "NativeLogSoftmax"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    array &y = out[0];
    allocate(y);
    const Span x = rows_of(in[0], "x"), to = span_of(y, "y");
    const int64_t width = y.shape(-1), rows = width ? (int64_t)y.size() / width : 0;
    dispatch([=](Workers &on) {
      const float *values = floats_of(on, x, rows * width, kX);
      float *result = to.type == Type::f32 ? nullptr : (float *)on.pool.scratch(kGate, sizeof(float) * width);
      for (int64_t r = 0; r < rows; r++) {
        const float *row = values + r * width;
        float *made = result ? result : (float *)to.data + r * width;
        const LogSum sum(on, row, width);
        on.pool.run(sum.pieces, [&](int p, int) {
          for (int64_t i = p * sum.kPiece, last = std::min(width, i + sum.kPiece); i < last; i++) made[i] = row[i] - sum.value;
        });
        if (result) on.kernels.narrow(to.type, result, to.at(r * width), width);
      }
    });
  }
};

// The first of the highest log probabilities of each row, and what it is: of log_softmax, the bits of argmax and take. What
// is no number counts as argmax counts it: nothing is above the first entry then.
class Likeliest : public Native {
 public:
  using Native::Native;
  const char *name() const override { return "NativeLikeliest"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]), allocate(out[1]);
    const Span x = rows_of(in[0], "x"), to = span_of(out[1], "y");
    const int64_t width = in[0].shape(-1), rows = (int64_t)out[0].size();
    dispatch([=, at = out[0].data<uint32_t>()](Workers &on) {
      const float *values = floats_of(on, x, rows * width, kX);
      for (int64_t r = 0; r < rows; r++) {
        const float *row = values + r * width;
        const LogSum sum(on, row, width);
        const auto probability = [&](float logit) { // rounded; rounding keeps the order
          float p = logit - sum.value;
          char narrow[sizeof(float)];
          if (to.type != Type::f32) on.kernels.narrow(to.type, &p, narrow, 1), on.kernels.widen(to.type, narrow, &p, 1);
          return p;
        };
        const float best = probability(sum.top);
        int64_t i = 0;
        if (best == best) {
          for (int p = 0; probability(sum.top_of(p)) != best; p++) i += sum.kPiece;
          while (probability(row[i]) != best) i++;
        }
        at[r] = (uint32_t)i;
        const float p = probability(row[i]);
        on.kernels.narrow(to.type, &p, to.at(r), 1);
      }
    });
  }
};

class Rope : public Native {
 public:
  Rope(mlx::core::Stream s, std::shared_ptr<Workers> on, std::vector<float> rates, bool neighbours, Cell place)
      : Native(s, std::move(on)), rates_(std::move(rates)), neighbours_(neighbours), cell_(std::make_shared<Cell>(place)) {}
  const char *name() const override { return "NativeRope"; }
  std::shared_ptr<Cell> cell() const override { return cell_; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    const array &x = in[0];
    array &y = out[0];
    const int64_t B = x.shape(0), H = x.shape(1), T = x.shape(2), D = x.shape(3);
    // The result lies as projections give it, [B, T, H, D]: merging heads then copies nothing.
    Strides strides{T * H * D, D, H * D, 1};
    y.set_data(mlx::core::allocator::malloc(y.nbytes()), y.size(), strides, {true, H == 1 || T == 1, false});
    Span from = span_of(x, "x");
    Strides source(x.strides());
    if (x.strides(3) != 1 && D > 1) from = rows_of(x, "x"), source = Strides{H * T * D, T * D, D, 1};
    const Span to = span_of(y, "y");
    dispatch([=, rates = rates_, neighbours = neighbours_, cell = cell_](Workers &on) {
      auto &pool = on.pool;
      const int64_t half = (int64_t)rates.size();
      const float *angles = on.angles.of(rates, cell->position, T);
      for (int t = 0; t < pool.threads(); t++) pool.scratch(kPerThread + t, sizeof(float) * 2 * D);
      const bool many = T * H * D > 1 << 14;
      pool.run(many ? (int)T : 1, [&](int piece, int thread) {
        for (int64_t t = many ? piece : 0, last = many ? piece + 1 : T; t < last; t++) {
          const float *c = angles + 2 * half * t, *s = c + half;
          auto *a = (float *)pool.scratch(kPerThread + thread, 0), *r = a + D;
          for (int64_t b = 0; b < B; b++)
            for (int64_t h = 0; h < H; h++) {
              const char *row = from.at(b * source[0] + h * source[1] + t * source[2]);
              char *result = to.at(b * strides[0] + h * strides[1] + t * strides[2]);
              on.kernels.widen(from.type, row, a, D);
              on.kernels.rotate(a, c, s, (int)half, neighbours, r);
              for (int64_t i = 2 * half; i < D; i++) r[i] = a[i];
              on.kernels.narrow(to.type, r, result, D);
            }
        }
      });
    });
  }

 private:
  std::vector<float> rates_;
  bool neighbours_;
  std::shared_ptr<Cell> cell_;
};

}  // namespace
}  // namespace gr

grn_one grn_rms_norm(uintptr_t workers, uintptr_t stream, uintptr_t xa, uintptr_t wa, float eps) {
  return gr::guarded([&] {
    using namespace gr;
    const array &x = array_of(xa, "x");
    type_of(x.dtype(), "x");
    std::vector<array> in{x};
    auto dtype = x.dtype();
    if (wa) {
      in.push_back(array_of(wa, "weight"));
      type_of(in[1].dtype(), "weight");
      if (x.ndim() < 1 || in[1].size() != (size_t)x.shape(-1)) throw std::invalid_argument("the gain has not the length of x's last axis");
      dtype = mlx::core::promote_types(dtype, in[1].dtype());
    }
    return array(x.shape(), dtype, std::make_shared<RMSNorm>(stream_of(stream), workers_of(workers), eps), std::move(in));
  });
}

grn_one grn_swiglu(uintptr_t workers, uintptr_t stream, uintptr_t gate, uintptr_t up) {
  return gr::guarded([&] {
    using namespace gr;
    const array &g = array_of(gate, "gate"), &u = array_of(up, "up");
    type_of(g.dtype(), "gate"), type_of(u.dtype(), "up");
    if (g.shape() != u.shape()) throw std::invalid_argument("gate and up have not one shape");
    return array(g.shape(), mlx::core::promote_types(g.dtype(), u.dtype()), std::make_shared<SwiGLU>(stream_of(stream), workers_of(workers)), {g, u});
  });
}

grn_one grn_log_softmax(uintptr_t workers, uintptr_t stream, uintptr_t xa) {
  return gr::guarded([&] {
    using namespace gr;
    const array &x = array_of(xa, "x");
    type_of(x.dtype(), "x");
    if (x.ndim() < 1) throw std::invalid_argument("x has no axis");
    return array(x.shape(), x.dtype(), std::make_shared<LogSoftmax>(stream_of(stream), workers_of(workers)), {x});
  });
}

grn_three grn_likeliest(uintptr_t workers, uintptr_t stream, uintptr_t xa) {
  grn_three r = {};
  try {
    using namespace gr;
    const array &x = array_of(xa, "x");
    type_of(x.dtype(), "x");
    if (x.ndim() < 1 || x.shape(-1) < 1) throw std::invalid_argument("x has no entries to choose from");
    const Shape shape(x.shape().begin(), x.shape().end() - 1);
    auto out = array::make_arrays({shape, shape}, {mlx::core::uint32, x.dtype()}, std::make_shared<Likeliest>(stream_of(stream), workers_of(workers)), {x});
    for (int i = 0; i < 2; i++) r.a[i] = reinterpret_cast<uintptr_t>(new array(out[i]));
  } catch (std::exception &e) {
    r.err = strdup(e.what());
  }
  return r;
}

grn_one grn_rope(uintptr_t workers, uintptr_t stream, uintptr_t xa, const float *rates, int n, bool neighbours, int offset, int state) {
  return gr::guarded([&] {
    using namespace gr;
    const array &x = array_of(xa, "x");
    need_heads(x, "x");
    if (2 * n > x.shape(3)) throw std::invalid_argument("more entries are rotated than there are");
    return array(x.shape(), x.dtype(),
                 std::make_shared<Rope>(stream_of(stream), workers_of(workers), std::vector<float>(rates, rates + n), neighbours,
                                        Cell{offset, 0, 0, state, false}),
                 {x});
  });
}
