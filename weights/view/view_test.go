package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/weights/header"
)

func patterns(t testing.TB, list ...string) []*pattern.Pattern {
	t.Helper()
	var out []*pattern.Pattern
	for _, s := range list {
		p, err := pattern.Compile(s)
		require.NoError(t, err)
		out = append(out, p)
	}
	return out
}

// stored makes tensors of "name dtype 2x3", and of "name q4 2x64" a quantised weight's three.
func stored(t testing.TB, lines ...string) []header.Tensor {
	t.Helper()
	var out []header.Tensor
	for _, line := range lines {
		f := strings.Fields(line)
		var shape []int
		for _, d := range strings.Split(f[2], "x") {
			var n int
			_, err := fmt.Sscan(d, &n)
			require.NoError(t, err)
			shape = append(shape, n)
		}
		if f[1] == "q4" {
			last := len(shape) - 1
			packed, groups := slices.Clone(shape), slices.Clone(shape)
			packed[last], groups[last] = shape[last]/8, shape[last]/32
			base := strings.TrimSuffix(f[0], "weight")
			out = append(out, header.Tensor{Name: f[0], Dtype: dtype.Uint32, Shape: packed},
				header.Tensor{Name: base + "scales", Dtype: dtype.Float16, Shape: groups}, header.Tensor{Name: base + "biases", Dtype: dtype.Float16, Shape: groups})
			continue
		}
		d, ok := dtype.Parse(f[1])
		require.True(t, ok, f[1])
		out = append(out, header.Tensor{Name: f[0], Dtype: d, Shape: shape})
	}
	return out
}

// text writes a recipe on one line.
func text(r *Recipe) string {
	if r.Op == OpSource {
		return r.Tensor.Name
	}
	var in []string
	for _, x := range r.Inputs {
		in = append(in, text(x))
	}
	args := ""
	switch r.Op {
	case OpAdd, OpMultiply:
		args = fmt.Sprint(" ", r.Number)
	case OpClip:
		args = fmt.Sprint(" ", r.Low, " ", r.High)
	case OpSlice:
		args = fmt.Sprintf(" %d:%d:%d:%d", r.Axis, r.Start, r.Stop, r.Stride)
	case OpTranspose, OpMoveaxis:
		args = fmt.Sprint(" ", r.Axes)
	case OpConcatenate:
		args = fmt.Sprint(" ", r.Axis)
	}
	return fmt.Sprintf("%s(%s%s)", r.Op, strings.Join(in, ","), args)
}

// lines lists weights as "name dtype shape recipe".
func lines(m map[string]*Recipe) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		r := m[name]
		fmt.Fprintf(&b, "%s %s %v %s\n", name, r.Dtype, r.Shape, text(r))
	}
	return b.String()
}

func quant(bits int) header.Quant { return header.Quant{GroupSize: 32, Bits: bits, Mode: "affine"} }

func table(paths map[string]int) header.Quantization {
	one := quant(4)
	q := header.Quantization{Default: &one, ByPath: map[string]header.Quant{}, Off: map[string]bool{}}
	for p, bits := range paths {
		if bits == 0 {
			q.Off[p] = true
		} else {
			q.ByPath[p] = quant(bits)
		}
	}
	return q
}

