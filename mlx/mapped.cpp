//go:build cgo && mlx

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>

#include "mlx/allocator.h"
#include "mlx/array.h"
#include "mlx/device.h"

#include "shim.h"

using mlx::core::array;
using mlx::core::Dtype;
namespace allocator = mlx::core::allocator;

extern "C" void gr_count(int64_t n);

namespace {

const Dtype dtypes[] = {mlx::core::bool_,   mlx::core::uint8,   mlx::core::uint16,   mlx::core::uint32,  mlx::core::uint64,
                        mlx::core::int8,    mlx::core::int16,   mlx::core::int32,    mlx::core::int64,   mlx::core::float16,
                        mlx::core::float32, mlx::core::float64, mlx::core::bfloat16, mlx::core::complex64};

// The memory is let go by telling Go through a pipe: MLX may drop an array on a thread of its own, or on a thread that
// is ending, where calling into Go is not safe.
std::function<void()> teller(int fd, uint64_t token) {
  return [fd, token] {
    while (write(fd, &token, sizeof token) < 0 && errno == EINTR) {
    }
  };
}

// A CPU buffer is a size before the data; where the bytes before the mapped data cannot be read, it must be copied.
bool readable_before(const char *data, size_t n) {
  size_t page = sysconf(_SC_PAGESIZE);
  if (reinterpret_cast<uintptr_t>(data) % page >= n) return true;
  auto before = reinterpret_cast<uintptr_t>(data) / page * page - page;
#ifdef __APPLE__
  char state;
#else
  unsigned char state;
#endif
  return mincore(reinterpret_cast<void *>(before), page, &state) == 0;
}

// The distance from a buffer's pointer to its data, when the allocator is the CPU's and keeps the size there; else 0.
size_t cpu_header() {
  if (mlx::core::is_available(mlx::core::Device(mlx::core::Device::gpu, 0))) return 0;
  auto probe = allocator::malloc(64);
  auto distance = static_cast<char *>(probe.raw_ptr()) - static_cast<char *>(probe.ptr());
  allocator::free(probe);
  return distance == sizeof(size_t) ? sizeof(size_t) : 0;
}

// An array that holds a second array of the same memory as its input is never donated: MLX would otherwise write the
// result of an operation over an operand that nobody else holds, and the mapping may be read-only.
void pin(array &a) {
  array other(a.shape(), a.dtype(), nullptr, {});
  other.copy_shared_buffer(a);
  other.set_status(array::Status::available);
  a.inputs().push_back(other);
}

}  // namespace

gr_one gr_from_mapped(void *data, size_t nbytes, const int64_t *shape, size_t n, int dtype, int fd, uint64_t token) {
  gr_one r = {};
  try {
    mlx::core::Shape dims(shape, shape + n);
    Dtype type = dtypes[dtype];
    auto tell = teller(fd, token);
    static const size_t header = cpu_header();
    bool aligned = reinterpret_cast<uintptr_t>(data) % type.size() == 0;
    if (aligned && nbytes > 0 && header > 0 && readable_before(static_cast<char *>(data), header)) {
      allocator::Buffer buffer(static_cast<char *>(data) - header);
      array a(buffer, std::move(dims), type, [tell](allocator::Buffer) { tell(); });
      pin(a);
      r.a = reinterpret_cast<uintptr_t>(new array(std::move(a)));
    } else if (aligned && nbytes > 0) { // MLX wraps the memory where its allocator can, else copies and lets it go
      array a(data, std::move(dims), type, [tell](void *) { tell(); });
      pin(a);
      r.a = reinterpret_cast<uintptr_t>(new array(std::move(a)));
    } else {
      auto buffer = allocator::malloc(nbytes);
      std::memcpy(buffer.raw_ptr(), data, nbytes);
      r.a = reinterpret_cast<uintptr_t>(new array(buffer, std::move(dims), type));
      tell();
    }
    gr_count(1);
  } catch (std::exception &e) {
    r.err = strdup(e.what());
  }
  return r;
}
