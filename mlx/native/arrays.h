// From the C face to MLX's arrays, and what primitives share.

#pragma once
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "mlx/allocator.h"
#include "mlx/array.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/primitives.h"
#include "mlx/utils.h"
#pragma GCC diagnostic pop

#include "native.h"
#include "product.h"

namespace gr {

using mlx::core::array;
using mlx::core::Dtype;

inline const array &array_of(uintptr_t a, const char *name) {
  if (!a) throw std::invalid_argument(std::string(name) + " is an absent array");
  return *reinterpret_cast<const array *>(a);
}

inline mlx::core::Stream stream_of(uintptr_t s) {
  auto stream = *reinterpret_cast<mlx::core::Stream *>(s);
  if (stream.device != mlx::core::Device::cpu) throw std::invalid_argument("native kernels run on the CPU only");
  return stream;
}

inline std::shared_ptr<Workers> workers_of(uintptr_t w) {
  if (!w) throw std::invalid_argument("there are no workers");
  return *reinterpret_cast<std::shared_ptr<Workers> *>(w);
}

inline bool is_number(Dtype d) { return d == mlx::core::float32 || d == mlx::core::float16 || d == mlx::core::bfloat16; }

inline Type type_of(Dtype d, const char *name) {
  if (d == mlx::core::float32) return Type::f32;
  if (d == mlx::core::float16) return Type::f16;
  if (d == mlx::core::bfloat16) return Type::bf16;
  throw std::invalid_argument(std::string(name) + " is neither float32 nor float16 nor bfloat16");
}

// A contiguous array's memory.
inline Span span_of(const array &a, const char *name) {
  return {const_cast<void *>(static_cast<const void *>(a.data<char>())), type_of(a.dtype(), name)};
}

inline void need_rows(const array &a, const char *name) {
  if (!a.flags().row_contiguous) throw std::runtime_error(std::string(name) + " is not contiguous");
}

inline void allocate(array &a) { a.set_data(mlx::core::allocator::malloc(a.nbytes())); }

// Numbers of `size` bytes in any order, into rows.
inline void copy_rows(const char *from, char *to, size_t size, const mlx::core::Shape &shape, const mlx::core::Strides &strides) {
  const int n = (int)shape.size();
  int64_t total = 1;
  for (int i = 0; i < n; i++) total *= shape[i];
  std::vector<int64_t> at(n);
  int64_t source = 0;
  for (int64_t i = 0; i < total; i++) {
    std::memcpy(to + i * size, from + source * (int64_t)size, size);
    for (int d = n - 1; d >= 0; d--) {
      source += strides[d];
      if (++at[d] < shape[d]) break;
      source -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
}

inline void need_heads(const array &a, const char *name) {
  if (a.ndim() != 4) throw std::invalid_argument(std::string(name) + " is not [B, heads, T, D]");
  type_of(a.dtype(), name);
}

// Runs f, which no exception leaves: its text instead, or null.
template <class F> char *caught(F &&f) {
  try {
    f();
    return nullptr;
  } catch (std::exception &e) {
    return strdup(e.what());
  } catch (...) {
    return strdup("unknown error");
  }
}

// A new T of what f gives: an array, or what is held for its caller.
template <class T = array, class F> grn_one guarded(F &&f) {
  grn_one r = {};
  r.err = caught([&] { r.a = reinterpret_cast<uintptr_t>(new T(f())); });
  return r;
}

// Where the new positions of a forward stand in a state: what differs from one step to the next. A primitive that is told
// keeps it in a cell and looks there when it runs, so that a chain can run it again elsewhere (chain.cpp).
struct Cell {
  int64_t position, at, seen; // see layer.go
  int state;                  // which; -1: none that a chain knows
  bool writes;                // the primitive appends to the state
};

// What primitives would have had MLX's thread do.
struct Recording {
  std::vector<std::function<void(Workers &)>> tasks;
  std::vector<array> kept; // memory that the tasks use
};

// A primitive of this package: on the CPU only, without derivatives.
class Native : public mlx::core::Primitive {
 public:
  Native(mlx::core::Stream s, std::shared_ptr<Workers> on) : Primitive(s), on_(std::move(on)) {}
  void eval_gpu(const std::vector<array> &, std::vector<array> &) override {
    throw std::runtime_error(std::string(name()) + " runs on the CPU only");
  }

  virtual std::shared_ptr<Cell> cell() const { return nullptr; }

  // eval_cpu, but what it would hand on is kept. The arrays must outlive it.
  void record(const std::vector<array> &in, std::vector<array> &out, Recording &to) {
    recording_ = &to;
    try {
      eval_cpu(in, out);
    } catch (...) {
      recording_ = nullptr;
      throw;
    }
    recording_ = nullptr;
  }

 protected:
  // The memory of an input in row order: a copy where it is not.
  const char *rows_of(const array &a) {
    if (a.flags().row_contiguous) return a.data<char>();
    array copy(a.shape(), a.dtype(), nullptr, {});
    allocate(copy);
    char *to = copy.data<char>();
    dispatch([from = a.data<char>(), to, size = a.itemsize(), shape = a.shape(), strides = a.strides()](Workers &) { copy_rows(from, to, size, shape, strides); });
    if (recording_)
      recording_->kept.push_back(std::move(copy));
    else
      mlx::core::cpu::get_command_encoder(stream()).add_temporary(std::move(copy));
    return to;
  }

  Span rows_of(const array &a, const char *name) { return {const_cast<char *>(rows_of(a)), type_of(a.dtype(), name)}; }

  // Hands f to MLX's thread of the stream, with the workers to itself. The arrays of a primitive live until it is done. f may
  // run more than once, see record.
  template <class F> void dispatch(F &&f) {
    if (recording_) {
      recording_->tasks.push_back(std::forward<F>(f));
      return;
    }
    mlx::core::cpu::get_command_encoder(stream()).dispatch([on = on_, f = std::forward<F>(f)]() mutable {
      std::lock_guard lock(on->pool.mutex());
      f(*on);
    });
  }

 private:
  std::shared_ptr<Workers> on_;
  Recording *recording_ = nullptr; // of the call to record that is under way
};

}  // namespace gr
