package ops

import (
	"testing"

	"github.com/graphrun/graphrun/dtype"
)

func TestInferArithmetic(t *testing.T) {
	x := "bfloat16[B, T, 8]"
	runInfer(t, []inferCase{
		{name: "same", op: "add", in: []any{x, x}, want: x},
		{name: "broadcast", op: "add", in: []any{x, "bfloat16[8]"}, want: x},
		{name: "promoted", op: "multiply", in: []any{x, "float32[B, T, 1]"}, want: "float32[B, T, 8]"},
		{name: "float16 and bfloat16", op: "subtract", in: []any{x, "float16[8]"}, want: "float32[B, T, 8]"},
		{name: "weak", op: "multiply", in: []any{0.5, x}, want: x},
		{name: "a fraction makes integers float32", op: "add", in: []any{"int32[T]", 0.5}, want: "float32[T]"},
		{name: "an int keeps integers", op: "maximum", in: []any{"int32[T]", 1}, want: "int32[T]"},
		{name: "an int makes bool int32", op: "add", in: []any{"bool[T]", 1}, want: "int32[T]"},
		{name: "integers divided", op: "divide", in: []any{"int32[T]", 2}, want: "float32[T]"},
		{name: "floats divided", op: "divide", in: []any{x, 2}, want: x},
		{name: "power", op: "power", in: []any{x, 2}, want: x},
		{name: "minimum", op: "minimum", in: []any{x, 1.0}, want: x},
		{name: "bool", op: "less", in: []any{"int32[B, T]", 5}, want: "bool[B, T]"},
		{name: "and", op: "logical_and", in: []any{"bool[B, 1, T, S]", "bool[T, S]"}, want: "bool[B, 1, T, S]"},
		{name: "symbols differ", op: "add", in: []any{"bfloat16[B, T]", "bfloat16[B, S]"}, err: "b: [B, T] and [B, S] do not broadcast: S is not T"},
		{name: "numbers alone", op: "add", in: []any{1, 2.5}, err: "a: 1 and 2.5 are both numbers; give an expression (let) or a constant"},
		{name: "text", op: "add", in: []any{x, valueOf("two")}, err: "b: two is no number"},

		{name: "arrays", op: "where", in: []any{"bool[T, S]", "bfloat16[B, 4, T, S]", "bfloat16[]"}, want: "bfloat16[B, 4, T, S]"},
		{name: "a weak side", op: "where", in: []any{"bool[B, T]", "int32[B, T]", 0}, want: "int32[B, T]"},
		{name: "two numbers", op: "where", in: []any{"bool[B, T]", 1, 0.5}, want: "float32[B, T]"},
		{name: "condition", op: "where", in: []any{"int32[B, T]", x, x}, err: "condition: is int32; bool is wanted, as less gives it"},
		{name: "shapes", op: "where", in: []any{"bool[B, 5]", "int32[B, 4]", 0}, err: "condition: [B, 5] and [B, 4] do not broadcast: 4 is not 5"},

		{name: "matrices", op: "matmul", in: []any{"bfloat16[B, 4, T, 64]", "bfloat16[B, 1, 64, S]"}, want: "bfloat16[B, 4, T, S]"},
		{name: "a vector at the right", op: "matmul", in: []any{"float32[B, T, 8]", "float32[8]"}, want: "float32[B, T]"},
		{name: "a vector at the left", op: "matmul", in: []any{"float32[8]", "float32[8, 3]"}, want: "float32[3]"},
		{name: "promoted", op: "matmul", in: []any{"float32[T, 8]", "bfloat16[8, 3]"}, want: "float32[T, 3]"},
		{name: "inner", op: "matmul", in: []any{"float32[T, 8]", "float32[9, 3]"}, err: "b: [9, 3] has 9 rows; a [T, 8] has 8 columns"},
		{name: "outer", op: "matmul", in: []any{"float32[2, T, 8]", "float32[3, 8, 3]"}, err: "b: [2] and [3] do not broadcast: 3 is not 2"},
		{name: "integers", op: "matmul", in: []any{"int32[T, 8]", "int32[8, 3]"}, err: "a: int32 and int32: a matrix product is of floating dtypes"},
		{name: "a number", op: "matmul", in: []any{"float32[T, 8]", 2}, err: "b: 2 is a number; an array is wanted here"},
	})
}

