package ops

import "testing"

func TestInferRopeByPositions(t *testing.T) {
	kv, x := cacheState("heads", 2, "dim", 64), "bfloat16[B, 4, T, 64]"
	in := []any{x, kv, "int32[3, B, T]"}
	three := []int{11, 11, 10}
	mrope := []any{"type", "mrope", "mrope_section", three}
	runInfer(t, []inferCase{
		{name: "three streams", op: "rope", in: in, args: ropeArgs(64, nil, "sections", three), want: x},
		{name: "part of the head", op: "rope", in: in, args: ropeArgs(16, mrope, "sections", []int{3, 3, 2}), want: x},
		{name: "sections without positions", op: "rope", in: []any{x, kv}, args: ropeArgs(64, nil, "sections", three), want: x},
		{name: "no sections", op: "rope", in: in, args: ropeArgs(64, nil), err: "sections: has 0 entries; 3 are wanted beside positions (time, height, width)"},
		{name: "negative", op: "rope", in: in, args: ropeArgs(64, nil, "sections", []int{1, -1, 2}), err: "sections: [1, -1, 2] has a negative entry"},
		{name: "two streams", op: "rope", in: []any{x, kv, "int32[2, B, T]"}, args: ropeArgs(64, nil, "sections", three),
			err: "positions: [3, B, T] is wanted, one stream each for time, height and width; this is [2, B, T]"},
		{name: "float positions", op: "rope", in: []any{x, kv, "float32[3, B, T]"}, args: ropeArgs(64, nil, "sections", three),
			err: "positions: is float32; integers are wanted"},
		{name: "neighbours", op: "rope", in: in, args: ropeArgs(64, nil, "sections", three, "traditional", true),
			err: "traditional: neighbouring pairs are not rotated by several streams; leave it out"},
		{name: "yarn", op: "rope", in: in, args: ropeArgs(64, []any{"type", "yarn", "factor", 4}, "sections", three),
			err: "scaling: rope type 'yarn' is not for several streams; default and mrope are"},
	})
}
