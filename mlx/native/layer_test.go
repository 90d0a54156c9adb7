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

// TestLayer compares norm, activation, rotation and attention with MLX's, on every instruction set that runs here.
func TestLayer(t *testing.T) {
	for _, set := range kernels(t) {
		t.Run(set, func(t *testing.T) {
			onStream(t, func(s *mlx.Scope) {
				w, err := native.NewWorkersOf(2, set)
				require.NoError(t, err)
				defer w.Free()
				r := rand.New(rand.NewPCG(7, 8))
				for _, d := range []mlx.Dtype{mlx.Float32, mlx.Bfloat16} {
					for _, rows := range []int{1, 3, 17, 70} {
						checkLayer(t, s, w, r, d, rows)
					}
				}
			})
		})
	}
}

func checkLayer(t *testing.T, s *mlx.Scope, w *native.Workers, r *rand.Rand, d mlx.Dtype, rows int) {
	bound := map[mlx.Dtype]float64{mlx.Float32: 2e-5, mlx.Bfloat16: 1.0 / 64}[d]
	what := func(name string) string { return fmt.Sprintf("%s, %d rows of %s", name, rows, d) }
	for _, width := range []int{5, 576} {
		x, g := normal(t, s, r, d, 1, rows, width), normal(t, s, r, mlx.Float32, width)
		near(t, s, s.FastRMSNorm(x, g, 1e-5), w.RMSNorm(s, x, g, 1e-5), bound, what("rms_norm"))
		near(t, s, s.FastRMSNorm(x, mlx.Array{}, 1e-5), w.RMSNorm(s, x, mlx.Array{}, 1e-5), bound, what("rms_norm without a gain"))
		near(t, s, s.Subtract(x, s.LogsumexpAxis(x, -1, true)), w.LogSoftmax(s, x), bound, what("log_softmax"))
		up := normal(t, s, r, d, 1, rows, width)
		near(t, s, s.Multiply(s.Multiply(x, s.Sigmoid(x)), up), w.SwiGLU(s, x, up), bound, what("swiglu"))
	}
	long := normal(t, s, r, d, 1, 2, 9001) // several pieces
	near(t, s, s.Subtract(long, s.LogsumexpAxis(long, -1, true)), w.LogSoftmax(s, long), bound, what("log_softmax"))
	heads := func(n, width int) mlx.Array { // as projections give them
		return s.TransposeAxes(normal(t, s, r, d, 2, rows, n, width), []int{0, 2, 1, 3})
	}
	rates := make([]float32, 16)
	for i := range rates {
		rates[i] = float32(math.Pow(10000, -float64(i)/16))
	}
	for _, offset := range []int{0, 9} {
		x := heads(6, 48)
		for _, neighbours := range []bool{false, true} {
			near(t, s, s.FastRope(x, 32, neighbours, mlx.Some(float32(10000)), 1, offset, mlx.Array{}), w.Rope(s, x, rates, neighbours, offset, 0), bound, what("rope"))
		}
		attention := native.Attention{Workers: w, Scale: 0.125}
		for _, size := range []int{64, 40} {
			q, k, v := heads(6, size), heads(2, size), heads(2, size)
			keys, values := normal(t, s, r, d, 2, 2, 128, size), normal(t, s, r, d, 2, 2, 128, size)
			past := func(a, fresh mlx.Array) mlx.Array {
				if offset == 0 {
					return fresh
				}
				return s.ConcatenateAxis([]mlx.Array{s.Slice(a, []int{0, 0, 0, 0}, []int{2, 2, offset, size}, []int{1, 1, 1, 1}), fresh}, 2)
			}
			allKeys, allValues := past(keys, k), past(values, v)
			mode := "causal"
			if rows == 1 {
				mode = ""
			}
			want := s.FastScaledDotProductAttention(q, allKeys, allValues, 0.125, mode, mlx.Array{}, mlx.Array{}, false)
			y, newKeys, newValues := attention.Append(s, q, k, v, keys, values, native.Place{Position: offset, At: offset, Seen: offset + 1})
			near(t, s, want, y, bound, what("attend"))
			n := offset + rows
			first := func(a mlx.Array) mlx.Array {
				return s.Slice(a, []int{0, 0, 0, 0}, []int{2, 2, n, size}, []int{1, 1, 1, 1})
			}
			near(t, s, allKeys, first(newKeys), 0, what("keys"))
			near(t, s, allValues, first(newValues), 0, what("values"))
		}
	}
}

