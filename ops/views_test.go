package ops

import "testing"

func TestInferHeads(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "split", op: "split_heads", in: []any{"bfloat16[B, T, 256]"}, args: args("count", 4), want: "bfloat16[B, T, 4, 64]"},
		{name: "not divisible", op: "split_heads", in: []any{"bfloat16[B, T, 256]"}, args: args("count", 3),
			err: "count: 3 does not divide the last axis of [B, T, 256], 256"},
		{name: "no heads", op: "split_heads", in: []any{"bfloat16[B, T, 256]"}, args: args("count", 0),
			err: "count: 0 does not divide the last axis of [B, T, 256], 256"},
		{name: "two axes", op: "split_heads", in: []any{"bfloat16[T, 256]"}, args: args("count", 4),
			err: "x: [T, 256] has 2 axes; [B, T, count * D] is wanted"},
		{name: "unknown width", op: "split_heads", in: []any{"bfloat16[B, T, S]"}, args: args("count", 4),
			err: "x: the last axis is S, which no one knows before the graph runs; an integer is wanted"},
		{name: "swap", op: "swap_heads", in: []any{"float16[B, T, 4, 64]"}, want: "float16[B, 4, T, 64]"},
		{name: "three axes", op: "swap_heads", in: []any{"float16[B, T, 64]"}, err: "x: [B, T, 64] has 3 axes; [B, T, heads, D] is wanted"},
		{name: "merge", op: "merge_heads", in: []any{"float16[B, 4, T, 64]"}, want: "float16[B, T, 256]"},
		{name: "three axes", op: "merge_heads", in: []any{"float16[B, T, 64]"}, err: "x: [B, T, 64] has 3 axes; [B, heads, T, D] is wanted"},
		{name: "two symbols", op: "merge_heads", in: []any{"float16[B, S, T, S]"}, err: "x: heads and D of [B, S, T, S] are S and S; one must be an integer"},
	})
}

