//go:build cgo && mlx

package ops

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// TestValues has one small call of each operator whose numbers can be seen by eye.
func TestValues(t *testing.T) {
	f, i, b := dtype.Float32, dtype.Int32, dtype.Bool
	inf := float32(math.Inf(1))
	type input struct {
		d    dtype.Dtype
		size []int
		v    []float32
	}
	of := func(d dtype.Dtype, size []int, v ...float32) input { return input{d, size, v} }
	vec := func(v ...float32) input { return input{f, []int{len(v)}, v} }
	m := of(f, []int{2, 3}, 0, 1, 2, 3, 4, 5)
	for _, c := range []struct {
		op   string
		in   []any
		args plan.Args
		want []float32 // of all results, one after the other
	}{
		{"split_heads", []any{of(f, []int{1, 1, 4}, 1, 2, 3, 4)}, args("count", 2), []float32{1, 2, 3, 4}},
		{"swap_heads", []any{of(f, []int{1, 2, 2, 1}, 1, 2, 3, 4)}, nil, []float32{1, 3, 2, 4}},
		{"merge_heads", []any{of(f, []int{1, 2, 2, 1}, 1, 3, 2, 4)}, nil, []float32{1, 2, 3, 4}},
		{"transpose", []any{m}, args("axes", []int{1, 0}), []float32{0, 3, 1, 4, 2, 5}},
		{"swapaxes", []any{m}, args("axes", []int{-1, -2}), []float32{0, 3, 1, 4, 2, 5}},
		{"moveaxis", []any{m}, args("source", 1, "destination", 0), []float32{0, 3, 1, 4, 2, 5}},
		{"reshape", []any{m}, args("shape", dims("3, -1")), []float32{0, 1, 2, 3, 4, 5}},
		{"broadcast", []any{vec(1, 2)}, args("shape", dims("2, 2")), []float32{1, 2, 1, 2}},
		{"expand_dims", []any{vec(1, 2)}, args("axis", 0), []float32{1, 2}},
		{"squeeze", []any{of(f, []int{1, 2}, 1, 2)}, args("axis", 0), []float32{1, 2}},
		{"slice", []any{m}, args("axis", -1, "start", -2), []float32{1, 2, 4, 5}},
		{"slice", []any{m}, args("axis", 1, "start", 1, "stop", -1), []float32{1, 4}},
		{"slice_update", []any{m, of(f, []int{1, 3}, 7, 8, 9)}, args("axis", 0, "start", 1), []float32{0, 1, 2, 7, 8, 9}},
		{"take", []any{m}, args("axis", 1, "index", -1), []float32{2, 5}},
		{"take", []any{m, of(i, []int{3}, 1, 0, 1)}, args("axis", 0), []float32{3, 4, 5, 0, 1, 2, 3, 4, 5}},
		{"take_along_axis", []any{m, of(i, []int{2, 1}, 2, 0)}, args("axis", 1), []float32{2, 3}},
		{"put_along_axis", []any{m, of(i, []int{2, 1}, 2, 0), 9}, args("axis", 1), []float32{0, 1, 9, 9, 4, 5}},
		{"split", []any{m}, args("axis", 1, "sizes", []int{1, 2}), []float32{0, 3, 1, 2, 4, 5}},
		{"split", []any{vec(1, 2, 3, 4)}, args("axis", 0, "parts", 2), []float32{1, 2, 3, 4}},
		{"stack", []any{vec(1, 2), vec(3, 4)}, args("axis", 1), []float32{1, 3, 2, 4}},
		{"concatenate", []any{vec(1, 2), vec(3)}, args("axis", 0), []float32{1, 2, 3}},
		{"matmul", []any{m, vec(1, 2, 3)}, nil, []float32{8, 26}},
		{"add", []any{vec(1, 2), 1}, nil, []float32{2, 3}},
		{"subtract", []any{1, vec(1, 2)}, nil, []float32{0, -1}},
		{"multiply", []any{vec(1, 2), vec(3, 4)}, nil, []float32{3, 8}},
		{"divide", []any{of(i, []int{2}, 1, 3), 2}, nil, []float32{0.5, 1.5}},
		{"power", []any{vec(2, 3), 2}, nil, []float32{4, 9}},
		{"maximum", []any{vec(1, 3), 2}, nil, []float32{2, 3}},
		{"minimum", []any{vec(1, 3), 2}, nil, []float32{1, 2}},
		{"less", []any{vec(1, 3), 2}, nil, []float32{1, 0}},
		{"logical_and", []any{of(b, []int{2}, 1, 1), of(b, []int{2}, 1, 0)}, nil, []float32{1, 0}},
		{"where", []any{of(b, []int{2}, 1, 0), vec(5, 6), 0}, nil, []float32{5, 0}},
		{"negative", []any{vec(1, -2)}, nil, []float32{-1, 2}},
		{"exp", []any{vec(0, -inf)}, nil, []float32{1, 0}},
		{"log", []any{vec(1, 0)}, nil, []float32{0, -inf}},
		{"floor", []any{vec(1.5, -1.5)}, nil, []float32{1, -2}},
		{"tanh", []any{vec(0)}, nil, []float32{0}},
		{"sigmoid", []any{vec(0)}, nil, []float32{0.5}},
		{"clip", []any{vec(-2, 0, 2)}, args("min", -1.0, "max", 1.0), []float32{-1, 0, 1}},
		{"clip", []any{vec(-2, 2)}, args("max", 1.0), []float32{-2, 1}},
		{"astype", []any{vec(1.7, -1.7)}, args("dtype", i), []float32{1, -1}},
		{"constant", []any{[]float64{1, 2}}, args("repeats", []int{1, 2}), []float32{1, 2, 2}},
		{"constant", []any{[]float64{1, 2}}, nil, []float32{1, 2}},
		{"constant", []any{true}, args("shape", dims("B, T")), []float32{1, 1}},
		{"zeros_like", []any{vec(1, 2)}, nil, []float32{0, 0}},
		{"sum", []any{m}, args("axis", 1), []float32{3, 12}},
		{"sum", []any{m}, args("axis", 0, "order", "sequential"), []float32{3, 5, 7}},
		{"mean", []any{m}, args("axis", 0), []float32{1.5, 2.5, 3.5}},
		{"norm", []any{vec(3, 4)}, args("axis", 0), []float32{5}},
		{"softmax", []any{vec(0, 0)}, args("axis", 0), []float32{0.5, 0.5}},
		{"argpartition", []any{vec(5, 1)}, args("kth", -1, "axis", 0), []float32{1, 0}},
		{"topk", []any{vec(5, 1, 7)}, args("k", 1, "axis", 0), []float32{7}},
		{"relu2", []any{vec(-1, 3)}, nil, []float32{0, 9}},
		{"softplus", []any{vec(100, -inf)}, nil, []float32{100, 0}},
		{"swiglu_oai", []any{vec(100, 0), vec(100, 5)}, nil, []float32{55.999634, 0}}, // 8 * 7 * sigmoid(1.702 * 7)
		{"mask_scores", []any{vec(1, 2), of(b, []int{2}, 1, 0)}, nil, []float32{1, -math.MaxFloat32}},
		{"mask_scores", []any{vec(1, 2), vec(-1, -2)}, nil, []float32{0, 0}},
		{"mask_scores", []any{vec(1, 2)}, nil, []float32{1, 2}},
	} {
		t.Run(c.op, func(t *testing.T) {
			r := newRig(t)
			r.call.T = 2
			in := make([]any, len(c.in))
			for j, x := range c.in {
				if v, ok := x.(input); ok {
					x = r.floats(v.d, v.size, v.v...)
				}
				in[j] = x
			}
			var got []float32
			for _, a := range r.apply(c.op, in, c.args) {
				got = append(got, numbersOf(t, r.scope.Astype(a, f))...)
			}
			require.InDeltaSlice(t, c.want, got, 1e-5)
		})
	}
}

