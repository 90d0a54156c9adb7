//go:build cgo && mlx

package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
)

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
			c := compareCase(t, open(t, dir), saved(t, file), []string{"p7", "p33"})
			equal[filepath.Base(dir)] = c.values()
		})
	}
	for _, name := range slices.Sorted(maps.Keys(equal)) {
		t.Logf("%-24s %d values equal", name, equal[name])
	}
	require.NoError(t, mlx.ClearCache())
}
