package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bytesGGUF is metadata with the 256 byte stand-ins as the only tokens.
func bytesGGUF(t testing.TB) GGUF {
	t.Helper()
	var f fixture
	readGz(t, "testdata/kinds/gpt2.json.gz", &f)
	tok := f.build(t)
	g := GGUF{Model: "gpt2", Pre: "default", BOS: -1, EOS: -1, UNK: -1, PAD: -1}
	for id := range int32(257) {
		token, _ := tok.Token(id)
		g.Tokens = append(g.Tokens, token)
	}
	return g
}

// Every way to split that the table names must compile, and lose nothing.
func TestGGUFPreTokenizers(t *testing.T) {
	table, err := loadGGUF()
	require.NoError(t, err)
	seen := map[string]bool{}
	base := bytesGGUF(t)
	sample := strings.Join(readStrings(t)[:80], " ")
	for _, p := range table.Pre {
		for _, name := range p.Names {
			require.False(t, seen[name], "%s is there twice", name)
			seen[name] = true
			g := base
			g.Pre = name
			bos := false
			g.AddBOS = &bos
			tok, err := FromGGUF(g)
			require.NoError(t, err, name)
			if len(p.Normalizer) > 0 {
				continue
			}
			ids, err := tok.Encode(sample, true)
			require.NoError(t, err, name)
			require.Equal(t, sample, tok.Decode(ids, false), name)
		}
	}
	for _, name := range []string{"default", "gpt-2", "smollm", "llama-bpe", "qwen2", "tekken", "gpt-4o"} {
		require.True(t, seen[name], name)
	}
}

func TestGGUFErrors(t *testing.T) {
	change := func(f func(g *GGUF)) GGUF {
		g := bytesGGUF(t)
		f(&g)
		return g
	}
	yes := true
	for _, c := range []struct {
		name string
		g    GGUF
		want string
	}{
		{"model", change(func(g *GGUF) { g.Model = "t5" }), `tokenizer.ggml.model is "t5"; known are gemma4, gpt2, llama`},
		{"pre", change(func(g *GGUF) { g.Pre = "nope" }), `tokenizer.ggml.pre is "nope", which is not known; known are a.x-4.0, `},
		{"no tokens", GGUF{Model: "gpt2"}, "tokenizer.ggml.tokens is empty"},
		{"types", change(func(g *GGUF) { g.Types = []int32{1} }), "token_type has 1 entries for 257 tokens"},
		{"twice", change(func(g *GGUF) { g.Tokens[5] = g.Tokens[3] }), "has two ids, 3 and 5"},
		{"merge", change(func(g *GGUF) { g.Merges = []string{"ab"} }), `tokenizer.ggml.merges[0] is "ab"`},
		{"merge out of vocabulary", change(func(g *GGUF) { g.Merges = []string{"a b"} }), `"ab" is not in the vocabulary`},
		{"scores", change(func(g *GGUF) { g.Model = "llama" }), "scores has 0 entries for 257 tokens"},
		{"bos", change(func(g *GGUF) { g.BOS = 9999 }), "tokenizer.ggml.bos_token_id is 9999, but there are 257 tokens"},
		{"bos missing", change(func(g *GGUF) { g.AddBOS = &yes }), "tokenizer.ggml.bos_token_id is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromGGUF(c.g)
			require.ErrorContains(t, err, "GGUF tokenizer: ")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestGGUFSpecialTokens(t *testing.T) {
	g := bytesGGUF(t)
	yes := true
	g.Types = make([]int32, len(g.Tokens))
	g.Tokens = append(g.Tokens, "<|x|>", "  ")
	g.Types = append(g.Types, 3, 4)
	g.BOS, g.EOS, g.AddBOS, g.AddEOS = 257, 257, &yes, &yes
	tok, err := FromGGUF(g)
	require.NoError(t, err)
	ids, err := tok.Encode("<|x|>  ", true)
	require.NoError(t, err)
	require.Equal(t, []int32{257, 257, 258, 257}, ids)
	require.True(t, tok.IsSpecial(257))
	require.False(t, tok.IsSpecial(258), "user-defined")
	require.Equal(t, "  ", tok.Decode(ids, true))
}
