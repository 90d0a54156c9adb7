package ops

import (
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// views are the operators that change the shape and no element.
func views() []*registry.Operator {
	return []*registry.Operator{
		view("reshape", "The same elements in another shape: row-major order is kept. Any dtype. One dim may be -1: what is left.",
			[]registry.Param{required("shape", "dims", "of the result; may hold B, T, S and one -1")}, inferReshape, buildReshape),
		view("broadcast", "Repeats axes of size 1, and adds axes in front, up to a shape (MLX broadcast_to). Any dtype; nothing is copied.",
			[]registry.Param{required("shape", "dims", "of the result; may hold B, T and S")}, inferBroadcast, buildBroadcast),
		view("transpose", "Orders the axes anew: axis i of the result is axis axes[i] of x. A view; any dtype.",
			[]registry.Param{required("axes", "ints", "each axis of x once")}, inferTranspose,
			func(b *registry.Build) (registry.Run, error) {
				axes := b.Args.Ints("axes")
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.TransposeAxes(x, axes) }), nil
			}),
		view("swapaxes", "Exchanges two axes. A view; any dtype.",
			[]registry.Param{required("axes", "ints", "the two")}, inferSwapaxes,
			func(b *registry.Build) (registry.Run, error) {
				axes := b.Args.Ints("axes")
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.Swapaxes(x, axes[0], axes[1]) }), nil
			}),
		view("moveaxis", "Takes an axis out and puts it in at another place; the others keep their order. A view; any dtype.",
			[]registry.Param{required("source", "int", "where it is"), required("destination", "int", "where it goes")}, inferMoveaxis,
			func(b *registry.Build) (registry.Run, error) {
				from, to := b.Args.Int("source"), b.Args.Int("destination")
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.Moveaxis(x, from, to) }), nil
			}),
		view("expand_dims", "Puts in an axis of size 1. A view; any dtype.",
			[]registry.Param{axisParam("where it stands in the result")}, inferExpandDims,
			func(b *registry.Build) (registry.Run, error) {
				axis := b.Args.Int("axis")
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.ExpandDims(x, axis) }), nil
			}),
		view("squeeze", "Takes out an axis of size 1. A view; any dtype.",
			[]registry.Param{axisParam("the one of size 1")}, inferSqueeze,
			func(b *registry.Build) (registry.Run, error) {
				axis := b.Args.Int("axis")
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.SqueezeAxis(x, axis) }), nil
			}),
	}
}

func view(name, doc string, params []registry.Param, infer func(*registry.Infer, plan.Type) (shape.Shape, error),
	build func(*registry.Build) (registry.Run, error)) *registry.Operator {
	return &registry.Operator{
		Name: name, Doc: doc, Inputs: []registry.Input{value("x", "any shape")}, Outputs: []string{"y"}, Params: params, Each: true,
		Infer: func(c *registry.Infer) ([]plan.Type, error) {
			t, err := array(c, 0, "x")
			if err != nil {
				return nil, err
			}
			s, err := infer(c, t)
			if err != nil {
				return nil, err
			}
			return one(t.Dtype, s)
		},
		Build: build,
	}
}

// unary makes a Run of a function of one array.
func unary(f func(*registry.Call, mlx.Array) mlx.Array) registry.Run {
	return func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{f(c, in[0])} }
}

func inferReshape(c *registry.Infer, t plan.Type) (shape.Shape, error) {
	want, open := c.Args.Dims("shape").Clone(), -1
	for i, d := range want {
		n, ok := d.Known()
		switch {
		case ok && n == -1 && open >= 0:
			return nil, registry.Wrong("shape", "%s has -1 twice; one dim alone can be what is left", want)
		case ok && n == -1:
			open = i
		case ok && (n < 0 || n > longestAxis):
			return nil, registry.Wrong("shape", "%s has the dim %d; dims are from 0 to %d, or once -1", want, n, longestAxis)
		}
	}
	has, left, rest := cancel(t.Shape, want, open)
	if open < 0 {
		if !has.Equal(left) || len(rest) > 0 {
			return nil, registry.Wrong("shape", "%s has not as many elements as %s", want, t.Shape)
		}
		return want, nil
	}
	n, ok := left.Known()
	d, divides := shape.Dim{}, false
	if ok && len(rest) == 0 {
		d, divides = quotient(has, n)
	}
	if !divides {
		return nil, registry.Wrong("shape", "%s of %s: what is left for -1 is no whole number of elements", want, t.Shape)
	}
	want[open] = d
	return want, nil
}

