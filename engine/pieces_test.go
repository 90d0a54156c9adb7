//go:build cgo && mlx

package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
)

// TestPieces: many rows computed in pieces give the bits of one evaluation, logits and states, of two
// sequences too.
func TestPieces(t *testing.T) {
	for _, name := range []string{"llama-bf16", "gemma3-bf16", "qwen3_5-bf16"} {
		t.Run(name, func(t *testing.T) {
			dir := oracleDir(t, name)
			whole, cut := openModel(t, dir, engine.Options{}), openModel(t, dir, engine.Options{})
			require.Greater(t, cut.Pieces(), 1)
			whole.DropPieces()
			for _, batch := range []int{1, 2} {
				a, err := whole.NewSession()
				require.NoError(t, err)
				b, err := cut.NewSession()
				require.NoError(t, err)
				for _, n := range []int{130 / batch, 1, 70} {
					in := engine.Inputs{}
					for range batch {
						row := make([]int32, n)
						for i := range row {
							row[i] = int32(i*i+7) % 61
						}
						in.Tokens = append(in.Tokens, row)
					}
					want, err := a.Forward(context.Background(), in, "logits")
					require.NoError(t, err)
					got, err := b.Forward(context.Background(), in, "logits")
					require.NoError(t, err)
					require.Equal(t, want["logits"].Data, got["logits"].Data, "%d sequences, %d tokens", batch, n)
				}
				a.Close()
				b.Close()
			}
		})
	}
}
