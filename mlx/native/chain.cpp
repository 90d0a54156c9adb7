//go:build cgo && mlx

// A run of native primitives that is walked once and then run again as one primitive. See chain.go.

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "arrays.h"

namespace gr {
namespace {

using Ids = std::unordered_set<std::uintptr_t>;

void add(Ids &to, const uintptr_t *arrays, int n) {
  for (int i = 0; i < n; i++)
    if (arrays[i]) to.insert(array_of(arrays[i], "an array").id());
}

const Native *native(const array &a) { return dynamic_cast<const Native *>(&a.primitive()); }

// A primitive that shows memory in another shape: of memory in row order none of these copies.
bool is_view(const array &a) {
  const std::string_view name = a.primitive().name(); // MLX does not export the types
  for (const std::string_view view : {"Reshape", "Flatten", "Unflatten", "Transpose", "ExpandDims", "Squeeze", "Slice", "Broadcast"})
    if (name == view) return true;
  return false;
}

// A sum, a product, a quotient or another type of numbers of one shape: what stands between native primitives, and so little of it that
// MLX's own task costs more than the arithmetic. In float32, rounded once, as MLX has it.
bool is_entrywise(const array &a) {
  const std::string_view name = a.primitive().name();
  if (name != "Add" && name != "Multiply" && name != "Divide" && name != "AsType") return false;
  for (const auto &i : a.inputs())
    if (i.shape() != a.shape() || !is_number(i.dtype())) return false;
  return is_number(a.dtype());
}

bool is_taken(const array &a) { return native(a) || is_view(a) || is_entrywise(a); }

// From an array that is asked for to one that it is made of: each with how many of its inputs were looked at.
using Path = std::vector<std::pair<array, size_t>>;

// Visits what arrays are made of back to what is `given`, what a value is made of before itself and results of one primitive
// once, with the path to it. False where something else than native primitives and views is met.
template <class F> bool walk(const uintptr_t *arrays, int n, const Ids &given, F &&visit) {
  Path path;
  Ids seen;
  const auto enter = [&](const array &a) {
    if (given.count(a.id()) || !seen.insert(a.id()).second) return true;
    if (a.status() != array::Status::unscheduled || !a.has_primitive() || !is_taken(a)) return false;
    for (const auto &s : a.siblings()) seen.insert(s.id());
    path.emplace_back(a, 0);
    return true;
  };
  for (int i = 0; i < n; i++) {
    if (!arrays[i]) continue;
    if (!enter(array_of(arrays[i], "an array"))) return false;
    while (!path.empty()) {
      auto &[a, next] = path.back();
      if (next < a.inputs().size()) {
        if (!enter(array(a.inputs()[next++]))) return false;
      } else {
        visit(a, path);
        path.pop_back();
      }
    }
  }
  return true;
}

// What a chain does, and the memory that it does it in.
struct Tape {
  std::shared_ptr<Workers> on;
  Recording recording;
  std::vector<array> in, out;
  std::vector<std::shared_ptr<Cell>> cells;
  int nodes = 0;
  std::vector<std::string> calls;
  std::vector<int> call; // by task: whose it is, -1: nobody's

  void run(Workers &workers) const {
    size_t i = 0;
    try {
      for (; i < recording.tasks.size(); i++) recording.tasks[i](workers);
    } catch (const std::exception &e) {
      if (call[i] < 0) throw;
      throw std::runtime_error(calls[call[i]] + ": " + e.what());
    }
  }
};

class Recorder {
 public:
  Recorder(std::shared_ptr<Workers> on, const uintptr_t *known, int n) : tape_(std::make_shared<Tape>()) {
    tape_->on = std::move(on);
    for (int i = 0; i < n; i++) {
      if (!known[i]) continue;
      const array &a = array_of(known[i], "an array");
      if (a.status() != array::Status::unscheduled && given_.insert(a.id()).second) own_.emplace(a.id(), a);
    }
  }

  // A call that is part of the chain, and n results of it.
  void name(std::string call, const uintptr_t *made, int n) {
    for (int i = 0; i < n; i++)
      if (made[i]) maker_.insert_or_assign(array_of(made[i], "a result").id(), (int)tape_->calls.size());
    tape_->calls.push_back(std::move(call));
  }

  std::shared_ptr<Tape> tape(const uintptr_t *in, int ins, const uintptr_t *out, int outs, int roots) {
    for (int i = 0; i < ins; i++) {
      const array &a = array_of(in[i], "an input");
      array mine(a.shape(), a.dtype(), nullptr, {});
      allocate(mine);
      tape_->in.push_back(mine);
      given_.insert(a.id()), own_.insert_or_assign(a.id(), mine);
    }
    const auto visit = [&](const array &a, const Path &path) {
      take(a);
      tape_->call.resize(tape_->recording.tasks.size(), maker(path));
    };
    if (!walk(out, roots, given_, visit)) throw std::invalid_argument("something else than a native primitive is met");
    for (int i = 0; i < outs; i++) tape_->out.push_back(own_.at(array_of(out[i], "an output").id()));
    return tape_;
  }

