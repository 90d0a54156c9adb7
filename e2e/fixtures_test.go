//go:build cgo && mlx

package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/mlx"
)

// nearBound is how far float32 logits may lie from saved ones, as a part of the largest: their products go through the BLAS in
// use, and the file may have been made with another.
const nearBound = 1e-5

// compareNear compares prompts and their decode steps within the bound.
func compareNear(t *testing.T, e *engine.Engine, want map[string]engine.Tensor, prompts ...string) {
	worst := 0.0
	for _, p := range prompts {
		s, err := e.NewSession()
		require.NoError(t, err)
		defer s.Close()
		worst = max(worst, apart(t, want[p+".prefill_logits"], forward(t, s, ids(want[p+".prompt"]))))
		for i, id := range ids(want[p+".decode_in"]) {
			worst = max(worst, apart(t, rows(want[p+".decode_logits"], i, i+1), forward(t, s, []int32{id})))
		}
	}
	t.Logf("float32: at most %.2g of the largest logit apart", worst)
	require.Less(t, worst, nearBound)
}

// TestFixtures compares checkpoints that others made, with the same keys as `make oracle` has: GRAPHRUN_ORACLE_DATA is a
// folder of folders with config.json, model.safetensors and expected.safetensors. Their bits are of one MLX build and
// processor family.
func TestFixtures(t *testing.T) {
	data := os.Getenv("GRAPHRUN_ORACLE_DATA")
	if data == "" {
		t.Skip("GRAPHRUN_ORACLE_DATA names no folder of saved checkpoints")
	}
	files, err := filepath.Glob(filepath.Join(data, "*", "expected.safetensors"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	equal := map[string]int{}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			e, want := open(t, dir), saved(t, file)
			if want["p7.prefill_logits"].Dtype == dtype.Float32 {
				compareNear(t, e, want, "p7", "p33")
				return
			}
			c := compareCase(t, e, want, []string{"p7", "p33"})
			equal[filepath.Base(dir)] = c.values()
		})
	}
	for _, name := range slices.Sorted(maps.Keys(equal)) {
		t.Logf("%-24s %d values equal", name, equal[name])
	}
	require.NoError(t, mlx.ClearCache())
}
