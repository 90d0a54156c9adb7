//go:build cgo && mlx

package e2e

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/quantize"
	"github.com/graphrun/graphrun/weights/header"
)

// mixtures are configs of models whose layers have experts: routed alone, and with a shared one beside those.
var mixtures = map[string]string{
	"qwen3_moe": `{"model_type": "qwen3_moe", "torch_dtype": "float32", "hidden_size": 128, "num_hidden_layers": 4, "intermediate_size": 192,
  "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "rms_norm_eps": 1e-6, "vocab_size": 320, "max_position_embeddings": 2048,
  "tie_word_embeddings": false, "decoder_sparse_step": 1, "mlp_only_layers": [1], "norm_topk_prob": true, "rope_theta": 1000000.0,
  "num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 64}`,
	"qwen2_moe": `{"model_type": "qwen2_moe", "torch_dtype": "float32", "hidden_size": 128, "num_hidden_layers": 3, "intermediate_size": 192,
  "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-6, "vocab_size": 320, "max_position_embeddings": 2048,
  "tie_word_embeddings": false, "decoder_sparse_step": 1, "norm_topk_prob": false, "rope_theta": 1000000.0,
  "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 96, "shared_expert_intermediate_size": 128}`,
}

// TestExpertsByDefault: models with experts run them in one kernel by default on a CPU, and their logits are near the exact
// classes': of a prompt, of the steps after it, some of them recorded, and of a second chunk.
func TestExpertsByDefault(t *testing.T) {
	for name, config := range mixtures {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "codes")
			ck, err := header.Open(randomCheckpoint(t, config))
			require.NoError(t, err)
			var list diag.List
			p := quantize.ParsePlan("plan.yaml", []byte("quantize:\n- {weights: '**', format: affine, bits: 4, group: 32, where_it_fits: true}\n"), &list)
			require.Empty(t, list.Sorted())
			_, err = quantize.Run(context.Background(), quantize.Options{Source: ck, Target: dir, Plan: p}, &list)
			require.NoError(t, err)
			open := func(exact bool) *engine.Session {
				m, err := model.Open(context.Background(), model.Options{Checkpoint: dir, Exact: exact, IDsOnly: true, Device: "cpu"})
				require.NoError(t, err)
				t.Cleanup(m.Close)
				for _, rows := range []int{1, 40} {
					want := map[bool]string{true: "affine", false: "experts.fused"}[exact]
					require.Equal(t, want, running(m.Engine().Plan(), "text", rows)["model.layers.2.mlp.switch_mlp"], "%d rows", rows)
				}
				s, err := m.Engine().NewSession()
				require.NoError(t, err)
				t.Cleanup(s.Close)
				return s
			}
			exact, fast := open(true), open(false)
			random := rand.New(rand.NewPCG(7, 8))
			for _, rows := range []int{45, 1, 1, 1, 1, 1, 7, 1} {
				tokens := make([]int32, rows)
				for i := range tokens {
					tokens[i] = random.Int32N(320)
				}
				off := apart(t, forward(t, exact, tokens), forward(t, fast, tokens))
				t.Logf("%d rows: max |Δ| / max |ref| %.1e", rows, off)
				require.Less(t, off, 2e-3)
			}
		})
	}
}