 private:
  // The call that made the last array of a path: the nearest that has one of the path as its result.
  int maker(const Path &path) const {
    for (auto i = path.rbegin(); i != path.rend(); ++i)
      if (const auto at = maker_.find(i->first.id()); at != maker_.end()) return at->second;
    return -1;
  }

  void take(const array &a) {
    std::vector<array> in, out, results = a.outputs();
    for (const auto &i : a.inputs()) in.push_back(own_.at(i.id()));
    for (const auto &o : results) out.emplace_back(o.shape(), o.dtype(), nullptr, std::vector<array>{});
    auto &primitive = *a.primitive_ptr();
    if (auto *p = dynamic_cast<Native *>(&primitive)) {
      p->record(in, out, tape_->recording);
      if (auto cell = p->cell()) tape_->cells.push_back(std::move(cell));
      tape_->nodes++;
    } else {
      if (is_view(a)) {
        in[0] = in_rows(in[0]);
        primitive.eval_cpu(in, out);
      } else {
        entrywise(primitive.name(), in, out[0]), tape_->nodes++;
      }
    }
    for (size_t i = 0; i < out.size(); i++) own_.insert_or_assign(results[i].id(), out[i]), tape_->recording.kept.push_back(out[i]);
    tape_->recording.kept.insert(tape_->recording.kept.end(), in.begin(), in.end());
  }

  // The array, or a copy of it in row order.
  array in_rows(const array &a) {
    if (a.flags().row_contiguous) return a;
    array copy(a.shape(), a.dtype(), nullptr, {});
    allocate(copy);
    tape_->recording.tasks.push_back([from = a.data<char>(), to = copy.data<char>(), size = a.itemsize(), shape = a.shape(), strides = a.strides()](Workers &) {
      copy_rows(from, to, size, shape, strides);
    });
    tape_->recording.kept.push_back(copy);
    return copy;
  }

  // Rows of an operand: numbers of a run or, with step 0, one number each.
  struct Rows {
    Span x;
    int64_t step = 1;
    std::vector<int64_t> at; // by row

    void read(const Kernels &k, size_t row, float *to, int64_t n) const {
      k.widen(x.type, x.at(at[row]), to, step ? n : 1);
      if (!step) std::fill(to + 1, to + n, *to);
    }
  };

  // An operand in rows of n numbers.
  Rows rows(const array &a, int64_t n) {
    const bool runs = a.flags().row_contiguous || (a.strides(-1) == 1 || a.strides(-1) == 0);
    const array &from = tape_->recording.kept.emplace_back(runs ? a : in_rows(a));
    Rows r{span_of(from, "an operand"), from.flags().row_contiguous ? 1 : from.strides(-1), {}};
    const int64_t count = (int64_t)from.size() / n;
    if (from.flags().row_contiguous) {
      for (int64_t i = 0; i < count; i++) r.at.push_back(i * n);
      return r;
    }
    const int axes = (int)from.ndim() - 1;
    std::vector<int> place(axes);
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
      r.at.push_back(at);
      for (int d = axes - 1; d >= 0; d--) {
        at += from.strides(d);
        if (++place[d] < from.shape(d)) break;
        at -= from.strides(d) * from.shape(d);
        place[d] = 0;
      }
    }
    return r;
  }

  void entrywise(std::string_view name, const std::vector<array> &in, array &out) {
    allocate(out);
    bool whole = true;
    for (const auto &i : in) whole = whole && i.flags().row_contiguous;
    const int64_t n = whole ? (int64_t)out.size() : out.shape(-1), count = n ? (int64_t)out.size() / n : 0;
    const Rows x = rows(in[0], n), y = in.size() > 1 ? rows(in[1], n) : Rows{};
    const char op = in.size() > 1 ? name[0] : ' '; // Add, Multiply, Divide
    tape_->recording.tasks.push_back([x, y, to = span_of(out, "z"), n, count, op](Workers &on) {
      auto *a = (float *)on.pool.scratch(kEntries, sizeof(float) * 2 * n), *b = a + n;
      for (int64_t r = 0; r < count; r++) {
        x.read(on.kernels, r, a, n);
        if (op != ' ') y.read(on.kernels, r, b, n);
        for (int64_t i = 0; op == 'A' && i < n; i++) a[i] += b[i];
        for (int64_t i = 0; op == 'M' && i < n; i++) a[i] *= b[i];
        for (int64_t i = 0; op == 'D' && i < n; i++) a[i] /= b[i];
        on.kernels.narrow(to.type, a, to.at(r * n), n);
      }
    });
  }

  static constexpr int kEntries = 140; // scratch memory

  std::shared_ptr<Tape> tape_;
  Ids given_;
  std::unordered_map<std::uintptr_t, array> own_;  // by the ids of the graph's: where they lie
  std::unordered_map<std::uintptr_t, int> maker_;  // by the ids of calls' results
};

// An array's memory, copied into another's in row order.
struct Copy {
  const char *from;
  char *to;
  size_t size; // of an entry
  size_t bytes;
  bool rows;
  mlx::core::Shape shape;
  mlx::core::Strides strides;

