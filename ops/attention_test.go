package ops

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

func helpOf(err error) string {
	var e *registry.ArgError
	if errors.As(err, &e) {
		return e.Help
	}
	return ""
}

func TestInferAttend(t *testing.T) {
	q, k, v := "bfloat16[B, 4, T, 64]", "bfloat16[B, 2, T, 64]", "bfloat16[B, 2, T, 32]"
	kv := cacheState("heads", 2, "dim", 64, "value_dim", 32)
	window := cacheState("heads", 2, "dim", 64, "window", 128)
	chunk := cacheState("heads", 2, "dim", 64, "chunk", 128)
	scale := args("scale", 0.125)
	runInfer(t, []inferCase{
		{name: "state", op: "attend", in: []any{q, k, v}, args: scale, state: kv, want: "bfloat16[B, 4, T, 32]"},
		{name: "window", op: "attend", in: []any{q, k, k}, args: scale, state: window, want: "bfloat16[B, 4, T, 64]"},
		{name: "chunk", op: "attend", in: []any{q, k, k}, args: scale, state: chunk, want: "bfloat16[B, 4, T, 64]"},
		{name: "read only", op: "attend", in: []any{q}, args: scale, state: kv, want: "bfloat16[B, 4, T, 32]"},
		{name: "a float32 query", op: "attend", in: []any{"float32[B, 4, T, 64]", k, v}, args: scale, state: kv, want: "float32[B, 4, T, 32]"},
		{name: "no state", op: "attend", in: []any{q, "bfloat16[B, 1, S, 64]", "bfloat16[B, 1, S, 16]"}, args: scale, want: "bfloat16[B, 4, T, 16]"},
		{name: "mask and sinks", op: "attend", in: []any{q, k, v, "bool[T, S]", "bfloat16[4]"}, args: scale, state: kv, want: "bfloat16[B, 4, T, 32]"},
		{name: "mask of a window", op: "attend", in: []any{q, k, k, "bool[T, len(kv)]"}, args: scale, state: window, want: "bfloat16[B, 4, T, 64]"},
		{name: "an added mask", op: "attend", in: []any{q, "bfloat16[B, 4, S, 64]", "bfloat16[B, 4, S, 64]", "bfloat16[B, 4, T, S]"}, args: scale, want: "bfloat16[B, 4, T, 64]"},

		{name: "three axes", op: "attend", in: []any{"bfloat16[B, T, 256]", k, v}, args: scale, state: kv,
			err: "q: [B, T, 256] has 3 axes; [B, heads, T, D] is wanted"},
		{name: "k without v", op: "attend", in: []any{q, k}, args: scale, state: kv, err: "v: is not given; k and v come together"},
		{name: "v without k", op: "attend", in: []any{q, "", v}, args: scale, state: kv, err: "k: is not given; k and v come together"},
		{name: "nothing to read", op: "attend", in: []any{q}, args: scale, err: "k: is not given and there is no state to read; give k and v, or state"},
		{name: "heads", op: "attend", in: []any{"bfloat16[B, 3, T, 64]", k, v}, args: scale, state: kv, err: "q: has 3 heads, which is no multiple of k's 2"},
		{name: "another cache", op: "attend", in: []any{q, "bfloat16[B, 4, T, 64]", "bfloat16[B, 4, T, 32]"}, args: scale, state: kv,
			err: "k: [B, 4, T, 64] does not go into the cache kv, which takes [B, 2, T, 64]"},
		{name: "another value width", op: "attend", in: []any{q, k, k}, args: scale, state: kv,
			err: "v: [B, 2, T, 64] does not go into the cache kv, which takes [B, 2, T, 32]"},
		{name: "key width", op: "attend", in: []any{"bfloat16[B, 4, T, 32]", k, v}, args: scale, state: kv,
			err: "k: [B, 2, S, 64] has entries of 64; q [B, 4, T, 32] has 32"},
		{name: "positions differ", op: "attend", in: []any{q, "bfloat16[B, 1, S, 64]", "bfloat16[B, 1, T, 64]"}, args: scale,
			err: "v: [B, 1, T, 64] does not go with k [B, 1, S, 64]: heads and positions must be equal"},
		{name: "a mask of another length", op: "attend", in: []any{q, k, k, "bool[T, S]"}, args: scale, state: window,
			err: "mask: [T, S] does not broadcast to the scores' [B, 4, T, len(kv)]"},
		{name: "a float32 mask", op: "attend", in: []any{q, k, v, "float32[T, S]"}, args: scale, state: kv,
			err: "mask: float32 does not go into bfloat16, the dtype of the result; bool or a dtype that does is wanted"},
		{name: "sinks of another length", op: "attend", in: []any{q, k, v, "", "bfloat16[2]"}, args: scale, state: kv,
			err: "sinks: [4] is wanted, one logit per head; this is [2]"},
		{name: "integers", op: "attend", in: []any{"int32[B, 4, T, 64]", k, v}, args: scale, state: kv,
			err: "q: is int32; a floating dtype is wanted (astype makes it one)"},
		{name: "another kind of state", op: "attend", in: []any{q, k, v}, args: scale, state: &plan.State{Path: "conv", Kind: "array"},
			err: "state: conv is of kind array; a cache is wanted"},
	})
}

