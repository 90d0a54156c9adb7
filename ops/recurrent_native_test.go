//go:build cgo && mlx

package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// session is a recurrent call and its state, to be run over a prompt in pieces.
type session struct {
	r      *rig
	op     *registry.Operator
	run    registry.Run
	inputs []mlx.Array
	state  registry.ArrayValue
}

func heldArray(d dtype.Dtype, dims shape.Shape) *plan.State {
	return &plan.State{Path: "s", Kind: "array", Args: args("shape", dims), Dtype: d}
}

// session makes a call of the operator on whole inputs, in the signature's order.
func (r *rig) session(name string, decl *plan.State, given plan.Args, inputs ...mlx.Array) *session {
	r.t.Helper()
	return r.sessionOn("cpu", name, decl, given, inputs...)
}

func (r *rig) sessionOn(device, name string, decl *plan.State, given plan.Args, inputs ...mlx.Array) *session {
	r.t.Helper()
	reg, err := Default()
	require.NoError(r.t, err)
	s := &session{r: r, op: reg.Operator(name), inputs: inputs}
	texts := make([]any, len(inputs))
	for i, a := range inputs {
		texts[i] = a.Dtype().String() + shape.Of(a.Shape()...).String()
	}
	inf := inferOf(r.t, s.op, texts, given, decl)
	types, err := s.op.Infer(inf)
	require.NoError(r.t, err)
	value, err := arrayKind().New(*decl)
	require.NoError(r.t, err)
	r.ends = append(r.ends, value.Free)
	s.state = value.(registry.ArrayValue)
	r.call.States = []registry.StateValue{value}
	s.run = r.build(s.op, inf.Inputs, inf.Args, types, device)
	return s
}

// tokens runs tokens first to stop.
func (s *session) tokens(first, stop int) mlx.Array {
	s.r.t.Helper()
	in := make([]mlx.Array, len(s.inputs))
	for i, a := range s.inputs {
		in[i] = a
		if s.op.Inputs[i].Kind == registry.Value {
			in[i] = along(s.r.scope, a, 1, first, stop)
		}
	}
	s.r.call.States = []registry.StateValue{s.state}
	s.state.Begin()
	y := s.run(s.r.call, in)[0]
	require.NoError(s.r.t, s.r.call.Err())
	require.NoError(s.r.t, mlx.Eval(append(s.state.Arrays(), y)...))
	return y
}

// oracleRecurrent runs a case's forwards one after the other.
func oracleRecurrent(r *rig, c *oracleCase) {
	want := c.out("state")
	reg, err := Default()
	require.NoError(r.t, err)
	var inputs []mlx.Array
	for _, in := range reg.Operator(c.Operator).Inputs {
		inputs = append(inputs, c.in(in.Name))
	}
	var given plan.Args
	if limit, ok := c.Args["limit"].([]any); ok {
		given = args("limit", fromJSON(limit))
	}
	s := r.session(c.Operator, heldArray(want.Dtype(), shape.Of(want.Shape()...)), given, inputs...)
	at := 0
	for i, n := range c.Args["updates"].([]any) {
		next := at + int(n.(float64))
		same(r.t, c.arrays[joinName(c.name, "out.y", i)], s.tokens(at, next), "forward", i)
		at = next
	}
	same(r.t, want, s.state.Arrays()[0], "state")
}

func oracleExperts(r *rig, c *oracleCase) {
	weights := map[string]registry.Opened{}
	for _, role := range []string{"gate_proj", "up_proj", "down_proj"} {
		w := stacked(c.in(role+".weight"), c.in(role+".bias"))
		if scales := c.in(role + ".scales"); scales.Valid() {
			group, mode := int(c.number("group_size")), c.Args["mode"].(string)
			w.Scales, w.Biases = scales, c.in(role+".biases")
			w.Facts = plan.Facts{Storage: "affine", Dtype: c.in("x").Dtype(), Mode: mode, Bits: int(c.number("bits")), Group: group,
				Inputs: scales.Dim(-1) * group, Outputs: w.Weight.Dim(-2), Count: w.Weight.Dim(0), Bias: w.Bias.Valid()}
		}
		weights[role] = w
	}
	same(r.t, c.out("y"), r.experts(weights["gate_proj"].Facts.Storage, weights)(r.call, []mlx.Array{c.in("x"), c.in("inds")})[0])
}

func oracleFP8(r *rig, c *oracleCase) {
	given := args("block", int(c.number("block")), "dtype", c.out("y").Dtype())
	same(r.t, c.out("y"), r.apply("fp8_dequantize", []any{c.in("x"), c.in("scale")}, given)[0])
}

func oracleStreams(r *rig, c *oracleCase) {
	r.call.States = []registry.StateValue{&at{kvArrays{start: 0}}}
	given := args("dims", int(c.number("dims")), "base", c.number("base"), "sections", fromJSON(c.Args["sections"]))
	same(r.t, c.out("y"), r.apply("rope", []any{c.in("x"), cacheState("heads", 1, "dim", 64), c.in("positions")}, given)[0])
}

