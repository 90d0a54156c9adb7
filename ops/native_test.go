//go:build cgo && mlx

package ops

import (
	bin "encoding/binary"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// rig is a thread with a stream, and what an engine would give to constructors and forwards.
type rig struct {
	t     testing.TB
	scope *mlx.Scope // of constructors and of the test
	kept  []mlx.Array
	memo  map[any]any
	ends  []func()
	call  *registry.Call
}

func newRig(t testing.TB) *rig {
	t.Helper()
	runtime.LockOSThread()
	stream, err := mlx.DefaultStream(mlx.DeviceCPU)
	require.NoError(t, err)
	r := &rig{t: t, scope: mlx.NewScope(stream), memo: map[any]any{}}
	r.call = &registry.Call{Scope: mlx.NewScope(stream), Memo: map[any]any{}, B: 1, T: 1, S: 1}
	t.Cleanup(func() {
		for _, end := range r.ends {
			end()
		}
		r.call.Scope.Free()
		r.scope.Free()
		mlx.FreeAll(r.kept...)
		stream.Free()
		runtime.UnlockOSThread()
	})
	return r
}

func (r *rig) keep(a mlx.Array) mlx.Array {
	r.scope.Keep(a)
	r.kept = append(r.kept, a)
	return a
}

// build makes the Run of an operator for inputs of these types.
func (r *rig) build(op *registry.Operator, inputs []registry.Arg, args plan.Args, types []plan.Type, device string) registry.Run {
	r.t.Helper()
	b := &registry.Build{Args: args, Inputs: inputs, Types: types, State: -1, Device: registry.Device{Kind: device}, Scope: r.scope,
		Keep: r.keep, Memo: r.memo, Cleanup: func(f func()) { r.ends = append(r.ends, f) }}
	for _, in := range inputs {
		if in.State != nil {
			b.States = append(b.States, 0)
		} else {
			b.States = append(b.States, -1)
		}
	}
	if op.State == registry.RequiredState || op.State == registry.OptionalState && len(r.call.States) > 0 {
		b.State = 0
	}
	run, err := op.Build(b)
	require.NoError(r.t, err)
	require.NoError(r.t, r.scope.Err())
	return run
}

// apply infers, builds and runs a call on arrays and numbers, and checks the types of the results.
func (r *rig) apply(name string, in []any, given plan.Args) []mlx.Array {
	r.t.Helper()
	return r.applyOn(name, "cpu", in, given, nil)
}

func (r *rig) applyOn(name, device string, in []any, given plan.Args, state *plan.State) []mlx.Array {
	r.t.Helper()
	reg, err := Default()
	require.NoError(r.t, err)
	op := reg.Operator(name)
	require.NotNil(r.t, op, name)
	texts, arrays := make([]any, len(in)), make([]mlx.Array, len(in))
	for i, x := range in {
		a, ok := x.(mlx.Array)
		switch {
		case ok && a.Valid():
			texts[i], arrays[i] = a.Dtype().String()+shape.Of(a.Shape()...).String(), a
		case ok:
			texts[i] = ""
		default:
			texts[i] = x
		}
	}
	inf := inferOf(r.t, op, texts, given, state)
	for len(arrays) < len(inf.Inputs) {
		arrays = append(arrays, mlx.Array{})
	}
	types, err := op.Infer(inf)
	require.NoError(r.t, err)
	out := r.build(op, inf.Inputs, inf.Args, types, device)(r.call, arrays)
	require.NoError(r.t, r.call.Err())
	require.Len(r.t, out, len(types))
	return out
}

// class builds a class over one weight.
func (r *rig) class(name, kind string, w registry.Opened, transposed bool) registry.Run {
	r.t.Helper()
	reg, err := Default()
	require.NoError(r.t, err)
	c := reg.Class(name)
	require.NoError(r.t, c.Accept(kind, map[string]plan.Facts{"weight": w.Facts}))
	run, err := c.Build(&registry.ClassBuild{Kind: kind, Weights: map[string]registry.Opened{"weight": w}, Transposed: transposed,
		Device: registry.Device{Kind: "cpu"}, Scope: r.scope, Keep: r.keep, Memo: r.memo})
	require.NoError(r.t, err)
	return run
}

func (r *rig) floats(d dtype.Dtype, size []int, values ...float32) mlx.Array {
	r.t.Helper()
	a, err := mlx.FromFloat32s(values, size...)
	require.NoError(r.t, err)
	return r.scope.Astype(r.scope.Own(a), d)
}

// filled makes an array whose numbers depend on their place and on seed only.
func (r *rig) filled(d dtype.Dtype, seed int, size ...int) mlx.Array {
	r.t.Helper()
	n := 1
	for _, k := range size {
		n *= k
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(math.Sin(float64(i*(seed+3)+seed))) * 2
	}
	if !d.IsFloat() {
		for i := range values {
			values[i] = float32((i + seed) % 2)
		}
	}
	if n == 0 {
		return r.scope.Zeros(size, d)
	}
	if len(size) == 0 {
		return r.scope.Reshape(r.floats(d, []int{1}, values...), []int{})
	}
	return r.floats(d, size, values...)
}

// same compares bits.
func same(t testing.TB, want, got mlx.Array, note ...any) {
	t.Helper()
	require.Equal(t, want.Dtype(), got.Dtype(), note...)
	require.Equal(t, want.Shape(), got.Shape(), note...)
	w, err := want.Bytes()
	require.NoError(t, err)
	g, err := got.Bytes()
	require.NoError(t, err)
	if string(w) == string(g) {
		return
	}
	size, differ, first := want.Dtype().Size(), 0, -1
	for i := 0; i < len(w); i += size {
		if string(w[i:i+size]) != string(g[i:i+size]) {
			if differ++; first < 0 {
				first = i / size
			}
		}
	}
	wf, gf := numberAt(want.Dtype(), w, first), numberAt(got.Dtype(), g, first)
	require.Failf(t, "bits differ", "%d of %d differ, the first at %d: %v wanted, %v got %v", differ, len(w)/size, first, wf, gf, note)
}

func numberAt(d dtype.Dtype, b []byte, i int) float64 {
	n := bin.NativeEndian
	switch d {
	case dtype.Float32:
		return float64(math.Float32frombits(n.Uint32(b[4*i:])))
	case dtype.Bfloat16:
		return float64(math.Float32frombits(uint32(n.Uint16(b[2*i:])) << 16))
	}
	return math.NaN()
}

func numbersOf(t testing.TB, a mlx.Array) []float32 {
	t.Helper()
	f, err := a.Float32s()
	require.NoError(t, err)
	return f
}
