package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// mostPieces keeps a mistaken or hostile number from becoming a list of results.
const mostPieces = 1 << 12

// joining are the operators that make one array of several, or several of one.
func joining() []*registry.Operator {
	many := registry.Input{Name: "x", Doc: "one or more arrays", Variadic: true}
	return []*registry.Operator{
		{
			Name: "split",
			Doc: "Cuts an axis into `parts` equal pieces, or into pieces of `sizes`; as many results. Any dtype; views. " +
				"The sizes must add up to the axis.",
			Inputs: []registry.Input{value("x", "any shape")},
			Params: []registry.Param{axisParam("the axis"), optional("sizes", "ints", "length of each piece"),
				optional("parts", "int", "how many equal pieces")},
			Infer: inferSplit, Build: buildSplit,
		},
		{
			Name:   "stack",
			Doc:    "Puts arrays of one shape side by side on a new axis. Their dtypes are promoted to one.",
			Inputs: []registry.Input{many}, Outputs: []string{"y"}, Params: []registry.Param{axisParam("where the new axis stands in the result")},
			Infer: inferStack,
			Build: func(b *registry.Build) (registry.Run, error) {
				axis := b.Args.Int("axis")
				return func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.StackAxis(in, axis)} }, nil
			},
		},
		{
			Name:   "concatenate",
			Doc:    "Puts arrays one after the other on an axis; the other axes must be equal. Their dtypes are promoted to one.",
			Inputs: []registry.Input{many}, Outputs: []string{"y"}, Params: []registry.Param{axisParam("the axis")},
			Infer: inferConcatenate,
			Build: func(b *registry.Build) (registry.Run, error) {
				axis := b.Args.Int("axis")
				return func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.ConcatenateAxis(in, axis)} }, nil
			},
		},
	}
}

func inferSplit(c *registry.Infer) ([]plan.Type, error) {
	t, err := array(c, 0, "x")
	if err != nil {
		return nil, err
	}
	axis, err := axisOf(c, "axis", t.Shape)
	if err != nil {
		return nil, err
	}
	n, err := known("axis", t.Shape[axis], "its length")
	if err != nil {
		return nil, err
	}
	sizes, err := pieces(c.Args, n)
	if err != nil {
		return nil, err
	}
	out := make([]plan.Type, len(sizes))
	for i, size := range sizes {
		out[i] = plan.Type{Dtype: t.Dtype, Shape: t.Shape.With(axis, shape.Int(size))}
	}
	return out, nil
}

// pieces are the lengths that split cuts an axis of n into.
func pieces(args plan.Args, n int) ([]int, error) {
	if args.Has("sizes") == args.Has("parts") {
		return nil, registry.Wrong("parts", "split wants sizes or parts, one of the two")
	}
	if args.Has("parts") {
		parts := args.Int("parts")
		if parts <= 0 || parts > n || n%parts != 0 {
			return nil, &registry.ArgError{Arg: "parts", Message: fmt.Sprintf("%d does not divide the axis, which is %d", parts, n), Help: divisors(parts, n)}
		}
		if parts > mostPieces {
			return nil, registry.Wrong("parts", "%d are more results than a call may have, %d", parts, mostPieces)
		}
		out := make([]int, parts)
		for i := range out {
			out[i] = n / parts
		}
		return out, nil
	}
	sizes, total := args.Ints("sizes"), 0
	for _, s := range sizes {
		if s <= 0 || s > n {
			return nil, registry.Wrong("sizes", "%s has a piece of %d; the axis is %d", intsText(sizes), s, n)
		}
		total += s
	}
	if total != n {
		return nil, registry.Wrong("sizes", "%s add up to %d; the axis is %d", intsText(sizes), total, n)
	}
	return sizes, nil
}

func buildSplit(b *registry.Build) (registry.Run, error) {
	axis := b.Args.Int("axis")
	if b.Args.Has("parts") {
		parts := b.Args.Int("parts")
		return func(c *registry.Call, in []mlx.Array) []mlx.Array { return c.Split(in[0], parts, axis) }, nil
	}
	var ends []int
	end := 0
	for _, n := range b.Args.Ints("sizes") {
		end += n
		ends = append(ends, end)
	}
	if len(ends) == 0 {
		return nil, registry.Wrong("sizes", "is empty")
	}
	ends = ends[:len(ends)-1]
	return func(c *registry.Call, in []mlx.Array) []mlx.Array { return c.SplitSections(in[0], ends, axis) }, nil
}

// members are the types of a variadic input, none of them a number, and their promoted dtype.
func members(c *registry.Infer) ([]plan.Type, dtype.Dtype, error) {
	if len(c.Inputs) == 0 {
		return nil, 0, registry.Wrong("x", "no array is given")
	}
	out := make([]plan.Type, len(c.Inputs))
	var d dtype.Dtype
	for i := range c.Inputs {
		t, err := array(c, i, "x")
		if err != nil {
			return nil, 0, err
		}
		if out[i] = t; i == 0 {
			d = t.Dtype
		}
		d = dtype.Promote(d, t.Dtype)
	}
	return out, d, nil
}

func inferStack(c *registry.Infer) ([]plan.Type, error) {
	types, d, err := members(c)
	if err != nil {
		return nil, err
	}
	first := types[0].Shape
	for i, t := range types {
		if !t.Shape.Equal(first) {
			return nil, registry.Wrong("x", "array %d is %s, the first %s; stack wants one shape", i+1, t.Shape, first)
		}
	}
	longer := append(first.Clone(), shape.Int(1))
	axis, err := longer.Axis(c.Args.Int("axis"))
	if err != nil {
		return nil, registry.Wrong("axis", "%d is no axis of the result, which has one more than %s; %s", c.Args.Int("axis"), first, axisRange(len(longer)))
	}
	return one(d, inserted(first, axis, shape.Int(len(types))))
}

func inferConcatenate(c *registry.Infer) ([]plan.Type, error) {
	types, d, err := members(c)
	if err != nil {
		return nil, err
	}
	first := types[0].Shape
	axis, err := axisOf(c, "axis", first)
	if err != nil {
		return nil, err
	}
	total := shape.Int(0)
	for i, t := range types {
		if len(t.Shape) != len(first) || !without(t.Shape, axis).Equal(without(first, axis)) {
			return nil, registry.Wrong("x", "array %d is %s, the first %s; only axis %d may differ", i+1, t.Shape, first, axis)
		}
		total = total.Add(t.Shape[axis])
	}
	return one(d, first.With(axis, total))
}