// TestStepsAreAChunk holds tokens one by one to all at once, where each is a step of its own in both.
func TestStepsAreAChunk(t *testing.T) {
	b16 := dtype.Bfloat16
	small := func(r *rig, a mlx.Array) mlx.Array { return r.scope.Multiply(a, r.floats(a.Dtype(), []int{1}, 0.1)) }
	for _, c := range []struct {
		op    string
		state shape.Shape
		d     dtype.Dtype
		in    func(r *rig) []mlx.Array
	}{
		{"causal_conv", shape.Of(2, 3, 8), b16, func(r *rig) []mlx.Array {
			return []mlx.Array{r.filled(b16, 1, 2, 6, 8), r.filled(b16, 2, 8, 4, 1)}
		}},
		{"token_shift", shape.Of(2, 1, 8), b16, func(r *rig) []mlx.Array { return []mlx.Array{r.filled(b16, 1, 2, 6, 8)} }},
		{"gated_delta_update", shape.Of(2, 4, 8, 16), dtype.Float32, func(r *rig) []mlx.Array {
			return []mlx.Array{small(r, r.filled(b16, 1, 2, 6, 2, 16)), small(r, r.filled(b16, 2, 2, 6, 2, 16)), r.filled(b16, 3, 2, 6, 4, 8),
				small(r, r.filled(dtype.Float32, 4, 2, 6, 4)), small(r, r.filled(b16, 5, 2, 6, 4))}
		}},
		{"wkv7", shape.Of(2, 2, 8, 8), b16, func(r *rig) []mlx.Array {
			var in []mlx.Array
			for i := range 6 {
				in = append(in, small(r, r.filled(b16, i, 2, 6, 2, 8)))
			}
			return in
		}},
	} {
		t.Run(c.op, func(t *testing.T) {
			r := newRig(t)
			in := c.in(r)
			whole := r.session(c.op, heldArray(c.d, c.state), nil, in...)
			want := whole.tokens(0, 6)
			steps := r.session(c.op, heldArray(c.d, c.state), nil, in...)
			for at := range 6 {
				same(t, along(r.scope, want, 1, at, at+1), steps.tokens(at, at+1), "token", at)
			}
			same(t, whole.state.Arrays()[0], steps.state.Arrays()[0], "state")
			steps.state.Reset()
			same(t, along(r.scope, want, 1, 0, 2), steps.tokens(0, 2), "after a reset")
		})
	}
}

// TestCompiledSteps holds what a GPU runs, steps compiled for their shapes, to the calls one by one; both on the CPU here.
func TestCompiledSteps(t *testing.T) {
	r := newRig(t)
	x := func(seed int, size ...int) mlx.Array {
		return r.scope.Multiply(r.filled(dtype.Bfloat16, seed, size...), r.floats(dtype.Bfloat16, []int{1}, 0.1))
	}
	for _, c := range []struct {
		op    string
		state shape.Shape
		args  plan.Args
		in    []mlx.Array
	}{
		{"gated_delta_update", shape.Of(1, 2, 8, 8), nil, []mlx.Array{x(1, 1, 4, 2, 8), x(2, 1, 4, 2, 8), x(3, 1, 4, 2, 8), x(4, 1, 4, 2), x(5, 1, 4, 2)}},
		{"gated_delta_update", shape.Of(1, 2, 8, 8), nil, []mlx.Array{x(1, 1, 4, 2, 8), x(2, 1, 4, 2, 8), x(3, 1, 4, 2, 8), x(4, 1, 4, 2, 8), x(5, 1, 4, 2)}},
		{"wkv7", shape.Of(1, 2, 8, 8), nil, []mlx.Array{x(1, 1, 4, 2, 8), x(2, 1, 4, 2, 8), x(3, 1, 4, 2, 8), x(4, 1, 4, 2, 8), x(5, 1, 4, 2, 8), x(6, 1, 4, 2, 8)}},
		{"ssm_update", shape.Of(1, 4, 8, 8), args("limit", []float64{0.001, 100}),
			[]mlx.Array{x(1, 1, 4, 4, 8), x(2, 1, 4, 2, 8), x(3, 1, 4, 2, 8), x(4, 1, 4, 4), x(5, 4), x(6, 4), x(7, 4)}},
	} {
		plain := r.session(c.op, heldArray(dtype.Float32, c.state), c.args, c.in...)
		fused := r.sessionOn("gpu", c.op, heldArray(dtype.Float32, c.state), c.args, c.in...)
		same(t, plain.tokens(0, 3), fused.tokens(0, 3), c.op)
		same(t, plain.tokens(3, 4), fused.tokens(3, 4), c.op)
	}
}

// TestRecurrenceHoldsItsState shows that a state does not keep a chunk's buffer, and that its scope gets back what a step made.
func TestRecurrenceHoldsItsState(t *testing.T) {
	r := newRig(t)
	x, w := r.filled(dtype.Float32, 1, 1, 4096, 64), r.filled(dtype.Float32, 2, 64, 4, 1)
	require.NoError(t, mlx.Eval(x, w))
	s := r.session("causal_conv", heldArray(dtype.Float32, shape.Of(1, 3, 64)), nil, x, w)
	s.tokens(0, 4096)
	r.call.Scope.Free()
	before := mlx.ActiveMemory()
	s.state.Reset()
	require.Less(t, before-mlx.ActiveMemory(), 64<<10, "a slice would hold a MiB")

	short := r.session("token_shift", heldArray(dtype.Float32, shape.Of(1, 1, 64)), nil, x)
	for i := range 50 {
		mark := r.call.Mark()
		short.tokens(i, i+1)
		r.call.ReleaseTo(mark)
	}
	require.Len(t, short.state.Arrays(), 1)
}

// TestAnotherStateIsAnError is what a plan that lies would meet: no panic.
func TestAnotherStateIsAnError(t *testing.T) {
	r := newRig(t)
	s := r.session("token_shift", heldArray(dtype.Float32, shape.Of(1, 1, 8)), nil, r.filled(dtype.Float32, 1, 1, 2, 8))
	r.call.States = []registry.StateValue{&at{kvArrays{}}}
	s.run(r.call, s.inputs)
	require.ErrorContains(t, r.call.Err(), "the state is no array but")
}
