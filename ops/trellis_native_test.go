//go:build cgo && mlx

package ops

import (
	endian "encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	codec "github.com/graphrun/graphrun/trellis"
)

// trellisRig has workers of its own: three threads, so that pieces are shared whatever the machine.
type trellisRig struct {
	*rig
	workers *native.Workers
}

func newTrellisRig(t testing.TB, kernels string) trellisRig {
	r := newRig(t)
	w, err := native.NewWorkersOf(3, kernels)
	require.NoError(t, err)
	t.Cleanup(w.Free)
	return trellisRig{r, w}
}

// codes is a weight of random codes, and scales of about 1/16.
func (r trellisRig) codes(g codec.Geometry, seed uint64) (registry.Opened, []uint32, []float32) {
	random := rand.New(rand.NewPCG(seed, 5))
	words := make([]uint32, g.Words())
	var bytes, halves []byte
	for i := range words {
		words[i] = random.Uint32()
		bytes = endian.NativeEndian.AppendUint32(bytes, words[i])
	}
	scales := make([]float32, g.Rows)
	for i := range scales {
		h := uint16(11)<<10 | uint16(random.Uint32()&0x3ff) // 1/16 to 1/8
		halves = endian.NativeEndian.AppendUint16(halves, h)
		scales[i] = float32(math.Ldexp(float64(h&0x3ff|0x400), int(h>>10)-25))
	}
	array := func(b []byte, shape []int, d mlx.Dtype) mlx.Array {
		a, err := mlx.FromBytes(b, shape, d)
		require.NoError(r.t, err)
		return r.scope.Own(a)
	}
	f := plan.Facts{Storage: "trellis", Dtype: dtype.Float16, Bits: g.Bits, Group: g.Block, Mode: "trellis", Axis: g.Axis, Layout: g.Layout, Inputs: g.Columns, Outputs: g.Rows}
	if g.Axis == 0 {
		f.Inputs, f.Outputs = g.Rows, g.Columns
	}
	return registry.Opened{Facts: f, Weight: array(bytes, g.Shape(), mlx.Uint32), Scales: array(halves, []int{g.Rows}, mlx.Float16)}, words, scales
}

func (r trellisRig) bind(name, kind string, weights map[string]registry.Opened, change func(*registry.ClassBuild)) registry.Run {
	reg, err := Default()
	require.NoError(r.t, err)
	class := reg.Class(name)
	require.NotNil(r.t, class, name)
	facts := map[string]plan.Facts{}
	for role, w := range weights {
		facts[role] = w.Facts
	}
	require.NoError(r.t, class.Accept(kind, facts), name)
	b := &registry.ClassBuild{Kind: kind, Weights: weights, Workers: r.workers, Device: registry.Device{Kind: "cpu"}, Scope: r.scope, Keep: r.keep, Memo: r.memo}
	if change != nil {
		change(b)
	}
	run, err := class.Build(b)
	require.NoError(r.t, err, name)
	return run
}

func noWorkers(b *registry.ClassBuild) { b.Workers = nil }

// geometries are one of each kind that there is: widths, axes, blocks and layouts, rows that no tile divides.
func geometries() []codec.Geometry {
	var out []codec.Geometry
	for _, bits := range []int{2, 3, 4} {
		for _, axis := range []int{0, 1} {
			out = append(out, codec.Geometry{Bits: bits, Block: 64, Axis: axis, Layout: codec.Row, Rows: 77, Columns: 576},
				codec.Geometry{Bits: bits, Block: 256, Axis: axis, Layout: codec.Row, Rows: 53, Columns: 512})
		}
	}
	return append(out, codec.Geometry{Bits: 2, Block: 96, Axis: 1, Layout: codec.Row, Rows: 9, Columns: 288},
		codec.Geometry{Bits: 3, Block: 256, Axis: 0, Layout: codec.Interleaved, Rows: 31, Columns: 1024})
}

