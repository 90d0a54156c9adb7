package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// selections are the operators that order an axis, and softmax.
func selections() []*registry.Operator {
	return []*registry.Operator{
		{
			Name: "softmax",
			Doc: "exp(x - max) / sum over an axis. Integers become float32; the dtype is kept otherwise, and `precise` computes in float32 inside. " +
				"y has x's shape.",
			Inputs: []registry.Input{value("x", "any shape")}, Outputs: []string{"y"},
			Params: []registry.Param{axisParam("the axis that adds up to 1"), withDefault("precise", "bool", "accumulate in float32", boolValue(false))},
			Each:   true,
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				t, _, err := alongOne(c)
				if err != nil {
					return nil, err
				}
				return one(inexact(t.Dtype), t.Shape)
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				axis, precise := b.Args.Int("axis"), b.Args.Bool("precise")
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.SoftmaxAxis(x, axis, precise) }), nil
			},
			Native:         nativeSoftmax,
			NativeNumerics: "along a last axis of up to 1,024 entries, in float32, rounded once: max |Δ| / max |ref| below 1e-6 in float32",
		},
		{
			Name: "argpartition",
			Doc: "Indices (uint32) that part an axis at its kth smallest entry: smaller ones before it, larger ones after, each side in no order. " +
				"A negative kth counts from the end: kth -k and the last k are the k largest. y has x's shape.",
			Inputs: []registry.Input{value("x", "any shape")}, Outputs: []string{"y"},
			Params: []registry.Param{required("kth", "int", "the place that parts them"), axisParam("the axis")},
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				t, axis, err := alongOne(c)
				if err != nil {
					return nil, err
				}
				kth := c.Args.Int("kth")
				if least, ok := c.AtLeast(t.Shape[axis]); !ok || kth >= least || -kth > least {
					return nil, registry.Wrong("kth", "%d is no place of an axis of %s", kth, t.Shape[axis])
				}
				return one(dtype.Uint32, t.Shape)
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				kth, axis := b.Args.Int("kth"), b.Args.Int("axis")
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.ArgpartitionAxis(x, kth, axis) }), nil
			},
			Native:         nativeArgpartition,
			NativeNumerics: "along a last axis of up to 1,024 entries: the same indices on each side, in another order perhaps",
		},
		{
			Name:   "topk",
			Doc:    "The k largest entries of an axis, in no order. The dtype is kept.",
			Inputs: []registry.Input{value("x", "any shape")}, Outputs: []string{"y"},
			Params: []registry.Param{required("k", "int", "how many"), axisParam("the axis")},
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				t, axis, err := alongOne(c)
				if err != nil {
					return nil, err
				}
				k := c.Args.Int("k")
				if least, ok := c.AtLeast(t.Shape[axis]); !ok || k < 1 || k > least {
					return nil, registry.Wrong("k", "%d of an axis of %s cannot be taken", k, t.Shape[axis])
				}
				return one(t.Dtype, t.Shape.With(axis, shape.Int(k)))
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				k, axis := b.Args.Int("k"), b.Args.Int("axis")
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.TopkAxis(x, k, axis) }), nil
			},
		},
	}
}

func alongOne(c *registry.Infer) (plan.Type, int, error) {
	t, err := array(c, 0, "x")
	if err != nil {
		return t, 0, err
	}
	axis, err := axisOf(c, "axis", t.Shape)
	return t, axis, err
}
