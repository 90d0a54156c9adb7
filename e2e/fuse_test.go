//go:build cgo && mlx

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/quantize"
	"github.com/graphrun/graphrun/weights/header"
)

// TestFuse holds a merged checkpoint to what mlx_lm.fuse saves, bit for bit, and shows that it opens.
func TestFuse(t *testing.T) {
	casesOf(t, "adapters", func(t *testing.T, dir string, _ oracleCase) {
		before, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
		require.NoError(t, err)
		list := []model.Adapter{{Path: filepath.Join(dir, "adapters", "all")}}
		ctx := context.Background()
		fuse := func(target string, dense bool) error {
			_, err := model.Fuse(ctx, dir, "", list, dense, quantize.Options{Target: target})
			return err
		}
		target := filepath.Join(t.TempDir(), "merged")
		require.NoError(t, fuse(target, false))
		want := saved(t, filepath.Join(dir, "expected.safetensors"))
		got := saved(t, filepath.Join(target, "model.safetensors"))
		n, tensors := 0, 0
		for key, w := range want {
			if tensor, ok := strings.CutPrefix(key, "fused."); ok {
				require.Contains(t, got, tensor)
				n += same(t, tensor, w, got[tensor])
				tensors++
			}
		}
		require.Len(t, got, tensors)
		t.Logf("%d values equal", n)
		require.ErrorContains(t, fuse(target, false), "is there already")

		dense := filepath.Join(t.TempDir(), "dense")
		require.NoError(t, fuse(dense, true))
		for _, folder := range []string{target, dense} {
			s, err := open(t, folder).NewSession()
			require.NoError(t, err)
			forward(t, s, []int32{1, 2, 3})
			s.Close()
		}
		ck, err := header.Open(dense)
		require.NoError(t, err)
		_, quantised := ck.Lookup("model.layers.0.mlp.up_proj.scales")
		require.False(t, quantised)
		after, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
		require.NoError(t, err)
		require.Equal(t, before, after, "the source is only read")
	})
}