  Copy(const array &source, array &target)
      : from(source.data<char>()), to(target.data<char>()), size(source.itemsize()), bytes(source.nbytes()), rows(source.flags().row_contiguous) {
    if (!rows) shape = source.shape(), strides = source.strides();
  }

  void operator()() const { rows ? (void)std::memcpy(to, from, bytes) : copy_rows(from, to, size, shape, strides); }
};

class Chain : public Native {
 public:
  Chain(mlx::core::Stream s, std::shared_ptr<Tape> tape, std::vector<grn_place> places) : Native(s, tape->on), tape_(std::move(tape)), places_(std::move(places)) {}
  const char *name() const override { return "NativeChain"; }

  void eval_cpu(const std::vector<array> &in, std::vector<array> &out) override {
    std::vector<Copy> before, after;
    for (size_t i = 0; i < in.size(); i++) before.emplace_back(in[i], tape_->in[i]);
    for (size_t i = 0; i < out.size(); i++) {
      allocate(out[i]);
      after.emplace_back(tape_->out[i], out[i]);
    }
    dispatch([tape = tape_, places = places_, before = std::move(before), after = std::move(after)](Workers &on) {
      for (const auto &cell : tape->cells) {
        const grn_place &p = places[cell->state];
        cell->position = p.position, cell->at = p.at, cell->seen = p.seen;
      }
      for (const auto &copy : before) copy();
      tape->run(on);
      for (const auto &copy : after) copy();
    });
  }

 private:
  std::shared_ptr<Tape> tape_;
  std::vector<grn_place> places_; // by state
};

Tape &tape_of(uintptr_t chain) { return **reinterpret_cast<std::shared_ptr<Tape> *>(chain); }

// What a call's results are made of: see grn_native_calls.
int kind_of(const Ids &known_arrays, const Ids &given, const uintptr_t *out, int n) {
  int writes = -1;
  bool known = true;
  const bool all = walk(out, n, given, [&](const array &a, const Path &) {
    const Native *p = native(a);
    const auto cell = p ? p->cell() : nullptr;
    // What part of a known array is shown may hang on the position.
    if (std::string_view(a.primitive().name()) == "Slice" && known_arrays.count(a.inputs()[0].id())) known = false;
    if (!cell) return;
    known = known && cell->state >= 0 && (!cell->writes || writes == -1);
    if (cell->writes) writes = cell->state;
  });
  return all && known ? writes : -2;
}

}  // namespace
}  // namespace gr

void grn_native_calls(const uintptr_t *known, int n_known, const uintptr_t *in, const int *ins, const uintptr_t *out, const int *outs, int calls, int *result) {
  try {
    gr::Ids base;
    gr::add(base, known, n_known);
    for (int i = 0; i < calls; in += ins[i], out += outs[i], i++) {
      gr::Ids given = base;
      gr::add(given, in, ins[i]);
      result[i] = gr::kind_of(base, given, out, outs[i]);
    }
  } catch (...) {
    for (int i = 0; i < calls; i++) result[i] = -2;
  }
}

grn_one grn_chain_new(uintptr_t workers, const uintptr_t *known, int n_known, const uintptr_t *in, int ins, const uintptr_t *out, int outs, int roots,
                      const char *names, const uintptr_t *made, const int *of, int calls) {
  return gr::guarded<std::shared_ptr<gr::Tape>>([&] {
    gr::Recorder recorder(gr::workers_of(workers), known, n_known);
    for (int i = 0; i < calls; made += of[i], names += std::strlen(names) + 1, i++) recorder.name(names, made, of[i]);
    return recorder.tape(in, ins, out, outs, roots);
  });
}

void grn_chain_free(uintptr_t chain) { delete reinterpret_cast<std::shared_ptr<gr::Tape> *>(chain); }

int grn_chain_nodes(uintptr_t chain) { return gr::tape_of(chain).nodes; }

char *grn_chain_run(uintptr_t chain, uintptr_t stream, const uintptr_t *in, const grn_place *places, int n, uintptr_t *out) {
  return gr::caught([&] {
    using namespace gr;
    const auto &tape = *reinterpret_cast<std::shared_ptr<Tape> *>(chain);
    std::vector<array> inputs;
    for (size_t i = 0; i < tape->in.size(); i++) {
      inputs.push_back(array_of(in[i], "an input"));
      if (inputs[i].shape() != tape->in[i].shape() || inputs[i].dtype() != tape->in[i].dtype())
        throw std::invalid_argument("an input of a chain is of another shape or dtype than when it was recorded");
    }
    for (const auto &cell : tape->cells)
      if (cell->state >= n) throw std::invalid_argument("a chain is told of fewer states than it uses");
    std::vector<mlx::core::Shape> shapes;
    std::vector<Dtype> dtypes;
    for (const auto &o : tape->out) shapes.push_back(o.shape()), dtypes.push_back(o.dtype());
    auto made = array::make_arrays(std::move(shapes), dtypes, std::make_shared<Chain>(stream_of(stream), tape, std::vector<grn_place>(places, places + n)), inputs);
    for (size_t i = 0; i < made.size(); i++) out[i] = reinterpret_cast<uintptr_t>(new array(std::move(made[i])));
  });
}
