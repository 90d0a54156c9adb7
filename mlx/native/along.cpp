//go:build cgo && mlx

// Operators along a short axis, which routers of experts are made of. MLX's own cost more than their arithmetic of a step.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "along_c.h"
#include "arrays.h"

namespace gr {
namespace {

// Slots of scratch memory: of threads.
constexpr int kPerThread = 150;

// What primitives of this file share: results by pieces of the array, each of `size` numbers of x.
class Along : public Native {
 public:
  using Native::Native;

 protected:
  // Calls f(piece, floats) for each of n pieces, which do not depend on one another; floats is room for as many as are given.
  template <class F> void each(int64_t n, int64_t size, int64_t room, F &&f) {
    dispatch([n, size, room, f = std::forward<F>(f)](Workers &on) {
      for (int t = 0; t < on.pool.threads(); t++) on.pool.scratch(kPerThread + t, sizeof(float) * room);
      const int64_t per = n * size < 1 << 14 ? std::max<int64_t>(n, 1) : ceil_div(n, 8 * on.pool.threads());
      on.pool.run((int)ceil_div(n, per), [&](int piece, int thread) {
        auto *values = (float *)on.pool.scratch(kPerThread + thread, 0);
        for (int64_t i = piece * per, last = std::min(n, i + per); i < last; i++) f(on.kernels, i, values);
      });
    });
  }
};

class Softmax : public Along {
 public:
  using Along::Along;
  const char *name() const override { return "NativeSoftmax"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Span x = rows_of(in[0], "x"), y = span_of(out[0], "y");
    const int64_t width = in[0].shape(-1);
    each(width ? (int64_t)in[0].size() / width : 0, 8 * width, width, [=](const Kernels &k, int64_t row, float *v) {
      k.widen(x.type, x.at(row * width), v, width);
      float top, total;
      k.sum_exp(v, width, &top, &total);
      if (top == -INFINITY) total = NAN; // as exp(-inf + inf)
      for (int64_t i = 0; i < width; i++) v[i] = std::exp(v[i] - top) / total;
      k.narrow(y.type, v, y.at(row * width), width);
    });
  }
};

// Numbers of a row so that those before the kth are none of the larger; equal ones in their order, NaN last, as MLX compares.
class Argpartition : public Along {
 public:
  Argpartition(mlx::core::Stream s, std::shared_ptr<Workers> on, int64_t kth) : Along(s, std::move(on)), kth_(kth) {}
  const char *name() const override { return "NativeArgpartition"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Span x = rows_of(in[0], "x");
    const int64_t width = in[0].shape(-1);
    each((int64_t)in[0].size() / width, 8 * width, width, [=, y = out[0].data<uint32_t>(), kth = kth_](const Kernels &k, int64_t row, float *v) {
      k.widen(x.type, x.at(row * width), v, width);
      uint32_t *at = y + row * width;
      std::iota(at, at + width, 0);
      std::nth_element(at, at + kth, at + width, [v](uint32_t a, uint32_t b) {
        if (std::isnan(v[a]) || std::isnan(v[b])) return !std::isnan(v[a]) || (std::isnan(v[b]) && a < b);
        return v[a] < v[b] || (v[a] == v[b] && a < b);
      });
    });
  }

