package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// unaries are the functions of one array, element by element, that mlx-lm does not compile.
func unaries() []*registry.Operator {
	return []*registry.Operator{
		pointwise("negative", "-x. Any dtype but bool.", (*mlx.Scope).Negative, func(t plan.Type) (dtype.Dtype, error) {
			if t.Dtype == dtype.Bool {
				return 0, registry.Wrong("x", "is bool, which has no negative")
			}
			return t.Dtype, nil
		}),
		pointwise("exp", "e to the power of x. Integers become float32.", (*mlx.Scope).Exp, toFloat),
		pointwise("log", "Natural logarithm. Integers become float32.", (*mlx.Scope).Log, toFloat),
		pointwise("floor", "The next integer not above x. Any dtype, kept.", (*mlx.Scope).Floor, keep),
		pointwise("tanh", "Hyperbolic tangent. Integers become float32.", (*mlx.Scope).Tanh, toFloat),
		pointwise("sigmoid", "1 / (1 + exp(-x)). Integers become float32.", (*mlx.Scope).Sigmoid, toFloat),
		{
			Name: "clip",
			Doc: "x held between min and max, either of which may be left out. Any dtype; a bound takes x's " +
				"(a fraction makes integers float32).",
			Inputs: []registry.Input{value("x", "any shape")}, Outputs: []string{"y"},
			Params: []registry.Param{optional("min", "float", "least value"), optional("max", "float", "largest value")},
			Each:   true, Infer: inferClip, Build: buildClip,
		},
	}
}

func keep(t plan.Type) (dtype.Dtype, error)    { return t.Dtype, nil }
func toFloat(t plan.Type) (dtype.Dtype, error) { return inexact(t.Dtype), nil }

func pointwise(name, doc string, f func(*mlx.Scope, mlx.Array) mlx.Array, result func(plan.Type) (dtype.Dtype, error)) *registry.Operator {
	return &registry.Operator{
		Name: name, Doc: doc + " y has x's shape.",
		Inputs: []registry.Input{value("x", "any shape")}, Outputs: []string{"y"}, Each: true,
		Infer: func(c *registry.Infer) ([]plan.Type, error) {
			t, err := array(c, 0, "x")
			if err != nil {
				return nil, err
			}
			d, err := result(t)
			if err != nil {
				return nil, err
			}
			return one(d, t.Shape)
		},
		Build: func(*registry.Build) (registry.Run, error) {
			return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return f(c.Scope, x) }), nil
		},
	}
}

func inferClip(c *registry.Infer) ([]plan.Type, error) {
	t, err := array(c, 0, "x")
	if err != nil {
		return nil, err
	}
	if !c.Args.Has("min") && !c.Args.Has("max") {
		return nil, registry.Wrong("min", "neither min nor max is given")
	}
	if c.Args.Has("min") && c.Args.Has("max") && c.Args.Float("min") > c.Args.Float("max") {
		return nil, registry.Wrong("min", "%v is above max, %v", c.Args.Float("min"), c.Args.Float("max"))
	}
	d := t.Dtype
	for _, name := range []string{"min", "max"} {
		if v, ok := c.Args.Lookup(name); ok {
			d = dtype.Promote(d, registry.ScalarDtype(v, t.Dtype))
		}
	}
	return one(d, t.Shape)
}

func buildClip(b *registry.Build) (registry.Run, error) {
	var bounds [2]mlx.Array
	for i, name := range []string{"min", "max"} {
		v, ok := b.Args.Lookup(name)
		if !ok {
			continue
		}
		n, _ := v.Number()
		a, err := scalarOf(b, n, registry.ScalarDtype(v, b.Inputs[0].Type.Dtype))
		if err != nil {
			return nil, err
		}
		bounds[i] = a
	}
	return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.Clip(x, bounds[0], bounds[1]) }), nil
}
