//go:build cgo && mlx

package e2e

import (
	"cmp"
	"context"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/model"
)

// TestQuality holds what runs by default on this device to the exact classes: the KL divergence of its next-token
// distributions over a text, as one prompt and token by token. `make quality` runs it; it takes some minutes, because the
// exact classes do.
func TestQuality(t *testing.T) {
	path := os.Getenv("QUALITY")
	if path == "" {
		t.Skip("`make quality` runs this")
	}
	data, err := os.ReadFile(cmp.Or(os.Getenv("QUALITY_TEXT"), "testdata/alice.txt"))
	require.NoError(t, err)
	open := func(exact bool, variants ...string) *model.Model {
		m, err := model.Open(context.Background(), model.Options{Checkpoint: path, Exact: exact, Variants: variants})
		require.NoError(t, err)
		t.Cleanup(m.Close)
		return m
	}
	exact, fast := open(true), open(os.Getenv("QUALITY_VARIANT") != "", strings.Fields(os.Getenv("QUALITY_VARIANT"))...)
	tokenizer, err := exact.Tokenizer()
	require.NoError(t, err)
	tokens, err := tokenizer.EncodePrompt(string(data))
	require.NoError(t, err)
	want := logits(t, exact, tokens, len(tokens))
	for _, chunk := range []int{len(tokens), 1} {
		mean, most := divergence(want, logits(t, fast, tokens, chunk))
		t.Logf("%d tokens, %d at a time: KL mean %.2e, max %.2e nats", len(tokens), chunk, mean, most)
		require.Less(t, mean, 1e-3)
		require.Less(t, most, 5e-2)
	}
}

// logits feeds tokens, `chunk` at a time, and gives the logits after each.
func logits(t *testing.T, m *model.Model, tokens []int32, chunk int) [][]float32 {
	s, err := m.Engine().NewSession()
	require.NoError(t, err)
	defer s.Close()
	var out [][]float32
	for len(tokens) > 0 {
		n := min(chunk, len(tokens))
		got, err := s.Forward(context.Background(), engine.Inputs{Tokens: [][]int32{tokens[:n]}}, "logits")
		require.NoError(t, err)
		v, err := got["logits"].Float32s()
		require.NoError(t, err)
		for width := len(v) / n; len(v) > 0; v = v[width:] {
			out = append(out, v[:width])
		}
		tokens = tokens[n:]
	}
	return out
}

// divergence is KL(want || got) of each pair of distributions: its mean and its largest.
func divergence(want, got [][]float32) (mean, most float64) {
	for i := range want {
		p, q := logProbabilities(want[i]), logProbabilities(got[i])
		var kl float64
		for k := range p {
			kl += math.Exp(p[k]) * (p[k] - q[k])
		}
		mean += kl / float64(len(want))
		most = max(most, kl)
	}
	return mean, most
}

func logProbabilities(logits []float32) []float64 {
	top := math.Inf(-1)
	for _, x := range logits {
		top = max(top, float64(x))
	}
	var sum float64
	for _, x := range logits {
		sum += math.Exp(float64(x) - top)
	}
	out, log := make([]float64, len(logits)), top+math.Log(sum)
	for i, x := range logits {
		out[i] = float64(x) - log
	}
	return out
}
