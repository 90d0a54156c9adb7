//go:build !(cgo && mlx)

package native

import "github.com/graphrun/graphrun/mlx"

func newWorkers(int, uintptr) (uintptr, error) { return 0, mlx.ErrNoMLX }
func freeWorkers(uintptr)                      {}
func kernelsOf(uintptr) string                 { return "" }

func products(s *mlx.Scope, members []*Product, _, _, _ mlx.Array, _ Around) []mlx.Array {
	s.Fail(mlx.ErrNoMLX)
	return make([]mlx.Array, len(members))
}

func (m *MLP) apply(s *mlx.Scope, _, _, _ mlx.Array) mlx.Array { return none(s) }
