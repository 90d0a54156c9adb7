package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// reductions are the operators that make one number of an axis.
func reductions() []*registry.Operator {
	sum := reduction("sum", "Sum over an axis. Bools and integers below 32 bits are added in 32.", summed,
		func(b *registry.Build) func(*mlx.Scope, mlx.Array, int, bool) mlx.Array {
			if b.Args.String("order") == "sequential" {
				return sequentialSum
			}
			return (*mlx.Scope).SumAxis
		})
	order := withDefault("order", "string", "sequential: entry after entry in x's dtype, each sum rounded, as a loop in the model adds them", stringValue("any"))
	order.OneOf = []string{"any", "sequential"}
	sum.Params = append(sum.Params, order)
	sum.Native = nativeSum
	sum.NativeNumerics = "along one of the last two axes, of up to 1,024 entries, in float32, rounded once: max |Δ| / max |ref| below 1e-6 in float32"
	inferSum := sum.Infer
	sum.Infer = func(c *registry.Infer) ([]plan.Type, error) {
		if o := c.Args.String("order"); o != "" && o != "any" && o != "sequential" {
			return nil, registry.Wrong("order", "'%s' is none; any or sequential is wanted", o)
		}
		out, err := inferSum(c)
		if err == nil && c.Args.String("order") == "sequential" {
			err = checkSequential(c)
		}
		return out, err
	}
	return []*registry.Operator{
		sum,
		reduction("mean", "Mean over an axis. Integers become float32.", inexact,
			func(*registry.Build) func(*mlx.Scope, mlx.Array, int, bool) mlx.Array { return (*mlx.Scope).MeanAxis }),
		reduction("norm", "Euclidean length along an axis: sqrt(sum(x^2)) (MLX linalg.norm). Integers become float32.", inexact,
			func(*registry.Build) func(*mlx.Scope, mlx.Array, int, bool) mlx.Array { return l2Norm }),
	}
}

func reduction(name, doc string, result func(dtype.Dtype) dtype.Dtype,
	choose func(*registry.Build) func(*mlx.Scope, mlx.Array, int, bool) mlx.Array) *registry.Operator {
	return &registry.Operator{
		Name: name, Doc: doc + " The axis goes, or stays with size 1 where `keepdims`.",
		Inputs: []registry.Input{value("x", "any shape")}, Outputs: []string{"y"},
		Params: []registry.Param{axisParam("the axis"), keepdimsParam()},
		Each:   true,
		Infer: func(c *registry.Infer) ([]plan.Type, error) {
			t, err := array(c, 0, "x")
			if err != nil {
				return nil, err
			}
			axis, err := axisOf(c, "axis", t.Shape)
			if err != nil {
				return nil, err
			}
			if c.Args.Bool("keepdims") {
				return one(result(t.Dtype), t.Shape.With(axis, shape.Int(1)))
			}
			return one(result(t.Dtype), without(t.Shape, axis))
		},
		Build: func(b *registry.Build) (registry.Run, error) {
			axis, err := b.Inputs[0].Type.Shape.Axis(b.Args.Int("axis"))
			if err != nil {
				return nil, err
			}
			f, keepdims := choose(b), b.Args.Bool("keepdims")
			return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return f(c.Scope, x, axis, keepdims) }), nil
		},
	}
}

// checkSequential wants an axis that is short: each entry becomes a call.
func checkSequential(c *registry.Infer) error {
	s := c.Type(0).Shape
	axis, err := axisOf(c, "axis", s)
	if err != nil {
		return err
	}
	n, err := known("axis", s[axis], "the length of an axis that is added entry by entry")
	if err == nil && n > mostPieces {
		err = registry.Wrong("order", "sequential is for axes of up to %d entries; this one has %d", mostPieces, n)
	}
	return err
}

// summed is the dtype in which MLX adds (mlx/ops.cpp, sum).
func summed(d dtype.Dtype) dtype.Dtype {
	switch d {
	case dtype.Bool, dtype.Int8, dtype.Int16:
		return dtype.Int32
	case dtype.Uint8, dtype.Uint16:
		return dtype.Uint32
	}
	return d
}

// sequentialSum adds the entries of the axis one after the other.
func sequentialSum(s *mlx.Scope, x mlx.Array, axis int, keepdims bool) mlx.Array {
	size := x.Shape()
	if axis >= len(size) || size[axis] == 0 {
		return s.SumAxis(x, axis, keepdims)
	}
	total := along(s, x, axis, 0, 1)
	for i := 1; i < size[axis]; i++ {
		total = s.Add(total, along(s, x, axis, i, i+1))
	}
	if !keepdims {
		total = s.SqueezeAxis(total, axis)
	}
	return total
}

func l2Norm(s *mlx.Scope, x mlx.Array, axis int, keepdims bool) mlx.Array {
	return s.Sqrt(s.SumAxis(s.Square(x), axis, keepdims))
}
