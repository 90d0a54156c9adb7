// All kernels for one instruction set. The including file has set the target and, as GR_ISA, the namespace.

namespace gr {
namespace GR_ISA {
namespace {
#include "kernels_vector.h"
#if GR_VNNI
GR_INLINE __m256i dpbusd(__m256i sum, __m256i u, __m256i s) { return GR_DPBUSD(sum, u, s); }
GR_INLINE __m256i dpwssd(__m256i sum, __m256i a, __m256i b) { return GR_DPWSSD(sum, a, b); }
#endif
#include "kernels_blocks.h"
#include "kernels_quantise.h"
#include "kernels_rows.h"
#include "kernels_panel.h"
#include "kernels_rest.h"
#include "kernels_attend.h"

constexpr Kernels table(const char *name) {
  return {name,         widen,    narrow,  quantise_blocks, quantise_runs, rows_f32, rows_q, panel_f32, panel_f32_room,
          panel_q_room, unpack_q, panel_q, rms_norm, swiglu, sum_exp, attend, join, attend_rows, pack_keys, rotate};
}
}  // namespace
}  // namespace GR_ISA

#define GR_KERNELS(isa) GR_KERNELS_OF(isa)
#define GR_KERNELS_OF(isa) isa##_kernels
#define GR_NAME(isa) GR_NAME_OF(isa)
#define GR_NAME_OF(isa) #isa
const Kernels *GR_KERNELS(GR_ISA)() {
  static constexpr Kernels k = GR_ISA::table(GR_NAME(GR_ISA));
  return &k;
}
}  // namespace gr
