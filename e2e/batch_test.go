//go:build cgo && mlx

package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBatchOfEveryState runs two texts in one session and each alone: past windows and chunks, step by step and in a second
// chunk, every kind of state keeps its sequences apart, and the logits have the same bits.
func TestBatchOfEveryState(t *testing.T) {
	readManifest(t)
	kinds := map[string]string{
		"llama-q4": "a cache of all positions", "gemma3-bf16": "windows", "llama4-q4": "chunks", "deepseek_v3-q4": "latent caches",
		"qwen3_5-q4": "convolution and delta", "mamba2-bf16": "convolution and state space", "rwkv7-bf16": "token shift and wkv", "gemma3n-bf16": "shared caches",
	}
	text := func(seed, n int) []int32 {
		out := make([]int32, n)
		for i := range out {
			out[i] = int32(3 + (seed*31+i*i*7+i*seed)%240)
		}
		return out
	}
	for name, shows := range kinds {
		t.Run(name, func(t *testing.T) {
			e := open(t, filepath.Join(oracleDir, name))
			both, err := e.NewSession()
			require.NoError(t, err)
			defer both.Close()
			a, err := e.NewSession()
			require.NoError(t, err)
			defer a.Close()
			b, err := e.NewSession()
			require.NoError(t, err)
			defer b.Close()
			n := 0
			step := func(what string, x, y []int32) {
				got := forward(t, both, x, y)
				n += same(t, what+", first text", forward(t, a, x), rows(got, 0, 1))
				n += same(t, what+", second text", forward(t, b, y), rows(got, 1, 2))
			}
			step("prompt", text(1, 20), text(2, 20))
			for i := range 20 {
				step(fmt.Sprintf("step %d", i), text(3+i, 1), text(40+i, 1))
			}
			step("chunk", text(70, 5), text(71, 5))
			t.Logf("%s: %d values equal", shows, n)
		})
	}
}
