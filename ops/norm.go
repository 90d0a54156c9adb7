package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

func norms() []*registry.Operator {
	return []*registry.Operator{
		{
			Name: "rms_norm",
			Doc: "Root-mean-square norm over the last axis, then a gain. x [.., D] floating, weight [D] or none (gain 1); " +
				"y [.., D] in the promoted dtype of both: a float32 gain makes bfloat16 float32. " +
				"x * rsqrt(mean(x^2) + eps) in float32, rounded, times weight (MLX fast.rms_norm; Zhang and Sennrich 2019).",
			Inputs:  []registry.Input{value("x", "[.., D]"), optionalWeight("weight", "gain [D]")},
			Outputs: []string{"y"},
			Params:  []registry.Param{epsParam()},
			Each:    true,
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				t, d, err := normed(c)
				if err != nil {
					return nil, err
				}
				return one(d, t.Shape)
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				eps := float32(b.Args.Float("eps"))
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					return []mlx.Array{c.FastRMSNorm(in[0], in[1], eps)}
				}, nil
			},
			Native:         nativeRMSNorm,
			NativeNumerics: "in float32, rounded once: max |Δ| / max |ref| below 1e-6 in float32",
		},
		{
			Name: "layer_norm",
			Doc: "Layer norm over the last axis, then a gain and a shift where given. x [.., D] floating, weight and bias [D]; " +
				"y [.., D] in the promoted dtype, x's own without a weight. (x - mean) * rsqrt(var + eps) in float32 (MLX fast.layer_norm; Ba et al. 2016).",
			Inputs:  []registry.Input{value("x", "[.., D]"), optionalWeight("weight", "gain [D]"), optionalWeight("bias", "shift [D]")},
			Outputs: []string{"y"},
			Params:  []registry.Param{epsParam()},
			Each:    true,
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				t, d, err := normed(c)
				if err != nil {
					return nil, err
				}
				return one(d, t.Shape)
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				eps := float32(b.Args.Float("eps"))
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					return []mlx.Array{c.FastLayerNorm(in[0], in[1], in[2], eps)}
				}, nil
			},
		},
	}
}

func epsParam() registry.Param {
	return required("eps", "float", "added to the mean square before the root")
}

// normed checks x, eps and the weights after it, each of the length of x's last axis, and promotes their dtypes.
func normed(c *registry.Infer) (plan.Type, dtype.Dtype, error) {
	t, err := array(c, 0, "x")
	if err != nil {
		return t, 0, err
	}
	if err := floating("x", t); err != nil {
		return t, 0, err
	}
	if len(t.Shape) == 0 {
		return t, 0, registry.Wrong("x", "has no axis to normalise over")
	}
	if eps := c.Args.Float("eps"); !(eps >= 0) {
		return t, 0, registry.Wrong("eps", "%v is negative; usual values are 1e-6 and 1e-5", eps)
	}
	d := t.Dtype
	for i, name := range []string{"weight", "bias"} {
		if !c.In(i + 1).Given {
			continue
		}
		width, err := known("x", t.Shape.Last(), "the last axis")
		if err != nil {
			return t, 0, err
		}
		w, err := c.Weight(name, shape.Of(width), t.Dtype)
		if err != nil {
			return t, 0, err
		}
		if c.In(1).Given { // MLX: a bias alone does not promote
			d = dtype.Promote(d, w.Dtype)
		}
	}
	return t, d, nil
}
