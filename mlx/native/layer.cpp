//go:build cgo && mlx

#include <algorithm>
#include <cmath>

#include "arrays.h"

namespace gr {
namespace {

using mlx::core::Shape;
using mlx::core::Strides;

// Slots of scratch memory, beside those of products.
enum Slot { kX = 100, kWeight, kGate, kUp, kAngles, kPerThread = 110 };

// x as floats; from `slot` where it is of another type.
const float *floats_of(Workers &on, Span x, int64_t n, int slot) {
  if (x.type == Type::f32) return (const float *)x.data;
  auto *wide = (float *)on.pool.scratch(slot, sizeof(float) * n);
  on.kernels.widen(x.type, x.data, wide, n);
  return wide;
}

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

// The rows of an array [B, H, T, D] whose last axis has no gaps.
struct Heads {
  Span span;
  int64_t b, h, t, d, sb, sh, st;

  char *row(int64_t i, int64_t j, int64_t k) const { return span.at(i * sb + j * sh + k * st); }
};

class Attention : public Native {
 public:
  Attention(mlx::core::Stream s, std::shared_ptr<Workers> on, float scale, int offset) : Native(s, std::move(on)), scale_(scale), offset_(offset) {}
  const char *name() const override { return "NativeAttention"; }

  // in: q, k, v, and the buffers of keys and values; out: y [B, heads, T, D], stored as [B, T, heads, D], and the buffers.
  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    const Heads q = heads_of(in[0], "q"), k = heads_of(in[1], "k"), v = heads_of(in[2], "v");
    array &y = out[0];
    Strides strides{y.shape(1) * y.shape(2) * y.shape(3), y.shape(3), y.shape(1) * y.shape(3), 1};
    const bool rows = y.shape(1) == 1 || y.shape(2) == 1;
    y.set_data(mlx::core::allocator::malloc(y.nbytes()), y.size(), strides, {true, rows, false});
    Heads to{span_of(y, "y"), q.b, q.h, q.t, v.d, strides[0], strides[1], strides[2]};
    const Heads keys = buffer(in[3], out[1]), values = buffer(in[4], out[2]);
    dispatch([=, scale = scale_, offset = offset_](Workers &on) {
      append(k, keys, offset), append(v, values, offset);
      attend(on, q, keys, values, to, offset, scale);
    });
  }

 private:
  Heads heads_of(const array &a, const char *name) {
    if (a.strides(3) == 1 || a.shape(3) == 1)
      return {span_of(a, name), a.shape(0), a.shape(1), a.shape(2), a.shape(3), a.strides(0), a.strides(1), a.strides(2)};
    const int64_t h = a.shape(1), t = a.shape(2), d = a.shape(3);
    return {rows_of(a, name), a.shape(0), h, t, d, h * t * d, t * d, d};
  }

  // The buffer to write into: the old one where nobody else has it.
  Heads buffer(const array &from, array &to) {
    need_rows(from, "a cache");
    if (from.is_donatable()) {
      to.copy_shared_buffer(from);
    } else {
      allocate(to);
      const Span a = span_of(from, "a cache"), b = span_of(to, "a cache");
      mlx::core::cpu::get_command_encoder(stream()).dispatch([a, b, n = from.nbytes()] { std::memcpy(b.data, a.data, n); });
    }
    const int64_t h = to.shape(1), t = to.shape(2), d = to.shape(3);
    return {span_of(to, "a cache"), to.shape(0), h, t, d, h * t * d, t * d, d};
  }

  static void append(const Heads &x, const Heads &to, int64_t offset) {
    for (int64_t b = 0; b < x.b; b++)
      for (int64_t h = 0; h < x.h; h++)
        for (int64_t t = 0; t < x.t; t++) std::memcpy(to.row(b, h, offset + t), x.row(b, h, t), x.d * size_of(x.span.type));
  }

  static void attend(Workers &on, const Heads &q, const Heads &k, const Heads &v, const Heads &y, int64_t offset, float scale) {
    auto &pool = on.pool;
    const int64_t group = q.h / k.h, total = offset + q.t;
    const bool tiles = q.t >= 12 && v.d % kPanel == 0;
    const int64_t packed = (total + kPanel - 1) / kPanel * kPanel * q.d;
    const int64_t widened = v.span.type == Type::f32 ? 0 : total * v.d;
    // Of a thread: packed keys, values, scores, a tile of queries and one of results.
    const int64_t scores = 6 * (total + 32), tile = 6 * (q.d + v.d), need = (tiles ? packed + widened : 0) + scores + tile;
    for (int t = 0; t < pool.threads(); t++) pool.scratch(kPerThread + t, sizeof(float) * need);
    // Pieces: for each head of keys the queries in a few runs, so that threads have enough and packing is shared.
    const int64_t runs = tiles ? std::max<int64_t>(1, std::min<int64_t>(pool.threads(), q.t / 48)) : 1;
    const int64_t per = (q.t + runs - 1) / runs;
    const bool small = q.b * q.h * q.t * total * q.d < 1 << 16;
    const int pieces = (int)(q.b * k.h * runs);
    const auto work = [&](int piece, int thread) {
      const int64_t run = piece % runs, head = piece / runs % k.h, b = piece / runs / k.h;
      auto *room = (float *)pool.scratch(kPerThread + thread, 0);
      float *query = room + (tiles ? packed + widened : 0) + scores, *result = query + 6 * q.d, *s = query - scores;
      const int64_t first = run * per, last = std::min(q.t, first + per), seen = offset + last;
      const float *vals = nullptr;
      if (tiles) {
        on.kernels.pack_keys(k.span.type, k.row(b, head, 0), k.st, seen, (int)q.d, room);
        vals = (const float *)v.row(b, head, 0);
        if (widened) {
          on.kernels.widen(v.span.type, v.row(b, head, 0), room + packed, seen * v.d);
          vals = room + packed;
        }
      }
      for (int64_t h = head * group; h < (head + 1) * group; h++) {
        for (int64_t t = first; t < last;) {
          const int n = tiles ? (int)std::min<int64_t>(6, last - t) : 1;
          for (int i = 0; i < n; i++) on.kernels.widen(q.span.type, q.row(b, h, t + i), query + i * q.d, q.d);
          if (tiles)
            on.kernels.attend_rows(query, q.d, n, room, vals, v.d, offset + t + 1, (int)q.d, (int)v.d, scale, s, result, v.d);
          else
            on.kernels.attend(query, k.span.type, k.row(b, head, 0), k.st, v.row(b, head, 0), v.st, offset + t + 1, (int)q.d, (int)v.d, scale, s, result);
          for (int i = 0; i < n; i++) on.kernels.narrow(y.span.type, result + i * v.d, y.row(b, h, t + i), v.d);
          t += n;
        }
      }
    };
    if (small)
      for (int i = 0; i < pieces; i++) work(i, 0);
    else
      pool.run(pieces, work);
  }

