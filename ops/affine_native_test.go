//go:build cgo && mlx

package ops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// affineBound is what a class of mode affine states in its numerics.
func affineBound(class string, d dtype.Dtype) float64 {
	switch {
	case strings.HasSuffix(class, "_q8"):
		return 2e-2
	case strings.HasSuffix(class, "_q16") && d == dtype.Float32:
		return 1e-4
	case class == "affine.dense":
		return least(d, 2)
	}
	return least(d, 1)
}

// TestAffineClasses holds every class of one affine weight to quantized_matmul in float32, at the row counts that it takes.
func TestAffineClasses(t *testing.T) {
	reg, err := Default()
	require.NoError(t, err)
	ran := map[string]bool{}
	for i, w := range []struct{ bits, group, out, in int }{{4, 64, 96, 512}, {3, 64, 264, 256}, {8, 32, 40, 576}, {6, 128, 64, 384}} {
		for _, rows := range []int{1, 2, 4, 5, 8, 32, 64, 2048} {
			if rows > 64 && i > 0 {
				continue // many rows of every kind would take long
			}
			r := newTrellisRig(t, "")
			d := []dtype.Dtype{dtype.Bfloat16, dtype.Float16, dtype.Float32}[(i+rows)%3]
			weight := quantised(r.rig, r.normal(d, i, w.out, w.in), "affine", w.bits, w.group)
			weight.Bias, weight.Facts.Bias = r.normal(d, i+9, w.out), true
			wide := r.widened(weight) // in half precision MLX's sums are half too
			x := r.normal(d, i+rows, 1, rows, w.in)
			want := r.bind("affine", "linear", map[string]registry.Opened{"weight": wide}, noWorkers)(r.call, []mlx.Array{r.call.Astype(x, mlx.Float32)})[0]
			want = r.call.Astype(want, d)
			for _, c := range reg.Classes() {
				if !c.Takes("linear") || !c.HasKernel("cpu") || c.Name == "affine" || rows < c.MinRows || c.MaxRows > 0 && rows > c.MaxRows ||
					c.Accept("linear", map[string]plan.Facts{"weight": weight.Facts}) != nil {
					continue
				}
				ran[c.Name] = true
				got := r.bind(c.Name, "linear", map[string]registry.Opened{"weight": weight}, nil)(r.call, []mlx.Array{x})[0]
				r.near(want, got, affineBound(c.Name, d), fmt.Sprintf("%s, %d bits in groups of %d, %d rows of %s", c.Name, w.bits, w.group, rows, d))
			}
			r.call.Scope.Free()
		}
	}
	for _, name := range []string{"affine.dense", "affine.mma", "affine.rows", "affine.rows_q8", "affine.rows_q16", "affine.panels", "affine.panels_q8", "affine.panels_q16"} {
		require.True(t, ran[name], name)
	}
}