func TestInferUnary(t *testing.T) {
	x := "bfloat16[B, T, 8]"
	runInfer(t, []inferCase{
		{name: "kept", op: "negative", in: []any{x}, want: x},
		{name: "bool", op: "negative", in: []any{"bool[T]"}, err: "x: is bool, which has no negative"},
		{name: "kept", op: "exp", in: []any{x}, want: x},
		{name: "integers", op: "exp", in: []any{"int32[T]"}, want: "float32[T]"},
		{name: "integers", op: "log", in: []any{"uint8[T]"}, want: "float32[T]"},
		{name: "integers", op: "floor", in: []any{"int32[T]"}, want: "int32[T]"},
		{name: "kept", op: "tanh", in: []any{"float16[T]"}, want: "float16[T]"},
		{name: "bools", op: "sigmoid", in: []any{"bool[T]"}, want: "float32[T]"},
		{name: "both", op: "clip", in: []any{x}, args: args("min", -1.0, "max", 1.0), want: x},
		{name: "one", op: "clip", in: []any{x}, args: args("min", -65504), want: x},
		{name: "integers by fractions", op: "clip", in: []any{"int32[T]"}, args: args("max", 1.5), want: "float32[T]"},
		{name: "neither", op: "clip", in: []any{x}, err: "min: neither min nor max is given"},
		{name: "reversed", op: "clip", in: []any{x}, args: args("min", 2.0, "max", 1.0), err: "min: 2 is above max, 1"},
	})
}

func TestInferConstants(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "dtype", op: "astype", in: []any{"int32[B, T]"}, args: args("dtype", dtype.Float16), want: "float16[B, T]"},
		{name: "like", op: "astype", in: []any{"int32[B, T]", "bfloat16[5]"}, want: "bfloat16[B, T]"},
		{name: "both", op: "astype", in: []any{"int32[B, T]", "bfloat16[5]"}, args: args("dtype", dtype.Float16), err: "dtype: astype wants dtype or like, one of the two"},
		{name: "neither", op: "astype", in: []any{"int32[B, T]"}, err: "dtype: astype wants dtype or like, one of the two"},
		{name: "float", op: "constant", in: []any{0.5}, want: "float32[]"},
		{name: "int", op: "constant", in: []any{3}, want: "int32[]"},
		{name: "bool", op: "constant", in: []any{true}, want: "bool[]"},
		{name: "dtype", op: "constant", in: []any{3}, args: args("dtype", dtype.Bfloat16), want: "bfloat16[]"},
		{name: "like", op: "constant", in: []any{0.5, "float16[B, T]"}, want: "float16[]"},
		{name: "shape", op: "constant", in: []any{false}, args: args("shape", dims("B, 1, T, S")), want: "bool[B, 1, T, S]"},
		{name: "a hostile shape", op: "constant", in: []any{false}, args: args("shape", dims("B, 1000000, 1000000")),
			err: "shape: [B, 1000000, 1000000] has more than 67108864 entries, the most that a constant may have"},
		{name: "a negative shape", op: "constant", in: []any{false}, args: args("shape", dims("-1")), err: "shape: [-1] has the dim -1; dims are from 0 to 2147483647"},
		{name: "list", op: "constant", in: []any{[]float64{1, 2, 3}}, want: "float32[3]"},
		{name: "list of ints", op: "constant", in: []any{[]int{1, 2}}, want: "int32[2]"},
		{name: "repeats", op: "constant", in: []any{[]float64{1, 2}}, args: args("repeats", []int{3, 4}), want: "float32[7]"},
		{name: "other repeats", op: "constant", in: []any{[]float64{1, 2}}, args: args("repeats", []int{3}), err: "repeats: [3] are 1; the list has 2"},
		{name: "hostile repeats", op: "constant", in: []any{[]float64{1, 2}}, args: args("repeats", []int{1, 1 << 62}),
			err: "repeats: [1, 4611686018427387904] cannot be made: counts are from 0 to 67108864 in all"},
		{name: "repeats of a number", op: "constant", in: []any{1.0}, args: args("repeats", []int{3}), err: "repeats: is for a list; 1 is one number"},
		{name: "shape of a list", op: "constant", in: []any{[]float64{1}}, args: args("shape", dims("1")), err: "shape: fills with one number; a list has its own shape"},
		{name: "an empty list", op: "constant", in: []any{[]float64{}}, err: "value: is an empty list"},
		{name: "text", op: "constant", in: []any{valueOf("x")}, err: "value: x is no number"},
		{name: "an array", op: "constant", in: []any{"float32[3]"}, err: "value: is an array; constant takes a number, a bool or a list of numbers"},
		{name: "dtype and like", op: "constant", in: []any{1, "float32[3]"}, args: args("dtype", dtype.Int8), err: "dtype: constant wants dtype or like, not both"},
		{name: "any", op: "zeros_like", in: []any{"int32[B, T]"}, want: "int32[B, T]"},
	})
}

