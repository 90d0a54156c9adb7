//go:build cgo && mlx

package ops

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/registry"
)

const (
	benchIn, benchOut = 1024, 2048
	// Experts, of a quarter of the width, and how many of them a row takes.
	benchExperts, benchChosen = 16, 4

	benchSet   = 48 << 20               // bytes of weights that calls take in turn, so that they come from memory
	benchLimit = 300 * time.Millisecond // of a call: more rows than that are not measured
	benchTime  = 60 * time.Millisecond  // of a figure
)

// Row counts of which the weights' bytes tell how good a time is, and those of which the arithmetic does.
var fewRows, manyRows = []int{1, 2, 4, 5, 8}, []int{16, 24, 32, 64, 128, 2048}

// timed is a class over weights of which there are some copies, taken in turn.
type timed struct {
	name     string
	min, max int // rows that it takes; max 0: any
	bytes    int64
	weights  int64 // numbers that a row is multiplied with
	experts  int   // of which a row takes benchChosen; 0: the weights are all rows'
	runs     []registry.Run
}

// read is the bytes of the weights that rows are multiplied with.
func (c timed) read(rows int) float64 {
	if c.experts > 0 {
		return float64(c.bytes) * float64(min(c.experts, rows*benchChosen)) / float64(c.experts)
	}
	return float64(c.bytes)
}

func (c timed) takes(rows int) bool { return rows >= c.min && (c.max == 0 || rows <= c.max) }

// TestClassTable measures every class that runs here, at each row count that it takes: for few rows the bytes of its weights in a
// second and what part that is of what memory gives, for many rows the arithmetic. `make bench-classes` runs it, of those whose
// names hold CLASSES; docs/performance.md has its tables.
func TestClassTable(t *testing.T) {
	text, given := os.LookupEnv("CLASSES")
	if !given {
		t.Skip("`make bench-classes` runs this")
	}
	wanted := func(class string) bool { return strings.Contains(class, text) }
	reg, err := Default()
	require.NoError(t, err)
	r := newTrellisRig(t, "")
	r.workers.Free()
	threads := runtime.GOMAXPROCS(0)
	r.workers, err = native.NewWorkers(threads)
	require.NoError(t, err)
	t.Cleanup(r.workers.Free)
	stream := bandwidth(threads)
	fmt.Printf("%d threads, kernels %s, memory reads %.1f GB/s, a float32 product of the BLAS %.0f GFLOP/s; x float32 [1, rows, %d], linear weights [%d, %d]; a sum of two such x takes %.0f µs\n",
		threads, r.workers.Kernels(), stream/1e9, r.product()/1e9, benchIn, benchOut, benchIn, r.node())
	fmt.Printf("\nFew rows: µs a call, GB/s of its weights as they are stored (share of what memory gives)\n\n%s", tableHead(fewRows))
	measured := map[string]bool{}
	first, many := map[string]time.Duration{}, ""
	line := func(c timed, rows []int, cell func(n int, d time.Duration) string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "| `%s` |", c.name)
		for _, n := range rows {
			switch {
			case !c.takes(n):
				b.WriteString(" |")
			default:
				d := r.time(c, n)
				if n == 1 {
					first[c.name] = d
				}
				if d == 0 {
					b.WriteString(" – |")
				} else {
					fmt.Fprintf(&b, " %.0f, %s |", float64(d.Nanoseconds())/1e3, cell(n, d))
				}
			}
		}
		return b.String() + "\n"
	}
	for _, c := range r.timed(reg, wanted) {
		measured[strings.Fields(c.name)[0]] = true
		fmt.Print(line(c, fewRows, func(n int, d time.Duration) string {
			rate := c.read(n) / d.Seconds()
			return fmt.Sprintf("%.1f (%.0f %%)", rate/1e9, 100*rate/stream)
		}))
		if c.takes(manyRows[0]) {
			many += line(c, manyRows, func(n int, d time.Duration) string {
				return fmt.Sprintf("%.0f", 2*float64(c.weights)*float64(n)/d.Seconds()/1e9)
			})
		}
	}
	fmt.Printf("\nMany rows: µs a call, GFLOP/s\n\n%s%s\n", tableHead(manyRows), many)
	var left []string
	for _, c := range reg.Classes() {
		if c.HasKernel("cpu") && !measured[c.Name] && wanted(c.Name) {
			left = append(left, c.Name)
		}
	}
	fmt.Printf("not measured: %s\n", strings.Join(left, ", "))
	r.ratios(reg, first)
}