// cancel takes out the dims that both shapes have and multiplies the others: has of the one, want of the other. rest is
// what could not be multiplied, as B and T are no linear form together.
func cancel(from, to shape.Shape, skip int) (has, want shape.Dim, rest shape.Shape) {
	var a, b shape.Shape
	b = append(b, to...)
	if skip >= 0 {
		b = without(b, skip)
	}
	for _, d := range from {
		found := false
		for i, e := range b {
			if d.Equal(e) {
				b, found = without(b, i), true
				break
			}
		}
		if !found {
			a = append(a, d)
		}
	}
	var ok bool
	if has, ok = a.Product(); !ok {
		rest = append(rest, a...)
	}
	if want, ok = b.Product(); !ok {
		rest = append(rest, b...)
	}
	return has, want, rest
}

func quotient(d shape.Dim, n int) (shape.Dim, bool) {
	if n <= 0 || d.Const%n != 0 {
		return shape.Dim{}, false
	}
	out := shape.Dim{Const: d.Const / n}
	for _, t := range d.Terms {
		if t.Factor%n != 0 {
			return shape.Dim{}, false
		}
		out.Terms = append(out.Terms, shape.Term{Symbol: t.Symbol, Factor: t.Factor / n})
	}
	return out, true
}

func buildReshape(b *registry.Build) (registry.Run, error) {
	s, err := newSizes(b, b.Args.Dims("shape"))
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.Reshape(in[0], s.of(c, in))} }, nil
}

func inferBroadcast(c *registry.Infer, t plan.Type) (shape.Shape, error) {
	want := c.Args.Dims("shape")
	if err := possible("shape", want); err != nil {
		return nil, err
	}
	got, err := shape.Broadcast(t.Shape, want)
	if err != nil || !got.Equal(want) {
		return nil, registry.Wrong("shape", "%s does not broadcast to %s: axes are matched from the last, and each must be equal or 1", t.Shape, want)
	}
	return want, nil
}

func buildBroadcast(b *registry.Build) (registry.Run, error) {
	s, err := newSizes(b, b.Args.Dims("shape"))
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{c.BroadcastTo(in[0], s.of(c, in))}
	}, nil
}

func inferTranspose(c *registry.Infer, t plan.Type) (shape.Shape, error) {
	axes := c.Args.Ints("axes")
	out, seen := make(shape.Shape, 0, len(axes)), make([]bool, len(t.Shape))
	for _, a := range axes {
		at, err := axisIn("axes", a, t.Shape)
		if err != nil {
			return nil, err
		}
		if seen[at] {
			return nil, registry.Wrong("axes", "%s names axis %d twice", intsText(axes), a)
		}
		seen[at] = true
		out = append(out, t.Shape[at])
	}
	if len(axes) != len(t.Shape) {
		return nil, registry.Wrong("axes", "%s names %s; x %s has %d", intsText(axes), count(len(axes), "axis", "axes"), t.Shape, len(t.Shape))
	}
	return out, nil
}

func inferSwapaxes(c *registry.Infer, t plan.Type) (shape.Shape, error) {
	axes := c.Args.Ints("axes")
	if len(axes) != 2 {
		return nil, registry.Wrong("axes", "%s are %d; two are wanted", intsText(axes), len(axes))
	}
	i, err := axisIn("axes", axes[0], t.Shape)
	if err != nil {
		return nil, err
	}
	j, err := axisIn("axes", axes[1], t.Shape)
	if err != nil {
		return nil, err
	}
	out := t.Shape.Clone()
	out[i], out[j] = out[j], out[i]
	return out, nil
}

func inferMoveaxis(c *registry.Infer, t plan.Type) (shape.Shape, error) {
	from, err := axisOf(c, "source", t.Shape)
	if err != nil {
		return nil, err
	}
	to, err := axisOf(c, "destination", t.Shape)
	if err != nil {
		return nil, err
	}
	return inserted(without(t.Shape, from), to, t.Shape[from]), nil
}

func inferExpandDims(c *registry.Infer, t plan.Type) (shape.Shape, error) {
	longer := append(t.Shape.Clone(), shape.Int(1))
	axis, err := longer.Axis(c.Args.Int("axis"))
	if err != nil {
		return nil, registry.Wrong("axis", "%d is no axis of the result, which has one more than %s; %s", c.Args.Int("axis"), t.Shape, axisRange(len(longer)))
	}
	return inserted(t.Shape, axis, shape.Int(1)), nil
}

func inferSqueeze(c *registry.Infer, t plan.Type) (shape.Shape, error) {
	axis, err := axisOf(c, "axis", t.Shape)
	if err != nil {
		return nil, err
	}
	if !t.Shape[axis].Equal(shape.Int(1)) {
		return nil, registry.Wrong("axis", "axis %d of %s is %s, not 1", c.Args.Int("axis"), t.Shape, t.Shape[axis])
	}
	return without(t.Shape, axis), nil
}
