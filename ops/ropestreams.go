package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// inferStreams checks rope's input positions and what goes with it.
func inferStreams(c *registry.Infer, x plan.Type) error {
	positions, err := integers(c, 2, "positions")
	if err != nil {
		return err
	}
	if len(x.Shape) != 4 {
		return registry.Wrong("x", "%s has %s; [B, heads, T, D] is wanted beside positions", x.Shape, count(len(x.Shape), "axis", "axes"))
	}
	if want := (shape.Shape{shape.Int(3), x.Shape[0], x.Shape[2]}); !positions.Shape.Equal(want) {
		return registry.Wrong("positions", "%s is wanted, one stream each for time, height and width; this is %s", want, positions.Shape)
	}
	sections := c.Args.Ints("sections")
	if len(sections) != 3 {
		return registry.Wrong("sections", "has %s; 3 are wanted beside positions (time, height, width)", count(len(sections), "entry", "entries"))
	}
	for _, n := range sections {
		if n < 0 {
			return registry.Wrong("sections", "%s has a negative entry", intsText(sections))
		}
	}
	if c.Args.Bool("traditional") {
		return registry.Wrong("traditional", "neighbouring pairs are not rotated by several streams; leave it out")
	}
	sc, err := parseScaling(c.Args)
	if err == nil && sc.kind != "default" && sc.kind != "mrope" {
		err = registry.Wrong("scaling", "rope type '%s' is not for several streams; default and mrope are", sc.kind)
	}
	return err
}

// streamOf is the stream that turns pair j: streams alternate while their section lasts, the rest is time's.
func streamOf(j int, sections []int) int {
	if s := j % 3; s > 0 && j < 3*sections[s] {
		return s
	}
	return 0
}

// streams makes the rotation by positions [3, B, T]: float32 inside, rounded once.
func streams(b *registry.Build) (registry.Run, error) {
	pick, inverse, err := streamTables(b)
	if err != nil {
		return nil, err
	}
	dims, d := b.Args.Int("dims"), b.Inputs[0].Type.Dtype
	width := dimOf(b.Inputs[0].Type, 3)
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		// [half, B, T] to [B, 1, T, half]
		turns := c.TransposeAxes(c.TakeAxis(c.Astype(in[2], dtype.Float32), pick, 0), []int{1, 2, 0})
		angles := c.ExpandDims(c.Multiply(turns, inverse), 1)
		cos, sin := c.Cos(angles), c.Sin(angles)
		part := func(first, last int) mlx.Array {
			return c.Astype(along(c.Scope, in[0], 3, first, last), dtype.Float32)
		}
		a, z := part(0, dims/2), part(dims/2, dims)
		turned := []mlx.Array{c.Subtract(c.Multiply(a, cos), c.Multiply(z, sin)), c.Add(c.Multiply(a, sin), c.Multiply(z, cos))}
		y := c.Astype(c.ConcatenateAxis(turned, -1), d)
		if dims < width {
			y = c.ConcatenateAxis([]mlx.Array{y, along(c.Scope, in[0], 3, dims, width)}, -1)
		}
		return []mlx.Array{y}
	}, nil
}

type streamsKey struct {
	dims     int
	base     float64
	sections string
}

type streamTable struct{ pick, inverse mlx.Array }

// streamTables are the stream of each pair, uint32 [dims/2], and 1 / base^(2i/dims), float32 [dims/2], once per plan.
func streamTables(b *registry.Build) (pick, inverse mlx.Array, err error) {
	dims, base, sections := b.Args.Int("dims"), b.Args.Float("base"), b.Args.Ints("sections")
	if len(sections) != 3 {
		return pick, inverse, fmt.Errorf("rope by positions was given %d sections", len(sections))
	}
	t, err := shared(b.Memo, any(streamsKey{dims, base, intsText(sections)}), func() (streamTable, error) {
		f := &freqs{Scope: b.Scope, b: b, dims: dims, base: base}
		which := make([]mlx.Array, dims/2)
		for j := range which {
			which[j] = f.typed(float64(streamOf(j, sections)), dtype.Uint32)
		}
		out := streamTable{f.StackAxis(which, 0), f.Divide(f.num(1), f.plain(dims, dtype.Float32))}
		if f.err != nil {
			return out, f.err
		}
		if err := b.Scope.Err(); err != nil {
			return out, err
		}
		return streamTable{b.Keep(out.pick), b.Keep(out.inverse)}, nil
	})
	return t.pick, t.inverse, err
}