func TestSteps(t *testing.T) {
	pat := func(s ...string) []*pattern.Pattern { return patterns(t, s...) }
	shapeIs := func(rank int) When { return func(m Match) (bool, error) { return len(m.Shape) == rank, nil } }
	for _, c := range []struct {
		name    string
		tensors []header.Tensor
		quant   map[string]int
		steps   []Step
		want    string
		table   string // ByPath and Off, sorted, where quant is given
	}{
		{
			name:    "rename takes scales, biases and the table along",
			tensors: stored(t, "language_model.a.weight q4 8x64", "language_model.a.bias float16 8", "language_model.b.weight bfloat16 4x4"),
			quant:   map[string]int{"language_model.a": 8, "language_model.b": 0, "c": 2},
			steps:   []Step{Rename{From: pat("language_model.**"), To: "**"}},
			want: "a.bias float16 [8] language_model.a.bias\na.biases float16 [8 2] language_model.a.biases\na.scales float16 [8 2] language_model.a.scales\n" +
				"a.weight uint32 [8 8] language_model.a.weight\nb.weight bfloat16 [4 4] language_model.b.weight\n",
			table: "a=8 b=0 c=2",
		},
		{
			name: "swap", tensors: stored(t, "a.x float32 1", "b.x float32 2"),
			steps: []Step{Rename{From: pat("{p}.x"), To: "tmp.{p}.x"}, Rename{From: pat("tmp.a.x"), To: "b.x"}, Rename{From: pat("tmp.b.x"), To: "a.x"}},
			want:  "a.x float32 [2] b.x\nb.x float32 [1] a.x\n",
		},
		{
			name: "when and a list", tensors: stored(t, "a.w float32 1", "a.v float32 1x1", "b.w float32 1", "c.w float32 1"),
			steps: []Step{Drop{From: pat("a.*", "b.*"), When: shapeIs(1)}},
			want:  "a.v float32 [1 1] a.v\nc.w float32 [1] c.w\n",
		},
		{
			name: "a weight is renamed to something else", tensors: stored(t, "a.weight float32 1"),
			steps: []Step{Rename{From: pat("a.weight"), To: "gain"}},
			want:  "gain float32 [1] a.weight\n",
		},
		{
			name: "each", tensors: stored(t, "n.weight bfloat16 4", "conv.weight float16 8x1x4", "coef int32 2x6", "codes uint8 2x3x16"),
			steps: []Step{
				Each{From: pat("n.weight"), Do: []Change{NewAdd(FixedFloats(1)), NewAstype(dtype.Float32)}},
				Each{From: pat("conv.weight"), Do: []Change{NewMoveaxis(FixedInts(2, 1))}},
				Each{From: pat("coef"), Do: []Change{NewClip(FixedFloats(-1, 1)), NewTranspose(FixedInts(1, -2)), NewMultiply(FixedFloats(2))}},
				Each{From: pat("codes"), Do: []Change{NewView(dtype.Uint32), NewReshape(func(m Match) ([]int, error) { return []int{m.Shape[0], -1}, nil })}},
			},
			want: "codes uint32 [2 12] reshape(view(codes))\ncoef float32 [6 2] multiply(transpose(clip(astype(coef) -1 1) [1 0]) 2)\n" +
				"conv.weight float16 [8 4 1] moveaxis(conv.weight [2 1])\nn.weight float32 [4] astype(add(n.weight 1))\n",
		},
		{
			name: "split", tensors: stored(t, "x.gate_up.weight q4 6x64", "y float32 4x6"), quant: map[string]int{"x.gate_up": 8},
			steps: []Step{
				Split{From: pat("**.gate_up.weight"), Axis: -2, Into: []string{"**.gate.weight", "**.up.weight"}},
				Split{From: pat("y"), Axis: 1, Sizes: FixedInts(1, 2, 3), Into: []string{"y1", "y2", "y3"}},
			},
			want: "x.gate.biases float16 [3 2] slice(x.gate_up.biases 0:0:3:1)\nx.gate.scales float16 [3 2] slice(x.gate_up.scales 0:0:3:1)\nx.gate.weight uint32 [3 8] slice(x.gate_up.weight 0:0:3:1)\n" +
				"x.up.biases float16 [3 2] slice(x.gate_up.biases 0:3:6:1)\nx.up.scales float16 [3 2] slice(x.gate_up.scales 0:3:6:1)\nx.up.weight uint32 [3 8] slice(x.gate_up.weight 0:3:6:1)\n" +
				"y1 float32 [4 1] slice(y 1:0:1:1)\ny2 float32 [4 2] slice(y 1:1:3:1)\ny3 float32 [4 3] slice(y 1:3:6:1)\n",
			table: "x.gate=8 x.up=8",
		},
		{
			name: "interleaved", tensors: stored(t, "g float32 6x2"),
			steps: []Step{Split{From: pat("g"), Axis: 0, Interleave: true, Into: []string{"a", "b"}}},
			want:  "a float32 [3 2] contiguous(slice(g 0:0:6:2))\nb float32 [3 2] contiguous(slice(g 0:1:6:2))\n",
		},
		{
			name:    "stack takes quantised experts whole",
			tensors: stored(t, "l.0.experts.0.up.weight q4 8x64", "l.0.experts.1.up.weight q4 8x64", "l.0.experts.10.up.weight q4 8x64", "l.0.experts.0.up.bias float16 8", "l.0.experts.1.up.bias float16 8", "l.0.experts.10.up.bias float16 8")[:8],
			steps: []Step{Rename{From: pat("**.experts.10.**"), To: "**.experts.2.**"}, Drop{From: pat("**.2.up.weight")}, Drop{From: pat("**.2.up.*")},
				Stack{From: pat("**.experts.{e}.*.weight"), Over: "e", To: "**.switch.*.weight"}},
			want: "l.0.switch.up.biases float16 [2 8 2] stack(l.0.experts.0.up.biases,l.0.experts.1.up.biases)\nl.0.switch.up.scales float16 [2 8 2] stack(l.0.experts.0.up.scales,l.0.experts.1.up.scales)\n" +
				"l.0.switch.up.weight uint32 [2 8 8] stack(l.0.experts.0.up.weight,l.0.experts.1.up.weight)\n",
		},
		{
			name: "stack of any part", tensors: stored(t, "l.0.experts.0.up.weight q4 8x64", "l.0.experts.1.up.weight q4 8x64", "l.0.experts.0.up.bias float16 8", "l.0.experts.1.up.bias float16 8"),
			quant: map[string]int{"l.0.experts.0.up": 8, "l.0.experts.1.up": 8},
			steps: []Step{Stack{From: pat("**.experts.{e}.*.*"), Over: "e", To: "**.switch.*.*"}},
			want: "l.0.switch.up.bias float16 [2 8] stack(l.0.experts.0.up.bias,l.0.experts.1.up.bias)\nl.0.switch.up.biases float16 [2 8 2] stack(l.0.experts.0.up.biases,l.0.experts.1.up.biases)\n" +
				"l.0.switch.up.scales float16 [2 8 2] stack(l.0.experts.0.up.scales,l.0.experts.1.up.scales)\nl.0.switch.up.weight uint32 [2 8 8] stack(l.0.experts.0.up.weight,l.0.experts.1.up.weight)\n",
			table: "l.0.switch.up=8",
		},
		{
			name: "join", tensors: stored(t, "a.q.weight q4 8x64", "a.k.weight q4 4x64", "b.q.bias float32 8", "b.k.bias float32 4"),
			steps: []Step{Join{From: pat("*.q.weight", "*.k.weight"), To: "*.qk.weight"}, Join{From: pat("*.q.bias", "*.k.bias"), Axis: -1, To: "*.qk.bias"}},
			want: "a.qk.biases float16 [12 2] concatenate(a.q.biases,a.k.biases 0)\na.qk.scales float16 [12 2] concatenate(a.q.scales,a.k.scales 0)\n" +
				"a.qk.weight uint32 [12 8] concatenate(a.q.weight,a.k.weight 0)\nb.qk.bias float32 [12] concatenate(b.q.bias,b.k.bias 0)\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := table(c.quant)
			r, errs := Apply(c.tensors, q, c.steps)
			require.Empty(t, errs)
			require.Equal(t, c.want, lines(r.Tensors))
			require.Len(t, r.Matched, len(c.steps))
			if c.quant != nil {
				var got []string
				for _, p := range r.Quantization.Paths() {
					got = append(got, fmt.Sprintf("%s=%d", p, r.Quantization.ByPath[p].Bits))
				}
				require.Equal(t, c.table, strings.Join(got, " "))
				require.Equal(t, table(c.quant), q, "the caller's table is its own")
			}
		})
	}
}

