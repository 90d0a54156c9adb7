//go:build cgo && mlx

#include "arrays.h"

using Handle = std::shared_ptr<gr::Workers>;

grn_one grn_workers_new(int threads, const char *kernels) {
  grn_one r = {};
  try {
    const gr::Kernels *k = kernels ? gr::kernels_named(kernels) : &gr::best_kernels();
    if (!k) throw std::invalid_argument(std::string("this processor has no kernels ") + kernels);
    if (threads < 1) throw std::invalid_argument(std::to_string(threads) + " threads are none");
    r.a = reinterpret_cast<uintptr_t>(new Handle(std::make_shared<gr::Workers>(threads, *k)));
  } catch (std::exception &e) {
    r.err = strdup(e.what());
  }
  return r;
}

void grn_workers_free(uintptr_t workers) { delete reinterpret_cast<Handle *>(workers); }

const char *grn_workers_kernels(uintptr_t workers) { return (*reinterpret_cast<Handle *>(workers))->kernels.name; }
