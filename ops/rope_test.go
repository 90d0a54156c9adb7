package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/plan"
)

func ropeArgs(dims int, scaling []any, more ...any) plan.Args {
	a := args("dims", dims, "base", 10000.0)
	if scaling != nil {
		a = append(a, args("scaling", scaling)...)
	}
	return append(a, args(more...)...)
}

func TestInferRope(t *testing.T) {
	kv := cacheState("heads", 2, "dim", 64)
	x, in := "bfloat16[B, 4, T, 64]", []any{"bfloat16[B, 4, T, 64]", kv}
	llama3 := []any{"rope_type", "llama3", "factor", 8.0, "low_freq_factor", 1.0, "high_freq_factor", 4.0, "original_max_position_embeddings", 8192}
	long := make([]float64, 32)
	for i := range long {
		long[i] = 1.5
	}
	known := "known: default, linear, dynamic, llama3, yarn, deepseek_yarn, telechat3-yarn, longrope, proportional, mrope"
	runInfer(t, []inferCase{
		{name: "plain", op: "rope", in: in, args: ropeArgs(64, nil), want: x},
		{name: "part of the head", op: "rope", in: in, args: ropeArgs(16, nil), want: x},
		{name: "default with a theta beside it", op: "rope", in: in, args: ropeArgs(64, []any{"rope_type", "default", "rope_theta", 1e6}), want: x},
		{name: "type null", op: "rope", in: in, args: ropeArgs(64, []any{"type", nil, "rope_type", "linear", "factor", 2}), want: x},
		{name: "linear", op: "rope", in: in, args: ropeArgs(64, []any{"type", "linear", "factor", 4}), want: x},
		{name: "llama3", op: "rope", in: in, args: ropeArgs(64, llama3), want: x},
		{name: "yarn", op: "rope", in: in, args: ropeArgs(64, []any{"type", "deepseek_yarn", "factor", 40, "mscale", 1.0, "mscale_all_dim", 1.0}), want: x},
		{name: "longrope", op: "rope", in: in, args: ropeArgs(64, []any{"type", "longrope", "original_max_position_embeddings", 4096, "long_factor", long}, "max_position", 131072), want: x},
		{name: "dynamic", op: "rope", in: in, args: ropeArgs(64, []any{"type", "dynamic", "factor", 2.0}, "max_position", 2048), want: x},
		{name: "proportional", op: "rope", in: in, args: ropeArgs(64, []any{"rope_type", "proportional", "partial_rotary_factor", 0.25}), want: x},
		{name: "mrope", op: "rope", in: in, args: ropeArgs(64, []any{"type", "mrope", "mrope_section", []int{16, 24, 24}}), want: x},

		{name: "odd dims", op: "rope", in: in, args: ropeArgs(63, nil),
			err: "dims: 63 of a last axis of 64 cannot be rotated; an even number from 2 to 64 is wanted"},
		{name: "dims beyond the head", op: "rope", in: in, args: ropeArgs(128, nil),
			err: "dims: 128 of a last axis of 64 cannot be rotated; an even number from 2 to 64 is wanted"},
		{name: "base", op: "rope", in: in, args: args("dims", 64, "base", 0.0),
			err: "base: 0 is no base of frequencies; a positive number is wanted, as 10000"},
		{name: "two axes", op: "rope", in: []any{"bfloat16[T, 64]", kv}, args: ropeArgs(64, nil),
			err: "x: [T, 64] has 2 axes; [B, heads, T, D] is wanted"},
		{name: "integers", op: "rope", in: []any{"int32[B, 4, T, 64]", kv}, args: ropeArgs(64, nil),
			err: "x: is int32; a floating dtype is wanted (astype makes it one)"},
		{name: "an unknown type", op: "rope", in: in, args: ropeArgs(64, []any{"type", "lama3"}),
			err: "scaling: rope type 'lama3' is not known; " + known},
		{name: "no factor", op: "rope", in: in, args: ropeArgs(64, []any{"rope_type", "linear", "scale", 2}),
			err: "scaling: the map has no factor, which rope type 'linear' needs; it has rope_type, scale"},
		{name: "a factor of 0", op: "rope", in: in, args: ropeArgs(64, []any{"rope_type", "llama3", "factor", 0}),
			err: "scaling: factor is 0; a positive number is wanted"},
		{name: "a factor that is text", op: "rope", in: in, args: ropeArgs(64, []any{"rope_type", "yarn", "factor", "big"}),
			err: "scaling: factor is big; a number is wanted"},
		{name: "dynamic without max_position", op: "rope", in: in, args: ropeArgs(64, []any{"type", "dynamic", "factor", 2.0}),
			err: "max_position: is 0; rope type 'dynamic' needs the model's max_position_embeddings"},
		{name: "dynamic of 2 dims", op: "rope", in: in, args: ropeArgs(2, []any{"type", "dynamic", "factor", 2.0}, "max_position", 64),
			err: "dims: 2 is too few for dynamic scaling, whose exponent is dims / (dims - 2)"},
		{name: "long_factor of another length", op: "rope", in: in,
			args: ropeArgs(64, []any{"type", "longrope", "original_max_position_embeddings", 64, "long_factor", []float64{1, 2}}, "max_position", 128),
			err:  "scaling: long_factor has 2 numbers; dims / 2 = 32 are wanted"},
		{name: "longrope without an original", op: "rope", in: in, args: ropeArgs(64, []any{"type", "longrope", "long_factor", long}, "max_position", 128),
			err: "scaling: the map has no original_max_position_embeddings, which rope type 'longrope' needs; it has type, long_factor"},
		{name: "mrope sections", op: "rope", in: in, args: ropeArgs(64, []any{"type", "mrope"}),
			err: "scaling: mrope_section has 0 entries; 3 are wanted (time, height, width)"},
		{name: "proportional of an odd part", op: "rope", in: in, args: ropeArgs(64, []any{"type", "proportional", "partial_rotary_factor", 0.05}),
			err: "scaling: partial_rotary_factor 0.05 of 64 dims is 3; an even number from 2 to 64 is wanted"},
		{name: "yarn of base 1", op: "rope", in: in, args: args("dims", 64, "base", 1.0, "scaling", []any{"type", "yarn", "factor", 2}),
			err: "base: 1 has no logarithm to divide by, as yarn does"},
		{name: "a type that is a number", op: "rope", in: in, args: ropeArgs(64, []any{"type", 3}), err: "scaling: type is 3; a name is wanted"},
	})
}

