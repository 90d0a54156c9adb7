package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

func codes() []*registry.Operator {
	return []*registry.Operator{{
		Name: "fp8_dequantize",
		Doc: "A matrix of float8 (e4m3) codes with one scale per block, as numbers. x uint8 [rows, columns], scale [ceil(rows / block), ceil(columns / block)]; " +
			"y [rows, columns] in dtype. The codes become dtype, are multiplied by the scale in the promoted dtype of both, and rounded to dtype " +
			"(mlx_lm/models/deepseek_v3.py, sanitize).",
		Inputs:  []registry.Input{value("x", "uint8 [rows, columns]"), value("scale", "one per block, floating")},
		Outputs: []string{"y"},
		Params:  []registry.Param{required("block", "int", "rows and columns of a block"), required("dtype", "dtype", "of the result, floating")},
		Infer:   inferFP8, Build: buildFP8,
	}}
}

func inferFP8(c *registry.Infer) ([]plan.Type, error) {
	x, err := ranked(c, 0, "x", 2, "[rows, columns]")
	if err != nil {
		return nil, err
	}
	if x.Dtype != dtype.Uint8 {
		return nil, registry.Wrong("x", "is %s; float8 codes are uint8", x.Dtype)
	}
	scale, err := ranked(c, 1, "scale", 2, "[row blocks, column blocks]")
	if err != nil {
		return nil, err
	}
	if err := floating("scale", scale); err != nil {
		return nil, err
	}
	block, d := c.Args.Int("block"), c.Args.Dtype("dtype")
	if block < 1 || block > longestAxis {
		return nil, registry.Wrong("block", "%d is no size of a block; 128 is usual", block)
	}
	if !d.IsFloat() {
		return nil, registry.Wrong("dtype", "is %s; a floating dtype is wanted", d)
	}
	want := make(shape.Shape, 2)
	for i, what := range []string{"the rows axis", "the columns axis"} {
		n, err := known("x", x.Shape[i], what)
		if err != nil {
			return nil, err
		}
		want[i] = shape.Int(blocksOf(n, block))
	}
	if !scale.Shape.Equal(want) {
		return nil, registry.Wrong("scale", "%s is wanted, one per block of %d x %d; this is %s", want, block, block, scale.Shape)
	}
	return one(d, x.Shape)
}

func blocksOf(n, block int) int { return (n-1)/block + 1 }

func buildFP8(b *registry.Build) (registry.Run, error) {
	block, d, x := b.Args.Int("block"), b.Args.Dtype("dtype"), b.Inputs[0].Type
	rows, columns := dimOf(x, 0), dimOf(x, 1)
	tall, wide := blocksOf(rows, block), blocksOf(columns, block)
	zero, err := scalarOf(b, 0, d)
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		w := c.Pad(c.FromFP8(in[0], d), []int{0, 1}, []int{0, 0}, []int{tall*block - rows, wide*block - columns}, zero, "constant")
		w = c.Multiply(c.Reshape(w, []int{tall, block, wide, block}), c.ExpandDimsAxes(in[1], []int{1, 3}))
		w = along(c.Scope, c.Reshape(w, []int{tall * block, wide * block}), 0, 0, rows)
		return []mlx.Array{c.Astype(along(c.Scope, w, 1, 0, columns), d)}
	}, nil
}
