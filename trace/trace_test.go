package trace

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/engine"
)

func f32(shape []int, values ...float32) engine.Tensor {
	t := engine.Tensor{Dtype: dtype.Float32, Shape: shape}
	for _, v := range values {
		t.Data = binary.NativeEndian.AppendUint32(t.Data, math.Float32bits(v))
	}
	return t
}

func bf16(shape []int, values ...float32) engine.Tensor {
	t := engine.Tensor{Dtype: dtype.Bfloat16, Shape: shape}
	for _, v := range values {
		t.Data = binary.NativeEndian.AppendUint16(t.Data, uint16(math.Float32bits(v)>>16))
	}
	return t
}

func node(name string, v engine.Tensor) Node { return Node{Name: name, Value: v} }

func record(nodes ...Node) *Record {
	return &Record{Name: "r", Tokens: [][]int32{{1, 2}}, Nodes: nodes}
}

func TestCompare(t *testing.T) {
	base := f32([]int{1, 2, 2}, 1, 2, 3, 4)
	a := record(node("h", base), node("only a", base), node("y", base), node("output logits", base))
	for name, c := range map[string]struct {
		b    *Record
		want string
	}{
		"equal": {record(node("h", base), node("y", f32([]int{2, 2}, 1, 2, 3, 4)), node("output logits", base)),
			"equal, bit for bit: 12 values of 3 nodes\nnot compared: 1 node of the first alone, 0 of the second\n"},
		"values": {record(node("h", base), node("y", f32([]int{1, 2, 2}, 1, 2, 2.5, 6)), node("z", base), node("output logits", f32([]int{1, 2, 2}, 1, 2, 3, 5))),
			"2 of 3 nodes differ; the first:\n\ny\n  A: float32 [1 2 2]\n  B: float32 [1 2 2]\n  2 values differ; the first at [0 1 0]: A 3, B 2.5\n" +
				"  max |Δ| 2, max |A| 4\n\noutput logits: max |Δ| 1, max |A| 4, 1 value\nnot compared: 1 node of the first alone, 1 of the second\n"},
		"shape": {record(node("y", f32([]int{2, 1, 2}, 1, 2, 3, 4))),
			"1 of 1 node differ; the first:\n\ny\n  A: float32 [1 2 2]\n  B: float32 [2 1 2]\n  the shapes differ\nnot compared: 3 nodes of the first alone, 0 of the second\n"},
		"dtype alone": {record(node("y", bf16([]int{1, 2, 2}, 1, 2, 3, 4))),
			"1 of 1 node differ; the first:\n\ny\n  A: float32 [1 2 2]\n  B: bfloat16 [1 2 2]\n  the dtypes differ, the values do not\nnot compared: 3 nodes of the first alone, 0 of the second\n"},
		"a sign of zero is a bit": {record(node("h", base), node("y", base), node("output logits", base), node("only a", f32([]int{1, 2, 2}, 1, 2, 3, 4))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Compare(a, c.b)
			require.NoError(t, err)
			if c.want == "" {
				require.True(t, d.Same)
				return
			}
			var b bytes.Buffer
			require.NoError(t, d.WriteText(&b, false))
			require.Equal(t, c.want, b.String())
		})
	}
	_, err := Compare(a, record(node("other", base)))
	require.ErrorIs(t, err, ErrNothing)
}

func TestSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	d, err := Compare(record(node("y", f32([]int{4}, 0, inf, 1, 2))), record(node("y", f32([]int{4}, float32(math.Copysign(0, -1)), inf, nan, 2))))
	require.NoError(t, err)
	require.Equal(t, 2, d.Differ[0].Count, "a zero of another sign has other bits")
	require.True(t, math.IsNaN(float64(d.Differ[0].MaxDelta)))
	var b bytes.Buffer
	require.NoError(t, d.WriteJSON(&b))
	var back map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	require.Contains(t, b.String(), `"max_delta": "NaN"`)
	require.Contains(t, b.String(), `"max_value": "+Inf"`)
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.safetensors")
	r := record(node("model.layers.0 add", f32([]int{1, 2, 1}, 1, 2)), node("output logits", bf16([]int{1, 2, 2}, 1, 2, 3, 4)),
		node("flag", engine.Tensor{Dtype: dtype.Bool, Shape: []int{2}, Data: []byte{0, 1}}))
	require.NoError(t, r.Save(path))
	require.ErrorContains(t, r.Save(path), "exists")
	s, err := Load(path, "")
	require.NoError(t, err)
	tokens, err := s.Tokens()
	require.NoError(t, err)
	require.Equal(t, r.Tokens, tokens)
	d, err := Compare(r, s.Beside(r))
	require.NoError(t, err)
	require.True(t, d.Same)
	require.Equal(t, 3, d.Nodes)
	_, err = Load(path, "p7")
	require.ErrorContains(t, err, "holds one record and no case p7")
}

func TestOracleKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "expected.safetensors")
	prompt := tokenTensor([][]int32{{3, 5}})
	prompt.Shape = []int{2}
	// Save puts `tokens` first, which another program's file does not have.
	file := &Record{Tokens: [][]int32{{0}}, Nodes: []Node{node("p2.prompt", prompt), node("p2.embed", f32([]int{2, 1}, 1, 2)),
		node("p2.layer.0", f32([]int{2, 1}, 3, 4)), node("p2.prefill_logits", f32([]int{2, 1}, 5, 6)), node("p9.prompt", prompt)}}
	require.NoError(t, file.Save(path))
	_, err := Load(path, "p2")
	require.Error(t, err)
	s := &Saved{path: path, prefix: "p2.", tensors: map[string]engine.Tensor{}}
	for _, n := range file.Nodes {
		s.tensors[n.Name] = n.Value
	}
	tokens, err := s.Tokens()
	require.NoError(t, err)
	require.Equal(t, [][]int32{{3, 5}}, tokens)
	r := record(Node{Name: "c", Value: f32([]int{1}, 9)}, Node{Name: "embed", Kind: "embedding", Value: f32([]int{1, 2, 1}, 1, 2)},
		Node{Name: "m.layers.0 rms_norm", Path: "m.layers.0", Value: f32([]int{1, 2, 1}, 0, 0)}, Node{Name: "m.layers.0 add", Path: "m.layers.0", Value: f32([]int{1, 2, 1}, 3, 4)},
		Node{Name: "output logits", Value: f32([]int{1, 2, 1}, 5, 7)})
	d, err := Compare(r, s.Beside(r))
	require.NoError(t, err)
	require.Equal(t, 3, d.Nodes)
	require.Len(t, d.Differ, 1)
	require.Equal(t, "output logits", d.Differ[0].Node)
}