func TestGptOss(t *testing.T) {
	pat := func(s ...string) []*pattern.Pattern { return patterns(t, s...) }
	r, errs := Apply(stored(t, "m.experts.gate_up_proj_blocks uint8 4x6x2x16", "m.experts.gate_up_proj_scales uint8 4x6x2", "m.experts.gate_up_proj_bias bfloat16 4x6"), header.Quantization{}, []Step{
		Each{From: pat("**.*_blocks"), Do: []Change{NewView(dtype.Uint32), NewReshape(func(m Match) ([]int, error) { return []int{m.Shape[0], m.Shape[1], -1}, nil })}},
		Rename{From: pat("**.*_blocks"), To: "**.*.weight"}, Rename{From: pat("**.*_scales"), To: "**.*.scales"}, Rename{From: pat("**.*_proj_bias"), To: "**.*_proj.bias"},
		Split{From: pat("**.gate_up_proj.weight"), Axis: -2, Interleave: true, Into: []string{"**.gate_proj.weight", "**.up_proj.weight"}},
		Split{From: pat("**.gate_up_proj.bias"), Axis: -1, Interleave: true, Into: []string{"**.gate_proj.bias", "**.up_proj.bias"}},
	})
	require.Empty(t, errs)
	require.Equal(t, []int{1, 1, 1, 1, 1, 1}, r.Matched)
	require.Equal(t, "m.experts.gate_proj.bias bfloat16 [4 3] contiguous(slice(m.experts.gate_up_proj_bias 1:0:6:2))\n"+
		"m.experts.gate_proj.scales uint8 [4 3 2] contiguous(slice(m.experts.gate_up_proj_scales 1:0:6:2))\n"+
		"m.experts.gate_proj.weight uint32 [4 3 8] contiguous(slice(reshape(view(m.experts.gate_up_proj_blocks)) 1:0:6:2))\n"+
		"m.experts.up_proj.bias bfloat16 [4 3] contiguous(slice(m.experts.gate_up_proj_bias 1:1:6:2))\n"+
		"m.experts.up_proj.scales uint8 [4 3 2] contiguous(slice(m.experts.gate_up_proj_scales 1:1:6:2))\n"+
		"m.experts.up_proj.weight uint32 [4 3 8] contiguous(slice(reshape(view(m.experts.gate_up_proj_blocks)) 1:1:6:2))\n", lines(r.Tensors))
}

