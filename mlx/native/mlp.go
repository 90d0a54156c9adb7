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

// MLP is down(silu(gate(x)) * up(x)) as one primitive, for a few rows or, with Panels, of affine weights for many.
type MLP struct {
	Workers        *Workers
	Gate, Up, Down Matrix
	Panels         bool
	Around
}

// ReadyMLP is an MLP whose weights are evaluated and not in MLX's graph.
type ReadyMLP struct {
	handle uintptr
	Around
}

// Ready evaluates the weights. The caller frees what it gets; primitives that still wait to be evaluated keep it until they
// have run.
func (m *MLP) Ready() (*ReadyMLP, error) {
	var arrays []mlx.Array
	for _, w := range []*Matrix{&m.Gate, &m.Up, &m.Down} {
		arrays = append(arrays, w.Codes, w.Scales, w.Biases, w.Bias)
		for _, l := range w.Sums {
			arrays = append(arrays, l.A, l.B)
		}
	}
	if err := evaluated(arrays); err != nil {
		return nil, err
	}
	h, err := m.ready()
	if err != nil {
		return nil, err
	}
	return &ReadyMLP{h, m.Around}, nil
}

// Free lets the weights go once nothing needs them.
func (m *ReadyMLP) Free() {
	if m.handle != 0 {
		freeMLP(m.handle)
		m.handle = 0
	}
}

// Apply gives [.., outputs of down] of x [.., inputs]. Gate, up, the activation and the result are each computed in float32
// and rounded to the promoted dtype of their operands: the bits of RowsQ16 (PanelQ16) products, or of packed trellis codes, with
// SwiGLU between them, where no low-rank sum is added. in is x, the norm's gain where there is a norm (an absent array: 1), and
// what is added to the result, of its shape and dtype, where there is a sum.
func (m *ReadyMLP) Apply(s *mlx.Scope, in ...mlx.Array) mlx.Array {
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
