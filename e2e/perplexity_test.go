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
		out := allLogits(t, m, tokens)
		if first == nil {
			first = out
		}
		sum := 0.0
		for i, next := range tokens[1:] {
			sum -= logProbability(out[i])[next]
		}
		kl := 0.0
		for i := range first {
			p, q := logProbability(first[i]), logProbability(out[i])
			for k := range p {
				kl += math.Exp(p[k]) * (p[k] - q[k]) / float64(len(first))
			}
		}
		t.Logf("%s: %d tokens, perplexity %.3f, KL to the first %.4f nats; %q", path, len(tokens), math.Exp(sum/float64(len(tokens)-1)), kl, answer(t, m))
		m.Close()
	}
}

func allLogits(t *testing.T, m *model.Model, tokens []int32) [][]float32 {
	s, err := m.Engine().NewSession()
	require.NoError(t, err)
	defer s.Close()
	got, err := s.Forward(context.Background(), engine.Inputs{Tokens: [][]int32{tokens}}, "logits")
	require.NoError(t, err)
	v, err := got["logits"].Float32s()
	require.NoError(t, err)
	var out [][]float32
	for width := len(v) / len(tokens); len(v) > 0; v = v[width:] {
		out = append(out, v[:width])
	}
	return out
}

func logProbability(logits []float32) []float64 {
	top, sum := math.Inf(-1), 0.0
	for _, x := range logits {
		top = max(top, float64(x))
	}
	for _, x := range logits {
		sum += math.Exp(float64(x) - top)
	}
	out := make([]float64, len(logits))
	for i, x := range logits {
		out[i] = float64(x) - top - math.Log(sum)
	}
	return out
}

// answer is what the model says of the capital of France.
func answer(t *testing.T, m *model.Model) string {
	settings := model.Settings{GenOptions: engine.GenOptions{MaxTokens: 24}}
	r, err := m.Chat(context.Background(), []text.Message{{Role: "user", Content: "What is the capital of France?"}}, settings, nil)
	require.NoError(t, err)
	return r.Text
}
