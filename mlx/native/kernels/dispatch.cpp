//go:build cgo && mlx

#include "in_order.h"
#include "kernels.h"

#include <cstring>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace gr {
namespace {

// The tables that this processor runs, best first.
struct Choice {
  const Kernels *list[4] = {};
  int n = 0;

  Choice() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool base = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
                      __builtin_cpu_supports("bmi2");
    if (base && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
      list[n++] = avx512_kernels();
    if (base && avx_vnni()) list[n++] = avxvnni_kernels();
    if (base) list[n++] = avx2_kernels();
#elif defined(__aarch64__)
#if defined(__APPLE__)
    list[n++] = neon_kernels(); // every Mac of this kind has dot products
#elif defined(__linux__)
    if (getauxval(AT_HWCAP) & 1ul << 20) list[n++] = neon_kernels(); // HWCAP_ASIMDDP
#endif
#endif
    list[n++] = plain_kernels();
  }

#if defined(__x86_64__)
  // CPUID 7.1, EAX bit 4. The registers of AVX are in use where avx2 is supported.
  static bool avx_vnni() { return cpuid7(0) >= 1 && cpuid7(1) >> 4 & 1; }

  static unsigned cpuid7(unsigned leaf) {
    unsigned a = 7, b, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(leaf), "=d"(d));
    return a;
  }
#endif
};

const Choice &choice() {
  static const Choice c;
  return c;
}

}  // namespace
}  // namespace gr

extern "C" {
// What Go asks.
uintptr_t grk_best(void) { return reinterpret_cast<uintptr_t>(gr::choice().list[0]); }

int grk_in_order(void) { return gr::in_order_runs(); }

uintptr_t grk_named(const char *name) {
  for (int i = 0; i < gr::choice().n; i++)
    if (std::strcmp(gr::choice().list[i]->name, name) == 0) return reinterpret_cast<uintptr_t>(gr::choice().list[i]);
  return 0;
}
}