func TestErrors(t *testing.T) {
	pat := func(s ...string) []*pattern.Pattern { return patterns(t, s...) }
	for _, c := range []struct {
		name    string
		tensors []header.Tensor
		quant   map[string]int
		step    Step
		field   string
		index   int
		tensor  string
		want    string
	}{
		{"when", stored(t, "a float32 1"), nil, Drop{From: pat("a"), When: func(Match) (bool, error) { return false, errors.New("boom") }}, "when", 0, "a", "boom"},
		{"name taken", stored(t, "a float32 1", "b float32 1"), nil, Rename{From: pat("a"), To: "b"}, "to", 0, "a", "its new name, b, is another tensor's"},
		{"name given twice", stored(t, "a.x float32 1", "b.x float32 1"), nil, Rename{From: pat("*.x"), To: "y"}, "to", 0, "b.x", "is also given to a.x"},
		{"nothing to fill", stored(t, "a.x float32 1"), nil, Rename{From: pat("a.x"), To: "*.y"}, "to", 0, "a.x", "nothing in"},
		{"quantised to no weight", stored(t, "a.weight q4 8x64"), nil, Rename{From: pat("a.weight"), To: "a.codes"}, "to", 0, "a.weight", "must end in .weight"},
		{"each of a quantised weight", stored(t, "a.weight q4 8x64"), nil, Each{From: pat("a.weight"), Do: []Change{NewAdd(FixedFloats(1))}}, "", 0, "a.weight", "it is quantised"},
		{"reshape", stored(t, "a float32 6"), nil, Each{From: pat("a"), Do: []Change{NewAdd(FixedFloats(1)), NewReshape(FixedInts(4, -1))}}, "do", 1, "a", "[6] has 6 elements, which [4 -1] does not divide"},
		{"reshape overflow", stored(t, "a float32 6"), nil, Each{From: pat("a"), Do: []Change{NewReshape(FixedInts(1<<40, 1<<40))}}, "do", 0, "a", "too large"},
		{"view", stored(t, "a uint8 6"), nil, Each{From: pat("a"), Do: []Change{NewView(dtype.Uint32)}}, "do", 0, "a", "no multiple of uint32's 4"},
		{"transpose", stored(t, "a uint8 2x3"), nil, Each{From: pat("a"), Do: []Change{NewTranspose(FixedInts(0, 0))}}, "do", 0, "a", "names axis 0 twice"},
		{"moveaxis", stored(t, "a uint8 2x3"), nil, Each{From: pat("a"), Do: []Change{NewMoveaxis(FixedInts(2, 0))}}, "do", 0, "a", "no axis 2 in an array of 2 dims"},
		{"numbers", stored(t, "a uint8 2x3"), nil, Each{From: pat("a"), Do: []Change{NewMoveaxis(FixedInts(1))}}, "do", 0, "a", "moveaxis takes 2 numbers, not 1"},
		{"clip", stored(t, "a float32 2"), nil, Each{From: pat("a"), Do: []Change{NewClip(FixedFloats(1, -1))}}, "do", 0, "a", "no range"},
		{"split along the packed axis", stored(t, "a.weight q4 8x64"), nil, Split{From: pat("a.weight"), Axis: -1, Into: []string{"b.weight", "c.weight"}}, "axis", 0, "a.weight", "quantised along axis 1"},
		{"split unevenly", stored(t, "a float32 5"), nil, Split{From: pat("a"), Into: []string{"b", "c"}}, "sizes", 0, "a", "not 2 equal parts"},
		{"split sizes", stored(t, "a float32 5"), nil, Split{From: pat("a"), Sizes: FixedInts(2, 4), Into: []string{"b", "c"}}, "sizes", 0, "a", "do not add up to the 5"},
		{"split names", stored(t, "a float32 4"), nil, Split{From: pat("a"), Into: []string{"b", "b"}}, "into", 1, "a", "two of its parts are named b"},
		{"stack without a capture", stored(t, "a.0 float32 1"), nil, Stack{From: pat("a.*"), Over: "e", To: "a"}, "over", 0, "", "captures no {e}"},
		{"stack index", stored(t, "a.x float32 1"), nil, Stack{From: pat("a.{e}"), Over: "e", To: "b"}, "over", 0, "a.x", "is no index"},
		{"stack of leading zeros", stored(t, "a.00 float32 1"), nil, Stack{From: pat("a.{e}"), Over: "e", To: "b"}, "over", 0, "a.00", "is no index"},
		{"stack with a hole", stored(t, "a.0 float32 1", "a.2 float32 1"), nil, Stack{From: pat("a.{e}"), Over: "e", To: "b"}, "", 0, "b", "part 1 is missing"},
		{"stack of other shapes", stored(t, "a.0 float32 1", "a.1 float32 2"), nil, Stack{From: pat("a.{e}"), Over: "e", To: "b"}, "", 0, "b", "part 1 is float32 [2], which does not go with part 0, float32 [1]"},
		{"stack of other types", stored(t, "a.0 float32 1", "a.1 float16 1"), nil, Stack{From: pat("a.{e}"), Over: "e", To: "b"}, "", 0, "b", "does not go with"},
		{"stack quantised unlike", stored(t, "a.0.weight q4 8x64", "a.1.weight q4 8x64"), map[string]int{"a.1": 8}, Stack{From: pat("a.{e}.weight"), Over: "e", To: "b.weight"}, "", 0, "b.weight", "a.0.weight is affine 4 bits group 32, and a.1.weight is affine 8 bits group 32"},
		{"stack half quantised", stored(t, "a.0.weight q4 8x64", "a.1.weight uint32 8x8"), nil, Stack{From: pat("a.{e}.weight"), Over: "e", To: "b.weight"}, "", 0, "b.weight", "has scales and biases, and a.1.weight has no scales"},
		{"join without a part", stored(t, "a.q float32 1"), nil, Join{From: pat("*.q", "*.k"), To: "*.qk"}, "", 0, "a.q", "a.k, which is to be joined with it, is not there"},
		{"join with itself", stored(t, "a.q float32 1"), nil, Join{From: pat("*.q", "*.q"), To: "*.qk"}, "", 0, "a.q", "is part of it twice"},
		{"join axis", stored(t, "a.q float32 1", "a.k float32 1"), nil, Join{From: pat("*.q", "*.k"), Axis: 1, To: "*.qk"}, "axis", 0, "a.q", "no axis 1"},
		{"join along the packed axis", stored(t, "a.q.weight q4 8x64", "a.k.weight q4 8x64"), nil, Join{From: pat("*.q.weight", "*.k.weight"), Axis: 1, To: "*.qk.weight"}, "axis", 0, "a.q.weight", "cannot be joined there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, errs := Apply(c.tensors, table(c.quant), []Step{Drop{From: pat("nothing")}, c.step})
			require.Len(t, errs, 1)
			require.Equal(t, []any{1, c.field, c.index, c.tensor}, []any{errs[0].Step, errs[0].Field, errs[0].Index, errs[0].Tensor})
			require.ErrorContains(t, errs[0], c.want)
			require.Contains(t, errs[0].Error(), "view step 2: ")
			require.GreaterOrEqual(t, len(r.Tensors), 1)
		})
	}
}