// TestTrellisExpand: the CPU's kernels, plain and vector, and MLX's operations give the bits of package trellis.
func TestTrellisExpand(t *testing.T) {
	for _, kernels := range []string{"", "plain"} {
		for i, g := range geometries() {
			r := newTrellisRig(t, kernels)
			w, words, scales := r.codes(g, uint64(i))
			want, err := codec.Decode(g, words, scales)
			require.NoError(t, err)
			b := &registry.ClassBuild{Kind: "linear", Weights: map[string]registry.Opened{"weight": w}, Workers: r.workers, Scope: r.scope, Keep: r.keep, Memo: r.memo}
			plain, err := newPlainTrellis(b, "weight")
			require.NoError(t, err)
			fast, err := coded(b, "weight")
			require.NoError(t, err)
			for name, a := range map[string]mlx.Array{"MLX": plain.expand(r.scope, false), "kernel": fast.Expand(r.scope, false)} {
				got, err := a.Float32s()
				require.NoError(t, err)
				require.Equal(t, want, got, "%s of %v", name, g)
			}
			same(t, plain.expand(r.scope, true), fast.Expand(r.scope, true))
			require.NoError(t, r.scope.Err())
		}
	}
}

// least is how far a class may be from its reference, by dtype.
func least(d dtype.Dtype, steps float64) float64 {
	return map[dtype.Dtype]float64{dtype.Float32: 1e-5, dtype.Bfloat16: steps / 128, dtype.Float16: steps / 1024}[d]
}

func (r trellisRig) near(want, got mlx.Array, most float64, text string) {
	r.t.Helper()
	require.NoError(r.t, r.call.Err(), text)
	require.Equal(r.t, want.Shape(), got.Shape(), text)
	require.Equal(r.t, want.Dtype(), got.Dtype(), text)
	a, err := want.Float32s()
	require.NoError(r.t, err)
	b, err := got.Float32s()
	require.NoError(r.t, err)
	var far, large float64
	for i := range a {
		far, large = max(far, math.Abs(float64(a[i])-float64(b[i]))), max(large, math.Abs(float64(a[i])))
		require.False(r.t, math.IsNaN(float64(b[i])), text)
	}
	require.LessOrEqual(r.t, far/large, most, text)
}

// TestTrellisClasses holds every class to the reference of its contract at the row counts that it takes.
func TestTrellisClasses(t *testing.T) {
	reg, err := Default()
	require.NoError(t, err)
	for _, kernels := range []string{"", "plain"} {
		for i, g := range geometries() {
			r := newTrellisRig(t, kernels)
			w, _, _ := r.codes(g, uint64(i))
			weights := map[string]registry.Opened{"weight": w}
			facts := map[string]plan.Facts{"weight": w.Facts}
			for _, rows := range []int{1, 2, 3, 4, 5, 8, 32, 64, 2048} {
				if rows > 8 && (kernels == "plain" || g.Bits != 3 || g.Block == 256 && rows > 64) {
					continue // many rows of every kind would take long
				}
				d := []dtype.Dtype{dtype.Bfloat16, dtype.Float16, dtype.Float32}[(i+rows)%3]
				x := r.filled(d, i+rows, 1, rows, w.Facts.Inputs)
				packed := r.bind("trellis.packed", "linear", weights, noWorkers)(r.call, []mlx.Array{x})[0]
				stored := r.bind("trellis", "linear", weights, noWorkers)(r.call, []mlx.Array{x})[0]
				r.near(stored, packed, 4e-3+least(d, 1), "the two contracts")
				same(t, stored, r.bind("trellis", "linear", weights, nil)(r.call, []mlx.Array{x})[0])
				for _, c := range reg.Classes() {
					if !c.Takes("linear") || len(c.Name) < 8 || c.Name[:8] != "trellis." || c.Accept("linear", facts) != nil || rows < c.MinRows || c.MaxRows > 0 && rows > c.MaxRows {
						continue
					}
					want := packed
					switch c.Name {
					case "trellis.expand_reduce", "trellis.expand_scatter":
						same(t, stored, r.bind(c.Name, "linear", weights, nil)(r.call, []mlx.Array{x})[0])
						continue
					case "trellis.tiled", "trellis.split_k":
						want = stored
					}
					r.near(want, r.bind(c.Name, "linear", weights, nil)(r.call, []mlx.Array{x})[0], least(d, 1), fmt.Sprintf("%s, %v, %d rows of %s", c.Name, g, rows, d))
				}
				r.call.Scope.Free()
			}
		}
	}
}

