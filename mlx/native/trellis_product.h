// Products with trellis codes on an engine's threads, apart from MLX.

#pragma once
#include "product.h"
#include "trellis_kernels.h"

namespace gr::trellis {

// Whose weights a product takes, and how: in place as they are decoded (packed: code * scale in float32), or a tile of
// rows at a time for many rows of x, packed or as they are stored, in bfloat16.
enum class Form : int { packed, packed_tile, stored_tile };

// y [M, rows of S] = x [M, columns] S^T.
void reduce(Workers &on, const Coded &w, Form form, Span x, int64_t M, Span y);

// y [M, columns] = x [M, rows] S. The rows of S are summed in runs of 512, then the runs.
void scatter(Workers &on, const Coded &w, Form form, Span x, int64_t M, Span y);

// y [M, rows] = silu(x gate^T) * (x up^T). Gate and up are rounded to y's type first; split rounds each step of the
// sigmoid and the products as MLX's own operators do, else the sigmoid is rounded once, and both products.
void swiglu(Workers &on, const Coded &gate, const Coded &up, Form form, bool split, Span x, int64_t M, Span y);

// out [rows, columns] = S in float32.
void expand(Workers &on, const Coded &w, Weights kind, float *out);

}  // namespace gr::trellis
