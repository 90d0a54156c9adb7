package ops

import (
	"testing"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
)

// heldState declares an array at path s.
func heldState(d dtype.Dtype, shape string) *plan.State {
	return &plan.State{Path: "s", Kind: "array", Args: args("shape", dims(shape)), Dtype: d}
}

func TestInferConvolutions(t *testing.T) {
	b16, f32 := dtype.Bfloat16, dtype.Float32
	runInfer(t, []inferCase{
		{name: "4 taps", op: "causal_conv", in: []any{"bfloat16[B, T, 24]", "bfloat16[24, 4, 1]"}, state: heldState(b16, "B, 3, 24"), want: "bfloat16[B, T, 24]"},
		{name: "float32 taps", op: "causal_conv", in: []any{"bfloat16[B, T, 24]", "float32[24, 3, 1]"}, state: heldState(b16, "B, 2, 24"), want: "float32[B, T, 24]"},
		{name: "one tap", op: "causal_conv", in: []any{"bfloat16[B, T, 24]", "bfloat16[24, 1, 1]"}, state: heldState(b16, "B, 0, 24"), want: "bfloat16[B, T, 24]"},
		{name: "taps of another number", op: "causal_conv", in: []any{"bfloat16[B, T, 24]", "bfloat16[24, 3, 1]"}, state: heldState(b16, "B, 3, 24"),
			err: "weight: [24, 3, 1], where [24, 4, 1] is wanted"},
		{name: "channels of another number", op: "causal_conv", in: []any{"bfloat16[B, T, 24]", "bfloat16[24, 4, 1]"}, state: heldState(b16, "B, 3, 12"),
			err: "state: s is an array of [B, 3, 12]; [B, K - 1, 24] is wanted"},
		{name: "a cache", op: "causal_conv", in: []any{"bfloat16[B, T, 24]", "bfloat16[24, 4, 1]"}, state: cacheState("heads", 1, "dim", 8),
			err: "state: kv is of kind cache; an array is wanted"},
		{name: "no state", op: "causal_conv", in: []any{"bfloat16[B, T, 24]", "bfloat16[24, 4, 1]"}, err: "state: no state is given; an array is wanted"},
		{name: "heads", op: "causal_conv", in: []any{"bfloat16[B, 2, T, 24]", "bfloat16[24, 4, 1]"}, state: heldState(b16, "B, 3, 24"),
			err: "x: [B, 2, T, 24] has 4 axes; [B, T, C] is wanted"},
		{name: "plain", op: "token_shift", in: []any{"float16[B, T, 24]"}, state: heldState(b16, "B, 1, 24"), want: "float16[B, T, 24]"},
		{name: "a longer state", op: "token_shift", in: []any{"float16[B, T, 24]"}, state: heldState(f32, "B, 2, 24"),
			err: "state: s is an array of [B, 2, 24]; [B, 1, 24] is wanted"},
		{name: "integers", op: "token_shift", in: []any{"int32[B, T, 24]"}, state: heldState(b16, "B, 1, 24"),
			err: "x: is int32; a floating dtype is wanted (astype makes it one)"},
	})
}

func TestInferGatedDelta(t *testing.T) {
	q, v, state := "bfloat16[B, T, 2, 32]", "bfloat16[B, T, 6, 24]", heldState(dtype.Float32, "B, 6, 24, 32")
	g, beta := "float32[B, T, 6]", "bfloat16[B, T, 6]"
	op := "gated_delta_update"
	runInfer(t, []inferCase{
		{name: "decay per head", op: op, in: []any{q, q, v, g, beta}, state: state, want: "bfloat16[B, T, 6, 24]"},
		{name: "decay per channel", op: op, in: []any{q, q, v, "float32[B, T, 6, 32]", beta}, state: state, want: "bfloat16[B, T, 6, 24]"},
		{name: "heads", op: op, in: []any{q, q, "bfloat16[B, T, 5, 24]", g, beta}, state: state, err: "v: has 5 heads, which is no multiple of q's 2"},
		{name: "keys", op: op, in: []any{q, "bfloat16[B, T, 2, 16]", v, g, beta}, state: state, err: "k: [B, T, 2, 16] is not q's shape, [B, T, 2, 32]"},
		{name: "decay", op: op, in: []any{q, q, v, "float32[B, T, 2]", beta}, state: state,
			err: "g: [B, T, 2] is neither a decay per head, [B, T, 6], nor per channel, [B, T, 6, 32]"},
		{name: "beta", op: op, in: []any{q, q, v, g, "bfloat16[B, T, 2]"}, state: state, err: "beta: [B, T, 6] is wanted, one number per head; this is [B, T, 2]"},
		{name: "tokens", op: op, in: []any{q, q, "bfloat16[B, 1, 6, 24]", g, beta}, state: state, err: "v: [B, 1, 6, 24] is not of q's sequences and tokens, [B, T]"},
		{name: "a state turned", op: op, in: []any{q, q, v, g, beta}, state: heldState(dtype.Float32, "B, 6, 32, 24"),
			err: "state: s is an array of [B, 6, 32, 24]; [B, 6, 24, 32] is wanted"},
		{name: "a rounded state", op: op, in: []any{q, q, v, g, beta}, state: heldState(dtype.Bfloat16, "B, 6, 24, 32"),
			err: "state: s is bfloat16; this recurrence is kept in float32"},
		{name: "unknown width", op: op, in: []any{"bfloat16[B, T, 2, S]", q, v, g, beta}, state: state,
			err: "q: the last axis is S, which no one knows before the graph runs; an integer is wanted"},
		{name: "a number", op: op, in: []any{q, q, v, g, 1.0}, state: state, err: "beta: 1 is a number; an array is wanted here"},
	})
}