func TestInferViews(t *testing.T) {
	to := func(text string) any { return dims(text) }
	runInfer(t, []inferCase{
		{name: "split the last", op: "reshape", in: []any{"float32[B, T, 256]"}, args: args("shape", to("B, T, 4, 64")), want: "float32[B, T, 4, 64]"},
		{name: "join the last", op: "reshape", in: []any{"float32[B, T, 4, 64]"}, args: args("shape", to("B, T, 256")), want: "float32[B, T, 256]"},
		{name: "the rest", op: "reshape", in: []any{"float32[B, T, 4, 64]"}, args: args("shape", to("B, T, -1")), want: "float32[B, T, 256]"},
		{name: "the rest has a symbol", op: "reshape", in: []any{"float32[B, T, 64]"}, args: args("shape", to("B, -1, 32")), want: "float32[B, 2*T, 32]"},
		{name: "moved dims", op: "reshape", in: []any{"float32[B, T, 64]"}, args: args("shape", to("B, 1, T, 64")), want: "float32[B, 1, T, 64]"},
		{name: "heads out of kv", op: "reshape", in: []any{"float32[512, 128]"}, args: args("shape", to("8, 64, -1")), want: "float32[8, 64, 128]"},
		{name: "all", op: "reshape", in: []any{"float32[4, 64]"}, args: args("shape", to("-1")), want: "float32[256]"},
		{name: "a number", op: "reshape", in: []any{"float32[1]"}, args: args("shape", to("")), want: "float32[]"},
		{name: "too few", op: "reshape", in: []any{"float32[B, T, 256]"}, args: args("shape", to("B, T, 4, 32")),
			err: "shape: [B, T, 4, 32] has not as many elements as [B, T, 256]"},
		{name: "other symbols", op: "reshape", in: []any{"float32[B, T, 256]"}, args: args("shape", to("B, S, 256")),
			err: "shape: [B, S, 256] has not as many elements as [B, T, 256]"},
		{name: "two rests", op: "reshape", in: []any{"float32[B, T, 256]"}, args: args("shape", to("-1, -1, 256")),
			err: "shape: [-1, -1, 256] has -1 twice; one dim alone can be what is left"},
		{name: "negative", op: "reshape", in: []any{"float32[B, T, 256]"}, args: args("shape", to("B, T, -2")),
			err: "shape: [B, T, -2] has the dim -2; dims are from 0 to 2147483647, or once -1"},
		{name: "hostile", op: "reshape", in: []any{"float32[B, T, 256]"}, args: args("shape", to("4294967296, 4294967296")),
			err: "shape: [4294967296, 4294967296] has the dim 4294967296; dims are from 0 to 2147483647, or once -1"},
		{name: "no whole rest", op: "reshape", in: []any{"float32[B, T, 256]"}, args: args("shape", to("B, T, 3, -1")),
			err: "shape: [B, T, 3, -1] of [B, T, 256]: what is left for -1 is no whole number of elements"},
		{name: "B * T is no linear form", op: "reshape", in: []any{"float32[B, T, 256]"}, args: args("shape", to("-1, 256")),
			err: "shape: [-1, 256] of [B, T, 256]: what is left for -1 is no whole number of elements"},

		{name: "in front and of 1", op: "broadcast", in: []any{"uint32[1, 8]"}, args: args("shape", to("B, T, 8")), want: "uint32[B, T, 8]"},
		{name: "another size", op: "broadcast", in: []any{"uint32[4, 8]"}, args: args("shape", to("2, 8")),
			err: "shape: [4, 8] does not broadcast to [2, 8]: axes are matched from the last, and each must be equal or 1"},
		{name: "fewer axes", op: "broadcast", in: []any{"uint32[4, 8]"}, args: args("shape", to("8")),
			err: "shape: [4, 8] does not broadcast to [8]: axes are matched from the last, and each must be equal or 1"},

		{name: "three axes", op: "transpose", in: []any{"int8[B, T, 8]"}, args: args("axes", []int{2, 0, -2}), want: "int8[8, B, T]"},
		{name: "too few", op: "transpose", in: []any{"int8[B, T, 8]"}, args: args("axes", []int{1, 0}),
			err: "axes: [1, 0] names 2 axes; x [B, T, 8] has 3"},
		{name: "twice", op: "transpose", in: []any{"int8[B, T, 8]"}, args: args("axes", []int{0, 1, 1}),
			err: "axes: [0, 1, 1] names axis 1 twice"},
		{name: "outside", op: "transpose", in: []any{"int8[B, T]"}, args: args("axes", []int{0, 2}),
			err: "axes: 2 is no axis of [B, T]; 0 to 1 are, or -2 to -1 from the end"},
		{name: "last two", op: "swapaxes", in: []any{"int8[B, 1, S, 8]"}, args: args("axes", []int{-1, -2}), want: "int8[B, 1, 8, S]"},
		{name: "one", op: "swapaxes", in: []any{"int8[B, S]"}, args: args("axes", []int{1}), err: "axes: [1] are 1; two are wanted"},
		{name: "to the end", op: "moveaxis", in: []any{"int8[3, B, T]"}, args: args("source", 0, "destination", -1), want: "int8[B, T, 3]"},
		{name: "to the front", op: "moveaxis", in: []any{"int8[B, T, 3]"}, args: args("source", 2, "destination", 0), want: "int8[3, B, T]"},
		{name: "outside", op: "moveaxis", in: []any{"int8[B, T, 3]"}, args: args("source", 3, "destination", 0),
			err: "source: 3 is no axis of [B, T, 3]; 0 to 2 are, or -3 to -1 from the end"},
		{name: "last", op: "expand_dims", in: []any{"int8[B, T]"}, args: args("axis", -1), want: "int8[B, T, 1]"},
		{name: "first", op: "expand_dims", in: []any{"int8[B, T]"}, args: args("axis", 0), want: "int8[1, B, T]"},
		{name: "outside", op: "expand_dims", in: []any{"int8[B, T]"}, args: args("axis", 3),
			err: "axis: 3 is no axis of the result, which has one more than [B, T]; 0 to 2 are, or -3 to -1 from the end"},
		{name: "one", op: "squeeze", in: []any{"int8[B, 1, T]"}, args: args("axis", 1), want: "int8[B, T]"},
		{name: "not one", op: "squeeze", in: []any{"int8[B, 2, T]"}, args: args("axis", -2), err: "axis: axis -2 of [B, 2, T] is 2, not 1"},
		{name: "of a number", op: "squeeze", in: []any{"int8[]"}, args: args("axis", 0), err: "axis: 0 is no axis of []; it has none"},
	})
}
