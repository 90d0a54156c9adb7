//go:build cgo && mlx

#include "arrays.h"

using Handle = std::shared_ptr<gr::Workers>;

grn_one grn_workers_new(int threads, uintptr_t kernels) {
  return gr::guarded<Handle>([&] {
    if (threads < 1) throw std::invalid_argument(std::to_string(threads) + " threads are none");
    return std::make_shared<gr::Workers>(threads, *reinterpret_cast<const gr::Kernels *>(kernels));
  });
}

void grn_workers_free(uintptr_t workers) { delete reinterpret_cast<Handle *>(workers); }

const char *grn_workers_kernels(uintptr_t workers) { return (*reinterpret_cast<Handle *>(workers))->kernels.name; }
