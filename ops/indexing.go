package ops

import (
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// indexing are the operators that pick elements or put some in.
func indexing() []*registry.Operator {
	return []*registry.Operator{
		{
			Name: "slice",
			Doc: "Entries start to stop of one axis, stop not included; a negative bound counts from the end, as in Python. " +
				"Any dtype; the axis gets shorter. Bounds outside the axis are errors.",
			Inputs: []registry.Input{value("x", "any shape")}, Outputs: []string{"y"},
			Params: []registry.Param{axisParam("the axis"), withDefault("start", "int", "first entry", intValue(0)),
				optional("stop", "int", "entry after the last; none: to the end")},
			Each: true, Infer: inferSlice,
			Build: func(b *registry.Build) (registry.Run, error) {
				axis, err := b.Inputs[0].Type.Shape.Axis(b.Args.Int("axis"))
				if err != nil {
					return nil, err
				}
				start, stop, ends := b.Args.Int("start"), b.Args.Int("stop"), b.Args.Has("stop")
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array {
					size := x.Shape()
					if axis >= len(size) {
						return mlx.Array{}
					}
					first, last := fromEnd(start, size[axis]), size[axis]
					if ends {
						last = fromEnd(stop, last)
					}
					return along(c.Scope, x, axis, first, last)
				}), nil
			},
		},
		{
			Name: "slice_update",
			Doc: "x with the entries of one axis from `start` replaced by those of update, which becomes x's dtype. " +
				"update has x's shape but for that axis. The result is like x.",
			Inputs:  []registry.Input{value("x", "any shape"), value("update", "x's shape but for the axis")},
			Outputs: []string{"y"},
			Params:  []registry.Param{axisParam("the axis"), withDefault("start", "int", "first entry replaced; not negative", intValue(0))},
			Infer:   inferSliceUpdate,
			Build: func(b *registry.Build) (registry.Run, error) {
				axis, err := b.Inputs[0].Type.Shape.Axis(b.Args.Int("axis"))
				if err != nil {
					return nil, err
				}
				first := b.Args.Int("start")
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					return []mlx.Array{putAlong(c.Scope, in[0], in[1], axis, first)}
				}, nil
			},
		},
		{
			Name: "take",
			Doc: "Entries of one axis by index. With `index`, one entry: the axis goes. With indices (any shape, integers), " +
				"the axis becomes their axes. Any dtype. Negative indices count from the end.",
			Inputs:  []registry.Input{value("x", "any shape"), optionalValue("indices", "integers, any shape")},
			Outputs: []string{"y"},
			Params:  []registry.Param{axisParam("the axis"), optional("index", "int", "the entry, where no indices are given")},
			Infer:   inferTake, Build: buildTake,
		},
		{
			Name: "take_along_axis",
			Doc: "For each place of indices, the entry of x at that index of the axis, the other axes' places being the same. " +
				"x any dtype; indices integers with as many axes, equal to x's or 1 but for the axis; the result has indices' length there.",
			Inputs:  []registry.Input{value("x", "any shape"), value("indices", "integers")},
			Outputs: []string{"y"}, Params: []registry.Param{axisParam("the axis")},
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				x, indices, axis, s, err := alongAxis(c)
				if err != nil {
					return nil, err
				}
				return one(x.Dtype, s.With(axis, indices.Shape[axis]))
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				axis := b.Args.Int("axis")
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					return []mlx.Array{c.TakeAlongAxis(in[0], in[1], axis)}
				}, nil
			},
			Native:         nativeTakeAlong,
			NativeNumerics: "along a last axis of up to 1,024 entries: the very entries",
		},
		{
			Name: "put_along_axis",
			Doc: "x with the entries at indices of the axis replaced by values: take_along_axis the other way. values broadcast to " +
				"indices and become x's dtype; where an index is there twice one of them wins. The result has x's dtype and length of the axis.",
			Inputs:  []registry.Input{value("x", "any shape"), value("indices", "integers"), value("values", "broadcasts to indices")},
			Outputs: []string{"y"}, Params: []registry.Param{axisParam("the axis")},
			Infer: inferPutAlongAxis, Build: buildPutAlongAxis,
		},
	}
}

func fromEnd(i, n int) int {
	if i < 0 {
		return i + n
	}
	return i
}

// putAlong is src[.., first:first+n, ..] = update on an axis.
func putAlong(s *mlx.Scope, src, update mlx.Array, axis, first int) mlx.Array {
	size, part := src.Shape(), update.Shape()
	if axis >= len(size) || axis >= len(part) {
		return mlx.Array{}
	}
	start, stop, strides := box(size)
	start[axis], stop[axis] = first, first+part[axis]
	return s.SliceUpdate(src, update, start, stop, strides)
}

func inferSlice(c *registry.Infer) ([]plan.Type, error) {
	t, err := array(c, 0, "x")
	if err != nil {
		return nil, err
	}
	axis, err := axisOf(c, "axis", t.Shape)
	if err != nil {
		return nil, err
	}
	d := t.Shape[axis]
	first, err := bound(c, d, "start", c.Args.Int("start"))
	if err != nil {
		return nil, err
	}
	last := d
	if c.Args.Has("stop") {
		if last, err = bound(c, d, "stop", c.Args.Int("stop")); err != nil {
			return nil, err
		}
	}
	n := last.Sub(first)
	if least, ok := c.AtLeast(n); !ok || least < 0 {
		return nil, registry.Wrong("stop", "the slice from %s to %s of an axis of %s has no certain length", first, last, d)
	}
	return one(t.Dtype, t.Shape.With(axis, n))
}

