package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// sizes computes a list of dims when the forward's numbers are known.
type sizes struct {
	dims  shape.Shape
	fixed []int          // the whole list where no dim has a symbol
	where map[string]pos // symbols other than B, T and S: an input's axis that is just this symbol
}

type pos struct{ input, axis int }

// newSizes finds where each symbol of dims can be read in a forward. dims may hold one -1, which stays.
func newSizes(b *registry.Build, dims shape.Shape) (*sizes, error) {
	s := &sizes{dims: dims, where: map[string]pos{}}
	if fixed, ok := dims.Known(); ok {
		s.fixed = fixed
		return s, nil
	}
	for _, d := range dims {
		for _, t := range d.Terms {
			if t.Symbol == "B" || t.Symbol == "T" || t.Symbol == "S" {
				continue
			}
			p, ok := findSymbol(b, t.Symbol)
			if !ok {
				return nil, fmt.Errorf("%s of %s is the length of no input's axis", t.Symbol, dims)
			}
			s.where[t.Symbol] = p
		}
	}
	return s, nil
}

func findSymbol(b *registry.Build, symbol string) (pos, bool) {
	want := shape.Sym(symbol)
	for i, in := range b.Inputs {
		if !in.Given || in.Scalar != nil {
			continue
		}
		for a, d := range in.Type.Shape {
			if d.Equal(want) {
				return pos{i, a}, true
			}
		}
	}
	return pos{}, false
}

func (s *sizes) of(c *registry.Call, in []mlx.Array) []int {
	if s.fixed != nil {
		return s.fixed
	}
	out := make([]int, len(s.dims))
	for i, d := range s.dims {
		n := d.Const
		for _, t := range d.Terms {
			n += t.Factor * s.symbol(c, in, t.Symbol)
		}
		out[i] = n
	}
	return out
}

func (s *sizes) symbol(c *registry.Call, in []mlx.Array, name string) int {
	switch name {
	case "B":
		return c.B
	case "T":
		return c.T
	case "S":
		return c.S
	}
	p := s.where[name]
	if size := in[p.input].Shape(); p.axis < len(size) {
		return size[p.axis]
	}
	return 0
}

// box is the whole of an array as slice's arguments, to be narrowed.
func box(size []int) (start, stop, strides []int) {
	start, stop, strides = make([]int, len(size)), append([]int(nil), size...), make([]int, len(size))
	for i := range strides {
		strides[i] = 1
	}
	return start, stop, strides
}

// along slices one axis of an array, as Python's a[.., first:last, ..] with both inside the array.
func along(s *mlx.Scope, a mlx.Array, axis, first, last int) mlx.Array {
	size := a.Shape()
	if axis >= len(size) {
		return mlx.Array{}
	}
	start, stop, strides := box(size)
	start[axis], stop[axis] = first, last
	return s.Slice(a, start, stop, strides)
}
