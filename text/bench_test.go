package text

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// prose is text of several kinds, about 1 MB.
func prose(t testing.TB) string {
	text := strings.Join(readStrings(t), "\n")
	return strings.Repeat(text, 1<<20/len(text)+1)
}

func BenchmarkEncode(b *testing.B) {
	text := prose(b)
	for _, name := range []string{"kinds/gpt2", "kinds/qwen2", "kinds/llama3", "kinds/gpt4o", "kinds/llama2", "kinds/gemma", "gguf/smollm2_small"} {
		b.Run(name, func(b *testing.B) {
			var f fixture
			readGz(b, "testdata/"+name+".json.gz", &f)
			tok := f.build(b)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, err := tok.Encode(text, false)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkEncodeSmolLM2(b *testing.B) {
	tok, err := FromGGUF(checkpointGGUF(b))
	require.NoError(b, err)
	text := prose(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, err := tok.Encode(text, false)
		require.NoError(b, err)
	}
}

func BenchmarkDecode(b *testing.B) {
	var f fixture
	readGz(b, "testdata/gguf/smollm2_small.json.gz", &f)
	tok := f.build(b)
	ids, err := tok.Encode(prose(b), false)
	require.NoError(b, err)
	b.SetBytes(int64(len(prose(b))))
	for b.Loop() {
		tok.Decode(ids, true)
	}
}

func BenchmarkLoadJSON(b *testing.B) {
	g := checkpointGGUF(b)
	data := asTokenizerJSON(b, g)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, err := FromJSON(data)
		require.NoError(b, err)
	}
}

// asTokenizerJSON writes a byte-level vocabulary the way tokenizer.json does.
func asTokenizerJSON(t testing.TB, g GGUF) []byte {
	vocab := map[string]int{}
	for id, token := range g.Tokens {
		vocab[token] = id
	}
	data, err := json.Marshal(map[string]any{
		"version": "1.0", "pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false},
		"decoder": map[string]any{"type": "ByteLevel"},
		"model":   map[string]any{"type": "BPE", "vocab": vocab, "merges": g.Merges},
	})
	require.NoError(t, err)
	return data
}
