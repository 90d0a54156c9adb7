// Trellis codes between MLX's arrays and the kernels.

#pragma once
#include "arrays.h"
#include "trellis_kernels.h"

namespace gr::trellis {

// What is known of a coded matrix before its memory is.
struct Layout {
  int bits, block, axis;
  int64_t rows, columns;
  bool interleaved;

  int64_t inputs() const { return axis == 1 ? columns : rows; }
  int64_t outputs() const { return axis == 1 ? rows : columns; }
};

// Checks a weight and tells its layout.
Layout layout_of(const array &codes, const array &scales, int bits, int block, int axis);

// Its memory, once it is evaluated.
Coded coded(const Layout &l, const array &codes, const array &scales);

}  // namespace gr::trellis
