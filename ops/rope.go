package ops

import (
	"math"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

func rotary() []*registry.Operator {
	return []*registry.Operator{{
		Name: "rope",
		Doc: "Rotary positions: rotates the first `dims` of the last axis by the position of each row. x [B, heads, T, D] floating; " +
			"y like x. Positions are offset, offset + 1, …, the offset being that of the state before the forward. Pairs are (i, i + dims/2), " +
			"or (2i, 2i + 1) where `traditional`. Frequencies are base^(-2i/dims) or what `scaling`, config.json's own map, makes of them: " +
			"default, linear, dynamic, llama3, yarn, longrope, proportional, mrope (MLX fast.rope; mlx_lm/models/rope_utils.py; Su et al. 2021). " +
			"With positions, three streams (time, height, width) turn the pairs: pair j is height's where j = 1, 4, .. < 3 sections[1], width's where " +
			"j = 2, 5, .. < 3 sections[2], else time's; in float32, rounded once, so that three equal streams give not quite the bits of the plain rotation " +
			"(Qwen3-VL's interleaved rotary positions).",
		Inputs: []registry.Input{value("x", "[B, heads, T, D]"), state("offset", "the cache whose length is the first position"),
			optionalValue("positions", "integers [3, B, T], in the offset's place")},
		Params: []registry.Param{
			required("dims", "int", "rotated entries of the last axis, even"),
			required("base", "float", "theta of the frequencies"),
			withDefault("traditional", "bool", "rotate neighbouring pairs", boolValue(false)),
			withDefault("scaling", "map", "config.json's rope_scaling or rope_parameters; empty: plain", plan.Value{Kind: plan.Map}),
			withDefault("max_position", "int", "max_position_embeddings, which longrope and dynamic need", intValue(0)),
			withDefault("sections", "ints", "pairs per stream, where positions are given", plan.Value{Kind: plan.List}),
		},
		Outputs:        []string{"y"},
		Each:           true,
		Infer:          inferRope,
		Build:          buildRope,
		Native:         nativeRope,
		NativeNumerics: "angles, their cosines and sines and the rotation in float32, rounded once: max |Δ| at most 1e-5 max |x| in float32 up to position 4096",
	}}
}

func inferRope(c *registry.Infer) ([]plan.Type, error) {
	t, err := array(c, 0, "x")
	if err != nil {
		return nil, err
	}
	if err := floating("x", t); err != nil {
		return nil, err
	}
	if len(t.Shape) < 3 {
		return nil, registry.Wrong("x", "%s has %s; [B, heads, T, D] is wanted", t.Shape, count(len(t.Shape), "axis", "axes"))
	}
	width, err := known("x", t.Shape.Last(), "the last axis")
	if err != nil {
		return nil, err
	}
	dims := c.Args.Int("dims")
	if dims <= 0 || dims%2 != 0 || dims > width {
		return nil, registry.Wrong("dims", "%d of a last axis of %d cannot be rotated; an even number from 2 to %d is wanted", dims, width, width-width%2)
	}
	if base := c.Args.Float("base"); !(base > 0) || math.IsInf(base, 0) {
		return nil, registry.Wrong("base", "%v is no base of frequencies; a positive number is wanted, as 10000", base)
	}
	if _, err := parseScaling(c.Args); err != nil {
		return nil, err
	}
	if c.In(2).Given {
		if err := inferStreams(c, t); err != nil {
			return nil, err
		}
	}
	return one(t.Dtype, t.Shape)
}

func buildRope(b *registry.Build) (registry.Run, error) {
	if len(b.Inputs) > 2 && b.Inputs[2].Given {
		return streams(b)
	}
	sc, err := parseScaling(b.Args)
	if err != nil {
		return nil, err
	}
	dims, traditional := b.Args.Int("dims"), b.Args.Bool("traditional")
	base := mlx.Some(float32(b.Args.Float("base")))
	state := b.States[1]
	if sc.kind == "dynamic" {
		return dynamicRope(b.Args, sc, state), nil
	}
	freqs, err := sc.frequencies(b)
	if err != nil {
		return nil, err
	}
	if freqs.Valid() {
		base = mlx.Opt[float32]{}
	}
	// longrope always pairs halves: mlx-lm's SuScaledRoPE has no traditional order.
	traditional = traditional && sc.kind != "longrope"
	positions := float32(sc.positions)
	run := func(c *registry.Call, x mlx.Array) []mlx.Array {
		return []mlx.Array{c.FastRope(x, dims, traditional, base, positions, c.States[state].Offset(), freqs)}
	}
	if sc.gain == 1 {
		return func(c *registry.Call, in []mlx.Array) []mlx.Array { return run(c, in[0]) }, nil
	}
	gain, err := scalarOf(b, sc.gain, b.Inputs[0].Type.Dtype)
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return run(c, scaleFirst(c, in[0], dims, gain))
	}, nil
}

// scaleFirst multiplies the first dims of the last axis, as x.at[..., :dims].multiply(gain) does.
func scaleFirst(c *registry.Call, x mlx.Array, dims int, gain mlx.Array) mlx.Array {
	size := x.Shape()
	last := len(size) - 1
	if last < 0 {
		return x
	}
	if size[last] == dims {
		return c.Multiply(x, gain)
	}
	start, stop, strides := box(size)
	stop[last] = dims
	return c.SliceUpdate(x, c.Multiply(c.Slice(x, start, stop, strides), gain), start, stop, strides)
}

// dynamicRope grows the base with the length once that is beyond max_position (NTK-aware scaling), in doubles on the
// host as mlx-lm's DynamicNTKScalingRoPE does.
func dynamicRope(args plan.Args, sc scaling, state int) registry.Run {
	dims, traditional := args.Int("dims"), args.Bool("traditional")
	base, longest := args.Float("base"), args.Int("max_position")
	power := float64(dims) / float64(dims-2)
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		size, offset := in[0].Shape(), c.States[state].Offset()
		if len(size) < 2 {
			return []mlx.Array{in[0]}
		}
		length := max(size[len(size)-2]+offset, longest)
		b := base * math.Pow(sc.factor*float64(length)/float64(longest)-(sc.factor-1), power)
		return []mlx.Array{c.FastRope(in[0], dims, traditional, mlx.Some(float32(b)), 1, offset, mlx.Array{})}
	}
}
