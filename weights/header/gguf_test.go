package header

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/weights/internal/testfile"
)

func parseFile(b []byte) (*GGUFMeta, []info, error) {
	return parseGGUF("f", bytes.NewReader(b), int64(len(b)))
}

func open(b []byte) (*Checkpoint, error) {
	m, infos, err := parseFile(b)
	if err != nil {
		return nil, err
	}
	return mapGGUF(m, infos)
}

const (
	kindF32  = 0
	kindF16  = 1
	kindQ4_0 = 2
	kindQ4_1 = 3
	kindQ8_0 = 8
	kindQ6_K = 14
	kindBF16 = 30
)

func tensor(name string, kind uint32, bytes int, shape ...int) testfile.Tensor {
	return testfile.Tensor{Name: name, Kind: kind, Shape: shape, Data: make([]byte, bytes)}
}

// small is a llama of one layer, whose embedding has 8 bits and all else 4.
func small() *testfile.GGUF {
	return testfile.Llama().
		Add(tensor("token_embd.weight", kindQ8_0, 4*64/32*34, 4, 64)).
		Add(tensor("blk.0.attn_norm.weight", kindF32, 256, 64)).
		Add(tensor("blk.0.attn_q.weight", kindQ4_1, 64*2*20, 64, 64)).
		Add(tensor("blk.0.attn_k.weight", kindQ4_0, 32*2*18, 32, 64)).
		Add(tensor("blk.0.attn_v.weight", kindBF16, 32*64*2, 32, 64)).
		Add(tensor("blk.0.attn_q.bias", kindF32, 256, 64))
}

func TestGGUF(t *testing.T) {
	ck, err := open(small().Bytes())
	require.NoError(t, err)
	require.Empty(t, ck.Warnings)
	require.Equal(t, map[string]any{
		"model_type": "llama", "rope_traditional": true, "hidden_size": int64(64), "num_hidden_layers": int64(1), "intermediate_size": int64(96),
		"num_attention_heads": int64(2), "num_key_value_heads": int64(1), "head_dim": int64(32), "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
		"max_position_embeddings": int64(128), "vocab_size": int64(4), "tie_word_embeddings": true, "attention_bias": true, "mlp_bias": false,
		"eos_token_id": int64(3),
	}, ck.Config.Values)
	require.Equal(t, "{Default:affine 4 bits group 32 ByPath:map[model.embed_tokens:affine 8 bits group 32] Off:map[] Method:}", sprintQuant(ck.Quantization))
	var names []string
	for _, x := range ck.Tensors {
		names = append(names, x.Name)
	}
	layer := "model.layers.0."
	require.Equal(t, []string{"model.embed_tokens.biases", "model.embed_tokens.scales", "model.embed_tokens.weight", layer + "input_layernorm.weight",
		layer + "self_attn.k_proj.biases", layer + "self_attn.k_proj.scales", layer + "self_attn.k_proj.weight", layer + "self_attn.q_proj.bias",
		layer + "self_attn.q_proj.biases", layer + "self_attn.q_proj.scales", layer + "self_attn.q_proj.weight", layer + "self_attn.v_proj.weight"}, names)
	q, ok := ck.Lookup(layer + "self_attn.q_proj.weight")
	require.True(t, ok)
	require.Equal(t, Tensor{Name: q.Name, Source: "blk.0.attn_q.weight", Dtype: dtype.Uint32, Stored: "Q4_1", Shape: []int{64, 8}, File: "f",
		Offset: q.Offset, Size: 64 * 2 * 20, Codec: "q4_1.weight"}, *q)
	require.EqualValues(t, 64*8*4, q.Bytes())
	s, ok := ck.Lookup("model.embed_tokens.scales")
	require.True(t, ok)
	require.Equal(t, []any{dtype.Float16, []int{4, 2}, "q8_0.scales"}, []any{s.Dtype, s.Shape, s.Codec})
	v, ok := ck.Lookup(layer + "self_attn.v_proj.weight")
	require.True(t, ok)
	require.Equal(t, []any{dtype.Bfloat16, []int{32, 64}, ""}, []any{v.Dtype, v.Shape, v.Codec})
	_, ok = ck.Lookup("nothing")
	require.False(t, ok)
}

