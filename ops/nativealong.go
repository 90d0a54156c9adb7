package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// What a router of experts is made of has kernels of the CPU's own, not for the arithmetic, but so that a step's calls can be
// recorded together with those around them.

// longestAlong is the longest axis that they take: MLX's own are better at long ones.
const longestAlong = 1024

// alongLast tells whether numbers are taken along their last axis, which has a known length up to longestAlong.
func alongLast(b *registry.Build) bool {
	t := b.Inputs[0].Type
	return shortFloats(t, len(t.Shape)-1) && b.Inputs[0].State == nil && last(t, b.Args.Int("axis"))
}

func shortFloats(t plan.Type, axis int) bool {
	if axis < 0 || !t.Dtype.IsFloat() || t.Dtype == dtype.Float64 {
		return false
	}
	n, known := t.Shape[axis].Known()
	return known && n > 0 && n <= longestAlong
}

func last(t plan.Type, axis int) bool { return axis == -1 || axis == len(t.Shape)-1 }

func nativeSoftmax(b *registry.Build) (registry.Run, error) {
	if !alongLast(b) {
		return nil, nil
	}
	return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return b.Workers.Softmax(c.Scope, x) }), nil
}

func nativeArgpartition(b *registry.Build) (registry.Run, error) {
	if !alongLast(b) {
		return nil, nil
	}
	kth := b.Args.Int("kth")
	return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return b.Workers.Argpartition(c.Scope, x, kth) }), nil
}

func nativeTakeAlong(b *registry.Build) (registry.Run, error) {
	x, indices := b.Inputs[0].Type, b.Inputs[1].Type
	if !alongLast(b) || indices.Dtype != dtype.Uint32 && indices.Dtype != dtype.Int32 || len(indices.Shape) != len(x.Shape) ||
		!indices.Shape.With(len(x.Shape)-1, x.Shape.Last()).Equal(x.Shape) {
		return nil, nil
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{b.Workers.TakeAlong(c.Scope, in[0], in[1])}
	}, nil
}

// nativeSum serves sums along the last axis, and along the last but one: of experts' results.
func nativeSum(b *registry.Build) (registry.Run, error) {
	t := b.Inputs[0].Type
	axis, err := t.Shape.Axis(b.Args.Int("axis"))
	if err != nil || axis < len(t.Shape)-2 || b.Args.String("order") == "sequential" || !shortFloats(t, axis) {
		return nil, err
	}
	if n, known := t.Shape.Last().Known(); !known || n == 0 {
		return nil, nil
	}
	axis -= len(t.Shape)
	keepdims := b.Args.Bool("keepdims")
	return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return b.Workers.Sum(c.Scope, x, axis, keepdims) }), nil
}
