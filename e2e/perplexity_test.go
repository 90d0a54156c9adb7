//go:build cgo && mlx

package e2e

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/text"
)

// TestPerplexity measures checkpoints of one model beside one another on a text in the public domain (the beginning of
// Alice's Adventures in Wonderland): PERPLEXITY is their paths, the first what the others are compared with.
func TestPerplexity(t *testing.T) {
	paths := strings.Fields(os.Getenv("PERPLEXITY"))
	if len(paths) == 0 {
		t.Skip("PERPLEXITY names no checkpoints")
	}
	data, err := os.ReadFile("testdata/down-the-rabbit-hole.txt")
	require.NoError(t, err)
	var tokens []int32
	var first [][]float32
	for _, path := range paths {
		m, err := model.Open(context.Background(), model.Options{Checkpoint: path})
		require.NoError(t, err)
		words, err := m.Tokenizer()
		require.NoError(t, err)
		ids, err := words.EncodePrompt(string(data))
		require.NoError(t, err)
		if tokens == nil {
			tokens = ids
		}
		require.Equal(t, tokens, ids, "the tokenizer of %s", path)
		out := logits(t, m, tokens, len(tokens))
		if first == nil {
			first = out
		}
		sum := 0.0
		for i, next := range tokens[1:] {
			sum -= logProbabilities(out[i])[next]
		}
		kl, _ := divergence(first, out)
		t.Logf("%s: %d tokens, perplexity %.3f, KL to the first %.4f nats; %q", path, len(tokens), math.Exp(sum/float64(len(tokens)-1)), kl, answer(t, m))
		m.Close()
	}
}

// answer is what the model says of the capital of France.
func answer(t *testing.T, m *model.Model) string {
	settings := model.Settings{GenOptions: engine.GenOptions{MaxTokens: 24}}
	r, err := m.Chat(context.Background(), []text.Message{{Role: "user", Content: "What is the capital of France?"}}, settings, nil)
	require.NoError(t, err)
	return r.Text
}