// bound is a place of an axis of length d; one that may lie outside is refused.
func bound(c *registry.Infer, d shape.Dim, arg string, i int) (shape.Dim, error) {
	least, ok := c.AtLeast(d)
	if !ok || i > least || -i > least {
		if n, is := d.Known(); is {
			return d, registry.Wrong(arg, "%d is outside an axis of %d", i, n)
		}
		return d, registry.Wrong(arg, "%d may be outside an axis of %s, which is only known when the graph runs", i, d)
	}
	if i < 0 {
		return d.Add(shape.Int(i)), nil
	}
	return shape.Int(i), nil
}

func inferSliceUpdate(c *registry.Infer) ([]plan.Type, error) {
	x, err := array(c, 0, "x")
	if err != nil {
		return nil, err
	}
	update, err := array(c, 1, "update")
	if err != nil {
		return nil, err
	}
	axis, err := axisOf(c, "axis", x.Shape)
	if err != nil {
		return nil, err
	}
	if len(update.Shape) != len(x.Shape) || !without(update.Shape, axis).Equal(without(x.Shape, axis)) {
		return nil, registry.Wrong("update", "%s does not go into %s along axis %d: the other axes must be equal", update.Shape, x.Shape, axis)
	}
	start := c.Args.Int("start")
	rest := x.Shape[axis].Sub(update.Shape[axis]).Sub(shape.Int(start))
	if least, ok := c.AtLeast(rest); start < 0 || !ok || least < 0 {
		return nil, registry.Wrong("start", "%s entries from %d do not fit into an axis of %s", update.Shape[axis], start, x.Shape[axis])
	}
	return one(x.Dtype, x.Shape)
}

func inferTake(c *registry.Infer) ([]plan.Type, error) {
	x, err := array(c, 0, "x")
	if err != nil {
		return nil, err
	}
	axis, err := axisOf(c, "axis", x.Shape)
	if err != nil {
		return nil, err
	}
	given, index := c.In(1).Given, c.Args.Has("index")
	switch {
	case given == index:
		return nil, registry.Wrong("index", "take wants indices (an array) or index (an int), one of the two")
	case index:
		i := c.Args.Int("index")
		least, ok := c.AtLeast(x.Shape[axis])
		if !ok || i >= least || -i > least {
			return nil, registry.Wrong("index", "%d is outside axis %d of %s", i, axis, x.Shape)
		}
		return one(x.Dtype, without(x.Shape, axis))
	}
	indices, err := integers(c, 1, "indices")
	if err != nil {
		return nil, err
	}
	out := append(append(x.Shape[:axis:axis], indices.Shape...), x.Shape[axis+1:]...)
	return one(x.Dtype, out)
}

func integers(c *registry.Infer, i int, arg string) (plan.Type, error) {
	t, err := array(c, i, arg)
	if err == nil && !t.Dtype.IsInteger() {
		err = registry.Wrong(arg, "is %s; integers are wanted", t.Dtype)
	}
	return t, err
}

func buildTake(b *registry.Build) (registry.Run, error) {
	axis, err := b.Inputs[0].Type.Shape.Axis(b.Args.Int("axis"))
	if err != nil {
		return nil, err
	}
	if !b.Args.Has("index") {
		return func(c *registry.Call, in []mlx.Array) []mlx.Array {
			return []mlx.Array{c.TakeAxis(in[0], in[1], axis)}
		}, nil
	}
	index := b.Args.Int("index")
	return unary(func(c *registry.Call, x mlx.Array) mlx.Array {
		size := x.Shape()
		if axis >= len(size) {
			return mlx.Array{}
		}
		i := fromEnd(index, size[axis])
		return c.SqueezeAxis(along(c.Scope, x, axis, i, i+1), axis)
	}), nil
}

// alongAxis checks x and indices of take_along_axis and put_along_axis; the shape is theirs broadcast but for the axis,
// which is x's.
func alongAxis(c *registry.Infer) (x, indices plan.Type, axis int, s shape.Shape, err error) {
	if x, err = array(c, 0, "x"); err != nil {
		return
	}
	if indices, err = integers(c, 1, "indices"); err != nil {
		return
	}
	if len(indices.Shape) != len(x.Shape) {
		err = registry.Wrong("indices", "%s has %s; x %s has %d, and as many are wanted", indices.Shape, count(len(indices.Shape), "axis", "axes"), x.Shape, len(x.Shape))
		return
	}
	if axis, err = axisOf(c, "axis", x.Shape); err != nil {
		return
	}
	s, e := shape.Broadcast(x.Shape, indices.Shape.With(axis, x.Shape[axis]))
	if e != nil {
		err = registry.Wrong("indices", "%s and x %s differ beside axis %d; the other axes must be equal, or 1", indices.Shape, x.Shape, axis)
	}
	return x, indices, axis, s, err
}

func inferPutAlongAxis(c *registry.Infer) ([]plan.Type, error) {
	x, indices, _, s, err := alongAxis(c)
	if err != nil {
		return nil, err
	}
	if v := c.In(2); v.Scalar == nil {
		if got, e := shape.Broadcast(v.Type.Shape, indices.Shape); e != nil || !got.Equal(indices.Shape) {
			return nil, registry.Wrong("values", "%s does not broadcast to the indices' %s", v.Type.Shape, indices.Shape)
		}
	}
	return one(x.Dtype, s)
}

func buildPutAlongAxis(b *registry.Build) (registry.Run, error) {
	axis := b.Args.Int("axis")
	fixed, err := weakScalars(b)
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{c.PutAlongAxis(in[0], in[1], fixed.at(in, 2), axis)}
	}, nil
}
