package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/plan"
)

func TestInferIndexing(t *testing.T) {
	x := "bfloat16[B, T, 8]"
	runInfer(t, []inferCase{
		{name: "middle", op: "slice", in: []any{x}, args: args("axis", -1, "start", 2, "stop", 6), want: "bfloat16[B, T, 4]"},
		{name: "from the end", op: "slice", in: []any{x}, args: args("axis", -1, "start", -3), want: "bfloat16[B, T, 3]"},
		{name: "to the end but one", op: "slice", in: []any{x}, args: args("axis", 2, "stop", -1), want: "bfloat16[B, T, 7]"},
		{name: "last position", op: "slice", in: []any{x}, args: args("axis", 1, "start", -1), want: "bfloat16[B, 1, 8]"},
		{name: "all but the first position", op: "slice", in: []any{x}, args: args("axis", 1, "start", 1), want: "bfloat16[B, T - 1, 8]"},
		{name: "first position", op: "slice", in: []any{x}, args: args("axis", 1, "stop", 1), want: "bfloat16[B, 1, 8]"},
		{name: "outside", op: "slice", in: []any{x}, args: args("axis", -1, "stop", 9), err: "stop: 9 is outside an axis of 8"},
		{name: "maybe outside", op: "slice", in: []any{x}, args: args("axis", 1, "start", -2),
			err: "start: -2 may be outside an axis of T, which is only known when the graph runs"},
		{name: "reversed", op: "slice", in: []any{x}, args: args("axis", -1, "start", 5, "stop", 2),
			err: "stop: the slice from 5 to 2 of an axis of 8 has no certain length"},
		{name: "an axis too many", op: "slice", in: []any{x}, args: args("axis", 3),
			err: "axis: 3 is no axis of [B, T, 8]; 0 to 2 are, or -3 to -1 from the end"},

		{name: "fits", op: "slice_update", in: []any{"float32[4, B, T, 8]", "bfloat16[3, B, T, 8]"}, args: args("axis", 0, "start", 1), want: "float32[4, B, T, 8]"},
		{name: "does not fit", op: "slice_update", in: []any{"float32[4, B, T, 8]", "bfloat16[3, B, T, 8]"}, args: args("axis", 0, "start", 2),
			err: "start: 3 entries from 2 do not fit into an axis of 4"},
		{name: "another width", op: "slice_update", in: []any{"float32[4, B, 8]", "bfloat16[1, B, 7]"}, args: args("axis", 0),
			err: "update: [1, B, 7] does not go into [4, B, 8] along axis 0: the other axes must be equal"},

		{name: "index", op: "take", in: []any{"bfloat16[4, B, T, 8]"}, args: args("axis", 0, "index", 3), want: "bfloat16[B, T, 8]"},
		{name: "last position", op: "take", in: []any{x}, args: args("axis", 1, "index", -1), want: "bfloat16[B, 8]"},
		{name: "indices", op: "take", in: []any{"bfloat16[64, 8]", "uint32[B, T]"}, args: args("axis", 0), want: "bfloat16[B, T, 8]"},
		{name: "indices in the middle", op: "take", in: []any{"bfloat16[4, 64, 8]", "int32[5]"}, args: args("axis", 1), want: "bfloat16[4, 5, 8]"},
		{name: "outside", op: "take", in: []any{"bfloat16[4, 8]"}, args: args("axis", 0, "index", 4), err: "index: 4 is outside axis 0 of [4, 8]"},
		{name: "maybe outside", op: "take", in: []any{x}, args: args("axis", 1, "index", 1), err: "index: 1 is outside axis 1 of [B, T, 8]"},
		{name: "both", op: "take", in: []any{"bfloat16[4, 8]", "int32[2]"}, args: args("axis", 0, "index", 1),
			err: "index: take wants indices (an array) or index (an int), one of the two"},
		{name: "neither", op: "take", in: []any{"bfloat16[4, 8]"}, args: args("axis", 0),
			err: "index: take wants indices (an array) or index (an int), one of the two"},
		{name: "floats", op: "take", in: []any{"bfloat16[4, 8]", "float32[2]"}, args: args("axis", 0), err: "indices: is float32; integers are wanted"},

		{name: "of the last", op: "take_along_axis", in: []any{"bfloat16[B, T, 8]", "uint32[B, T, 2]"}, args: args("axis", -1), want: "bfloat16[B, T, 2]"},
		{name: "one row for all", op: "take_along_axis", in: []any{"bfloat16[B, 1, S, 8]", "uint32[B, 1, 4, 8]"}, args: args("axis", 2), want: "bfloat16[B, 1, 4, 8]"},
		{name: "stretched", op: "take_along_axis", in: []any{"bfloat16[B, T, 8]", "uint32[1, 1, 2]"}, args: args("axis", -1), want: "bfloat16[B, T, 2]"},
		{name: "fewer axes", op: "take_along_axis", in: []any{"bfloat16[B, T, 8]", "uint32[T, 2]"}, args: args("axis", -1),
			err: "indices: [T, 2] has 2 axes; x [B, T, 8] has 3, and as many are wanted"},
		{name: "others differ", op: "take_along_axis", in: []any{"bfloat16[B, T, 8]", "uint32[B, S, 2]"}, args: args("axis", -1),
			err: "indices: [B, S, 2] and x [B, T, 8] differ beside axis 2; the other axes must be equal, or 1"},
		{name: "values", op: "put_along_axis", in: []any{"bool[B, 1, T, S]", "uint32[B, 1, T, 4]", "bool[]"}, args: args("axis", -1), want: "bool[B, 1, T, S]"},
		{name: "a number", op: "put_along_axis", in: []any{"float32[B, T, 8]", "uint32[B, T, 2]", 0.0}, args: args("axis", -1), want: "float32[B, T, 8]"},
		{name: "values of another shape", op: "put_along_axis", in: []any{"float32[B, T, 8]", "uint32[B, T, 2]", "float32[B, T, 3]"}, args: args("axis", -1),
			err: "values: [B, T, 3] does not broadcast to the indices' [B, T, 2]"},
	})
}

