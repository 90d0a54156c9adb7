//go:build cgo && mlx

package ops

import (
	"bytes"
	"fmt"
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
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	codec "github.com/graphrun/graphrun/trellis"
)

const (
	benchIn, benchOut = 1024, 2048
	benchSet          = 48 << 20               // bytes of weights that calls take in turn, so that they come from memory
	benchLimit        = 300 * time.Millisecond // of a call: more rows than that are not measured
	benchTime         = 60 * time.Millisecond  // of a figure
)

var benchRows = []int{1, 2, 4, 8, 16, 24, 32, 64, 128, 512}

// timed is a class over weights of which there are some copies, taken in turn.
type timed struct {
	name     string
	min, max int // rows that it takes; max 0: any
	bytes    int64
	runs     []registry.Run
}

// TestClassTable measures every class that runs here, at each row count that it takes: µs a call, and the share that reading its weights
// has of what memory gives. `make bench-classes` runs it, of those whose names hold CLASSES; docs/performance.md has a table.
func TestClassTable(t *testing.T) {
	only, given := os.LookupEnv("CLASSES")
	if !given {
		t.Skip("`make bench-classes` runs this")
	}
	reg, err := Default()
	require.NoError(t, err)
	r := newTrellisRig(t, "")
	r.workers.Free()
	threads := runtime.GOMAXPROCS(0)
	r.workers, err = native.NewWorkers(threads)
	require.NoError(t, err)
	t.Cleanup(r.workers.Free)
	stream := bandwidth(threads)
	fmt.Printf("%d threads, kernels %s, memory reads %.1f GB/s; x float32 [1, rows, %d], linear weights [%d, %d]; a sum of two such x takes %.0f µs\n\n",
		threads, r.workers.Kernels(), stream/1e9, benchIn, benchOut, benchIn, r.node())
	fmt.Printf("| class | %s |\n|%s\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(benchRows), " ", " | "), "[]"), strings.Repeat(" --- |", len(benchRows)+1))
	measured := map[string]bool{}
	for _, c := range r.timed(reg, only) {
		measured[strings.Fields(c.name)[0]] = true
		fmt.Printf("| `%s` |", c.name)
		for _, rows := range benchRows {
			cell := " |"
			if rows >= c.min && (c.max == 0 || rows <= c.max) {
				if d := r.time(c, rows); d > 0 {
					cell = fmt.Sprintf(" %.0f (%.0f %%) |", float64(d.Nanoseconds())/1e3, 100*float64(c.bytes)/d.Seconds()/stream)
				} else {
					cell = " – |"
				}
			}
			fmt.Print(cell)
		}
		fmt.Println()
	}
	var left []string
	for _, c := range reg.Classes() {
		if c.HasKernel("cpu") && !measured[c.Name] && strings.Contains(c.Name, only) {
			left = append(left, c.Name)
		}
	}
	fmt.Printf("\nnot measured: %s\n", strings.Join(left, ", "))
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

// timed lists classes, those whose names hold a text, with weights.
func (r trellisRig) timed(reg *registry.Registry, only string) []timed {
	kinds := []struct {
		name string
		make func(seed, out, in int) registry.Opened
	}{
		{"affine 4 bits g32", func(seed, out, in int) registry.Opened {
			return quantised(r.rig, r.normal(dtype.Float16, seed, out, in), "affine", 4, 32)
		}},
		{"codes", func(seed, out, in int) registry.Opened { return r.blocks(seed, 1, out, in) }},
		{"codes along the outputs", func(seed, out, in int) registry.Opened { return r.blocks(seed, 0, out, in) }},
		{"float16", func(seed, out, in int) registry.Opened {
			return denseWeight(r.normal(dtype.Float16, seed, out, in), mlx.Array{})
		}},
	}
	type roles = map[string]registry.Opened
	// Sets of weights of a port, by kind.
	sets := map[string][]func(seed int) roles{}
	for _, k := range kinds {
		sets["linear"] = append(sets["linear"], func(seed int) roles { return roles{"weight": k.make(seed, benchOut, benchIn)} })
		sets["gate_up"] = append(sets["gate_up"], func(seed int) roles {
			return roles{"gate_proj": k.make(seed, benchOut, benchIn), "up_proj": k.make(seed+1, benchOut, benchIn)}
		})
		down := k
		if k.name == "codes" {
			down = kinds[2]
		}
		sets["mlp"] = append(sets["mlp"], func(seed int) roles {
			return roles{"gate_proj": k.make(seed, benchOut, benchIn), "up_proj": k.make(seed+1, benchOut, benchIn), "down_proj": down.make(seed+2, benchIn, benchOut)}
		})
		sets["group"] = append(sets["group"], func(seed int) roles {
			return roles{"q": k.make(seed, 1024, benchIn), "k": k.make(seed+1, 512, benchIn), "v": k.make(seed+2, 512, benchIn)}
		})
	}
	var out []timed
	add := func(name string, class *registry.Class, set func(seed int) roles, build func(w roles) registry.Run) {
		t := timed{name: name, min: class.MinRows, max: class.MaxRows}
		mark := r.scope.Mark()
		for total := int64(0); total < benchSet; total += t.bytes {
			w := set(10 * len(t.runs))
			t.bytes = 0
			for role, o := range w {
				for _, a := range []*mlx.Array{&o.Weight, &o.Scales, &o.Biases} {
					if a.Valid() {
						r.keep(*a)
						require.NoError(r.t, mlx.Eval(*a))
						t.bytes += int64(a.Nbytes())
					}
				}
				w[role] = o
			}
			t.runs = append(t.runs, build(w))
		}
		r.scope.ReleaseTo(mark)
		out = append(out, t)
	}
	bind := func(name, kind string, w roles, change func(*registry.ClassBuild)) registry.Run {
		return r.bind(name, kind, w, func(b *registry.ClassBuild) {
			b.Roles = []string{"q", "k", "v"}
			if change != nil {
				change(b)
			}
		})
	}
	for _, class := range reg.Classes() {
		if !class.HasKernel("cpu") || class.Parts != nil || !strings.Contains(class.Name, only) {
			continue
		}
		kind := class.Kinds[0]
		for i, set := range sets[kind] {
			facts := map[string]plan.Facts{}
			for role, o := range set(0) {
				facts[role] = o.Facts
			}
			if class.Accept(kind, facts) != nil {
				continue
			}
			name := class.Name
			if len(class.Kinds) == 1 && kind == "mlp" {
				name += " " + kinds[i].name
			}
			add(name, class, set, func(w roles) registry.Run { return bind(class.Name, kind, w, nil) })
			if kind != "mlp" {
				break
			}
		}
	}
	linear := func(name string, w registry.Opened) registry.Run {
		return bind(name, "linear", roles{"weight": w}, nil)
	}
	act := func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{r.workers.SwiGLU(c.Scope, in[0], in[1])}
	}
	for _, f := range []struct {
		class, kind, parts string
		set                int
	}{
		{"group.unfused", "group", "affine.rows_q16", 0}, {"group.unfused", "group", "affine.panels_q16", 0},
		{"mlp.unfused", "mlp", "affine.rows_q16", 0}, {"mlp.unfused", "mlp", "affine.panels_q16", 0},
		{"gate_up.unfused", "gate_up", "trellis.tiled", 1}, {"gate_up.unfused", "gate_up", "trellis.expand_reduce", 1},
		{"mlp.unfused", "mlp", "trellis.reduce trellis.scatter", 1}, {"mlp.unfused", "mlp", "trellis.tiled trellis.split_k", 1},
		{"mlp.unfused", "mlp", "trellis.expand_reduce trellis.expand_scatter", 1}, {"mlp.gate_down", "mlp", "trellis.gate_up trellis.scatter", 1},
	} {
		if !strings.Contains(f.class, only) {
			continue
		}
		parts := strings.Fields(f.parts)
		limits := *reg.Class(parts[0])
		add(f.class+" "+f.parts, &limits, sets[f.kind][f.set], func(w roles) registry.Run {
			b := &registry.ClassBuild{Kind: f.kind, Weights: w, Parts: map[string]registry.Run{}, Activation: act, Workers: r.workers, Scope: r.scope, Keep: r.keep, Roles: []string{"q", "k", "v"}}
			for role, o := range w {
				switch {
				case role == "down_proj":
					b.Parts[role] = linear(parts[len(parts)-1], o)
				case f.class != "mlp.gate_down":
					b.Parts[role] = linear(parts[0], o)
				}
			}
			if f.class == "mlp.gate_down" {
				b.Parts["gate_up"] = bind(parts[0], "gate_up", roles{"gate_proj": w["gate_proj"], "up_proj": w["up_proj"]}, nil)
			}
			run, err := reg.Class(f.class).Build(b)
			require.NoError(r.t, err)
			return run
		})
	}
	return out
}

// blocks is a weight of random codes of 4 bits in blocks of 256.
func (r trellisRig) blocks(seed, axis, out, in int) registry.Opened {
	g := codec.Geometry{Bits: 4, Block: 256, Axis: axis, Layout: codec.Row, Rows: out, Columns: in}
	if axis == 0 {
		g.Rows, g.Columns = in, out
	}
	w, _, _ := r.codes(g, uint64(seed))
	return w
}
