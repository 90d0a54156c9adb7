//go:build cgo && mlx

package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/registry"
)

// ordered builds an exact class with threads, and tells whether our kernels computed its last call.
func ordered(r *rig, name string, w registry.Opened) (run func(x mlx.Array) mlx.Array, ours func(sums dtype.Dtype) bool) {
	workers, err := native.NewWorkers(2)
	require.NoError(r.t, err)
	r.ends = append(r.ends, workers.Free)
	reg, err := Default()
	require.NoError(r.t, err)
	memo := map[any]any{}
	built, err := reg.Class(name).Build(&registry.ClassBuild{Kind: "linear", Weights: map[string]registry.Opened{"weight": w}, Transposed: true,
		Workers: workers, Scope: r.scope, Keep: r.keep, Memo: memo, Cleanup: func(f func()) { r.ends = append([]func(){f}, r.ends...) }})
	require.NoError(r.t, err)
	run = func(x mlx.Array) mlx.Array {
		y := built(r.call, []mlx.Array{x})[0]
		require.NoError(r.t, r.call.Err())
		return y
	}
	return run, func(sums dtype.Dtype) bool {
		kind := productKind{16, 0, sums}
		if w.Scales.Valid() {
			kind = productKind{w.Facts.Bits, w.Facts.Group, sums}
		}
		same, _ := memo[kind].(bool)
		return same
	}
}

func needsInOrder(t *testing.T) {
	if !native.InOrderRuns() {
		t.Skip("this processor has no AVX2: exact classes make MLX's own calls")
	}
}

// TestInOrderHasMLXsBits holds kernels of ours to quantized_matmul: every number of bits and group, dtypes of x and scales
// alike and not, rows and outputs that do not fill a tile, several tiles of inputs, and values that are not finite.
func TestInOrderHasMLXsBits(t *testing.T) {
	needsInOrder(t)
	floats := []dtype.Dtype{dtype.Float32, dtype.Float16, dtype.Bfloat16}
	for i, bits := range []int{2, 3, 4, 5, 6, 8} {
		for j, group := range []int{32, 64, 128} {
			scales, x := floats[(i+j)%3], floats[(i+2*j)%3]
			t.Run(fmt.Sprintf("%d bits by %d %s %s", bits, group, scales, x), func(t *testing.T) {
				r := newRig(t)
				w := quantised(r, r.filled(scales, 1, 21+8*j, 256+group*(1+j)), "affine", bits, group)
				run, ours := ordered(r, "affine", w)
				for _, rows := range []int{1, 2, 7} {
					in := r.filled(x, rows, 1, rows, w.Facts.Inputs)
					same(t, r.scope.QuantizedMatmul(in, w.Weight, w.Scales, w.Biases, true, group, bits, "affine"), run(in))
				}
				require.True(t, ours(dtype.Promote(x, scales)), "the trial found other bits than MLX's")
			})
		}
	}
}

func TestInOrderOfHalfPrecision(t *testing.T) {
	needsInOrder(t)
	for _, d := range []dtype.Dtype{dtype.Float16, dtype.Bfloat16} {
		for _, inputs := range []int{5, 64, 300} {
			r := newRig(t)
			w, bias := r.filled(d, 1, 37, inputs), r.filled(d, 2, 37)
			plain, ours := ordered(r, "dense", denseWeight(w, mlx.Array{}))
			biased, _ := ordered(r, "dense", denseWeight(w, bias))
			for _, rows := range []int{1, 4, 6, 9} {
				x := r.filled(d, rows, 2, rows, inputs)
				same(t, r.scope.Matmul(x, r.scope.Transpose(w)), plain(x))
				same(t, r.scope.Addmm(bias, x, r.scope.Transpose(w), 1, 1), biased(x))
			}
			require.True(t, ours(d), "the trial found other bits than MLX's")
			wide := r.filled(dtype.Float32, 3, 2, inputs)
			same(t, r.scope.Matmul(wide, r.scope.Transpose(w)), plain(wide))
		}
	}
}

func TestInOrderOfWhatIsNotFinite(t *testing.T) {
	needsInOrder(t)
	for _, d := range []dtype.Dtype{dtype.Float32, dtype.Float16, dtype.Bfloat16} {
		r := newRig(t)
		w := quantised(r, r.filled(d, 1, 16, 64), "affine", 4, 32)
		run, _ := ordered(r, "affine", w)
		for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 3e38} {
			one, err := mlx.ScalarOf(bad, d)
			require.NoError(t, err)
			x := r.scope.Multiply(r.filled(d, 3, 2, 64), r.scope.Own(one))
			want, err := r.scope.QuantizedMatmul(x, w.Weight, w.Scales, w.Biases, true, 32, 4, "affine").Float32s()
			require.NoError(t, err)
			got, err := run(x).Float32s()
			require.NoError(t, err)
			for i := range want {
				require.True(t, want[i] == got[i] || want[i] != want[i] && got[i] != got[i], "%s, %v: %v, MLX has %v", d, bad, got[i], want[i])
			}
		}
	}
}

// TestInOrderOfExperts holds products with gathered matrices to gather_qmm, in the forms that experts ask for: rows for all of
// their experts, a row for each, rows in the order of experts.
func TestInOrderOfExperts(t *testing.T) {
	needsInOrder(t)
	for _, d := range []dtype.Dtype{dtype.Float32, dtype.Bfloat16} {
		r := newRig(t)
		workers, err := native.NewWorkers(2)
		require.NoError(t, err)
		r.ends = append(r.ends, workers.Free)
		w := quantised(r, r.filled(d, 1, 5, 37, 320), "affine", 4, 64)
		memo := map[any]any{}
		o, err := newInOrderExperts(&registry.ClassBuild{Workers: workers, Scope: r.scope, Keep: r.keep, Memo: memo,
			Cleanup: func(f func()) { r.ends = append([]func(){f}, r.ends...) }}, w)
		require.NoError(t, err)
		require.NotNil(t, o)
		named := func(shape ...int) mlx.Array {
			n := make([]int32, r.filled(d, 1, shape...).Size())
			for i := range n {
				n[i] = int32(i * 7 % 11 % 5)
			}
			a, err := mlx.FromInt32s(n, shape...)
			require.NoError(t, err)
			return r.scope.Astype(r.scope.Own(a), dtype.Uint32)
		}
		for _, c := range []struct{ x, indices []int }{
			{[]int{2, 3, 1, 1, 320}, []int{2, 3, 4}}, {[]int{2, 3, 4, 1, 320}, []int{2, 3, 4}}, {[]int{300, 1, 320}, []int{300}}, {[]int{1, 1, 1, 1, 320}, []int{1, 1, 1}},
		} {
			x, indices := r.filled(d, 2, c.x...), named(c.indices...)
			want := r.scope.GatherQMM(x, w.Weight, w.Scales, w.Biases, mlx.Array{}, indices, true, 64, 4, "affine", false)
			got, ok := o.gather(r.call, x, indices)
			require.NoError(t, r.call.Err())
			require.True(t, ok)
			same(t, want, got)
		}
		o.gather(r.call, r.filled(d, 2, 3, 1, 320), named(2))
		require.ErrorContains(t, r.call.ResetErr(), "cannot be broadcast")
	}
}
