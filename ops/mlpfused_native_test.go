//go:build cgo && mlx

package ops

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	codec "github.com/graphrun/graphrun/trellis"
)

// fusedCase is an mlp with the classes of its parts: fast, whose bits mlp.fused has, and plain, that state the contract.
type fusedCase struct {
	name       string
	weights    map[string]registry.Opened
	fast       map[string]string
	width, ins int
}

func (r trellisRig) fusedCases(d dtype.Dtype) []fusedCase {
	affine := func(seed, bits, out, in int, bias bool) registry.Opened {
		w := quantised(r.rig, r.normal(d, seed, out, in), "affine", bits, 32)
		if bias {
			w.Bias, w.Facts.Bias = r.normal(d, seed+7, out), true
		}
		return w
	}
	codes := func(seed uint64, bits, axis, out, in int) registry.Opened {
		g := codec.Geometry{Bits: bits, Block: 64, Axis: axis, Layout: codec.Row, Rows: out, Columns: in}
		if axis == 0 {
			g.Rows, g.Columns = in, out
		}
		w, _, _ := r.codes(g, seed)
		return w
	}
	three := func(gate, up, down registry.Opened) map[string]registry.Opened {
		return map[string]registry.Opened{"gate_proj": gate, "up_proj": up, "down_proj": down}
	}
	classes := func(gate, up, down string) map[string]string {
		return map[string]string{"gate_proj": gate, "up_proj": up, "down_proj": down}
	}
	rows, reduce, scatter := "affine.rows_q16", "trellis.reduce", "trellis.scatter"
	return []fusedCase{
		{"affine", three(affine(1, 4, 320, 192, false), affine(2, 4, 320, 192, false), affine(3, 4, 192, 320, false)), classes(rows, rows, rows), 320, 192},
		{"bits and biases", three(affine(1, 6, 416, 96, true), affine(2, 4, 416, 96, true), affine(3, 8, 96, 416, true)), classes(rows, rows, rows), 416, 96},
		{"codes", three(codes(1, 3, 1, 320, 128), codes(2, 4, 1, 320, 128), codes(3, 2, 0, 128, 320)), classes(reduce, reduce, scatter), 320, 128},
		{"codes the other way", three(codes(1, 3, 0, 320, 128), codes(2, 4, 1, 320, 128), codes(3, 2, 1, 128, 320)), classes(scatter, reduce, reduce), 320, 128},
		{"mixed", three(affine(1, 4, 320, 128, false), codes(2, 4, 1, 320, 128), affine(3, 4, 128, 320, false)), classes(rows, reduce, rows), 320, 128},
	}
}

var plainClasses = map[string]string{"affine.rows_q16": "affine", "affine.panels_q16": "affine", "trellis.reduce": "trellis.packed", "trellis.scatter": "trellis.packed"}

// unfused computes a case by mlp.unfused over classes; with the native activation, or MLX's.
func (r trellisRig) unfused(c fusedCase, plain bool, x mlx.Array, sums map[string][]registry.Factor) mlx.Array {
	parts := map[string]registry.Run{}
	hidden := x.Dtype()
	for role, name := range c.fast {
		if plain {
			name = plainClasses[name]
		}
		w := c.weights[role]
		if plain && name == "affine" {
			w = r.widened(w) // in half precision MLX's sums are half too
		}
		run := r.bind(name, "linear", map[string]registry.Opened{"weight": w}, func(b *registry.ClassBuild) {
			if plain {
				b.Workers = nil
			}
		})
		parts[role] = func(call *registry.Call, in []mlx.Array) []mlx.Array {
			x := in[0]
			if plain {
				x = call.Astype(x, mlx.Float32)
			}
			y := call.Astype(run(call, []mlx.Array{x})[0], hidden)
			for _, f := range sums[role] {
				wide := call.Astype(in[0], mlx.Float32)
				scale, err := mlx.ScalarOf(f.Scale, dtype.Float32)
				require.NoError(r.t, err)
				z := call.Multiply(call.Own(scale), call.Matmul(call.Matmul(wide, f.A), f.B))
				y = call.Add(y, call.Astype(z, y.Dtype()))
			}
			return []mlx.Array{y}
		}
	}
	pair := argOf(r.t, fmt.Sprintf("%s[1, %d, %d]", hidden, x.Dim(1), c.width))
	reg, err := Default()
	require.NoError(r.t, err)
	act := r.build(reg.Operator("swiglu"), []registry.Arg{pair, pair}, nil, []plan.Type{pair.Type}, "cpu")
	if !plain {
		act = func(call *registry.Call, in []mlx.Array) []mlx.Array {
			return []mlx.Array{r.workers.SwiGLU(call.Scope, in[0], in[1])}
		}
	}
	run, err := reg.Class("mlp.unfused").Build(&registry.ClassBuild{Kind: "mlp", Parts: parts, Activation: act, Scope: r.scope, Keep: r.keep})
	require.NoError(r.t, err)
	return run(r.call, []mlx.Array{x})[0]
}

