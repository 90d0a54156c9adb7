//go:build cgo && mlx

package e2e

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/model"
)

// TestQuality holds what runs by default on this device to the exact classes: the KL divergence of its next-token
// distributions over a text, as one prompt and token by token, with llama.cpp's beside it where QUALITY_PEER is its side of the
// benchmark; and greedy answers to 20 prompts. `make quality` runs it.
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
	if peer := strings.Fields(os.Getenv("QUALITY_PEER")); len(peer) > 0 {
		mean, most := divergence(want, peerLogits(t, peer, path, tokens, len(want[0])))
		t.Logf("llama.cpp, %d tokens one at a time: KL mean %.2e, max %.2e nats", len(tokens), mean, most)
	}
	compareAnswers(t, exact, fast)
}

// compareAnswers generates greedily from the lines of testdata/prompts.txt.
func compareAnswers(t *testing.T, exact, fast *model.Model) {
	const length = 32
	data, err := os.ReadFile("testdata/prompts.txt")
	require.NoError(t, err)
	tokenizer, err := exact.Tokenizer()
	require.NoError(t, err)
	equal, shared, all := 0, 0, 0
	prompts := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, prompt := range prompts {
		tokens, err := tokenizer.EncodePrompt(prompt)
		require.NoError(t, err)
		want, got := greedy(t, exact, tokens, length), greedy(t, fast, tokens, length)
		same := 0
		for same < len(want) && want[same] == got[same] {
			same++
		}
		if same == len(want) {
			equal++
		} else {
			t.Logf("differs from token %d on: %s", same, prompt)
		}
		shared, all = shared+same, all+len(want)
	}
	t.Logf("greedy answers of %d tokens: %d of %d prompts alike, %d of %d tokens before the first that differs", length, equal, len(prompts), shared, all)
}

func greedy(t *testing.T, m *model.Model, tokens []int32, n int) (out []int32) {
	s, err := m.Engine().NewSession()
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Generate(context.Background(), tokens, engine.GenOptions{MaxTokens: n}, func(t engine.Token) error {
		out = append(out, t.ID)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, out, n)
	return out
}

// peerLogits has the peer compute the logits after each token.
func peerLogits(t *testing.T, peer []string, path string, tokens []int32, width int) (out [][]float32) {
	ids, file := filepath.Join(t.TempDir(), "ids.json"), filepath.Join(t.TempDir(), "logits")
	text, err := json.Marshal(tokens)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(ids, text, 0o600))
	said, err := exec.Command(peer[0], append(peer[1:], "logits", path, ids, file, strconv.Itoa(runtime.NumCPU()))...).CombinedOutput()
	require.NoError(t, err, string(said))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Len(t, data, 4*width*len(tokens))
	for ; len(data) > 0; data = data[4*width:] {
		row := make([]float32, width)
		for i := range row {
			row[i] = math.Float32frombits(binary.NativeEndian.Uint32(data[4*i:]))
		}
		out = append(out, row)
	}
	return out
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
