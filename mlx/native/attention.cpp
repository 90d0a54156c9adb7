//go:build cgo && mlx

#include <algorithm>
#include <cmath>

#include "arrays.h"

namespace gr {
namespace {

using mlx::core::Shape;
using mlx::core::Strides;

enum Slot { kGainQ, kGainK, kQueries, kParts, kPerThread };

// Keys that are attended to at a time: several threads share a head, and what comes out does not depend on how many.
constexpr int64_t kSpan = 128;
// Queries whose parts are kept at a time.
constexpr int64_t kRows = 64;

// The rows of heads, whose last axis has no gaps.
struct Heads {
  Span span;
  int64_t b, h, t, d, sb, sh, st;

  char *row(int64_t i, int64_t j, int64_t k) const { return span.at(i * sb + j * sh + k * st); }
};

// What becomes of a row of a head between its projection and attention: normalised, rotated, each rounded to a type.
struct Turn {
  bool norm = false;
  const float *gain = nullptr; // 1 where null
  float eps = 0;
  int half = 0; // pairs that are rotated
  bool neighbours = false;
  const float *angles = nullptr;
  Type type = Type::f32;

  bool nothing() const { return !norm && half == 0; }

  // a: the result; it has room for 2 d floats.
  void operator()(const Kernels &k, Type from, const void *row, int64_t t, int64_t d, float *a) const {
    k.widen(from, row, a, d);
    if (norm) k.rms_norm(a, gain, eps, d, a), round(k, a, d);
    if (half) {
      const float *c = angles + 2 * half * t;
      k.rotate(a, c, c + half, half, neighbours, a), round(k, a, d);
    }
  }

 private:
  void round(const Kernels &k, float *a, int64_t d) const {
    if (type == Type::f32) return;
    k.narrow(type, a, a + d, d), k.widen(type, a + d, a, d);
  }
};

struct Options {
  int layout[3]; // of q, k and v, see native.h
  bool merged, norm_q, norm_k, neighbours;
  float eps_q, eps_k, scale;
  std::vector<float> rates;
};

// The shape as [B, heads, T, D] of what lies in one of the layouts.
Shape shape_of(const array &a, int layout, const char *name) {
  type_of(a.dtype(), name);
  if (layout <= 0) {
    need_heads(a, name);
    return layout == 0 ? a.shape() : Shape{a.shape(0), a.shape(2), a.shape(1), a.shape(3)};
  }
  if (a.ndim() != 3 || a.shape(2) % layout != 0) throw std::invalid_argument(std::string(name) + " is not [B, T, heads * D]");
  return {a.shape(0), layout, a.shape(1), a.shape(2) / layout};
}

void append(Workers &on, const Heads &x, const Heads &to, int64_t at, const Turn &turn) {
  const auto row = [&](int64_t b, int64_t h, int64_t t, float *a) {
    char *result = to.row(b, h, at + t);
    if (turn.nothing() && x.span.type == to.span.type) {
      std::memcpy(result, x.row(b, h, t), x.d * size_of(x.span.type));
    } else {
      turn(on.kernels, x.span.type, x.row(b, h, t), t, x.d, a);
      on.kernels.narrow(to.span.type, a, result, x.d);
    }
  };
  const bool many = x.b * x.h * x.t * x.d > 1 << 15;
  on.pool.run(many ? (int)x.t : 1, [&](int piece, int thread) {
    auto *a = (float *)on.pool.scratch(kPerThread + thread, 0);
    for (int64_t t = many ? piece : 0, last = many ? piece + 1 : x.t; t < last; t++)
      for (int64_t b = 0; b < x.b; b++)
        for (int64_t h = 0; h < x.h; h++) row(b, h, t, a);
  });
}

struct Job {
  Workers &on;
  Heads q, k, v, y;
  Turn turn; // of q
  float scale;
  int64_t seen; // keys that the first query sees; the next one more each

  int64_t group() const { return q.h / k.h; }