func TestRopeSuggestsAType(t *testing.T) {
	_, err := parseScaling(ropeArgs(64, []any{"type", "lama3"}))
	require.ErrorContains(t, err, "lama3")
	require.Equal(t, "did you mean llama3?", helpOf(err))
}

// Numbers of the YaRN paper's and mlx-lm's formulas, computed by hand.
func TestScalingNumbers(t *testing.T) {
	sc, err := parseScaling(ropeArgs(64, []any{"type", "yarn", "factor", 4, "original_max_position_embeddings", 64}))
	require.NoError(t, err)
	require.Equal(t, 0.0, sc.low) // floor of -3.98
	require.Equal(t, 9.0, sc.high)
	require.InDelta(t, 1.138629, sc.gain, 1e-6) // 0.1 ln 4 + 1
	sc, err = parseScaling(ropeArgs(64, []any{"type", "yarn", "factor", 4, "mscale", 1, "mscale_all_dim", 1}))
	require.NoError(t, err)
	require.Equal(t, 1.0, sc.gain)
	sc, err = parseScaling(ropeArgs(64, []any{"type", "longrope", "original_max_position_embeddings", 64, "long_factor", 2.0}, "max_position", 4096))
	require.NoError(t, err)
	require.InDelta(t, 1.414214, sc.gain, 1e-6) // sqrt(1 + ln 64 / ln 64)
	sc, err = parseScaling(ropeArgs(64, []any{"type", "linear", "factor", 4}))
	require.NoError(t, err)
	require.Equal(t, 0.25, sc.positions)
}
