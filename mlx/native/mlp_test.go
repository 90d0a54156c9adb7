//go:build cgo && mlx

package native_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
)

func matrix(p native.Product) native.Matrix {
	return native.Matrix{Codes: p.Weight, Scales: p.Scales, Biases: p.Biases, Bits: p.Bits, Group: p.Group}
}

// TestMLP: on every instruction set, over odd shapes and rows that are not finite, an MLP has the bits of its three products
// with SwiGLU between them. (Package ops holds the class to its contract.)
func TestMLP(t *testing.T) {
	for _, set := range kernels(t) {
		t.Run(set, func(t *testing.T) {
			onStream(t, func(s *mlx.Scope) {
				w, err := native.NewWorkersOf(2, set)
				require.NoError(t, err)
				defer w.Free()
				r := rand.New(rand.NewPCG(11, 12))
				for _, c := range []struct {
					rows int
					form native.Form
				}{{1, native.RowsQ16}, {3, native.RowsQ16}, {17, native.RowsQ16}, {3, native.PanelQ16}, {38, native.PanelQ16}} {
					rows := c.rows
					product := func(bits, out, in int) native.Product {
						p := quantised(s, normal(t, s, r, mlx.Float32, out, in), bits, 32)
						p.Workers, p.Form = w, c.form
						return p
					}
					gate, up, down := product(4, 96, 352), product(3, 96, 352), product(5, 352, 96)
					values := make([]float32, rows*352)
					for i := range values {
						values[i] = float32(r.NormFloat64())
					}
					values[5] = float32(math.Inf(1)) // of a single row too
					if rows > 1 {
						values[2*352+7] = float32(math.NaN())
					}
					x, err := mlx.FromFloat32s(values, rows, 352)
					require.NoError(t, err)
					s.Own(x)
					m := native.MLP{Workers: w, Gate: matrix(gate), Up: matrix(up), Down: matrix(down), Panels: c.form == native.PanelQ16}
					near(t, s, apply(t, s, &down, w.SwiGLU(s, apply(t, s, &gate, x), apply(t, s, &up, x))), run(t, s, m, x), 0, "mlp")
				}
			})
		})
	}
}

func run(t *testing.T, s *mlx.Scope, m native.MLP, in ...mlx.Array) mlx.Array {
	t.Helper()
	ready, err := m.Ready()
	require.NoError(t, err)
	defer ready.Free()
	return ready.Apply(s, in...)
}

// TestMLPRefuses: what does not go together is an error.
func TestMLPRefuses(t *testing.T) {
	w, err := native.NewWorkers(1)
	require.NoError(t, err)
	defer w.Free()
	onStream(t, func(s *mlx.Scope) {
		r := rand.New(rand.NewPCG(13, 14))
		of := func(out, in int) native.Matrix {
			return matrix(quantised(s, normal(t, s, r, mlx.Float32, out, in), 4, 32))
		}
		good := native.MLP{Workers: w, Gate: of(96, 64), Up: of(96, 64), Down: of(64, 96)}
		x := normal(t, s, r, mlx.Float32, 2, 64)
		for _, c := range []struct {
			change func(m *native.MLP, in *[]mlx.Array)
			err    string
		}{
			{func(m *native.MLP, _ *[]mlx.Array) { m.Panels, m.Up.Biases = true, mlx.Array{} }, "trellis codes are not taken in panels"},
			{func(m *native.MLP, _ *[]mlx.Array) { m.Up = of(64, 64) }, "gate, up and down do not go together"},
			{func(m *native.MLP, _ *[]mlx.Array) { m.Down = m.Up }, "gate, up and down do not go together"},
			{func(m *native.MLP, _ *[]mlx.Array) { m.Gate.Bits = 7 }, "7 bits in groups of 32 are not taken: 2, 3, 4, 5, 6 or 8 in groups of 32, 64 or 128 are"},
			{func(m *native.MLP, _ *[]mlx.Array) { m.Gate.Codes = mlx.Array{} }, "codes is an absent array"},
			{func(m *native.MLP, _ *[]mlx.Array) { m.Up.Biases = mlx.Array{} }, "trellis codes are uint32 with a vector of float16 scales"},
			{func(m *native.MLP, _ *[]mlx.Array) { m.Up.Bias = x }, "a bias has not as many entries as there are outputs"},
			{func(_ *native.MLP, in *[]mlx.Array) { (*in)[0] = good.Gate.Scales }, "x has rows of 2, gate takes 64"},
			{func(m *native.MLP, _ *[]mlx.Array) { m.Down.Sums = []native.LowRank{{A: x, B: x}} }, "low-rank factors are float32, [inputs, rank] and [rank, outputs]"},
			{func(m *native.MLP, _ *[]mlx.Array) {
				m.Gate.Sums = []native.LowRank{{A: normal(t, s, r, mlx.Float32, 64, 2), B: normal(t, s, r, mlx.Float32, 2, 96), First: 1}}
			}, "low-rank factors are float32, [inputs, rank] and [rank, outputs]"},
			{func(m *native.MLP, in *[]mlx.Array) { m.Norm, *in = true, append(*in, normal(t, s, r, mlx.Float32, 5)) }, "the gain has not the length of x's last axis"},
			{func(m *native.MLP, in *[]mlx.Array) {
				m.Sum, *in = true, append(*in, normal(t, s, r, mlx.Float32, 2, 5))
			}, "the residual is not of the product's shape and dtype"},
		} {
			m, in := good, []mlx.Array{x}
			c.change(&m, &in)
			ready, err := m.Ready()
			if err == nil {
				require.False(t, ready.Apply(s, in...).Valid(), c.err)
				err = s.ResetErr()
				ready.Free()
			}
			require.EqualError(t, err, c.err)
		}
	})
}
