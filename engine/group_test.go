//go:build cgo && mlx

package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
)

// Blocks that are marked compiled give on the CPU, as one compiled function each, the bits of their calls one by one; layers
// that are alike share a function. Each length that a function is traced for takes a run of the C++ compiler, so there are
// few here.
func TestCompiledBlocks(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // where MLX puts what it compiles
	for name, texts := range map[string][][]int32{
		"gemma3-f16":     {{5, 17, 100, 9, 4, 77, 30}, {8}, {12, 13}}, // for all shapes
		"deepseek_v3-q4": {{5, 17, 100}},                              // by shape
	} {
		t.Run(name, func(t *testing.T) {
			dir := oracleDir(t, name)
			plain := openModel(t, dir, engine.Options{Device: "cpu"})
			fused := openModel(t, dir, engine.Compiled(engine.Options{Device: "cpu"}))
			require.Zero(t, plain.CompiledFunctions())
			require.Equal(t, 1, fused.CompiledFunctions())
			a, err := plain.NewSession()
			require.NoError(t, err)
			defer a.Close()
			b, err := fused.NewSession()
			require.NoError(t, err)
			defer b.Close()
			for _, tokens := range texts {
				x, err := a.Forward(context.Background(), engine.Tokens(tokens...), "logits")
				require.NoError(t, err)
				y, err := b.Forward(context.Background(), engine.Tokens(tokens...), "logits")
				require.NoError(t, err)
				require.Equal(t, x, y, "%d tokens", len(tokens))
			}
		})
	}
}
