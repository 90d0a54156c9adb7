//go:build cgo && mlx

package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

func denseWeight(w, bias mlx.Array) registry.Opened {
	return registry.Opened{Weight: w, Bias: bias, Facts: plan.Facts{Storage: "dense", Dtype: w.Dtype(), Bias: bias.Valid(), Count: w.Dim(-3)}}
}

// quantised quantises w [.., out, in] as a checkpoint would hold it.
func quantised(r *rig, w mlx.Array, mode string, bits, group int) registry.Opened {
	parts := r.scope.Quantize(w, group, bits, mode, mlx.Array{})
	require.NoError(r.t, r.scope.Err())
	out := registry.Opened{Weight: parts[0], Scales: parts[1], Facts: plan.Facts{Storage: "affine", Dtype: w.Dtype(), Mode: mode, Bits: bits,
		Group: group, Inputs: w.Dim(-1), Outputs: w.Dim(-2), Count: w.Dim(-3)}}
	if len(parts) == 3 {
		out.Biases = parts[2]
	}
	return out
}

func TestQuantisedBiasIsASumOfItsOwn(t *testing.T) {
	r := newRig(t)
	w, x, bias := quantised(r, r.filled(dtype.Bfloat16, 1, 96, 128), "affine", 4, 64), r.filled(dtype.Bfloat16, 2, 1, 5, 128), r.filled(dtype.Bfloat16, 3, 96)
	plain := r.class("affine", "linear", w, true)(r.call, []mlx.Array{x})[0]
	w.Bias, w.Facts.Bias = bias, true
	same(t, r.scope.Add(plain, bias), r.class("affine", "linear", w, true)(r.call, []mlx.Array{x})[0])
}

func TestMultiLinear(t *testing.T) {
	r := newRig(t)
	w, x := r.filled(dtype.Bfloat16, 1, 4, 64, 32), r.filled(dtype.Bfloat16, 2, 2, 4, 3, 32)
	turned := r.class("dense", "multi_linear", denseWeight(w, mlx.Array{}), true)(r.call, []mlx.Array{x})[0]
	require.Equal(t, []int{2, 4, 3, 64}, turned.Shape())
	same(t, r.scope.Matmul(x, r.scope.Swapaxes(w, -1, -2)), turned)
	asIs := r.class("dense", "multi_linear", denseWeight(w, mlx.Array{}), false)(r.call, []mlx.Array{turned})[0]
	same(t, r.scope.Matmul(turned, w), asIs)

	q := quantised(r, w, "affine", 4, 32)
	same(t, r.scope.QuantizedMatmul(x, q.Weight, q.Scales, q.Biases, true, 32, 4, "affine"), r.class("affine", "multi_linear", q, true)(r.call, []mlx.Array{x})[0])
	require.Equal(t, []int{2, 4, 3, 32}, r.class("affine", "multi_linear", q, false)(r.call, []mlx.Array{turned})[0].Shape())
	require.NoError(t, r.call.Err())
}

// TestScalesAreCastOnce: a product of wider activations has quantized_matmul's bits, and its casts are made in its first call.
func TestScalesAreCastOnce(t *testing.T) {
	for _, mode := range []string{"affine", "mxfp4"} {
		r := newRig(t)
		q, x := quantised(r, r.filled(dtype.Float16, 1, 64, 32), mode, 4, 32), r.filled(dtype.Float32, 2, 1, 3, 32)
		kept := map[mlx.Array]int{}
		b := &registry.ClassBuild{Kind: "linear", Weights: map[string]registry.Opened{"weight": q}, Scope: r.scope,
			Keep: func(a mlx.Array) mlx.Array { kept[a]++; return r.keep(a) }}
		run, err := affine().Build(b)
		require.NoError(t, err)
		want := r.scope.QuantizedMatmul(x, q.Weight, q.Scales, q.Biases, true, 32, 4, mode)
		for range 3 {
			same(t, want, run(r.call, []mlx.Array{x})[0])
		}
		narrow := r.scope.Astype(x, dtype.Float16)
		same(t, r.scope.QuantizedMatmul(narrow, q.Weight, q.Scales, q.Biases, true, 32, 4, mode), run(r.call, []mlx.Array{narrow})[0])
		require.NoError(t, r.call.Err())
		require.Len(t, kept, map[string]int{"affine": 2, "mxfp4": 0}[mode])
	}
}

func TestUnfusedMLP(t *testing.T) {
	r := newRig(t)
	x := r.filled(dtype.Bfloat16, 1, 1, 3, 64)
	gate, up, down := r.filled(dtype.Bfloat16, 2, 128, 64), r.filled(dtype.Bfloat16, 4, 128, 64), r.filled(dtype.Bfloat16, 5, 64, 128)
	linear := func(w mlx.Array) registry.Run { return r.class("dense", "linear", denseWeight(w, mlx.Array{}), true) }
	pair := argOf(t, "bfloat16[1, 3, 128]")
	reg, err := Default()
	require.NoError(t, err)
	act := r.build(reg.Operator("swiglu"), []registry.Arg{pair, pair}, nil, []plan.Type{pair.Type}, "cpu")
	form := func(parts map[string]registry.Run) mlx.Array {
		run, err := reg.Class("mlp.unfused").Build(&registry.ClassBuild{Kind: "mlp", Parts: parts, Activation: act, Scope: r.scope, Keep: r.keep})
		require.NoError(t, err)
		return run(r.call, []mlx.Array{x})[0]
	}
	g, u := r.scope.Matmul(x, r.scope.Transpose(gate)), r.scope.Matmul(x, r.scope.Transpose(up))
	want := r.scope.Matmul(r.scope.Multiply(r.scope.Multiply(g, r.scope.Sigmoid(g)), u), r.scope.Transpose(down))
	same(t, want, form(map[string]registry.Run{"gate_proj": linear(gate), "up_proj": linear(up), "down_proj": linear(down)}))
	both := r.scope.ConcatenateAxis([]mlx.Array{gate, up}, 0)
	same(t, want, form(map[string]registry.Run{"gate_up": linear(both), "down_proj": linear(down)}))

	_, err = reg.Class("mlp.unfused").Build(&registry.ClassBuild{Kind: "mlp", Activation: act, Parts: map[string]registry.Run{"down_proj": linear(down)}})
	require.EqualError(t, err, "an mlp has a gate_proj and an up_proj, or one gate_up")
}
