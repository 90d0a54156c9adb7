//go:build cgo && mlx

package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// BenchmarkInterpreter is what the loop over the calls takes itself: ns/op are per call of two inputs and one result.
func BenchmarkInterpreter(b *testing.B) {
	const calls = 1000
	x, err := mlx.FromFloat32s([]float32{1, 2, 3})
	require.NoError(b, err)
	defer x.Free()
	shared := []mlx.Array{x}
	for name, run := range map[string]registry.Run{
		"empty":     func(*registry.Call, []mlx.Array) []mlx.Array { return shared },
		"one-slice": func(_ *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{in[0]} },
		"add":       func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.Add(in[0], in[1])} },
	} {
		b.Run(name, func(b *testing.B) {
			e, s := newTiny(b, tinyPlan(), Options{})
			p := &program{slots: calls + 2, inputs: []input{{}, {Named: plan.Named{Slot: 1}}}}
			for i := range calls {
				p.calls = append(p.calls, call{run: run, in: make([]mlx.Array, 2), out: []int32{int32(i + 2)}, at: &plan.Call{Operator: "test"},
					fill: []fill{{0, int32(i)}, {1, int32(i + 1)}}})
			}
			b.ReportAllocs()
			b.ResetTimer()
			require.NoError(b, e.do(func() error {
				for range (b.N + calls - 1) / calls {
					// The values stay small: fibonacci numbers are not computed, only the graph is built.
					if _, err := s.run(p, []mlx.Array{x, x}, sizes{1, 1, 1}); err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
}
