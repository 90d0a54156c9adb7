package native

import "github.com/graphrun/graphrun/mlx"

// Stack is a weight of experts: matrices of mode affine (see Product for what is taken), one below the other in arrays of two
// axes, contiguous; [count * outputs, ..]. Of each matrix the run of outputs numbered Run of Runs equal ones is taken.
type Stack struct {
	Codes, Scales, Biases mlx.Array
	Bias                  mlx.Array // [count, outputs], may be absent
	Bits, Group           int
	Run, Runs             int
}

// Experts are MLPs of which each row goes through some, down(silu(gate(x)) * up(x)), as one primitive.
type Experts struct {
	Workers        *Workers
	Count          int
	Gate, Up, Down Stack
}

// ReadyExperts are experts whose weights are evaluated and not in MLX's graph.
type ReadyExperts struct{ handle uintptr }

// Ready evaluates the weights. The caller frees what it gets; primitives that still wait to be evaluated keep it until they
// have run.
func (e *Experts) Ready() (*ReadyExperts, error) {
	var arrays []mlx.Array
	for _, w := range []*Stack{&e.Gate, &e.Up, &e.Down} {
		arrays = append(arrays, w.Codes, w.Scales, w.Biases, w.Bias)
	}
	if err := evaluated(arrays); err != nil {
		return nil, err
	}
	h, err := e.ready()
	if err != nil {
		return nil, err
	}
	return &ReadyExperts{h}, nil
}

// Free lets the weights go once nothing needs them.
func (e *ReadyExperts) Free() {
	if e.handle != 0 {
		freeExperts(e.handle)
		e.handle = 0
	}
}

// Apply gives [.., k, outputs of down] of x [.., inputs] and indices [.., k] (uint32 or int32), the experts of each row. Gate,
// up, the activation and the result are each computed in float32 and rounded to the promoted dtype of their operands: the
// bits of RowsQ16 products with SwiGLU between them where an expert has up to 16 rows, those of PanelQ16 where it has more.
// An index that names no expert gives NaN.
func (e *ReadyExperts) Apply(s *mlx.Scope, x, indices mlx.Array) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return e.apply(s, x, indices)
}
