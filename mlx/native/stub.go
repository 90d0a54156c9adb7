//go:build !(cgo && mlx)

package native

import "github.com/graphrun/graphrun/mlx"

func newWorkers(int, uintptr) (uintptr, error) { return 0, mlx.ErrNoMLX }
func freeWorkers(uintptr)                      {}
func kernelsOf(uintptr) string                 { return "" }

func nodes([]mlx.Array) int { return 0 }

func newProducts([]*Product) (uintptr, error) { return 0, mlx.ErrNoMLX }
func freeProducts(uintptr)                    {}

func (p *Products) products(s *mlx.Scope, _, _, _ mlx.Array) []mlx.Array {
	s.Fail(mlx.ErrNoMLX)
	return make([]mlx.Array, p.members)
}

func (p *Products) gather(s *mlx.Scope, _ int, _, _ mlx.Array) mlx.Array { return none(s) }

func (p *Products) rows(s *mlx.Scope, _ mlx.Array) mlx.Array { return none(s) }

func (m *MLP) ready() (uintptr, error) { return 0, mlx.ErrNoMLX }
func freeMLP(uintptr)                  {}

func (m *ReadyMLP) apply(s *mlx.Scope, _, _, _ mlx.Array) mlx.Array { return none(s) }

func (e *Experts) ready() (uintptr, error) { return 0, mlx.ErrNoMLX }
func freeExperts(uintptr)                  {}

func (e *ReadyExperts) apply(s *mlx.Scope, _, _ mlx.Array) mlx.Array { return none(s) }

func nativeCalls(_ []mlx.Array, calls []Ends) []int {
	out := make([]int, len(calls))
	for i := range out {
		out[i] = Foreign
	}
	return out
}

func newChain(uintptr, []mlx.Array, []mlx.Array, []mlx.Array, int, []Ends) (uintptr, error) {
	return 0, mlx.ErrNoMLX
}
func freeChain(uintptr)      {}
func chainNodes(uintptr) int { return 0 }

func (c *Chain) run(s *mlx.Scope, _ []mlx.Array, _ []Place) []mlx.Array {
	s.Fail(mlx.ErrNoMLX)
	return make([]mlx.Array, c.outputs)
}