// TestTrellisGateUp holds the classes of gate, up and activation to the exact form over the packed reference.
func TestTrellisGateUp(t *testing.T) {
	reg, err := Default()
	require.NoError(t, err)
	for i, bits := range [][2]int{{3, 3}, {4, 2}} {
		r := newTrellisRig(t, "")
		g := codec.Geometry{Block: 256, Axis: 1, Layout: codec.Row, Rows: 72, Columns: 512}
		g.Bits = bits[0]
		gate, _, _ := r.codes(g, uint64(20+i))
		g.Bits = bits[1]
		up, _, _ := r.codes(g, uint64(30+i))
		weights := map[string]registry.Opened{"gate_proj": gate, "up_proj": up}
		for _, rows := range []int{1, 2, 4, 5, 8} {
			d := []dtype.Dtype{dtype.Bfloat16, dtype.Float16, dtype.Float32}[(i+rows)%3]
			x := r.filled(d, i+rows, 1, rows, g.Columns)
			pair := argOf(t, fmt.Sprintf("%s[1, %d, %d]", d, rows, g.Rows))
			parts := map[string]registry.Run{
				"gate_proj": r.bind("trellis.packed", "linear", map[string]registry.Opened{"weight": gate}, noWorkers),
				"up_proj":   r.bind("trellis.packed", "linear", map[string]registry.Opened{"weight": up}, noWorkers),
			}
			act := r.build(reg.Operator("swiglu"), []registry.Arg{pair, pair}, nil, []plan.Type{pair.Type}, "cpu")
			want := r.bind("gate_up.unfused", "gate_up", weights, func(b *registry.ClassBuild) { b.Parts, b.Activation = parts, act })(r.call, []mlx.Array{x})[0]
			for _, name := range []string{"trellis.gate_up", "trellis.gate_up_mma", "trellis.gate_up_fused"} {
				if c := reg.Class(name); rows > c.MaxRows {
					continue
				}
				for _, tail := range []string{"split", "fused"} {
					got := r.bind(name, "gate_up", weights, func(b *registry.ClassBuild) {
						b.Args = plan.Args{{Name: "tail", Value: plan.Value{Kind: plan.String, Str: tail}}}
					})(r.call, []mlx.Array{x})[0]
					r.near(want, got, least(d, 2), fmt.Sprintf("%s %s, %v bits, %d rows of %s", name, tail, bits, rows, d))
				}
			}
		}
	}
}

func TestTrellisRefuses(t *testing.T) {
	r := newTrellisRig(t, "")
	g := codec.Geometry{Bits: 3, Block: 64, Axis: 1, Layout: codec.Row, Rows: 8, Columns: 128}
	w, _, _ := r.codes(g, 1)
	run := r.bind("trellis.reduce", "linear", map[string]registry.Opened{"weight": w}, nil)
	run(r.call, []mlx.Array{r.filled(dtype.Bfloat16, 1, 1, 64)})
	require.ErrorContains(t, r.call.ResetErr(), "x has rows of 64, the weight takes 128")
	w.Facts.Bits = 4
	run = r.bind("trellis.reduce", "linear", map[string]registry.Opened{"weight": w}, nil)
	run(r.call, []mlx.Array{r.filled(dtype.Bfloat16, 1, 1, 128)})
	require.ErrorContains(t, r.call.ResetErr(), "trellis codes are [rows, words of whole blocks]")
	reg, err := Default()
	require.NoError(t, err)
	_, err = reg.Class("trellis.reduce").Build(&registry.ClassBuild{Kind: "linear", Weights: map[string]registry.Opened{"weight": w}})
	require.EqualError(t, err, "its kernel is for the CPU")
}