// TestFusedMLP: the fused classes have the bits of the classes that they join, and are near the plain ones; with adapters near both.
func TestFusedMLP(t *testing.T) {
	for _, kernels := range []string{"", "plain"} {
		for i, d := range []dtype.Dtype{dtype.Float32, dtype.Bfloat16, dtype.Float16} {
			r := newTrellisRig(t, kernels)
			for j, c := range r.fusedCases(d) {
				for _, rows := range []int{1, 2, 4, 5, 16} {
					if kernels == "plain" && rows != 1 && rows != 5 || d == dtype.Float16 && rows == 16 {
						continue
					}
					codes := c.fast["gate_proj"] != "affine.rows_q16" || c.fast["up_proj"] != "affine.rows_q16"
					r.holdFused("mlp.fused", c, d, rows, 10*i+j, !codes || rows <= 4)
				}
				if j > 1 { // trellis codes
					continue
				}
				panels := c
				panels.fast = map[string]string{}
				for role := range c.fast {
					panels.fast[role] = "affine.panels_q16"
				}
				for _, rows := range []int{1, 7, 34, 517} {
					if (kernels == "plain" || d == dtype.Float16) && rows > 7 {
						continue
					}
					r.holdFused("mlp.panels_q16", panels, d, rows, 20*i+j, true)
				}
			}
		}
	}
}

// holdFused holds a fused class to its contract: exact says whether it has the bits of the classes that it joins.
func (r trellisRig) holdFused(class string, c fusedCase, d dtype.Dtype, rows, seed int, exact bool) {
	bound := map[dtype.Dtype]float64{dtype.Float32: 2e-4, dtype.Bfloat16: 1.0 / 64, dtype.Float16: 1.0 / 512}[d]
	text := fmt.Sprintf("%s, %s, %d rows of %s", class, c.name, rows, d)
	x := r.normal(d, seed+rows, 1, rows, c.ins)
	fused := func(factors map[string][]registry.Factor) mlx.Array {
		return r.bind(class, "mlp", c.weights, func(b *registry.ClassBuild) { b.Factors = factors })(r.call, []mlx.Array{x})[0]
	}
	got := fused(nil)
	if exact {
		same(r.t, r.unfused(c, false, x, nil), got, text)
	}
	r.near(r.unfused(c, true, x, nil), got, bound, text)
	sums := map[string][]registry.Factor{"gate_proj": {r.factor(1, c.ins, 8, c.width)},
		"down_proj": {r.factor(2, c.width, 3, c.ins), r.factor(3, c.width, 16, c.ins)}}
	r.near(r.unfused(c, true, x, sums), fused(sums), bound, text+" with adapters")
	gain := r.normal(dtype.Float32, 9, c.ins)
	residual := r.normal(r.workers.RMSNorm(r.scope, x, gain, 1e-5).Dtype(), 10, 1, rows, c.ins)
	joined := r.bind(class, "mlp", c.weights, func(b *registry.ClassBuild) {
		b.Before, b.After = &plan.Call{Args: plan.Args{{Name: "eps", Value: plan.Value{Kind: plan.Float, Float: 1e-5}}}}, &plan.Call{}
	})(r.call, []mlx.Array{x, gain, residual})[0]
	x = r.workers.RMSNorm(r.scope, x, gain, 1e-5)
	same(r.t, r.scope.Add(fused(nil), residual), joined, text+" with norm and sum")
	r.call.Scope.Free()
}

// normal is an array of Gaussian numbers.
func (r trellisRig) normal(d dtype.Dtype, seed int, size ...int) mlx.Array {
	random := rand.New(rand.NewPCG(uint64(seed), 11))
	n := 1
	for _, k := range size {
		n *= k
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(random.NormFloat64())
	}
	a, err := mlx.FromFloat32s(values, size...)
	require.NoError(r.t, err)
	return r.scope.Astype(r.scope.Own(a), d)
}

// widened is an affine weight with what stands beside its codes in float32.
func (r trellisRig) widened(w registry.Opened) registry.Opened {
	for _, a := range []*mlx.Array{&w.Scales, &w.Biases, &w.Bias} {
		if a.Valid() {
			*a = r.scope.Astype(*a, mlx.Float32)
		}
	}
	return w
}

func (r trellisRig) factor(seed, in, rank, out int) registry.Factor {
	return registry.Factor{A: r.normal(dtype.Float32, seed, in, rank), B: r.normal(dtype.Float32, seed+5, rank, out), Scale: 0.25}
}

// TestFusedMLPOfOneWeight: gate and up in one weight, gate first, give what two give, adapters too.
func TestFusedMLPOfOneWeight(t *testing.T) {
	r := newTrellisRig(t, "")
	c := r.fusedCases(dtype.Bfloat16)[0]
	gate, up := c.weights["gate_proj"], c.weights["up_proj"]
	both := registry.Opened{Facts: gate.Facts}
	both.Facts.Outputs *= 2
	join := func(a, b mlx.Array, axis int) mlx.Array { return r.scope.ConcatenateAxis([]mlx.Array{a, b}, axis) }
	both.Weight, both.Scales, both.Biases = join(gate.Weight, up.Weight, 0), join(gate.Scales, up.Scales, 0), join(gate.Biases, up.Biases, 0)
	x := r.normal(dtype.Bfloat16, 4, 1, 3, c.ins)
	f := r.factor(1, c.ins, 8, 2*c.width)
	half := func(first int) registry.Factor {
		return registry.Factor{A: f.A, B: r.scope.Contiguous(r.scope.Slice(f.B, []int{0, first}, []int{8, first + c.width}, []int{1, 1}), false), Scale: f.Scale}
	}
	run := func(w map[string]registry.Opened, factors map[string][]registry.Factor) mlx.Array {
		return r.bind("mlp.fused", "mlp", w, func(b *registry.ClassBuild) { b.Factors = factors })(r.call, []mlx.Array{x})[0]
	}
	want := run(c.weights, map[string][]registry.Factor{"gate_proj": {half(0)}, "up_proj": {half(c.width)}})
	same(t, want, run(map[string]registry.Opened{"gate_up": both, "down_proj": c.weights["down_proj"]}, map[string][]registry.Factor{"gate_up": {f}}))
	require.NoError(t, r.call.Err())
}