// TestLayerRefuses: what does not go together is an error.
func TestLayerRefuses(t *testing.T) {
	w, err := native.NewWorkers(1)
	require.NoError(t, err)
	defer w.Free()
	onStream(t, func(s *mlx.Scope) {
		r := rand.New(rand.NewPCG(9, 10))
		x := normal(t, s, r, mlx.Float32, 1, 2, 4, 8)
		w.RMSNorm(s, x, normal(t, s, r, mlx.Float32, 5), 1e-5)
		require.EqualError(t, s.ResetErr(), "the gain has not the length of x's last axis")
		w.SwiGLU(s, x, normal(t, s, r, mlx.Float32, 8))
		require.EqualError(t, s.ResetErr(), "gate and up have not one shape")
		w.Rope(s, x, make([]float32, 5), false, 0, 0)
		require.EqualError(t, s.ResetErr(), "more entries are rotated than there are")
		(&native.Attention{Workers: w, Scale: 1}).Append(s, x, x, x, x, x, native.Place{At: 3, Seen: 4})
		require.EqualError(t, s.ResetErr(), "the cache has no such positions")
	})
}

// TestLikeliest: the bits of argmax and take of log probabilities, for equals, rounding that makes equals, and what is no number.
func TestLikeliest(t *testing.T) {
	w, err := native.NewWorkers(2)
	require.NoError(t, err)
	defer w.Free()
	onStream(t, func(s *mlx.Scope) {
		r := rand.New(rand.NewPCG(21, 22))
		inf, nan := float32(math.Inf(1)), float32(math.NaN())
		check := func(x mlx.Array, what string) {
			all := w.LogSoftmax(s, x)
			want := s.ArgmaxAxis(all, -1, false)
			at, p := w.Likeliest(s, x)
			require.NoError(t, s.Err())
			require.NoError(t, mlx.Eval(at, p, want))
			a, err := at.Bytes()
			require.NoError(t, err)
			b, err := want.Bytes()
			require.NoError(t, err)
			require.Equal(t, b, a, what)
			a, err = p.Bytes()
			require.NoError(t, err)
			b, err = s.Reshape(s.TakeAlongAxis(all, s.ExpandDims(want, -1), -1), p.Shape()).Bytes()
			require.NoError(t, err)
			require.Equal(t, b, a, what)
		}
		for _, d := range []mlx.Dtype{mlx.Float32, mlx.Bfloat16, mlx.Float16} {
			for _, width := range []int{1, 7, 4096, 4097, 20000} {
				check(normal(t, s, r, d, 3, width), fmt.Sprintf("%s, %d", d, width))
			}
		}
		for what, change := range map[string]func(v []float32){
			"equals":           func(v []float32) { v[77], v[8000], v[4099] = 9, 9, 9 },
			"a NaN":            func(v []float32) { v[5000] = nan },
			"an infinity":      func(v []float32) { v[5000] = inf },
			"minus infinities": func(v []float32) { v[0], v[5000] = -inf, -inf },
			"nothing else": func(v []float32) {
				for i := range v {
					v[i] = -inf
				}
			},
		} {
			v := make([]float32, 9000)
			for i := range v {
				v[i] = float32(r.NormFloat64())
			}
			change(v)
			check(s.Own(floats(t, v, 1, len(v))), what)
		}
	})
}
