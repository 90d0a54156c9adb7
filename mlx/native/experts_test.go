//go:build cgo && mlx

package native_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
)

// expertSet is experts and, of each, its three products.
type expertSet struct {
	native.Experts
	single [][3]native.Product
}

// set makes experts of as many bits as are given for gate, up and down.
func newExpertSet(t testing.TB, s *mlx.Scope, r *rand.Rand, w *native.Workers, count, width, inputs int, bits [3]int) *expertSet {
	e := &expertSet{Experts: native.Experts{Workers: w, Count: count}, single: make([][3]native.Product, count)}
	for i, part := range []*native.Stack{&e.Gate, &e.Up, &e.Down} {
		out, in := width, inputs
		if i == 2 {
			out, in = inputs, width
		}
		p := quantised(s, normal(t, s, r, mlx.Float32, count*out, in), bits[i], 32)
		*part = native.Stack{Codes: p.Weight, Scales: p.Scales, Biases: p.Biases, Bits: bits[i], Group: 32, Runs: 1}
		for j := range e.single {
			cut := func(a mlx.Array) mlx.Array {
				return s.Contiguous(s.Slice(a, []int{j * out, 0}, []int{(j + 1) * out, a.Dim(1)}, []int{1, 1}), false)
			}
			one := p
			one.Workers, one.Weight, one.Scales, one.Biases = w, cut(p.Weight), cut(p.Scales), cut(p.Biases)
			e.single[j][i] = one
		}
	}
	return e
}

func (e *expertSet) run(t testing.TB, s *mlx.Scope, x, indices mlx.Array) mlx.Array {
	ready, err := e.Ready()
	require.NoError(t, err)
	defer ready.Free()
	return ready.Apply(s, x, indices)
}

func numbersArray(t testing.TB, s *mlx.Scope, numbers []uint32, shape ...int) mlx.Array {
	var b []byte
	for _, n := range numbers {
		b = binary.NativeEndian.AppendUint32(b, n)
	}
	a, err := mlx.FromBytes(b, shape, mlx.Uint32)
	require.NoError(t, err)
	return s.Own(a)
}

// TestExperts: on every instruction set each result has the bits of its expert's products with SwiGLU between them, of the rows
// that take it: in place for few, in panels for many, in several lots for more still. Rows that are not finite are among them.
// (Package ops holds the class to its contract.)
func TestExperts(t *testing.T) {
	const count, width, inputs = 3, 96, 352
	for _, set := range kernels(t) {
		t.Run(set, func(t *testing.T) {
			onStream(t, func(s *mlx.Scope) {
				w, err := native.NewWorkersOf(2, set)
				require.NoError(t, err)
				defer w.Free()
				r := rand.New(rand.NewPCG(21, 22))
				e := newExpertSet(t, s, r, w, count, width, inputs, [3]int{4, 3, 5})
				for _, rows := range []int{1, 5, 40, 900} {
					if set == "plain" && rows > 40 {
						continue
					}
					values := make([]float32, rows*inputs)
					for i := range values {
						values[i] = float32(r.NormFloat64())
					}
					if rows > 1 {
						values[inputs+5], values[2*inputs+7] = float32(math.Inf(1)), float32(math.NaN())
					}
					x, err := mlx.FromFloat32s(values, rows, inputs)
					require.NoError(t, err)
					s.Own(x)
					// Every row takes expert 1 and, the first three, 0 beside it, the others 2.
					indices := make([]uint32, 0, 2*rows)
					taken := make([][]uint32, count) // by expert: the results
					for i := range rows {
						other := uint32(2)
						if i < 3 {
							other = 0
						}
						taken[1], taken[other] = append(taken[1], uint32(2*i)), append(taken[other], uint32(2*i+1))
						indices = append(indices, 1, other)
					}
					got := s.Reshape(e.run(t, s, x, numbersArray(t, s, indices, rows, 2)), []int{2 * rows, inputs})
					for i, results := range taken {
						if len(results) == 0 {
							continue
						}
						sources := make([]uint32, len(results))
						for k, n := range results {
							sources[k] = n / 2
						}
						parts, form := e.single[i], native.RowsQ16
						if len(results) > 16 {
							form = native.PanelQ16
						}
						for k := range parts {
							parts[k].Form = form
						}
						in := s.TakeAxis(x, numbersArray(t, s, sources, len(sources)), 0)
						want := apply(t, s, &parts[2], w.SwiGLU(s, apply(t, s, &parts[0], in), apply(t, s, &parts[1], in)))
						near(t, s, want, s.TakeAxis(got, numbersArray(t, s, results, len(results)), 0), 0, "expert")
					}
				}
			})
		})
	}
}