// A number takes the array's dtype before the operation, as Python's does.
func TestWeakScalarsRoundFirst(t *testing.T) {
	r := newRig(t)
	x := r.floats(dtype.Bfloat16, []int{3}, 1, 3, 7)
	tenth := r.floats(dtype.Bfloat16, []int{}, 0.1)
	same(t, r.scope.Multiply(x, tenth), r.apply("multiply", []any{0.1, x}, nil)[0])
	require.Len(t, r.kept, 1)
	r.apply("multiply", []any{x, 0.1}, nil)
	require.Len(t, r.kept, 1, "a number is made once per plan")
}

func TestGeluTopk(t *testing.T) {
	r := newRig(t)
	x := r.filled(dtype.Bfloat16, 1, 2, 256)
	y := numbersOf(t, r.apply("gelu_topk", []any{x}, args("sparsity", 0.9))[0])
	zeros := 0
	for _, v := range y {
		if v == 0 {
			zeros++
		}
	}
	require.InDelta(t, 0.9, float64(zeros)/512, 0.1, "of a sine's values about as many lie below")
}

func TestMaskOfTheCache(t *testing.T) {
	r := newRig(t)
	decl := cacheState("heads", 1, "dim", 1, "window", 3)
	kv := newCache(r, decl)
	feed(r, kv, 0, 5)
	kv.Begin()
	r.call.States, r.call.T = []registry.StateValue{kv}, 2
	mask := r.applyOn("attention_mask", "cpu", []any{decl}, nil, nil)[0]
	require.Equal(t, []float32{1, 1, 1, 0, 0, 1, 1, 1}, numbersOf(t, r.scope.Astype(mask, dtype.Float32)))
	positions := r.applyOn("cache_positions", "cpu", []any{decl}, args("start", 1), nil)[0]
	got, err := positions.Int32s()
	require.NoError(t, err)
	require.Equal(t, []int32{6, 7}, got)
	r.call.T = 1
	require.False(t, r.applyOn("attention_mask", "cpu", []any{decl}, nil, nil)[0].Valid(), "one position sees all")
}

// A GPU's constructors compile the activations; what they compile is the same function. One trace serves a plan.
func TestCompiledActivations(t *testing.T) {
	if testing.Short() {
		t.Skip("the CPU's compile runs a C++ compiler")
	}
	r := newRig(t)
	x, y := r.filled(dtype.Bfloat16, 1, 4, 32), r.filled(dtype.Bfloat16, 2, 4, 32)
	for _, name := range []string{"swiglu", "gelu_approx"} {
		in := []any{x, y}[:map[string]int{"swiglu": 2, "gelu_approx": 1}[name]]
		want := r.applyOn(name, "cpu", in, nil, nil)[0]
		got := r.applyOn(name, "gpu", in, nil, nil)[0]
		if err := mlx.Eval(got); err != nil {
			t.Skipf("MLX cannot compile here: %v", err)
		}
		same(t, want, got)
		r.applyOn(name, "gpu", in, nil, nil)
	}
	require.Len(t, r.ends, 2, "one compiled function for each activation, freed with the plan")
}
