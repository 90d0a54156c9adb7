package ops

import (
	"encoding/json"
	"math"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// formula makes an activation: it asks for its numbers, then gives the MLX calls as a function of the inputs.
type formula func(args plan.Args, num numbers) calls

type calls func(s *mlx.Scope, in []mlx.Array) mlx.Array

// numbers is the number v in the dtype of input i, as Python makes it beside that input.
type numbers func(v float64, i int) mlx.Array

// activations are the functions that mlx-lm (or mlx.nn) compiles without shapes. On a GPU they are compiled here too, so
// that the fused kernel, and with it the rounding, is the same; on the CPU the same calls run one by one: fusing changes
// no bit there and costs a run of the C++ compiler.
func activations() []*registry.Operator {
	return []*registry.Operator{
		withNative(activation("swiglu", "silu(gate) * up (mlx-lm swiglu; Shazeer 2020)", true, nil, func(plan.Args, numbers) calls {
			return func(s *mlx.Scope, in []mlx.Array) mlx.Array { return s.Multiply(silu(s, in[0]), in[1]) }
		}), nativeSwiGLU, "in float32, rounded once: max |Δ| / max |ref| below 1e-6 in float32"),
		activation("swiglu_oai", "(up + 1) * gate * sigmoid(alpha * gate), the gate held below limit and up within it (GPT-OSS)", true,
			[]registry.Param{withDefault("alpha", "float", "slope of the gate's sigmoid", floatValue(1.702)),
				withDefault("limit", "float", "bound of gate and up", floatValue(7))}, swigluOAI),
		activation("silu", "x * sigmoid(x) (mlx.nn silu)", false, nil, func(plan.Args, numbers) calls {
			return func(s *mlx.Scope, in []mlx.Array) mlx.Array { return silu(s, in[0]) }
		}),
		activation("softplus", "log(1 + exp(x)), as logaddexp(x, 0) (mlx.nn softplus)", false, nil, func(_ plan.Args, num numbers) calls {
			zero := num(0, 0)
			return func(s *mlx.Scope, in []mlx.Array) mlx.Array { return s.Logaddexp(in[0], zero) }
		}),
		activation("relu2", "max(x, 0)^2 (mlx.nn relu2)", false, nil, func(_ plan.Args, num numbers) calls {
			zero := num(0, 0)
			return func(s *mlx.Scope, in []mlx.Array) mlx.Array { return s.Square(s.Maximum(in[0], zero)) }
		}),
		activation("gelu", "x * (1 + erf(x / sqrt(2))) / 2 (mlx.nn gelu; Hendrycks and Gimpel 2016)", false, nil, gelu),
		activation("gelu_approx", "0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) (mlx.nn gelu_approx)", false, nil,
			func(_ plan.Args, num numbers) calls {
				bend := geluApprox(num)
				return func(s *mlx.Scope, in []mlx.Array) mlx.Array { return bend(s, in[0]) }
			}),
		geluTopk(),
	}
}

func withNative(o *registry.Operator, native func(*registry.Build) (registry.Run, error), numerics string) *registry.Operator {
	o.Native, o.NativeNumerics = native, numerics
	return o
}

// activation makes an operator of a formula on x, or on gate and up.
func activation(name, what string, gated bool, params []registry.Param, f formula) *registry.Operator {
	inputs := []registry.Input{value("x", "any shape, floating")}
	if gated {
		inputs = []registry.Input{value("gate", "any shape, floating"), value("up", "like gate")}
	}
	return &registry.Operator{
		Name:   name,
		Doc:    "Activation: " + what + ". Element by element, every step in the input's dtype; y has the input's shape.",
		Inputs: inputs, Outputs: []string{"y"}, Params: params, Each: !gated,
		Infer: func(c *registry.Infer) ([]plan.Type, error) { return inferActivation(c, inputs) },
		Build: func(b *registry.Build) (registry.Run, error) { return fused(b, name, f) },
	}
}

func inferActivation(c *registry.Infer, inputs []registry.Input) ([]plan.Type, error) {
	var d dtype.Dtype
	var s shape.Shape
	for i, in := range inputs {
		t, err := array(c, i, in.Name)
		if err != nil {
			return nil, err
		}
		if err := floating(in.Name, t); err != nil {
			return nil, err
		}
		if i == 0 {
			d, s = t.Dtype, t.Shape
			continue
		}
		if !t.Shape.Equal(s) {
			return nil, registry.Wrong(in.Name, "%s is not the gate's shape, %s", t.Shape, s)
		}
		d = dtype.Promote(d, t.Dtype)
	}
	return one(d, s)
}

// fused makes the Run of a formula: compiled on a GPU, as written on the CPU.
func fused(b *registry.Build, name string, f formula) (registry.Run, error) {
	var failed error
	run := f(b.Args, func(v float64, i int) mlx.Array {
		a, err := scalarOf(b, v, b.Inputs[i].Type.Dtype)
		if err != nil && failed == nil {
			failed = err
		}
		return a
	})
	if failed != nil {
		return nil, failed
	}
	if b.Device.Kind != "gpu" {
		return func(c *registry.Call, in []mlx.Array) []mlx.Array {
			return []mlx.Array{run(c.Scope, in)}
		}, nil
	}
	text, err := json.Marshal(b.Args)
	if err != nil {
		return nil, err
	}
	key := fusedKey{name: name, args: string(text)}
	for i, in := range b.Inputs {
		if i < len(key.dtypes) {
			key.dtypes[i] = in.Type.Dtype
		}
	}
	compiled, err := shared(b.Memo, any(key), func() (*mlx.Compiled, error) {
		fn, err := mlx.Compile(func(s *mlx.Scope, in []mlx.Array) ([]mlx.Array, error) {
			return []mlx.Array{run(s, in)}, s.Err()
		}, true)
		if err == nil && b.Cleanup != nil {
			b.Cleanup(fn.Free)
		}
		return fn, err
	})
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		if out := compiled.Call(c.Scope, in); len(out) == 1 {
			return out
		}
		return []mlx.Array{{}}
	}, nil
}

