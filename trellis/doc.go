// Package trellis is the stored form of trellis-coded weights: the geometry of a coded matrix, the layout of its bits
// and the value of a code. It is plain Go, the reference that the kernels are held to; it computes no products, chooses
// no codes and reads no files.
//
// # Format
//
// A coded matrix S [rows, columns] is cut along its rows into blocks of T weights. Each weight has one symbol of k bits,
// and its code is a state of L = 12 bits: the weight's symbol and those before it, so
//
//	state[t] = (state[t-1] << k | symbol[t]) mod 2^L,    state[-1] = state[T-1]
//
// in a ring over the block: a bit-shift trellis with its ends joined (QTIP, arXiv 2406.11235). A block is T*k bits in
// T*k/32 words; symbol t lies at the bit offset (T-1-t)*k, and the state is the L bits from there, wrapping to the
// block's first word. Any weight is decoded alone.
//
// The value of a state s is the code 1MAD of that paper: the sum of the four bytes of 34038481 s + 76625530 (mod 2^32),
// less 510, over 147.800537109375. A weight is its value times the scale of its row, one float32 product.
//
// # Axes and layouts
//
// With axis 1, S is the weight [out, in] itself; with axis 0 it is its transpose, [in, out]. Codes are uint32
// [rows, columns*k/32] (layout row), or, for k = 3, T = 256 and axis 0 only, [columns/512, rows, 48]: the two blocks of
// 512 columns beside one another (layout interleaved). Scales are float16 [rows].
//
// # Tiles
//
// Tiles (storage exl3, exllamav3's checkpoints) are another format of that paper's codes: the 256 weights of 16 inputs and
// 16 outputs are a ring with 16 bits of state, and one of three codes makes a float16 of a state. Inputs and outputs are
// filled up to multiples of 128; the rotation and the scales of either side belong to the product.
package trellis