func TestInferJoining(t *testing.T) {
	x := "bfloat16[B, T, 8]"
	runInfer(t, []inferCase{
		{name: "parts", op: "split", in: []any{x}, args: args("axis", -1, "parts", 2), want: "bfloat16[B, T, 4]; bfloat16[B, T, 4]"},
		{name: "sizes", op: "split", in: []any{x}, args: args("axis", -1, "sizes", []int{1, 5, 2}), want: "bfloat16[B, T, 1]; bfloat16[B, T, 5]; bfloat16[B, T, 2]"},
		{name: "sum", op: "split", in: []any{x}, args: args("axis", -1, "sizes", []int{1, 5}), err: "sizes: [1, 5] add up to 6; the axis is 8"},
		{name: "a negative piece", op: "split", in: []any{x}, args: args("axis", -1, "sizes", []int{-1, 9}), err: "sizes: [-1, 9] has a piece of -1; the axis is 8"},
		{name: "parts do not divide", op: "split", in: []any{x}, args: args("axis", -1, "parts", 3), err: "parts: 3 does not divide the axis, which is 8"},
		{name: "too many parts", op: "split", in: []any{"bfloat16[1000000000]"}, args: args("axis", 0, "parts", 1000000000),
			err: "parts: 1000000000 are more results than a call may have, 4096"},
		{name: "both", op: "split", in: []any{x}, args: args("axis", -1, "parts", 2, "sizes", []int{4, 4}), err: "parts: split wants sizes or parts, one of the two"},
		{name: "a symbol", op: "split", in: []any{x}, args: args("axis", 1, "parts", 2),
			err: "axis: its length is T, which no one knows before the graph runs; an integer is wanted"},
		{name: "new first axis", op: "stack", in: []any{x, "float32[B, T, 8]"}, args: args("axis", 0), want: "float32[2, B, T, 8]"},
		{name: "new last axis", op: "stack", in: []any{x}, args: args("axis", -1), want: "bfloat16[B, T, 8, 1]"},
		{name: "shapes differ", op: "stack", in: []any{x, "bfloat16[B, T, 7]"}, args: args("axis", 0),
			err: "x: array 2 is [B, T, 7], the first [B, T, 8]; stack wants one shape"},
		{name: "none", op: "stack", args: args("axis", 0), err: "x: no array is given"},
		{name: "last", op: "concatenate", in: []any{x, "bfloat16[B, T, 3]"}, args: args("axis", -1), want: "bfloat16[B, T, 11]"},
		{name: "positions", op: "concatenate", in: []any{"bfloat16[B, 3, 8]", x}, args: args("axis", 1), want: "bfloat16[B, T + 3, 8]"},
		{name: "others differ", op: "concatenate", in: []any{x, "bfloat16[B, 1, 8]"}, args: args("axis", -1),
			err: "x: array 2 is [B, 1, 8], the first [B, T, 8]; only axis 2 may differ"},
		{name: "a number", op: "concatenate", in: []any{x, 1}, args: args("axis", -1), err: "x: 1 is a number; an array is wanted here"},
	})
}

// A guard that leads to a call bounds its symbols from below.
func TestBoundsUnderGuards(t *testing.T) {
	r, err := Default()
	require.NoError(t, err)
	for _, c := range []struct {
		op    string
		given plan.Args
		want  string
		err   string
	}{
		{"argpartition", args("kth", -16, "axis", -1), "uint32[B, S]", "kth: -16 is no place of an axis of S"},
		{"slice", args("axis", -1, "start", -16), "float32[B, 16]", "start: -16 may be outside an axis of S, which is only known when the graph runs"},
		{"topk", args("axis", -1, "k", 16), "float32[B, 16]", "k: 16 of an axis of S cannot be taken"},
		{"take", args("axis", -1, "index", 15), "float32[B]", "index: 15 is outside axis 1 of [B, S]"},
	} {
		t.Run(c.op, func(t *testing.T) {
			op := r.Operator(c.op)
			inf := inferOf(t, op, []any{"float32[B, S]"}, c.given, nil)
			_, err := op.Infer(inf)
			require.EqualError(t, err, c.err)
			inf.Least = func(symbol string) int { return map[string]int{"S": 17}[symbol] }
			types, err := op.Infer(inf)
			require.NoError(t, err)
			require.Equal(t, c.want, types[0].Dtype.String()+types[0].Shape.String())
		})
	}
}