  // Of the queries from t on, n of them.
  Job from(int64_t t, int64_t n) const {
    Job j = *this;
    j.q.span.data = q.row(0, 0, t), j.y.span.data = y.row(0, 0, t);
    j.q.t = j.y.t = n, j.seen += t, j.turn.angles += 2 * turn.half * t;
    return j;
  }
};

// Few queries: each span of keys by itself, then the parts of a query together.
void attend_spans(const Job &j) {
  const Kernels &kernels = j.on.kernels;
  auto &pool = j.on.pool;
  const Heads &q = j.q, &k = j.k, &v = j.v;
  const int64_t group = j.group(), total = j.seen + q.t - 1, spans = (total + kSpan - 1) / kSpan, rows = group * q.t, width = v.d + 2;
  auto *queries = (float *)pool.scratch(kQueries, sizeof(float) * ((q.b * q.h * q.t + 1) * q.d + v.d)); // a row more: Turn's room
  auto *parts = (float *)pool.scratch(kParts, sizeof(float) * q.b * q.h * q.t * spans * width);
  for (int64_t b = 0, n = 0; b < q.b; b++)
    for (int64_t h = 0; h < q.h; h++)
      for (int64_t t = 0; t < q.t; t++, n++) j.turn(kernels, q.span.type, q.row(b, h, t), t, q.d, queries + n * q.d);
  const auto work = [&](int piece, int) {
    const int64_t span = piece % spans, head = piece / spans % k.h, b = piece / spans / k.h, first = span * kSpan, query = (b * k.h + head) * rows;
    float scores[3 * (kSpan + 7)];
    kernels.attend(queries + query * q.d, q.d, (int)rows, j.seen - first, (int)q.t, k.span.type, k.row(b, head, first), k.st, v.row(b, head, first), v.st,
                   std::min(kSpan, total - first), (int)q.d, (int)v.d, j.scale, scores, parts + (query * spans + span) * width, spans * width);
  };
  const int pieces = (int)(q.b * k.h * spans);
  if (q.b * q.h * q.t * total * q.d < 1 << 16)
    for (int i = 0; i < pieces; i++) work(i, 0);
  else
    pool.run(pieces, work);
  for (int64_t n = 0; n < q.b * q.h * q.t; n++) {
    char *y = j.y.row(n / q.t / q.h, n / q.t % q.h, n % q.t);
    float *result = j.y.span.type == Type::f32 ? (float *)y : queries; // which are done with
    kernels.join(parts + n * spans * width, spans, width, (int)v.d, result);
    if (result == queries) kernels.narrow(j.y.span.type, result, y, v.d);
  }
}

// Many queries: keys packed once for each head, queries six at a time.
void attend_tiles(const Job &j) {
  const Kernels &kernels = j.on.kernels;
  auto &pool = j.on.pool;
  const Heads &q = j.q, &k = j.k, &v = j.v;
  const int64_t group = j.group(), total = j.seen + q.t - 1;
  const int64_t packed = (total + kPanel - 1) / kPanel * kPanel * q.d, widened = v.span.type == Type::f32 ? 0 : total * v.d;
  // Of a thread: packed keys, values, scores, a tile of queries (and a row more) and one of results.
  const int64_t scores = 6 * (total + 32), need = packed + widened + scores + 7 * q.d + 6 * v.d;
  for (int t = 0; t < pool.threads(); t++) pool.scratch(kPerThread + t, sizeof(float) * need);
  // Pieces: for each head of keys the queries in a few runs, so that threads have enough and packing is shared.
  const int64_t runs = std::max<int64_t>(1, std::min<int64_t>(pool.threads(), q.t / 48)), per = (q.t + runs - 1) / runs;
  pool.run((int)(q.b * k.h * runs), [&](int piece, int thread) {
    const int64_t run = piece % runs, head = piece / runs % k.h, b = piece / runs / k.h;
    auto *room = (float *)pool.scratch(kPerThread + thread, 0);
    float *s = room + packed + widened, *query = s + scores, *result = query + 7 * q.d;
    const int64_t first = run * per, last = std::min(q.t, first + per), seen = j.seen + last - 1;
    kernels.pack_keys(k.span.type, k.row(b, head, 0), k.st, seen, (int)q.d, room);
    const auto *values = (const float *)v.row(b, head, 0);
    if (widened) {
      kernels.widen(v.span.type, v.row(b, head, 0), room + packed, seen * v.d);
      values = room + packed;
    }
    for (int64_t h = head * group; h < (head + 1) * group; h++)
      for (int64_t t = first; t < last;) {
        const int n = (int)std::min<int64_t>(6, last - t);
        for (int i = 0; i < n; i++) j.turn(kernels, q.span.type, q.row(b, h, t + i), t + i, q.d, query + i * q.d);
        kernels.attend_rows(query, q.d, n, room, values, v.d, j.seen + t, (int)q.d, (int)v.d, j.scale, s, result, v.d);
        for (int i = 0; i < n; i++) kernels.narrow(j.y.span.type, result + i * v.d, j.y.row(b, h, t + i), v.d);
        t += n;
      }
  });
}

class Attention : public Native {
 public:
  Attention(mlx::core::Stream s, std::shared_ptr<Workers> on, Options o, Cell place)
      : Native(s, std::move(on)), o_(std::move(o)), cell_(std::make_shared<Cell>(place)) {}
  const char *name() const override { return "NativeAttention"; }
  std::shared_ptr<Cell> cell() const override { return cell_; }