func TestDropped(t *testing.T) {
	pat := func(s ...string) []*pattern.Pattern { return patterns(t, s...) }
	r, errs := Apply(stored(t, "mtp.a.weight q4 8x64", "vision.x float32 1", "b.weight float32 2", "c float32 2"), table(map[string]int{"mtp.a": 8, "gone": 2}), []Step{
		Drop{From: pat("mtp.**"), As: "draft"}, Drop{From: pat("vision.**")}, Rename{From: pat("b.weight"), To: "bb.weight"},
		Each{From: pat("bb.weight"), Do: []Change{NewAdd(FixedFloats(1))}}, Split{From: pat("c"), Into: []string{"c1", "c2"}},
	})
	require.Empty(t, errs)
	require.Equal(t, "mtp.a.biases float16 [8 2] mtp.a.biases\nmtp.a.scales float16 [8 2] mtp.a.scales\nmtp.a.weight uint32 [8 8] mtp.a.weight\n", lines(r.Aside["draft"]))
	require.Equal(t, []Dropped{{"mtp.a.weight", 0, "draft"}, {"mtp.a.scales", 0, "draft"}, {"mtp.a.biases", 0, "draft"}, {"vision.x", 1, ""}}, r.Dropped)
	require.Equal(t, []string{"gone"}, r.Idle)
	require.Equal(t, map[string]string{"b.weight": "bb.weight"}, r.Canonical())
}

