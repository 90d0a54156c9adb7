package native

import "github.com/graphrun/graphrun/mlx"

// Matrix is a weight of an MLP: affine, where Biases are given, or trellis codes in blocks of Group along Axis (see Product
// and Trellis for what is taken). Its arrays are contiguous.
type Matrix struct {
	Codes, Scales, Biases mlx.Array
	Bias                  mlx.Array // [outputs], may be absent
	Bits, Group, Axis     int
	Sums                  []LowRank
}

// LowRank is added to a product: Scale * (x A) B, of A [inputs, rank] and the columns from First on of B [rank, outputs at
// least] in float32, contiguous.
type LowRank struct {
	A, B  mlx.Array
	First int
	Scale float32
}

// MLP is down(silu(gate(x)) * up(x)) as one primitive, for a few rows.
type MLP struct {
	Workers        *Workers
	Gate, Up, Down Matrix
	Around
}

// Apply gives [.., outputs of down] of x [.., inputs]. Gate, up, the activation and the result are each computed in float32
// and rounded to the promoted dtype of their operands: the bits of RowsQ16 products, or of packed trellis codes, with SwiGLU
// between them, where no low-rank sum is added. in is x, the norm's gain where there is a norm (an absent array: 1), and
// what is added to the result, of its shape and dtype, where there is a sum.
func (m *MLP) Apply(s *mlx.Scope, in ...mlx.Array) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	var gain, residual mlx.Array
	if m.Norm {
		gain = in[1]
	}
	if m.Sum {
		residual = in[len(in)-1]
	}
	return m.apply(s, in[0], gain, residual)
}