 private:
  int64_t kth_;
};

// in: x, indices.
class TakeAlong : public Along {
 public:
  using Along::Along;
  const char *name() const override { return "NativeTakeAlong"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Span x = rows_of(in[0], "x"), y = span_of(out[0], "y");
    const auto *indices = (const int32_t *)rows_of(in[1]);
    const int64_t width = in[0].shape(-1), n = in[1].shape(-1), size = (int64_t)size_of(x.type);
    each(n ? (int64_t)in[1].size() / n : 0, n, 0, [=](const Kernels &, int64_t row, float *) {
      for (int64_t i = 0; i < n; i++) {
        const int64_t at = indices[row * n + i] < 0 ? indices[row * n + i] + width : indices[row * n + i];
        if (at >= 0 && at < width)
          std::memcpy(y.at(row * n + i), x.at(row * width + at), size);
        else // there is none: NaN
          std::memset(y.at(row * n + i), 0xff, size);
      }
    });
  }
};

// x [.., n, inner] -> [.., inner].
class Sum : public Along {
 public:
  Sum(mlx::core::Stream s, std::shared_ptr<Workers> on, int64_t n, int64_t inner) : Along(s, std::move(on)), n_(n), inner_(inner) {}
  const char *name() const override { return "NativeSum"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    allocate(out[0]);
    const Span x = rows_of(in[0], "x"), y = span_of(out[0], "y");
    const int64_t step = inner_ == 1 ? n_ : inner_, rows = inner_ == 1 ? 1 : n_;
    each((int64_t)out[0].size() / inner_, n_ * inner_, inner_ + step, [=, n = n_, inner = inner_](const Kernels &k, int64_t piece, float *sum) {
      float *more = sum + inner;
      std::fill(sum, sum + inner, 0.0f);
      for (int64_t i = 0; i < rows; i++) {
        k.widen(x.type, x.at(piece * n * inner + i * step), more, step);
        for (int64_t j = 0; j < step; j++) sum[inner == 1 ? 0 : j] += more[j];
      }
      k.narrow(y.type, sum, y.at(piece * inner), inner);
    });
  }

 private:
  int64_t n_, inner_;
};

const array &numbers(uintptr_t a) {
  const array &x = array_of(a, "x");
  type_of(x.dtype(), "x");
  if (x.ndim() < 1) throw std::invalid_argument("x has no axis");
  return x;
}

}  // namespace
}  // namespace gr

grn_one grn_softmax(uintptr_t workers, uintptr_t stream, uintptr_t xa) {
  return gr::guarded([&] {
    const auto &x = gr::numbers(xa);
    return gr::array(x.shape(), x.dtype(), std::make_shared<gr::Softmax>(gr::stream_of(stream), gr::workers_of(workers)), {x});
  });
}

grn_one grn_argpartition(uintptr_t workers, uintptr_t stream, uintptr_t xa, int kth) {
  return gr::guarded([&] {
    const auto &x = gr::numbers(xa);
    const int width = x.shape(-1), place = kth < 0 ? kth + width : kth;
    if (place < 0 || place >= width) throw std::invalid_argument(std::to_string(kth) + " is no place of an axis of " + std::to_string(width));
    return gr::array(x.shape(), mlx::core::uint32, std::make_shared<gr::Argpartition>(gr::stream_of(stream), gr::workers_of(workers), place), {x});
  });
}

grn_one grn_take_along(uintptr_t workers, uintptr_t stream, uintptr_t xa, uintptr_t ia) {
  return gr::guarded([&] {
    using namespace gr;
    const array &x = numbers(xa), &indices = array_of(ia, "indices");
    if (indices.dtype() != mlx::core::uint32 && indices.dtype() != mlx::core::int32) throw std::invalid_argument("indices are neither uint32 nor int32");
    auto shape = x.shape();
    if (indices.ndim() == x.ndim()) shape[x.ndim() - 1] = indices.shape(-1);
    if (shape != indices.shape()) throw std::invalid_argument("x and indices are not alike but for their last axes");
    return array(std::move(shape), x.dtype(), std::make_shared<TakeAlong>(stream_of(stream), workers_of(workers)), {x, indices});
  });
}

grn_one grn_sum(uintptr_t workers, uintptr_t stream, uintptr_t xa, int axis, bool keep) {
  return gr::guarded([&] {
    using namespace gr;
    const array &x = numbers(xa);
    if ((axis != -1 && axis != -2) || (int)x.ndim() + axis < 0) throw std::invalid_argument("sums are along the last axis or the last but one");
    auto shape = x.shape();
    const int64_t n = x.shape(axis), inner = axis == -1 ? 1 : x.shape(-1);
    if (inner == 0) throw std::invalid_argument("x is empty");
    if (keep)
      shape[x.ndim() + axis] = 1;
    else
      shape.erase(shape.end() + axis);
    return array(std::move(shape), x.dtype(), std::make_shared<Sum>(stream_of(stream), workers_of(workers), n, inner), {x});
  });
}
