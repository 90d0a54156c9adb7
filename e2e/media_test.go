//go:build cgo && mlx

package e2e

import (
	"context"
	"encoding/binary"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/engine"
)

// mediaBound is how far logits of the media entry may lie from the text entry's, as a part of the largest: where the three
// position streams are equal both turn by the same angles, text with MLX's rope kernel, which rounds sine and cosine to the
// activations' dtype, media in float32 with one rounding at the end.
const mediaBound = 0.03

// streams are three equal position streams [3, 1, n] from first on.
func streams(first, n int) engine.Tensor {
	var data []byte
	for range 3 {
		for i := range n {
			data = binary.NativeEndian.AppendUint32(data, uint32(first+i))
		}
	}
	return engine.Tensor{Dtype: dtype.Int32, Shape: []int{3, 1, n}, Data: data}
}

// TestMediaWithEqualStreams: text through the embed and media entries is the text entry's within the bound, for a prompt and
// then token by token, on one cache with it.
func TestMediaWithEqualStreams(t *testing.T) {
	readManifest(t)
	ctx := context.Background()
	for _, name := range []string{"qwen3_5-bf16", "qwen3_5-q4", "qwen3_5_moe-bf16", "qwen3_5_moe-q4"} {
		t.Run(name, func(t *testing.T) {
			e := open(t, filepath.Join(oracleDir, name))
			text, err := e.NewSession()
			require.NoError(t, err)
			defer text.Close()
			media, err := e.NewSession()
			require.NoError(t, err)
			defer media.Close()
			worst := 0.0
			step := func(tokens ...int32) {
				want, err := text.Forward(ctx, engine.Tokens(tokens...), "logits")
				require.NoError(t, err)
				at := media.Positions()
				embedded, err := media.Forward(ctx, engine.Inputs{Entry: "embed", Tokens: [][]int32{tokens}}, "embeddings")
				require.NoError(t, err)
				require.Equal(t, at, media.Positions(), "embedding takes no position")
				got, err := media.Forward(ctx, engine.Inputs{Entry: "media",
					Others: map[string]engine.Tensor{"embeddings": embedded["embeddings"], "positions": streams(at, len(tokens))}}, "logits")
				require.NoError(t, err)
				worst = max(worst, apart(t, want["logits"], got["logits"]))
			}
			step(17, 3, 201, 44, 9, 250, 118, 5, 31)
			for _, id := range []int32{7, 90, 122} {
				step(id)
			}
			require.Equal(t, text.Positions(), media.Positions())
			t.Logf("at most %.4f of the largest logit apart", worst)
			require.Less(t, worst, mediaBound)

			// The states are the same: a text step goes on where media stopped.
			want, err := text.Forward(ctx, engine.Tokens(60), "logits")
			require.NoError(t, err)
			got, err := media.Forward(ctx, engine.Tokens(60), "logits")
			require.NoError(t, err)
			require.Less(t, apart(t, want["logits"], got["logits"]), mediaBound)
		})
	}
}

// apart is the largest difference as a part of the largest value.
func apart(t *testing.T, want, got engine.Tensor) float64 {
	t.Helper()
	a, err := want.Float32s()
	require.NoError(t, err)
	b, err := got.Float32s()
	require.NoError(t, err)
	require.Len(t, b, len(a))
	var most, scale float64
	for i := range a {
		most, scale = max(most, math.Abs(float64(a[i]-b[i]))), max(scale, math.Abs(float64(a[i])))
	}
	return most / scale
}