func TestInferCaches(t *testing.T) {
	kv, keys := cacheState("heads", 1, "dim", 64, "value_dim", 32), cacheState("heads", 1, "dim", 64, "value_dim", 0)
	window := cacheState("heads", 1, "dim", 64, "window", 8)
	k, v := "bfloat16[B, 1, T, 64]", "bfloat16[B, 1, T, 32]"
	runInfer(t, []inferCase{
		{name: "both", op: "update_cache", in: []any{k, v}, state: kv, want: "bfloat16[B, 1, S, 64]; bfloat16[B, 1, S, 32]"},
		{name: "keys only", op: "update_cache", in: []any{k}, state: keys, want: "bfloat16[B, 1, S, 64]"},
		{name: "window", op: "update_cache", in: []any{k, k}, state: window, want: "bfloat16[B, 1, len(kv), 64]; bfloat16[B, 1, len(kv), 64]"},
		{name: "another length", op: "update_cache", in: []any{"bfloat16[B, 1, 7, 64]", "bfloat16[B, 1, 7, 32]"}, state: kv,
			want: "bfloat16[B, 1, len(kv), 64]; bfloat16[B, 1, len(kv), 32]"},
		{name: "v missing", op: "update_cache", in: []any{k}, state: kv, err: "v: the cache's value_dim is 32: v is wanted"},
		{name: "v too many", op: "update_cache", in: []any{k, v}, state: keys, err: "v: the cache's value_dim is 0: v is not taken"},
		{name: "shape", op: "update_cache", in: []any{"bfloat16[B, 2, T, 64]", v}, state: kv,
			err: "k: [B, 2, T, 64] does not go into the cache kv, which takes [B, 1, T, 64]"},
		{name: "both", op: "read_cache", in: []any{kv}, want: "bfloat16[B, 1, S, 64]; bfloat16[B, 1, S, 32]"},
		{name: "keys only", op: "read_cache", in: []any{keys}, want: "bfloat16[B, 1, S, 64]"},
		{name: "a bad geometry", op: "read_cache", in: []any{cacheState("heads", 0, "dim", 4)}, err: "state: a cache has 1 head or more, not 0"},
		{name: "full", op: "attention_mask", in: []any{kv}, want: "bool[T, S]"},
		{name: "window", op: "attention_mask", in: []any{window}, args: args("array", true), want: "bool[T, len(kv)]"},
		{name: "no array", op: "attention_mask", in: []any{kv}, args: args("array", false),
			err: "array: false would be no array; leave the mask out, attend masks by itself (causal: true without a state)"},
		{name: "positions", op: "cache_positions", in: []any{kv}, args: args("start", 1), want: "int32[T]"},
		{name: "bool", op: "mask_scores", in: []any{"bfloat16[B, 4, T, S]", "bool[T, S]"}, want: "bfloat16[B, 4, T, S]"},
		{name: "added", op: "mask_scores", in: []any{"bfloat16[B, 4, T, S]", "float32[T, S]"}, want: "float32[B, 4, T, S]"},
		{name: "none", op: "mask_scores", in: []any{"bfloat16[B, 4, T, S]", ""}, want: "bfloat16[B, 4, T, S]"},
		{name: "another length", op: "mask_scores", in: []any{"bfloat16[B, 4, T, S]", "bool[T, T]"},
			err: "mask: [B, 4, T, S] and [T, T] do not broadcast: T is not S"},
		{name: "integers", op: "mask_scores", in: []any{"int32[T, S]", ""}, err: "scores: is int32; a floating dtype is wanted (astype makes it one)"},
	})
}