  // in: q, k, v, the buffers of keys and values, then the gains that there are; out: y and the buffers. y is stored as
  // [B, T, heads, D] also where its shape is [B, heads, T, D]: merging heads then copies nothing.
  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    const Heads q = heads_of(in[0], o_.layout[0], "q"), k = heads_of(in[1], o_.layout[1], "k"), v = heads_of(in[2], o_.layout[2], "v");
    array &y = out[0];
    Heads to{{}, q.b, q.h, q.t, v.d, q.t * q.h * v.d, v.d, q.h * v.d};
    if (o_.merged) {
      allocate(y);
    } else {
      const bool rows = q.h == 1 || q.t == 1;
      y.set_data(mlx::core::allocator::malloc(y.nbytes()), y.size(), Strides{to.sb, to.sh, to.st, 1}, {true, rows, false});
    }
    to.span = span_of(y, "y");
    const Heads keys = buffer(in[3], out[1]), values = buffer(in[4], out[2]);
    Span gain_q, gain_k;
    size_t next = 5;
    if (o_.norm_q && next < in.size()) gain_q = rows_of(in[next++], "q's gain");
    if (o_.norm_k && next < in.size()) gain_k = rows_of(in[next++], "k's gain");
    const Type type_q = rounded(in[0], gain_q), type_k = rounded(in[1], gain_k);
    dispatch([=, o = o_, cell = cell_](Workers &on) {
      const Cell place = *cell;
      const float *angles = o.rates.empty() ? nullptr : on.angles.of(o.rates, place.position, q.t);
      const int half = (int)o.rates.size();
      const auto turn = [&](bool norm, Span gain, float eps, Type type, int slot) {
        return Turn{norm, gain.data ? floats_of(on, gain, q.d, slot) : nullptr, eps, half, o.neighbours, angles, type};
      };
      for (int t = 0; t < on.pool.threads(); t++) on.pool.scratch(kPerThread + t, sizeof(float) * 2 * std::max(k.d, v.d));
      append(on, k, keys, place.at, turn(o.norm_k, gain_k, o.eps_k, type_k, kGainK));
      append(on, v, values, place.at, Turn());
      const Job job{on, q, keys, values, to, turn(o.norm_q, gain_q, o.eps_q, type_q, kGainQ), o.scale, place.seen};
      if (q.t >= 12 && v.d % kPanel == 0)
        attend_tiles(job);
      else
        for (int64_t t = 0; t < q.t; t += kRows) attend_spans(job.from(t, std::min(kRows, q.t - t)));
    });
  }

 private:
  Heads heads_of(const array &a, int layout, const char *name) {
    const Shape s = shape_of(a, layout, name); // [B, heads, T, D]
    const int last = a.ndim() - 1;
    Strides at(a.strides());
    Span span;
    if (at[last] == 1 || a.shape(last) == 1) {
      span = span_of(a, name);
    } else {
      span = rows_of(a, name);
      at[last] = 1;
      for (int i = last; i > 0; i--) at[i - 1] = at[i] * a.shape(i);
    }
    const int64_t head = layout > 0 ? s[3] : at[layout == 0 ? 1 : 2], row = at[layout == 0 ? 2 : 1];
    return {span, s[0], s[1], s[2], s[3], at[0], head, row};
  }

