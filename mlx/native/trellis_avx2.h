#pragma once

namespace gr::trellis {

struct Kernels;
const Kernels *avx2();  // nullptr where the processor has no AVX2 and FMA

}  // namespace gr::trellis
