//go:build cgo && mlx

package native_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
)

// TestAlong compares operators along short axes with MLX's, of one row and of many, with values that are not finite.
func TestAlong(t *testing.T) {
	onStream(t, func(s *mlx.Scope) {
		w, err := native.NewWorkers(2)
		require.NoError(t, err)
		defer w.Free()
		r := rand.New(rand.NewPCG(31, 32))
		for _, d := range []mlx.Dtype{mlx.Float32, mlx.Bfloat16, mlx.Float16} {
			for _, c := range []struct{ rows, n, width int }{{1, 1, 5}, {1, 8, 64}, {9, 3, 33}, {300, 4, 70}} {
				values := make([]float32, c.rows*c.n*c.width)
				for i := range values {
					values[i] = float32(r.NormFloat64())
				}
				if c.rows == 9 {
					values[3], values[5*c.width] = float32(math.NaN()), float32(math.Inf(-1))
					values[7*c.width] = float32(math.Inf(1))
					for i := range c.width {
						values[12*c.width+i] = float32(math.Inf(-1))
					}
				}
				made, err := mlx.FromFloat32s(values, c.rows, c.n, c.width)
				require.NoError(t, err)
				x, text := s.Astype(s.Own(made), d), fmt.Sprintf("%v of %s", c, d)
				bits := bound(native.RowsF32, d)
				if d == mlx.Float32 {
					bits = 1e-6
				}
				near(t, s, s.SoftmaxAxis(x, -1, true), w.Softmax(s, x), bits, "softmax "+text)
				wide := func(axis int, keep bool) mlx.Array {
					return s.Astype(s.SumAxis(s.Astype(x, mlx.Float32), axis, keep), d)
				}
				near(t, s, wide(-1, true), w.Sum(s, x, -1, true), bits, "sum "+text)
				near(t, s, wide(-2, false), w.Sum(s, x, -2, false), bits, "sum of rows "+text)
				near(t, s, wide(-2, false), w.Sum(s, s.Swapaxes(s.Contiguous(s.Swapaxes(x, 0, 2), false), 0, 2), -2, false), bits, "sum of turned rows "+text)
				for _, k := range []int{1, c.width / 2} {
					part := w.Argpartition(s, x, -k)
					chosen := s.Slice(part, []int{0, 0, c.width - k}, []int{c.rows, c.n, c.width}, []int{1, 1, 1})
					same(t, s, s.TakeAlongAxis(x, chosen, -1), w.TakeAlong(s, x, chosen), "take "+text)
					sorted := s.Slice(s.SortAxis(x, -1), []int{0, 0, c.width - k}, []int{c.rows, c.n, c.width}, []int{1, 1, 1})
					same(t, s, sorted, s.SortAxis(w.TakeAlong(s, x, chosen), -1), "partition "+text)
					same(t, s, s.SortAxis(s.Astype(part, mlx.Float32), -1), s.Astype(s.BroadcastTo(s.Arange(0, float64(c.width), 1, mlx.Uint32), []int{c.rows, c.n, c.width}), mlx.Float32), "all "+text)
				}
			}
		}
		x := normal(t, s, r, mlx.Float32, 2, 3)
		require.False(t, w.Argpartition(s, x, 3).Valid())
		require.EqualError(t, s.ResetErr(), "3 is no place of an axis of 3")
		require.False(t, w.Sum(s, x, 0, false).Valid())
		require.EqualError(t, s.ResetErr(), "sums are along the last axis or the last but one")
		require.False(t, w.TakeAlong(s, x, x).Valid())
		require.EqualError(t, s.ResetErr(), "indices are neither uint32 nor int32")
		require.False(t, w.TakeAlong(s, x, numbersArray(t, s, []uint32{0}, 1, 1)).Valid())
		require.EqualError(t, s.ResetErr(), "x and indices are not alike but for their last axes")
		require.True(t, math.IsNaN(float64(numbers(t, s, w.TakeAlong(s, x, numbersArray(t, s, []uint32{7, 0}, 2, 1)))[0])))
	})
}
