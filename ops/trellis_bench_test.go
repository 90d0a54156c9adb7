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
	reg, err := Default()
	require.NoError(b, err)
	for _, class := range reg.Classes() {
		if !slices.Contains(class.Kinds, "linear") || class.Build == nil || class.Name == "trellis.packed" {
			continue
		}
		for _, bits := range []int{4, 3, 2} {
			for _, rows := range []int{1, 2, 4, 5, 8, 16, 32, 64, 256, 2048} {
				if rows < class.MinRows || class.MaxRows > 0 && rows > class.MaxRows || rows > 32 && bits != 4 {
					continue
				}
				b.Run(fmt.Sprintf("%s/bits=%d/rows=%d", class.Name, bits, rows), func(b *testing.B) { benchmarkTrellis(b, class, bits, rows) })
			}
		}
	}
}

func benchmarkTrellis(b *testing.B, class *registry.Class, bits, rows int) {
	const n = 1536
	r := newTrellisRig(b, "") // streams belong to threads, and each benchmark has one of its own
	r.workers.Free()
	var err error
	r.workers, err = native.NewWorkers(runtime.GOMAXPROCS(0))
	require.NoError(b, err)
	b.Cleanup(r.workers.Free)
	var w registry.Opened
	for axis := range 2 {
		if w, _, _ = r.codes(codec.Geometry{Bits: bits, Block: 256, Axis: axis, Layout: codec.Row, Rows: n, Columns: n}, 1); accepts(class, w) {
			break
		}
	}
	if !accepts(class, w) {
		if w = quantised(r.rig, r.filled(dtype.Float16, 1, n, n), "affine", 4, 32); bits != 4 || !accepts(class, w) {
			b.Skip("it takes no such weight")
		}
	}
	run := r.bind(class.Name, "linear", map[string]registry.Opened{"weight": w}, nil)
	x := r.filled(dtype.Float16, 3, 1, rows, n)
	once := func() {
		mark := r.call.Mark()
		out := run(r.call, []mlx.Array{x})
		require.NoError(b, r.call.Err())
		require.NoError(b, mlx.Eval(out...))
		r.call.ReleaseTo(mark)
	}
	require.NoError(b, mlx.Eval(x))
	once()
	b.ResetTimer()
	for range b.N {
		once()
	}
	perOp := b.Elapsed().Seconds() / float64(b.N)
	stored := w.Weight.Nbytes() + w.Scales.Nbytes()
	if w.Biases.Valid() {
		stored += w.Biases.Nbytes()
	}
	b.ReportMetric(float64(stored)/perOp/1e9, "GB/s")
	b.ReportMetric(float64(n*n*rows)/perOp/1e9, "Gweight/s")
}

func accepts(class *registry.Class, w registry.Opened) bool {
	return class.Accept("linear", map[string]plan.Facts{"weight": w.Facts}) == nil
}
