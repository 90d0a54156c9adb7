package text

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGGUFFiles: a folder of the written files gives the same ids, texts and stops.
func TestGGUFFiles(t *testing.T) {
	g := bytesGGUF(t)
	yes := true
	first := len(g.Tokens)
	g.Tokens = append(g.Tokens, "<s>", "</s>", "<eot>", "<tag>", "th", "the")
	g.Types = make([]int32, len(g.Tokens))
	for i := range g.Types {
		g.Types[i] = 1
	}
	g.Types[first], g.Types[first+1], g.Types[first+2], g.Types[first+3] = ggufControl, ggufControl, ggufControl, ggufUserDefined
	g.Merges = []string{"t h", "th e"}
	g.Pre, g.BOS, g.EOS, g.AddBOS, g.EndIDs = "qwen2", first, first+1, &yes, []int{first + 2}
	g.ChatTemplate = "{{ bos_token }}{{ messages[0].content }}"
	want, err := LoadGGUF(g)
	require.NoError(t, err)

	files, err := g.Files()
	require.NoError(t, err)
	dir := t.TempDir()
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	got, err := LoadFolder(dir)
	require.NoError(t, err)
	require.Equal(t, want.Stops.IDs, got.Stops.IDs)
	require.Equal(t, want.Tokenizer.roles, got.Tokenizer.roles)
	for _, s := range append(readStrings(t)[:60], "the <tag> of <s> the</s>") {
		a, err := want.Tokenizer.Encode(s, true)
		require.NoError(t, err)
		b, err := got.Tokenizer.Encode(s, true)
		require.NoError(t, err)
		require.Equal(t, a, b, "%q", s)
		require.Equal(t, want.Tokenizer.Decode(a, true), got.Tokenizer.Decode(a, true), "%q", s)
	}
	messages := []Message{{Role: "user", Content: "hello"}}
	a, err := want.Template.Render(messages, RenderOptions{})
	require.NoError(t, err)
	b, err := got.Template.Render(messages, RenderOptions{})
	require.NoError(t, err)
	require.Equal(t, a, b)

	g.Model, g.Merges, g.Scores = "llama", nil, make([]float32, len(g.Tokens))
	_, err = g.Files()
	require.ErrorContains(t, err, "tokenizer.ggml.model llama ranks its merges by scores")
}