  // The old buffer is written to, see layer.go. MLX's own test of whether anybody else holds it would say yes as long as the
  // step before has not run to its end, and a step that is computed ahead would copy the whole cache.
  static Heads buffer(const array &from, array &to) {
    need_rows(from, "a cache");
    to.copy_shared_buffer(from);
    const int64_t h = to.shape(1), t = to.shape(2), d = to.shape(3);
    return {span_of(to, "a cache"), to.shape(0), h, t, d, h * t * d, t * d, d};
  }

  static Type rounded(const array &x, const Span &gain) {
    const Type t = type_of(x.dtype(), "x");
    return gain.data && gain.type != t ? Type::f32 : t; // two of the three types promote to float32
  }

  Options o_;
  std::shared_ptr<Cell> cell_;
};

}  // namespace
}  // namespace gr

grn_three grn_attention(const grn_attend *w, const uintptr_t *in, const float *rates) {
  grn_three r = {};
  try {
    using namespace gr;
    std::vector<array> a;
    const char *names[] = {"q", "k", "v", "the keys", "the values"};
    Shape s[5];
    for (int i = 0; i < 5; i++) {
      a.push_back(array_of(in[i], names[i]));
      s[i] = shape_of(a[i], i > 2 ? 0 : w->layout[i], names[i]);
    }
    const Shape &q = s[0], &k = s[1], &v = s[2], &keys = s[3], &values = s[4];
    auto type_q = a[0].dtype(), type_k = a[1].dtype();
    const auto gain = [&](uintptr_t g, bool norm, Dtype &type, const char *name) {
      if (!norm || !g) return false;
      a.push_back(array_of(g, name));
      type_of(a.back().dtype(), name);
      if (a.back().size() != (size_t)q[3]) throw std::invalid_argument(std::string(name) + " has not the length of a head");
      type = mlx::core::promote_types(type, a.back().dtype());
      return true;
    };
    gain(w->gain_q, w->norm_q, type_q, "q's gain"), gain(w->gain_k, w->norm_k, type_k, "k's gain");
    if (type_k != a[2].dtype() || a[3].dtype() != a[4].dtype()) throw std::invalid_argument("k and v are not of one dtype, or the cache's are not");
    if (q[0] != k[0] || k[0] != v[0] || k[0] != keys[0] || keys[0] != values[0] || k[1] != keys[1] || v[1] != k[1] || v[1] != values[1] || q[1] % k[1] != 0 ||
        q[3] != k[3] || k[3] != keys[3] || v[3] != values[3] || q[2] != k[2] || v[2] != k[2] || values[2] != keys[2])
      throw std::invalid_argument("q, k, v and the cache do not go together");
    if (w->at < 0 || w->at + k[2] > keys[2] || w->seen < 1 || w->seen + k[2] - 1 > keys[2])
      throw std::invalid_argument("the cache has no such positions");
    if (2 * w->rates > q[3]) throw std::invalid_argument("more entries are rotated than there are");
    Options o{{w->layout[0], w->layout[1], w->layout[2]}, w->merged, w->norm_q, w->norm_k, w->neighbours, w->eps_q, w->eps_k, w->scale,
              std::vector<float>(rates, rates + w->rates)};
    Shape y = w->merged ? Shape{q[0], q[2], q[1] * v[3]} : Shape{q[0], q[1], q[2], v[3]};
    auto out = array::make_arrays({y, keys, values}, {mlx::core::promote_types(type_q, type_k), a[3].dtype(), a[4].dtype()},
                                  std::make_shared<Attention>(stream_of(w->stream), workers_of(w->workers), std::move(o),
                                                              Cell{w->position, w->at, w->seen, w->state, true}), a);
    for (int i = 0; i < 3; i++) r.a[i] = reinterpret_cast<uintptr_t>(new array(out[i]));
  } catch (std::exception &e) {
    r.err = strdup(e.what());
  }
  return r;
}
