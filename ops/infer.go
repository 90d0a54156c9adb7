package ops

import (
	"fmt"
	"math"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// one is a single result.
func one(d dtype.Dtype, s shape.Shape) ([]plan.Type, error) {
	return []plan.Type{{Dtype: d, Shape: s}}, nil
}

// array is the type of a required input that may not be a number.
func array(c *registry.Infer, i int, arg string) (plan.Type, error) {
	a := c.In(i)
	if a.Scalar != nil {
		return plan.Type{}, registry.Wrong(arg, "%s is a number; an array is wanted here", a.Scalar.Text())
	}
	return a.Type, nil
}

// ranked is array with as many axes as form names: "[B, heads, T, D]" has four.
func ranked(c *registry.Infer, i int, arg string, axes int, form string) (plan.Type, error) {
	t, err := array(c, i, arg)
	if err != nil {
		return t, err
	}
	if len(t.Shape) != axes {
		return t, registry.Wrong(arg, "%s has %s; %s is wanted", t.Shape, count(len(t.Shape), "axis", "axes"), form)
	}
	return t, nil
}

// floating refuses dtypes that MLX does not compute with here.
func floating(arg string, t plan.Type) error {
	if !t.Dtype.IsFloat() {
		return registry.Wrong(arg, "is %s; a floating dtype is wanted (astype makes it one)", t.Dtype)
	}
	return nil
}

// axisOf is the axis of the parameter made absolute.
func axisOf(c *registry.Infer, param string, s shape.Shape) (int, error) {
	return axisIn(param, c.Args.Int(param), s)
}

func axisIn(param string, axis int, s shape.Shape) (int, error) {
	a, err := s.Axis(axis)
	if err != nil {
		return 0, registry.Wrong(param, "%d is no axis of %s; %s", axis, s, axisRange(len(s)))
	}
	return a, nil
}

func axisRange(n int) string {
	if n == 0 {
		return "it has none"
	}
	return fmt.Sprintf("%d to %d are, or %d to -1 from the end", 0, n-1, -n)
}

// known is a dim that must be an integer when the graph is composed.
func known(arg string, d shape.Dim, what string) (int, error) {
	n, ok := d.Known()
	if !ok {
		return 0, registry.Wrong(arg, "%s is %s, which no one knows before the graph runs; an integer is wanted", what, d)
	}
	return n, nil
}

// longestAxis is the most that MLX counts along an axis.
const longestAxis = math.MaxInt32

// possible refuses dims of a parameter that no array has.
func possible(arg string, s shape.Shape) error {
	for _, d := range s {
		if n, ok := d.Known(); ok && (n < 0 || n > longestAxis) {
			return registry.Wrong(arg, "%s has the dim %d; dims are from 0 to %d", s, n, longestAxis)
		}
	}
	return nil
}

func without(s shape.Shape, axis int) shape.Shape {
	return append(append(shape.Shape{}, s[:axis]...), s[axis+1:]...)
}

func inserted(s shape.Shape, axis int, d shape.Dim) shape.Shape {
	out := append(shape.Shape{}, s[:axis]...)
	return append(append(out, d), s[axis:]...)
}

func count(n int, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %s", n, plural)
}

// intsText writes a list of ints as a graph file would.
func intsText(list []int) string { return shape.Of(list...).String() }