func TestInferReductions(t *testing.T) {
	x := "bfloat16[B, T, 8]"
	runInfer(t, []inferCase{
		{name: "gone", op: "sum", in: []any{x}, args: args("axis", -2), want: "bfloat16[B, 8]"},
		{name: "kept", op: "sum", in: []any{x}, args: args("axis", 1, "keepdims", true), want: "bfloat16[B, 1, 8]"},
		{name: "bools", op: "sum", in: []any{"bool[B, T]"}, args: args("axis", -1), want: "int32[B]"},
		{name: "bytes", op: "sum", in: []any{"uint8[B, T]"}, args: args("axis", -1), want: "uint32[B]"},
		{name: "sequential", op: "sum", in: []any{x}, args: args("axis", 2, "order", "sequential"), want: "bfloat16[B, T]"},
		{name: "sequential over positions", op: "sum", in: []any{x}, args: args("axis", 1, "order", "sequential"),
			err: "axis: the length of an axis that is added entry by entry is T, which no one knows before the graph runs; an integer is wanted"},
		{name: "an order that is none", op: "sum", in: []any{x}, args: args("axis", 1, "order", "random"), err: "order: 'random' is none; any or sequential is wanted"},
		{name: "outside", op: "mean", in: []any{x}, args: args("axis", 3), err: "axis: 3 is no axis of [B, T, 8]; 0 to 2 are, or -3 to -1 from the end"},
		{name: "integers", op: "mean", in: []any{"int32[B, T]"}, args: args("axis", 0), want: "float32[T]"},
		{name: "kept", op: "norm", in: []any{x}, args: args("axis", -1, "keepdims", true), want: "bfloat16[B, T, 1]"},
		{name: "kept", op: "softmax", in: []any{x}, args: args("axis", -1, "precise", true), want: x},
		{name: "integers", op: "softmax", in: []any{"int32[B, T]"}, args: args("axis", -1), want: "float32[B, T]"},
		{name: "last two", op: "argpartition", in: []any{x}, args: args("kth", -2, "axis", -1), want: "uint32[B, T, 8]"},
		{name: "outside", op: "argpartition", in: []any{x}, args: args("kth", 8, "axis", -1), err: "kth: 8 is no place of an axis of 8"},
		{name: "k", op: "topk", in: []any{x}, args: args("k", 2, "axis", -1), want: "bfloat16[B, T, 2]"},
		{name: "too many", op: "topk", in: []any{x}, args: args("k", 9, "axis", -1), err: "k: 9 of an axis of 8 cannot be taken"},
	})
}

func TestInferActivations(t *testing.T) {
	x := "bfloat16[B, T, 8]"
	runInfer(t, []inferCase{
		{name: "pair", op: "swiglu", in: []any{x, x}, want: x},
		{name: "promoted", op: "swiglu", in: []any{x, "float32[B, T, 8]"}, want: "float32[B, T, 8]"},
		{name: "widths differ", op: "swiglu", in: []any{x, "bfloat16[B, T, 1]"}, err: "up: [B, T, 1] is not the gate's shape, [B, T, 8]"},
		{name: "integers", op: "swiglu", in: []any{"int32[B, T, 8]", x}, err: "gate: is int32; a floating dtype is wanted (astype makes it one)"},
		{name: "pair", op: "swiglu_oai", in: []any{x, x}, want: x},
		{name: "one", op: "silu", in: []any{x}, want: x},
		{name: "one", op: "softplus", in: []any{x}, want: x},
		{name: "one", op: "relu2", in: []any{x}, want: x},
		{name: "one", op: "gelu", in: []any{x}, want: x},
		{name: "one", op: "gelu_approx", in: []any{x}, want: x},
		{name: "a number", op: "gelu_approx", in: []any{1.0}, err: "x: 1 is a number; an array is wanted here"},
		{name: "one", op: "gelu_topk", in: []any{x}, args: args("sparsity", 0.95), want: x},
		{name: "none", op: "gelu_topk", in: []any{x}, args: args("sparsity", 0.0), err: "sparsity: 0 is not between 0 and 1; at 0 gelu_approx is what is meant"},
	})
}