  float scale_;
  int offset_;
};

class Rope : public Native {
 public:
  Rope(mlx::core::Stream s, std::shared_ptr<Workers> on, std::vector<float> rates, bool neighbours, int offset)
      : Native(s, std::move(on)), rates_(std::move(rates)), neighbours_(neighbours), offset_(offset) {}
  const char *name() const override { return "NativeRope"; }

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
    dispatch([=, rates = rates_, neighbours = neighbours_, offset = offset_](Workers &on) {
      auto &pool = on.pool;
      const int64_t half = (int64_t)rates.size();
      auto *angles = (float *)pool.scratch(kAngles, sizeof(float) * 2 * half * T);
      for (int t = 0; t < pool.threads(); t++) pool.scratch(kPerThread + t, sizeof(float) * 2 * D);
      const bool many = T * H * D > 1 << 14;
      pool.run(many ? (int)T : 1, [&](int piece, int thread) {
        for (int64_t t = many ? piece : 0, last = many ? piece + 1 : T; t < last; t++) {
          float *c = angles + 2 * half * t, *s = c + half;
          for (int64_t i = 0; i < half; i++) {
            const float angle = (float)(offset + t) * rates[i];
            c[i] = std::cos(angle), s[i] = std::sin(angle);
          }
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
  int64_t offset_;
};

void need_heads(const array &a, const char *name) {
  if (a.ndim() != 4) throw std::invalid_argument(std::string(name) + " is not [B, heads, T, D]");
  type_of(a.dtype(), name);
}

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

grn_one grn_rope(uintptr_t workers, uintptr_t stream, uintptr_t xa, const float *rates, int n, bool neighbours, int offset) {
  return gr::guarded([&] {
    using namespace gr;
    const array &x = array_of(xa, "x");
    need_heads(x, "x");
    if (2 * n > x.shape(3)) throw std::invalid_argument("more entries are rotated than there are");
    return array(x.shape(), x.dtype(),
                 std::make_shared<Rope>(stream_of(stream), workers_of(workers), std::vector<float>(rates, rates + n), neighbours, offset), {x});
  });
}

grn_three grn_attend(uintptr_t workers, uintptr_t stream, const uintptr_t *in, float scale, int offset) {
  grn_three r = {};
  try {
    using namespace gr;
    std::vector<array> a;
    const char *names[] = {"q", "k", "v", "the keys", "the values"};
    for (int i = 0; i < 5; i++) need_heads(array_of(in[i], names[i]), names[i]), a.push_back(array_of(in[i], names[i]));
    const auto &q = a[0], &k = a[1], &v = a[2], &keys = a[3], &values = a[4];
    if (keys.dtype() != k.dtype() || values.dtype() != v.dtype() || k.dtype() != v.dtype())
      throw std::invalid_argument("the cache is not of the dtype of k and v");
    if (q.shape(0) != k.shape(0) || k.shape(0) != keys.shape(0) || k.shape(1) != keys.shape(1) || v.shape(1) != k.shape(1) || v.shape(1) != values.shape(1) ||
        q.shape(1) % k.shape(1) != 0 || q.shape(3) != k.shape(3) || k.shape(3) != keys.shape(3) || v.shape(3) != values.shape(3) ||
        q.shape(2) != k.shape(2) || v.shape(2) != k.shape(2) || keys.shape(2) < offset + k.shape(2) || values.shape(2) != keys.shape(2))
      throw std::invalid_argument("q, k, v and the cache do not go together");
    auto shape = q.shape();
    shape[3] = v.shape(3);
    auto out = array::make_arrays({shape, keys.shape(), values.shape()}, {mlx::core::promote_types(q.dtype(), k.dtype()), keys.dtype(), values.dtype()},
                                  std::make_shared<Attention>(stream_of(stream), workers_of(workers), scale, offset), a);
    for (int i = 0; i < 3; i++) r.a[i] = reinterpret_cast<uintptr_t>(new array(out[i]));
  } catch (std::exception &e) {
    r.err = strdup(e.what());
  }
  return r;
}