func TestInferSSM(t *testing.T) {
	x, b, dt, w := "bfloat16[B, T, 4, 16]", "bfloat16[B, T, 2, 24]", "bfloat16[B, T, 4]", "bfloat16[4]"
	state, limit := heldState(dtype.Float32, "B, 4, 16, 24"), args("limit", []float64{0.001, 100})
	in := []any{x, b, b, dt, w, w, w}
	op := "ssm_update"
	runInfer(t, []inferCase{
		{name: "plain", op: op, in: in, args: limit, state: state, want: "bfloat16[B, T, 4, 16]"},
		{name: "a float32 D", op: op, in: []any{x, b, b, dt, w, "float32[4]", w}, args: limit, state: state, want: "float32[B, T, 4, 16]"},
		{name: "groups", op: op, in: []any{"bfloat16[B, T, 3, 16]", b, b, dt, w, w, w}, args: limit, state: state, err: "x: has 3 heads, which is no multiple of b's 2 groups"},
		{name: "c", op: op, in: []any{x, b, "bfloat16[B, T, 2, 8]", dt, w, w, w}, args: limit, state: state, err: "c: [B, T, 2, 8] is not b's shape, [B, T, 2, 24]"},
		{name: "steps", op: op, in: []any{x, b, b, "bfloat16[B, T, 2]", w, w, w}, args: limit, state: state,
			err: "dt: [B, T, 4] is wanted, one step per token and head; this is [B, T, 2]"},
		{name: "weights", op: op, in: []any{x, b, b, dt, "bfloat16[2]", w, w}, args: limit, state: state, err: "A_log: [2], where [4] is wanted"},
		{name: "one bound", op: op, in: in, args: args("limit", []float64{1}), state: state, err: "limit: has 1 number; the least and the most time step are wanted"},
		{name: "turned bounds", op: op, in: in, args: args("limit", []float64{2, 1}), state: state, err: "limit: from 2 to 1 there is no time step"},
		{name: "a rounded state", op: op, in: in, args: limit, state: heldState(dtype.Float16, "B, 4, 16, 24"), err: "state: s is float16; this recurrence is kept in float32"},
	})
}

func TestInferWKV7(t *testing.T) {
	x, state := "bfloat16[B, T, 3, 32]", heldState(dtype.Bfloat16, "B, 3, 32, 32")
	runInfer(t, []inferCase{
		{name: "plain", op: "wkv7", in: []any{x, x, x, x, x, x}, state: state, want: x},
		{name: "a float32 decay", op: "wkv7", in: []any{x, "float32[B, T, 3, 32]", x, x, x, x}, state: state, want: x},
		{name: "heads", op: "wkv7", in: []any{x, x, x, x, "bfloat16[B, T, 1, 32]", x}, state: state, err: "a: [B, T, 1, 32] is not r's shape, [B, T, 3, 32]"},
		{name: "state", op: "wkv7", in: []any{x, x, x, x, x, x}, state: heldState(dtype.Bfloat16, "B, 3, 32"),
			err: "state: s is an array of [B, 3, 32]; [B, 3, 32, 32] is wanted"},
	})
}