func TestCacheDeclarations(t *testing.T) {
	kind := cacheKind()
	for _, c := range []struct {
		name  string
		state *plan.State
		err   string
	}{
		{"full", cacheState("heads", 2, "dim", 64), ""},
		{"window", cacheState("heads", 2, "dim", 64, "window", 512), ""},
		{"chunk", cacheState("heads", 2, "dim", 64, "chunk", 512), ""},
		{"keys only", cacheState("heads", 2, "dim", 64, "value_dim", 0), ""},
		{"no dim", cacheState("heads", 2), "2 heads of dim 0 are no cache; dim is from 1 to 8388608"},
		{"too wide", cacheState("heads", 1<<20, "dim", 1<<40), "1048576 heads of dim 1099511627776 are no cache; dim is from 1 to 16"},
		{"negative values", cacheState("heads", 1, "dim", 1, "value_dim", -1), "value_dim -1 is not from 0 to 16777216"},
		{"negative window", cacheState("heads", 1, "dim", 1, "window", -1), "window -1 and chunk 0 are 0 or more"},
		{"window and chunk", cacheState("heads", 1, "dim", 1, "window", 4, "chunk", 4), "window 4 and chunk 4: a cache has one of them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := kind.New(*c.state)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				per, fixed := kind.Bytes(*c.state)
				require.Zero(t, per+fixed)
				return
			}
			require.NoError(t, err)
			require.Zero(t, v.Offset())
			require.Empty(t, v.Arrays())
			v.Reset()
			v.Free()
		})
	}
	per, fixed := kind.Bytes(*cacheState("heads", 2, "dim", 64, "value_dim", 32))
	require.Equal(t, []int64{2 * 96 * 2, 0}, []int64{per, fixed})
	per, fixed = kind.Bytes(*cacheState("heads", 2, "dim", 64, "window", 100))
	require.Equal(t, []int64{0, 100 * 2 * 128 * 2}, []int64{per, fixed})
}

func TestArrayDeclarations(t *testing.T) {
	kind := arrayKind()
	state := func(text string) plan.State {
		return plan.State{Path: "conv", Kind: "array", Args: args("shape", dims(text)), Dtype: dtype.Float32}
	}
	_, fixed := kind.Bytes(state("B, 3, 64"))
	require.Equal(t, int64(3*64*4), fixed)
	_, err := kind.New(state("B, 3, 64"))
	require.NoError(t, err)
	_, err = kind.New(state("B, T, 64"))
	require.EqualError(t, err, "an array state's dims are integers and B; [B, T, 64] has T")
	_, err = kind.New(state("1000000, 1000000"))
	require.EqualError(t, err, "an array state of [1000000, 1000000] is none: dims are 0 or more and 1073741824 numbers at most")
	_, err = kind.New(state("-1"))
	require.ErrorContains(t, err, "dims are 0 or more")
}
