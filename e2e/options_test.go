//go:build cgo && mlx

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/model"
)

// TestNormRules: by mlx-lm's older rule, which a parameter of the model asks for, gains lack their 1 also wherever a checkpoint has
// tensors of a draft head: the logits are those of a copy with the 1 added. Without such tensors it changes nothing. And
// the folded scales of q and k leave the bits of a bfloat16 model as they are, with fewer products.
func TestNormRules(t *testing.T) {
	set := func(text string) string {
		path := filepath.Join(t.TempDir(), "set.yaml")
		require.NoError(t, os.WriteFile(path, []byte("graphrun: v1\nkind: variant\nname: asked\ndoc: Options.\nof: qwen3_5\nset: ["+text+"]\n"), 0o644))
		return path
	}
	run := func(dir string, variants ...string) (engine.Tensor, int) {
		m, err := model.Open(context.Background(), model.Options{Checkpoint: dir, Variants: variants, Exact: true, IDsOnly: true, Device: "cpu"})
		require.NoError(t, err)
		defer m.Close()
		s, err := m.Engine().NewSession()
		require.NoError(t, err)
		defer s.Close()
		products := 0
		for _, c := range m.Engine().Plan().Programs[0].Calls {
			if c.Operator == "multiply" {
				products++
			}
		}
		return forward(t, s, []int32{7, 1, 8, 2, 8, 1, 8}), products
	}
	has := readManifest(t).Cases
	older := set("{mtp_means_raw: true}")
	drafting, plain, raw := filepath.Join(oracleDir, "qwen3_5-draft-bf16"), filepath.Join(oracleDir, "qwen3_5-bf16"), filepath.Join(oracleDir, "qwen3_5-raw-bf16")
	for _, dir := range []string{drafting, plain, raw} {
		if _, ok := has[filepath.Base(dir)]; !ok {
			t.Skipf("the oracle has no %s here", filepath.Base(dir))
		}
	}
	gain := regexp.MustCompile(`(^|\.)model\.(norm|layers\.\d+\.(input_layernorm|post_attention_layernorm|self_attn\.[qk]_norm))\.weight$`)
	gains := 0
	added := changed(t, drafting, func(s *mlx.Scope, name string, a mlx.Array) mlx.Array {
		if !gain.MatchString(name) {
			return a
		}
		gains++
		one, err := mlx.ScalarOf(1, dtype.Bfloat16)
		require.NoError(t, err)
		return s.Add(a, s.Own(one))
	})
	require.Equal(t, 7, gains)
	want, _ := run(added)
	got, _ := run(drafting, older)
	same(t, "the older rule", want, got)
	unasked, _ := run(drafting)
	require.Greater(t, apart(t, want, unasked), 1e-2)
	for _, dir := range []string{plain, raw} {
		want, products := run(dir)
		got, _ := run(dir, older)
		same(t, "the older rule without a draft head, "+filepath.Base(dir), want, got)
		got, folded := run(dir, set("{at: 'model.layers.*.linear_attn', fold_qk: true}"))
		same(t, "folded scales, "+filepath.Base(dir), want, got)
		require.Less(t, folded, products)
	}
}
