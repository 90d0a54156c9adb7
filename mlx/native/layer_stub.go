//go:build !(cgo && mlx)

package native

import "github.com/graphrun/graphrun/mlx"

func (w *Workers) rmsNorm(s *mlx.Scope, _, _ mlx.Array, _ float32) mlx.Array {
	s.Fail(mlx.ErrNoMLX)
	return mlx.Array{}
}

func (w *Workers) swiglu(s *mlx.Scope, _, _ mlx.Array) mlx.Array {
	s.Fail(mlx.ErrNoMLX)
	return mlx.Array{}
}

func (w *Workers) logSoftmax(s *mlx.Scope, _ mlx.Array) mlx.Array {
	s.Fail(mlx.ErrNoMLX)
	return mlx.Array{}
}

func (w *Workers) likeliest(s *mlx.Scope, _ mlx.Array) (at, logprob mlx.Array) {
	s.Fail(mlx.ErrNoMLX)
	return
}

func (w *Workers) rope(s *mlx.Scope, _ mlx.Array, _ []float32, _ bool, _, _ int) mlx.Array {
	s.Fail(mlx.ErrNoMLX)
	return mlx.Array{}
}

func (a *Attention) call(s *mlx.Scope, _ [5]mlx.Array, _ Place) (y, keys, values mlx.Array) {
	s.Fail(mlx.ErrNoMLX)
	return
}

func (w *Workers) softmax(s *mlx.Scope, _ mlx.Array) mlx.Array             { return none(s) }
func (w *Workers) argpartition(s *mlx.Scope, _ mlx.Array, _ int) mlx.Array { return none(s) }
func (w *Workers) takeAlong(s *mlx.Scope, _, _ mlx.Array) mlx.Array        { return none(s) }
func (w *Workers) sum(s *mlx.Scope, _ mlx.Array, _ int, _ bool) mlx.Array  { return none(s) }