// TestExpertsOfNoNumber: an index that names no expert gives NaN, and nothing else changes.
func TestExpertsOfNoNumber(t *testing.T) {
	onStream(t, func(s *mlx.Scope) {
		w, err := native.NewWorkers(2)
		require.NoError(t, err)
		defer w.Free()
		r := rand.New(rand.NewPCG(23, 24))
		e := newExpertSet(t, s, r, w, 2, 32, 64, [3]int{4, 4, 4})
		x := normal(t, s, r, mlx.Float32, 2, 64)
		right := numbers(t, s, e.run(t, s, x, numbersArray(t, s, []uint32{1, 0, 1, 0}, 2, 2)))
		wrong := numbers(t, s, e.run(t, s, x, numbersArray(t, s, []uint32{1, 2, math.MaxUint32, 0}, 2, 2)))
		for i := range right {
			if part := i / 64; part == 1 || part == 2 {
				require.True(t, math.IsNaN(float64(wrong[i])))
			} else {
				require.Equal(t, right[i], wrong[i])
			}
		}
	})
}

func numbers(t testing.TB, s *mlx.Scope, a mlx.Array) []float32 {
	require.NoError(t, s.Err())
	v, err := a.Float32s()
	require.NoError(t, err)
	return v
}

// TestExpertsRefuse: what does not go together is an error.
func TestExpertsRefuse(t *testing.T) {
	onStream(t, func(s *mlx.Scope) {
		w, err := native.NewWorkers(1)
		require.NoError(t, err)
		defer w.Free()
		r := rand.New(rand.NewPCG(25, 26))
		good, other := newExpertSet(t, s, r, w, 2, 96, 64, [3]int{4, 4, 4}), newExpertSet(t, s, r, w, 2, 32, 64, [3]int{4, 4, 4})
		x, indices := normal(t, s, r, mlx.Float32, 2, 64), numbersArray(t, s, []uint32{0, 1}, 2, 1)
		for _, c := range []struct {
			change func(e *native.Experts, x, indices *mlx.Array)
			err    string
		}{
			{func(e *native.Experts, _, _ *mlx.Array) { e.Up = other.Up }, "gate, up and down do not go together"},
			{func(e *native.Experts, _, _ *mlx.Array) { e.Down = e.Up }, "gate, up and down do not go together"},
			{func(e *native.Experts, _, _ *mlx.Array) { e.Gate.Bits = 7 }, "7 bits in groups of 32 are not taken: 2, 3, 4, 5, 6 or 8 in groups of 32, 64 or 128 are"},
			{func(e *native.Experts, _, _ *mlx.Array) { e.Count = 5 }, "192 rows are not those of 5 matrices"},
			{func(e *native.Experts, _, _ *mlx.Array) { e.Gate.Run = 1 }, "192 rows are not those of 2 matrices"},
			{func(e *native.Experts, _, _ *mlx.Array) { e.Gate.Codes = mlx.Array{} }, "codes is an absent array"},
			{func(e *native.Experts, _, _ *mlx.Array) { e.Up.Bias = x }, "a bias has not as many entries as there are outputs"},
			{func(_ *native.Experts, x, _ *mlx.Array) { *x = good.Gate.Scales }, "x has rows of 2, gate takes 64"},
			{func(_ *native.Experts, x, indices *mlx.Array) { *indices = *x }, "indices are neither uint32 nor int32"},
			{func(_ *native.Experts, _, indices *mlx.Array) { *indices = numbersArray(t, s, []uint32{0}, 1, 1) }, "x and indices are not alike but for their last axes"},
		} {
			e, in, at := good.Experts, x, indices
			c.change(&e, &in, &at)
			ready, err := e.Ready()
			if err == nil {
				require.False(t, ready.Apply(s, in, at).Valid(), c.err)
				err = s.ResetErr()
				ready.Free()
			}
			require.EqualError(t, err, c.err)
		}
	})
}
