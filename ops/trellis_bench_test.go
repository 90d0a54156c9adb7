//go:build cgo && mlx

package ops

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	codec "github.com/graphrun/graphrun/trellis"
)

// BenchmarkTrellis is one product of 1536 outputs by 1536 inputs, float16 activations, by each class at each row count
// that it takes; affine weights of 4 bits in groups of 32 beside them. GB/s are of the stored weight, Gweight/s of weights
// times rows.
func BenchmarkTrellis(b *testing.B) {
	const n = 1536
	reg, err := Default()
	require.NoError(b, err)
	r := newTrellisRig(b, "")
	r.workers.Free()
	r.workers, err = native.NewWorkers(runtime.GOMAXPROCS(0))
	require.NoError(b, err)
	affine := quantised(r.rig, r.filled(dtype.Float16, 1, n, n), "affine", 4, 32)
	for _, class := range reg.Classes() {
		if !slices.Contains(class.Kinds, "linear") || class.Build == nil || class.Name == "trellis.packed" {
			continue
		}
		for _, bits := range []int{4, 3, 2} {
			for axis := range 2 {
				w, _, _ := r.codes(codec.Geometry{Bits: bits, Block: 256, Axis: axis, Layout: codec.Row, Rows: n, Columns: n}, 1)
				name := fmt.Sprintf("%s/bits=%d", class.Name, bits)
				if class.Accept("linear", map[string]plan.Facts{"weight": w.Facts}) != nil {
					if bits != 4 || axis != 1 || class.Accept("linear", map[string]plan.Facts{"weight": affine.Facts}) != nil {
						continue
					}
					w = affine
				}
				run := r.bind(class.Name, "linear", map[string]registry.Opened{"weight": w}, nil)
				for _, rows := range []int{1, 2, 4, 5, 8, 16, 32, 64, 256, 2048} {
					if rows < class.MinRows || class.MaxRows > 0 && rows > class.MaxRows || rows > 32 && bits != 4 {
						continue
					}
					x := r.filled(dtype.Float16, 3, 1, rows, n)
					require.NoError(b, mlx.Eval(x))
					b.Run(fmt.Sprintf("%s/rows=%d", name, rows), func(b *testing.B) {
						for range b.N {
							mark := r.call.Mark()
							require.NoError(b, mlx.Eval(run(r.call, []mlx.Array{x})...))
							r.call.ReleaseTo(mark)
						}
						perOp := b.Elapsed().Seconds() / float64(b.N)
						stored := w.Weight.Nbytes() + w.Scales.Nbytes()
						if w.Biases.Valid() {
							stored += w.Biases.Nbytes()
						}
						b.ReportMetric(float64(stored)/perOp/1e9, "GB/s")
						b.ReportMetric(float64(n*n*rows)/perOp/1e9, "Gweight/s")
					})
				}
			}
		}
	}
}