type fusedKey struct {
	name, args string
	dtypes     [2]dtype.Dtype
}

func silu(s *mlx.Scope, x mlx.Array) mlx.Array { return s.Multiply(x, s.Sigmoid(x)) }

func swigluOAI(args plan.Args, num numbers) calls {
	alpha, limit := args.Float("alpha"), args.Float("limit")
	slope, top := num(alpha, 0), num(limit, 0)
	low, high, unit := num(-limit, 1), num(limit, 1), num(1, 1)
	return func(s *mlx.Scope, in []mlx.Array) mlx.Array {
		gate, up := s.Minimum(in[0], top), s.Clip(in[1], low, high)
		return s.Multiply(s.Add(up, unit), s.Multiply(gate, s.Sigmoid(s.Multiply(slope, gate))))
	}
}

func gelu(_ plan.Args, num numbers) calls {
	unit, two, root := num(1, 0), num(2, 0), num(math.Sqrt2, 0)
	return func(s *mlx.Scope, in []mlx.Array) mlx.Array {
		x := in[0]
		return s.Divide(s.Multiply(x, s.Add(unit, s.Erf(s.Divide(x, root)))), two)
	}
}

func geluApprox(num numbers) func(*mlx.Scope, mlx.Array) mlx.Array {
	half, unit, three, cubic, root := num(0.5, 0), num(1, 0), num(3, 0), num(0.044715, 0), num(math.Sqrt(2/math.Pi), 0)
	return func(s *mlx.Scope, x mlx.Array) mlx.Array {
		inner := s.Add(x, s.Multiply(cubic, s.Power(x, three)))
		return s.Multiply(s.Multiply(half, x), s.Add(unit, s.Tanh(s.Multiply(root, inner))))
	}
}

func geluTopk() *registry.Operator {
	inputs := []registry.Input{value("x", "[.., D], floating")}
	return &registry.Operator{
		Name: "gelu_topk",
		Doc: "Sparse activation: gelu_approx of what of x lies above mean + k * std of the last axis, k being the normal quantile of `sparsity`: about that " +
			"share of the entries becomes 0. y like x (Gemma 3n; mlx_lm/models/gemma3n.py, gelu_topk).",
		Inputs: inputs, Outputs: []string{"y"}, Each: true,
		Params: []registry.Param{required("sparsity", "float", "share of entries cut off, between 0 and 1")},
		Infer: func(c *registry.Infer) ([]plan.Type, error) {
			if f := c.Args.Float("sparsity"); !(f > 0 && f < 1) {
				return nil, registry.Wrong("sparsity", "%v is not between 0 and 1; at 0 gelu_approx is what is meant", f)
			}
			if t := c.Type(0); len(t.Shape) == 0 {
				return nil, registry.Wrong("x", "has no axis to take the mean of")
			}
			return inferActivation(c, inputs)
		},
		Build: buildGeluTopk,
	}
}

func buildGeluTopk(b *registry.Build) (registry.Run, error) {
	// sqrt(2) * erfinv(2 * sparsity - 1) in float32, on the device as mlx-lm makes it.
	quantile, err := scalarOf(b, 2*b.Args.Float("sparsity")-1, dtype.Float32)
	if err != nil {
		return nil, err
	}
	root, err := scalarOf(b, math.Sqrt2, dtype.Float32)
	if err != nil {
		return nil, err
	}
	k := b.Scope.Multiply(root, b.Scope.Erfinv(quantile))
	if err := b.Scope.Err(); err != nil {
		return nil, err
	}
	k = b.Keep(k)
	d := b.Inputs[0].Type.Dtype
	run, err := fused(b, "gelu_topk", func(_ plan.Args, num numbers) calls {
		zero, bend := num(0, 0), geluApprox(num)
		return func(s *mlx.Scope, in []mlx.Array) mlx.Array {
			x := in[0]
			mean, std := s.MeanAxis(x, -1, true), s.StdAxis(x, -1, true, 0)
			cut := s.Add(mean, s.Multiply(std, s.Astype(in[1], d)))
			return bend(s, s.Maximum(zero, s.Subtract(x, cut)))
		}
	})
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array { return run(c, []mlx.Array{in[0], k}) }, nil
}
