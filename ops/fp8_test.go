package ops

import (
	"testing"

	"github.com/graphrun/graphrun/dtype"
)

func TestInferFP8(t *testing.T) {
	of := args("block", 128, "dtype", dtype.Bfloat16)
	op := "fp8_dequantize"
	runInfer(t, []inferCase{
		{name: "whole blocks", op: op, in: []any{"uint8[256, 128]", "float32[2, 1]"}, args: of, want: "bfloat16[256, 128]"},
		{name: "part of a block", op: op, in: []any{"uint8[200, 130]", "bfloat16[2, 2]"}, args: of, want: "bfloat16[200, 130]"},
		{name: "scales", op: op, in: []any{"uint8[200, 130]", "float32[2, 1]"}, args: of, err: "scale: [2, 2] is wanted, one per block of 128 x 128; this is [2, 1]"},
		{name: "numbers", op: op, in: []any{"bfloat16[256, 128]", "float32[2, 1]"}, args: of, err: "x: is bfloat16; float8 codes are uint8"},
		{name: "block", op: op, in: []any{"uint8[256, 128]", "float32[2, 1]"}, args: args("block", 0, "dtype", dtype.Bfloat16), err: "block: 0 is no size of a block; 128 is usual"},
		{name: "dtype", op: op, in: []any{"uint8[256, 128]", "float32[2, 1]"}, args: args("block", 128, "dtype", dtype.Int32), err: "dtype: is int32; a floating dtype is wanted"},
	})
}
