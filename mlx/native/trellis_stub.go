//go:build !(cgo && mlx)

package native

import (
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/trellis"
)

func chooseCodes(trellis.Geometry, []float32, []float32, []uint32, []float64, bool) error {
	return mlx.ErrNoMLX
}

func (w *Trellis) product(s *mlx.Scope, _ TrellisForm, _ mlx.Array) mlx.Array { return none(s) }

func (w *Trellis) swiglu(s *mlx.Scope, _ TrellisForm, _ *Trellis, _ bool, _ mlx.Array) mlx.Array {
	return none(s)
}

func (w *Trellis) expand(s *mlx.Scope, _ bool) mlx.Array { return none(s) }

func none(s *mlx.Scope) mlx.Array {
	s.Fail(mlx.ErrNoMLX)
	return mlx.Array{}
}
