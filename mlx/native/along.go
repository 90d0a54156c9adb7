package native

import "github.com/graphrun/graphrun/mlx"

// Softmax is exp(x - max) / sum over the last axis in float32, rounded once.
func (w *Workers) Softmax(s *mlx.Scope, x mlx.Array) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return w.softmax(s, x)
}

// Argpartition is indices (uint32) that part the last axis at its kth smallest entry; a negative kth counts from the end. Of
// equals the first is the smaller, and NaN is the largest.
func (w *Workers) Argpartition(s *mlx.Scope, x mlx.Array, kth int) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return w.argpartition(s, x, kth)
}

// TakeAlong gives the entries of x at indices (uint32 or int32) of the last axis; the other axes are alike. An index of no
// entry gives NaN.
func (w *Workers) TakeAlong(s *mlx.Scope, x, indices mlx.Array) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return w.takeAlong(s, x, indices)
}

// Sum adds the entries along the last axis (-1) or the last but one (-2), in float32 one after the other, rounded once; the axis
// goes, or stays with size 1.
func (w *Workers) Sum(s *mlx.Scope, x mlx.Array, axis int, keepdims bool) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return w.sum(s, x, axis, keepdims)
}
