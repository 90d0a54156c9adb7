package ops

import "testing"

func TestInferNorms(t *testing.T) {
	eps := args("eps", 1e-6)
	runInfer(t, []inferCase{
		{name: "weight", op: "rms_norm", in: []any{"bfloat16[B, T, 64]", "bfloat16[64]"}, args: eps, want: "bfloat16[B, T, 64]"},
		{name: "a float32 gain promotes", op: "rms_norm", in: []any{"bfloat16[B, T, 64]", "float32[64]"}, args: eps, want: "float32[B, T, 64]"},
		{name: "no weight", op: "rms_norm", in: []any{"float16[B, 4, T, 64]", ""}, args: eps, want: "float16[B, 4, T, 64]"},
		{name: "no weight, any width", op: "rms_norm", in: []any{"float16[B, T]", ""}, args: eps, want: "float16[B, T]"},
		{name: "integers", op: "rms_norm", in: []any{"int32[B, T, 64]", ""}, args: eps,
			err: "x: is int32; a floating dtype is wanted (astype makes it one)"},
		{name: "a number", op: "rms_norm", in: []any{2, ""}, args: eps, err: "x: 2 is a number; an array is wanted here"},
		{name: "negative eps", op: "rms_norm", in: []any{"float32[B, 8]", ""}, args: args("eps", -1.0),
			err: "eps: -1 is negative; usual values are 1e-6 and 1e-5"},
		{name: "a gain of another width", op: "rms_norm", in: []any{"float32[B, 8]", "float32[16]"}, args: eps,
			err: "weight: [16], where [8] is wanted"},
		{name: "a gain for an unknown width", op: "rms_norm", in: []any{"float32[B, T]", "float32[16]"}, args: eps,
			err: "x: the last axis is T, which no one knows before the graph runs; an integer is wanted"},
		{name: "a scalar", op: "rms_norm", in: []any{"float32[]", ""}, args: eps, err: "x: has no axis to normalise over"},
		{name: "weight and bias", op: "layer_norm", in: []any{"bfloat16[B, T, 64]", "bfloat16[64]", "bfloat16[64]"}, args: eps, want: "bfloat16[B, T, 64]"},
		{name: "a bias promotes beside a weight", op: "layer_norm", in: []any{"bfloat16[B, T, 64]", "bfloat16[64]", "float32[64]"}, args: eps, want: "float32[B, T, 64]"},
		{name: "a bias alone does not", op: "layer_norm", in: []any{"bfloat16[B, T, 64]", "", "float32[64]"}, args: eps, want: "bfloat16[B, T, 64]"},
		{name: "plain", op: "layer_norm", in: []any{"bfloat16[B, T, 64]"}, args: eps, want: "bfloat16[B, T, 64]"},
		{name: "a bias of another width", op: "layer_norm", in: []any{"float32[B, 8]", "", "float32[16]"}, args: eps,
			err: "bias: [16], where [8] is wanted"},
	})
}