func TestManyErrors(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("a.%d float32 5", i))
	}
	_, errs := Apply(stored(t, names...), header.Quantization{}, []Step{Split{From: patterns(t, "a.*"), Into: []string{"b.*", "c.*"}}})
	require.Len(t, errs, MaxErrors)
}

func TestRecipeJSON(t *testing.T) {
	source := &Recipe{Op: OpSource, Tensor: &header.Tensor{Name: "x", File: "f", Offset: 8, Size: 24, Stored: "F32", Codec: "q"}, Shape: []int{6}, Dtype: dtype.Float32}
	added, err := arithmetic(OpAdd, source, 1)
	require.NoError(t, err)
	b, err := json.Marshal(slice(added, 0, 1, 6, 2))
	require.NoError(t, err)
	require.JSONEq(t, `{"op":"slice","shape":[3],"dtype":"float32","axis":0,"start":1,"stop":6,"stride":2,"inputs":[{"op":"add","shape":[6],"dtype":"float32","number":1,
		"inputs":[{"op":"source","shape":[6],"dtype":"float32","tensor":"x","file":"f","offset":8,"size":24,"stored":"F32","codec":"q"}]}]}`, string(b))
	var names []string
	added.Sources(func(t *header.Tensor) { names = append(names, t.Name) })
	require.Equal(t, []string{"x"}, names)
	require.EqualValues(t, 24, added.Bytes())
}
