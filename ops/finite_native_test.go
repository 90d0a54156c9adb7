//go:build cgo && mlx

package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	codec "github.com/graphrun/graphrun/trellis"
)

// TestTrellisOfWhatIsNotFinite: a row of x that holds a NaN or an infinity gives no number in any class where the reference
// gives none, and the rows beside it are as ever.
func TestTrellisOfWhatIsNotFinite(t *testing.T) {
	reg, err := Default()
	require.NoError(t, err)
	for _, kernels := range []string{"", "plain"} {
		for i, g := range []codec.Geometry{{Bits: 3, Block: 256, Axis: 1, Layout: codec.Row, Rows: 53, Columns: 512},
			{Bits: 4, Block: 64, Axis: 0, Layout: codec.Row, Rows: 77, Columns: 576}} {
			r := newTrellisRig(t, kernels)
			w, _, _ := r.codes(g, uint64(60+i))
			weights := map[string]registry.Opened{"weight": w}
			for _, rows := range []int{1, 2, 5, 8, 17} {
				for k, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					d := []dtype.Dtype{dtype.Bfloat16, dtype.Float16, dtype.Float32}[(i+rows+k)%3]
					v := numbersOf(t, r.filled(d, i+rows, 1, rows, w.Facts.Inputs))
					at := rows - 1
					v[at*w.Facts.Inputs+23*(k+1)] = float32(bad)
					x, err := mlx.FromFloat32s(v, 1, rows, w.Facts.Inputs)
					require.NoError(t, err)
					x = r.scope.Astype(r.scope.Own(x), d)
					want := numbersOf(t, r.bind("trellis", "linear", weights, noWorkers)(r.call, []mlx.Array{x})[0])
					finite := func(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
					most := float32(0)
					for _, v := range want {
						if finite(v) {
							most = max(most, v, -v)
						}
					}
					for _, c := range reg.Classes() {
						if !c.Takes("linear") || len(c.Name) < 8 || c.Name[:8] != "trellis." || c.Accept("linear", map[string]plan.Facts{"weight": w.Facts}) != nil ||
							rows < c.MinRows || c.MaxRows > 0 && rows > c.MaxRows {
							continue
						}
						got := numbersOf(t, r.bind(c.Name, "linear", weights, nil)(r.call, []mlx.Array{x})[0])
						for j := range want {
							what := fmt.Sprintf("%s by %q, %d rows of %s with %v: %v at %d, wanted %v", c.Name, kernels, rows, d, bad, got[j], j, want[j])
							require.Equal(t, finite(want[j]), finite(got[j]), what)
							if finite(want[j]) {
								require.InDelta(t, want[j], got[j], float64(most)*(4e-3+least(d, 2)), what)
							}
						}
					}
				}
			}
		}
	}
}