func sprintQuant(q Quantization) string {
	return "{Default:" + q.Default.String() + " ByPath:map[model.embed_tokens:" + q.ByPath["model.embed_tokens"].String() + "] Off:map[] Method:" + q.Method + "}"
}

func TestGGUFMetadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	file := small().Set("x.float", 0.1).Set("x.texts", []string{}).Set("tokenizer.ggml.add_bos_token", false).Set("tokenizer.chat_template", "{{ x }}").Bytes()
	require.NoError(t, os.WriteFile(path, file, 0o644))
	ck, err := Open(path)
	require.NoError(t, err)
	require.Equal(t, "gguf", ck.Format)
	m := ck.GGUF
	require.True(t, m.Has("x.float"))
	require.Contains(t, m.Keys(), "llama.block_count")
	f, err := m.Float("x.float")
	require.NoError(t, err)
	require.Equal(t, 0.1, f)
	n, err := m.Int("llama.block_count")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	texts, err := m.Texts("x.texts")
	require.NoError(t, err)
	require.Empty(t, texts)
	_, err = m.Text("llama.block_count")
	require.ErrorContains(t, err, `metadata "llama.block_count" is uint32, not a string`)
	_, err = m.Texts("tokenizer.ggml.token_type")
	require.ErrorContains(t, err, "is array of int32, not an array of strings")
	_, err = m.Int("nothing")
	require.ErrorContains(t, err, `no metadata "nothing"`)
	tok, err := m.Tokenizer()
	require.NoError(t, err)
	no := false
	require.Equal(t, &GGUFTokenizer{Model: "gpt2", Pre: "smollm", Tokens: []string{"a", "b", "ab", "é"}, Types: []int64{1, 1, 1, 3}, Merges: []string{"a b"},
		BOS: -1, EOS: 3, EOT: -1, EOM: -1, Unknown: -1, Separator: -1, Padding: -1, Mask: -1, AddBOS: &no, ChatTemplate: "{{ x }}"}, tok)

	require.NoError(t, os.Truncate(path, int64(len(file)-1)))
	_, err = m.Tokenizer()
	require.ErrorContains(t, err, "the file has changed since its header was read")
}

func TestGGUFSettings(t *testing.T) {
	scaling := func(kind string) *testfile.GGUF {
		return small().Set("llama.rope.scaling.type", kind).Set("llama.rope.scaling.factor", 4.0).Set("llama.rope.scaling.original_context_length", 4096)
	}
	for _, c := range []struct {
		name     string
		file     *testfile.GGUF
		key      string
		want     any
		warnings int
		err      string
	}{
		{name: "linear", file: small().Set("llama.rope.scaling.type", "linear").Set("llama.rope.scaling.factor", 2.0), key: "rope_scaling", want: map[string]any{"rope_type": "linear", "factor": 2.0}},
		{name: "linear by default", file: small().Set("llama.rope.scaling.factor", 2.0), key: "rope_scaling", want: map[string]any{"rope_type": "linear", "factor": 2.0}},
		{name: "yarn", file: scaling("yarn"), key: "rope_scaling", want: map[string]any{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": int64(4096)}},
		{name: "no scaling", file: scaling("none"), key: "rope_scaling", want: nil},
		{name: "untied", file: small().Add(tensor("output.weight", kindF16, 512, 4, 64)), key: "tie_word_embeddings", want: false},
		{name: "several ends", file: small().Set("tokenizer.ggml.eot_token_id", 2).Set("tokenizer.ggml.eom_token_id", 3), key: "eos_token_id", want: []any{int64(3), int64(2)}},
		{name: "equal per layer", file: small().Set("llama.attention.key_length", []int32{32, 32}), key: "head_dim", want: int64(32)},
		{name: "unused", file: small().Set("llama.something", 1), key: "head_dim", want: int64(32), warnings: 1},
		{name: "unequal per layer", file: small().Set("llama.attention.key_length", []int32{32, 16}), err: "varies from layer to layer"},
		{name: "refused", file: small().Set("llama.attention.sliding_window", 1), err: `metadata "llama.attention.sliding_window" changes what the model computes`},
		{name: "experts", file: small().Set("llama.expert_count", 8), err: `"llama.expert_count" changes`},
		{name: "partial rotation", file: small().Set("llama.rope.dimension_count", 16), err: "llama.rope.dimension_count is 16; files where it is not 32 are not read"},
		{name: "unknown architecture", file: new(testfile.GGUF).Set("general.architecture", "lama"), err: `architecture "lama" are not known; known are llama, qwen2, qwen3 (nearest: llama)`},
		{name: "path as architecture", file: new(testfile.GGUF).Set("general.architecture", "../_decoder"), err: "are not known"},
		{name: "no architecture", file: new(testfile.GGUF), err: `no metadata "general.architecture"`},
		{name: "architecture as a number", file: new(testfile.GGUF).Set("general.architecture", 3), err: "is uint32, not a string"},
		{name: "missing setting", file: new(testfile.GGUF).Set("general.architecture", "llama"), err: "no metadata llama.embedding_length, which hidden_size follows from"},
		{name: "unknown tensor", file: small().Add(tensor("blk.0.ffn_gate_exps.weight", kindF16, 128, 64)), err: `nothing says what tensor "blk.0.ffn_gate_exps.weight" is in files of architecture llama`},
		{name: "quantised vector", file: small().Add(tensor("blk.0.attn_k.bias", kindQ8_0, 34, 32)), err: "only weights of modules can be quantised"},
		{name: "dropped", file: small().Add(tensor("blk.0.attn_rot_embd.weight", kindF16, 64, 32)), key: "head_dim", want: int64(32)},
		{name: "split file", file: small().Set("split.count", 3), err: "one of 3 parts of a split GGUF file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ck, err := open(c.file.Bytes())
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, ck.Config.Values[c.key])
			require.Len(t, ck.Warnings, c.warnings)
		})
	}
}

