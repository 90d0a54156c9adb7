// Products with the very sums of MLX's own CPU kernels where these are compiled without Accelerate: each output is one sum
// over the inputs in their order, and no multiplication is fused with an addition (mlx/backend/cpu/quantized.cpp, _qmm_t;
// mlx/backend/cpu/gemms/simd_gemm.h). MLX sums one output after the other, a few cycles for each input; here 16 outputs
// and several rows are summed side by side, each in the same order.

#pragma once
#include "kernels.h"

namespace gr {

// Whether this processor runs it.
bool in_order_runs();

inline constexpr size_t kInOrderRoom = 24 << 10;

// As Kernels::panel_f32. Where w has codes, what MLX computes in the type `sums`: each product with a scale, each weight,
// each product and each sum is rounded to it. Weights of 16 bits are numbers of w.type without scales, any number of inputs;
// their sums are in float.
void in_order(Type sums, const Affine &w, const float *x, int64_t x_stride, int64_t rows, int64_t first, float *y, void *room);

}  // namespace gr
