//go:build cgo && mlx

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
)

// TestAttentionAsOne: attention with all that stands around it in one call leaves the logits and states of the calls one by
// one, bit for bit: prompts, chunks, single steps, two sequences. Over a window's ring single steps are
// the kernel's and not MLX's: near.
func TestAttentionAsOne(t *testing.T) {
	write := func(name, more string) string {
		file := filepath.Join(t.TempDir(), name+".yaml")
		require.NoError(t, os.WriteFile(file, []byte("graphrun: v1\nkind: variant\nname: "+name+"\ndoc: Attention in one call or in many.\nof: '*'\n"+
			"requires: device.kind == 'cpu'\nnative: [rms_norm, rope, attend]\n"+more), 0o644))
		return file
	}
	single, joined := write("single", ""), write("joined", "fuse: [attend]\n")
	for _, c := range []struct {
		name  string
		joins bool    // in a layer or more
		near  float64 // 0: equal
	}{
		{"llama-f32", true, 0}, {"llama-traditional-bf16", true, 0}, {"llama-yarn-bf16", false, 0}, {"qwen3-bf16", true, 0}, {"qwen3_5-plain-bf16", true, 0},
		{"llama-bf16-f32norm", true, 0}, {"llama4_text-bf16", true, 0}, {"llama-sliding-bf16", true, 5e-2}, {"gemma3-f16", true, 5e-3},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(oracleDir, c.name)
			if _, err := os.Stat(dir); err != nil {
				t.Skipf("%s is not there: `make oracle` makes it", dir)
			}
			one, many := openAs(t, dir, "", joined), openAs(t, dir, "", single)
			require.Empty(t, many.Plan().Programs[0].Fused)
			require.Equal(t, c.joins, len(one.Plan().Programs[0].Fused) > 0)
			for _, batch := range []int{1, 2} {
				a, b := session(t, one), session(t, many)
				next := int32(3)
				for _, n := range []int{7, 30, 1, 1, 5, 1, 14, 1} {
					tokens := make([][]int32, batch)
					for i := range tokens {
						for range n {
							tokens[i] = append(tokens[i], next%60)
							next = (next*7 + 5) % 1021
						}
					}
					want, got := forward(t, b, tokens...), forward(t, a, tokens...)
					if c.near > 0 {
						require.Less(t, apart(t, want, got), c.near)
						continue
					}
					same(t, c.name, want, got)
				}
				require.Equal(t, b.Positions(), a.Positions())
			}
		})
	}
}

func session(t *testing.T, e *engine.Engine) *engine.Session {
	t.Helper()
	s, err := e.NewSession()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}