func TestMappings(t *testing.T) {
	known, err := architectures()
	require.NoError(t, err)
	for _, a := range known {
		t.Run(a, func(t *testing.T) {
			m, err := findMapping(a)
			require.NoError(t, err)
			r, err := m.renamer()
			require.NoError(t, err)
			to, err := r.name("blk.17.ffn_down.weight")
			require.NoError(t, err)
			require.Equal(t, "model.layers.17.mlp.down_proj.weight", to)
			_, err = compileAll(append(m.Ignore, m.Refuse...))
			require.NoError(t, err)
		})
	}
}

func le64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

func value(kind uint32, rest ...[]byte) []byte {
	return bytes.Join(append([][]byte{binary.LittleEndian.AppendUint32(nil, kind)}, rest...), nil)
}

// array is an array's type and count.
func array(element uint32, count uint64) []byte {
	return value(ggufArray, binary.LittleEndian.AppendUint32(nil, element), le64(count))
}

var hostileGGUF = []struct {
	name string
	file []byte
	want string
}{
	{"empty", nil, "not a GGUF file"},
	{"other file", make([]byte, 100), "not a GGUF file"},
	{"version 1", (&testfile.GGUF{Version: 1}).Bytes(), "GGUF version 1; versions 2 and 3 are read"},
	{"big-endian", (&testfile.GGUF{Version: 3 << 24}).Bytes(), "a big-endian GGUF file"},
	{"count of tensors", (&testfile.GGUF{Tensors: 1 << 62}).Bytes(), "counts 4611686018427387904 tensors, more than its 1 bytes or less could hold"},
	{"count of pairs", (&testfile.GGUF{Pairs: 1 << 40}).Bytes(), "metadata pairs, more than"},
	{"pairs beyond the end", (&testfile.GGUF{Pairs: 2}).Set("a", 1).Set("b", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx").Bytes()[:60], "the file ends at byte 60"},
	{"key's length", (&testfile.GGUF{Pairs: 1}).Info(tensor(strings.Repeat("k", maxKey+1), 0, 0), 0).Bytes(), "the key of metadata pair 0 has 1025 bytes"},
	{"duplicate key", new(testfile.GGUF).Set("a", 1).Set("a", 2).Bytes(), `metadata key "a" is there twice`},
	{"key is not UTF-8", new(testfile.GGUF).Set("\xff", 1).Bytes(), "is not UTF-8"},
	{"unknown type", new(testfile.GGUF).Set("a", value(77)).Bytes(), "has type 77, which GGUF does not know"},
	{"string's length", new(testfile.GGUF).Set("a", value(ggufString, le64(1<<63))).Bytes(), "the file ends"},
	{"array's count", new(testfile.GGUF).Set("a", array(ggufFloat64, 1<<61)).Bytes(), "the file ends"},
	{"array of arrays", new(testfile.GGUF).Set("a", array(ggufArray, 1)).Bytes(), "array of type 9"},
	{"strings' count", new(testfile.GGUF).Set("a", array(ggufString, 1<<61)).Bytes(), "the file ends"},
	{"alignment", new(testfile.GGUF).Set("general.alignment", 24).Bytes(), "general.alignment is 24, not a power of two"},
	{"alignment of zero", new(testfile.GGUF).Set("general.alignment", 0).Bytes(), "general.alignment is 0"},
	{"huge alignment", new(testfile.GGUF).Set("general.alignment", 1<<30).Bytes(), "not a power of two up to"},
	{"dims", small().Info(tensor("x", kindF32, 0, 1, 1, 1, 1, 1), 0).Bytes(), `tensor "x": it has 5 dims`},
	{"huge dim", small().Info(tensor("x", kindF32, 0, 1<<40), 0).Bytes(), "not within 0 and 2^31-1"},
	{"overflowing dims", small().Info(tensor("x", kindF32, 0, 1<<30, 1<<30, 1<<30), 0).Bytes(), "larger than any file"},
	{"negative dim", small().Info(tensor("x", kindF32, 0, -1), 0).Bytes(), "dim 0 is 18446744073709551615"},
	{"offset", small().Info(tensor("x", kindF32, 0, 1), 1<<63).Bytes(), "its offset is"},
	{"offset over the file", small().Info(tensor("x", kindF32, 0, 1), 1<<50).Bytes(), `tensor "x" lies at`},
	{"off alignment", small().Info(tensor("x", kindF32, 0, 0), 7).Bytes(), "no multiple of the alignment 32"},
	{"overlap", small().Info(tensor("x", kindF32, 0, 1), 0).Bytes(), `tensors "x" and "token_embd.weight" overlap at byte`},
	{"duplicate tensor", small().Add(tensor("blk.0.attn_q.bias", kindF32, 256, 64)).Bytes(), `tensor "blk.0.attn_q.bias" is there twice`},
	{"no name", small().Add(tensor("", kindF32, 256, 64)).Bytes(), "has no name"},
	{"unread type", small().Add(tensor("x", kindQ6_K, 210, 256)).Bytes(), `tensor "x": it is stored as Q6_K; the types that are read are F32, F16, BF16, Q4_0, Q4_1, Q8_0`},
	{"unknown type of tensor", small().Add(tensor("x", 999, 210, 256)).Bytes(), `it is stored as number 999`},
	{"partial blocks", small().Add(tensor("x", kindQ4_0, 36, 48)).Bytes(), "does not end in whole blocks of 32"},
	{"quantised scalar", small().Add(tensor("x", kindQ4_0, 0)).Bytes(), "does not end in whole blocks"},
	{"cut data", small().Bytes()[:len(small().Bytes())-1], "its download is incomplete"},
}

func TestGGUFErrors(t *testing.T) {
	for _, c := range hostileGGUF {
		t.Run(c.name, func(t *testing.T) {
			_, err := open(c.file)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// zeros is a file that is zero beyond its head, of any size: as a sparse file is.
type zeros struct{ head []byte }

func (z zeros) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(z.head)) {
		copy(p, z.head[off:])
	}
	return len(p), nil
}

func TestGGUFSparse(t *testing.T) {
	for _, c := range []struct {
		name string
		head []byte
		want string
	}{
		{"many strings", new(testfile.GGUF).Set("a", array(ggufString, 1<<40)).Bytes(), "hold more than 2097152 strings"},
		{"many pairs", (&testfile.GGUF{Pairs: maxPairs}).Bytes(), "metadata key"},
		{"too many pairs", (&testfile.GGUF{Pairs: maxPairs + 1}).Bytes(), "more than the 65536 that are read"},
		{"many tensors", (&testfile.GGUF{Tensors: maxInfos}).Bytes(), "tensor 0 has no name"},
		{"large strings", new(testfile.GGUF).Set("a", append(array(ggufString, 4), le64(1<<40)...)).Bytes(), "the metadata has more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := bounded(t, func() error {
				_, _, err := parseGGUF("f", zeros{c.head}, 1<<50)
				return err
			})
			require.ErrorContains(t, err, c.want)
		})
	}
}
