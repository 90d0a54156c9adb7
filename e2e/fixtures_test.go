//go:build cgo && mlx

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
)

// fixturesEnv names a folder of checkpoints, each a folder with config.json, model.safetensors and the expected.safetensors
// that mlx-lm made of it, as tools/oracle lays them out.
const fixturesEnv = "GRAPHRUN_ORACLE_DATA"

// TestFixtures compares checkpoints that were made elsewhere, raw layouts among them, with the logits saved beside them.
// Bits hold for the MLX build and processor family that made the file.
func TestFixtures(t *testing.T) {
	root := os.Getenv(fixturesEnv)
	if root == "" {
		t.Skipf("%s names no folder of checkpoints with expected logits", fixturesEnv)
	}
	found, err := filepath.Glob(filepath.Join(root, "*", "expected.safetensors"))
	require.NoError(t, err)
	require.NotEmpty(t, found, "%s: no checkpoint in %s", fixturesEnv, root)
	total := 0
	for _, file := range found {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want := saved(t, file)
			e := open(t, dir)
			n := 0
			for _, p := range []string{"p7", "p33"} {
				n += comparePrompt(t, e, want, p)
			}
			t.Logf("%d values equal", n)
			total += n
		})
	}
	t.Logf("%d values of %d checkpoints equal the saved bits", total, len(found))
	require.NoError(t, mlx.ClearCache())
}
