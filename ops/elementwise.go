package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

type binaryCall func(s *mlx.Scope, a, b mlx.Array) mlx.Array

// arithmetic are the operators of two and three operands that broadcast, and matmul.
func arithmetic() []*registry.Operator {
	same := func(d dtype.Dtype) dtype.Dtype { return d }
	truth := func(dtype.Dtype) dtype.Dtype { return dtype.Bool }
	return []*registry.Operator{
		binary("add", "a + b", same, (*mlx.Scope).Add),
		binary("subtract", "a - b", same, (*mlx.Scope).Subtract),
		binary("multiply", "a * b", same, (*mlx.Scope).Multiply),
		binary("divide", "a / b; integers are divided in float32", inexact, (*mlx.Scope).Divide),
		binary("power", "a to the power of b (MLX power: x * x * x has other bits than power(x, 3))", same, (*mlx.Scope).Power),
		binary("maximum", "the larger of a and b; NaN where either is", same, (*mlx.Scope).Maximum),
		binary("minimum", "the smaller of a and b; NaN where either is", same, (*mlx.Scope).Minimum),
		binary("less", "a < b, as bool", truth, (*mlx.Scope).Less),
		binary("logical_and", "whether a and b are both not zero, as bool", truth, (*mlx.Scope).LogicalAnd),
		{
			Name: "where",
			Doc: "a where the condition holds, else b. condition bool; the three broadcast; y in the promoted dtype of a and b, " +
				"beside which a number is weak.",
			Inputs:  []registry.Input{value("condition", "bool"), value("a", "where true"), value("b", "where false")},
			Outputs: []string{"y"},
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				t, err := array(c, 0, "condition")
				if err != nil {
					return nil, err
				}
				if t.Dtype != dtype.Bool {
					return nil, registry.Wrong("condition", "is %s; bool is wanted, as less gives it", t.Dtype)
				}
				d, s, err := broadcast(c, []string{"a", "b"}, 1)
				if err != nil {
					return nil, err
				}
				out, e := shape.Broadcast(t.Shape, s)
				if e != nil {
					return nil, registry.Wrong("condition", "%v", e)
				}
				return one(d, out)
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				fixed, err := weakScalars(b)
				if err != nil {
					return nil, err
				}
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					return []mlx.Array{c.Where(in[0], fixed.at(in, 1), fixed.at(in, 2))}
				}, nil
			},
		},
		{
			Name: "matmul",
			Doc: "Matrix product of the last two axes: a [.., n, k] and b [.., k, m] give [.., n, m]; the axes before broadcast; " +
				"a or b may be a vector [k]. Floating dtypes; y in the promoted one.",
			Inputs:  []registry.Input{value("a", "[.., n, k]"), value("b", "[.., k, m]")},
			Outputs: []string{"y"},
			Infer:   inferMatmul,
			Build: func(*registry.Build) (registry.Run, error) {
				return func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.Matmul(in[0], in[1])} }, nil
			},
		},
	}
}

func binary(name, what string, result func(dtype.Dtype) dtype.Dtype, f binaryCall) *registry.Operator {
	return &registry.Operator{
		Name: name,
		Doc: "Element by element: " + what + ". Any dtypes, promoted as MLX does; a number takes the other side's dtype " +
			"(a fraction makes integers float32). Shapes broadcast.",
		Inputs:  []registry.Input{value("a", "left"), value("b", "right")},
		Outputs: []string{"y"},
		Infer: func(c *registry.Infer) ([]plan.Type, error) {
			d, s, err := broadcast(c, []string{"a", "b"}, 0)
			if err != nil {
				return nil, err
			}
			return one(result(d), s)
		},
		Build: func(b *registry.Build) (registry.Run, error) {
			fixed, err := weakScalars(b)
			if err != nil {
				return nil, err
			}
			return func(c *registry.Call, in []mlx.Array) []mlx.Array {
				return []mlx.Array{f(c.Scope, fixed.at(in, 0), fixed.at(in, 1))}
			}, nil
		},
	}
}

// broadcast is dtype and shape of an element-wise operation on the inputs from first on.
func broadcast(c *registry.Infer, names []string, first int) (dtype.Dtype, shape.Shape, error) {
	var s shape.Shape
	arrays := 0
	args := make([]registry.Arg, len(names))
	for i, name := range names {
		args[i] = c.In(first + i)
		if v := args[i].Scalar; v != nil {
			if err := number(name, *v); err != nil {
				return 0, nil, err
			}
			continue
		}
		arrays++
		out, err := shape.Broadcast(s, args[i].Type.Shape)
		if err != nil {
			return 0, nil, registry.Wrong(name, "%v", err)
		}
		s = out
	}
	if arrays == 0 && first == 0 {
		return 0, nil, registry.Wrong(names[0], "%s and %s are both numbers; give an expression (let) or a constant", args[0].Scalar.Text(), args[1].Scalar.Text())
	}
	return registry.Promoted(args...), s, nil
}

func number(arg string, v plan.Value) error {
	if _, ok := v.Number(); ok || v.Kind == plan.Bool {
		return nil
	}
	return registry.Wrong(arg, "%s is no number", v.Text())
}

func inferMatmul(c *registry.Infer) ([]plan.Type, error) {
	a, err := array(c, 0, "a")
	if err != nil {
		return nil, err
	}
	b, err := array(c, 1, "b")
	if err != nil {
		return nil, err
	}
	for i, t := range []plan.Type{a, b} {
		if len(t.Shape) == 0 {
			return nil, registry.Wrong([]string{"a", "b"}[i], "has no axis; a matrix or vector is wanted")
		}
	}
	d := dtype.Promote(a.Dtype, b.Dtype)
	if !d.IsFloat() {
		return nil, registry.Wrong("a", "%s and %s: a matrix product is of floating dtypes", a.Dtype, b.Dtype)
	}
	left, right := a.Shape, b.Shape
	if len(left) == 1 {
		left = shape.Shape{shape.Int(1), left[0]}
	}
	if len(right) == 1 {
		right = shape.Shape{right[0], shape.Int(1)}
	}
	k, rows := left[len(left)-1], right[len(right)-2]
	if !k.Equal(rows) {
		return nil, registry.Wrong("b", "%s has %s rows; a %s has %s columns", b.Shape, rows, a.Shape, k)
	}
	out, e := shape.Broadcast(left[:len(left)-2], right[:len(right)-2])
	if e != nil {
		return nil, registry.Wrong("b", "%v", e)
	}
	out = out.Clone()
	if len(a.Shape) > 1 {
		out = append(out, left[len(left)-2])
	}
	if len(b.Shape) > 1 {
		out = append(out, right.Last())
	}
	return one(d, out)
}