func tableHead(rows []int) string {
	return fmt.Sprintf("| class | %s |\n|%s\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(rows), " ", " | "), "[]"), strings.Repeat(" --- |", len(rows)+1))
}

// ratios prints by how much classes of one matrix are faster than MLX's own product of the same shape in 4 bits, at one row. Above 1
// is faster; every packed class must be.
func (r trellisRig) ratios(reg *registry.Registry, first map[string]time.Duration) {
	exact := first["affine"]
	if exact == 0 {
		exact = r.time(r.timed(reg, func(class string) bool { return class == "affine" })[0], 1)
	}
	fmt.Printf("\nat one row, against affine of 4 bits (%.0f µs):\n", float64(exact.Nanoseconds())/1e3)
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if c := reg.Class(name); c != nil && c.Takes("linear") && c.Numerics != "" {
			fmt.Printf("ratio %s %.2f\n", name, float64(exact)/float64(first[name]))
		}
	}
}

// product is the float operations in a second of the BLAS that is linked.
func (r trellisRig) product() float64 {
	const n = 1024
	a, b := r.normal(dtype.Float32, 1, n, n), r.normal(dtype.Float32, 2, n, n)
	require.NoError(r.t, mlx.Eval(a, b))
	best := 0.0
	for range 5 {
		start := time.Now()
		require.NoError(r.t, mlx.Eval(r.scope.Matmul(a, b)))
		best = max(best, 2*n*n*n/time.Since(start).Seconds())
	}
	return best
}

// bandwidth is what all threads together read of memory in a second: a search for a byte that is not there.
func bandwidth(threads int) float64 {
	const size = 64 << 20
	buffers := make([][]byte, threads)
	for i := range buffers {
		buffers[i] = bytes.Repeat([]byte{1}, size)
	}
	best := 0.0
	for range 5 {
		start := time.Now()
		var wait sync.WaitGroup
		for _, b := range buffers {
			wait.Go(func() { _ = bytes.IndexByte(b, 2) })
		}
		wait.Wait()
		best = max(best, float64(threads*size)/time.Since(start).Seconds())
	}
	return best
}

// node is the time of MLX's cheapest call, in µs, eight evaluated at a time.
func (r trellisRig) node() float64 {
	add := timed{runs: []registry.Run{func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.Add(in[0], in[0])} }}}
	return float64(r.time(add, 1).Nanoseconds()) / 1e3
}

// time is the median time of a call; 0: it takes too long.
func (r trellisRig) time(c timed, rows int) time.Duration {
	x := r.normal(dtype.Float32, rows, 1, rows, benchIn)
	require.NoError(r.t, mlx.Eval(x))
	next := 0
	calls := func(n int) time.Duration {
		mark := r.call.Mark()
		start := time.Now()
		var all []mlx.Array
		for range n {
			all = append(all, c.runs[next%len(c.runs)](r.call, []mlx.Array{x})...)
			next++
		}
		require.NoError(r.t, r.call.Err())
		require.NoError(r.t, mlx.Eval(all...))
		d := time.Since(start) / time.Duration(n)
		r.call.ReleaseTo(mark)
		return d
	}
	if first := calls(1); first > benchLimit {
		return 0
	} else if first > benchTime/3 {
		return calls(1)
	}
	var list []time.Duration
	for start := time.Now(); len(list) < 3 || time.Since(start) < benchTime; {
		list = append(list, calls(8))
	}
	slices.Sort(list)
	return list[len(list)/2]
}
