package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// heads are the views between a projection's rows and attention's heads.
func heads() []*registry.Operator {
	return []*registry.Operator{
		{
			Name: "split_heads",
			Doc: "Cuts the last axis into heads: x [B, T, count * D] gives [B, T, count, D], the same bytes. " +
				"Any dtype. swap_heads then brings heads before positions.",
			Inputs:  []registry.Input{value("x", "[B, T, count * D]")},
			Outputs: []string{"y"},
			Params:  []registry.Param{required("count", "int", "heads")},
			Each:    true,
			Infer:   inferSplitHeads,
			Build: func(b *registry.Build) (registry.Run, error) {
				n := b.Args.Int("count")
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					size := in[0].Shape()
					if len(size) != 3 {
						return []mlx.Array{{}}
					}
					return []mlx.Array{c.Reshape(in[0], []int{size[0], size[1], n, size[2] / n})}
				}, nil
			},
		},
		{
			Name:    "swap_heads",
			Doc:     "Swaps heads and positions: [B, T, heads, D] gives [B, heads, T, D], or back. A view; any dtype.",
			Inputs:  []registry.Input{value("x", "[B, T, heads, D]")},
			Outputs: []string{"y"},
			Each:    true,
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				t, err := ranked(c, 0, "x", 4, "[B, T, heads, D]")
				if err != nil {
					return nil, err
				}
				s := t.Shape
				return one(t.Dtype, shape.Shape{s[0], s[2], s[1], s[3]})
			},
			Build: func(*registry.Build) (registry.Run, error) {
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					return []mlx.Array{c.TransposeAxes(in[0], []int{0, 2, 1, 3})}
				}, nil
			},
		},
		{
			Name:    "merge_heads",
			Doc:     "Undoes swap_heads and split_heads: [B, heads, T, D] gives [B, T, heads * D]. Any dtype.",
			Inputs:  []registry.Input{value("x", "[B, heads, T, D]")},
			Outputs: []string{"y"},
			Each:    true,
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				t, err := ranked(c, 0, "x", 4, "[B, heads, T, D]")
				if err != nil {
					return nil, err
				}
				s := t.Shape
				width, ok := shape.Shape{s[1], s[3]}.Product()
				if !ok {
					return nil, registry.Wrong("x", "heads and D of %s are %s and %s; one must be an integer", s, s[1], s[3])
				}
				return one(t.Dtype, shape.Shape{s[0], s[2], width})
			},
			Build: func(*registry.Build) (registry.Run, error) {
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					size := in[0].Shape()
					if len(size) != 4 {
						return []mlx.Array{{}}
					}
					y := c.TransposeAxes(in[0], []int{0, 2, 1, 3})
					return []mlx.Array{c.Reshape(y, []int{size[0], size[2], size[1] * size[3]})}
				}, nil
			},
		},
	}
}

// divisors names the numbers next to n that divide a width.
func divisors(n, width int) string {
	below, above := n, n
	for below > 1 && (below > width || width%below != 0) {
		below--
	}
	for above < width && (above < 1 || width%above != 0) {
		above++
	}
	switch {
	case below < 1:
		return fmt.Sprintf("%d divides it", above)
	case above > width || below == above:
		return fmt.Sprintf("%d divides it", below)
	}
	return fmt.Sprintf("%d and %d divide it", below, above)
}

func inferSplitHeads(c *registry.Infer) ([]plan.Type, error) {
	t, err := ranked(c, 0, "x", 3, "[B, T, count * D]")
	if err != nil {
		return nil, err
	}
	width, err := known("x", t.Shape[2], "the last axis")
	if err != nil {
		return nil, err
	}
	n := c.Args.Int("count")
	if n <= 0 || width%n != 0 {
		return nil, &registry.ArgError{Arg: "count", Message: fmt.Sprintf("%d does not divide the last axis of %s, %d", n, t.Shape, width), Help: divisors(n, width)}
	}
	return one(t.Dtype, shape.Shape{t.Shape[0], t.Shape[1], shape.Int(n), shape.Int(width / n)})
}
