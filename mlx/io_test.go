//go:build cgo && mlx

package mlx

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSafetensors(t *testing.T) {
	s := scoped(t)
	path := filepath.Join(t.TempDir(), "x.safetensors")
	a := floats(t, s, []float32{1, 2, 3, 4}, 2, 2)
	b := s.Astype(a, Bfloat16)
	require.NoError(t, SaveSafetensors(path, map[string]Array{"a": a, "b": b}, map[string]string{"format": "mlx"}))
	arrays, meta, err := LoadSafetensors(path, s.Stream())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"format": "mlx"}, meta)
	require.Len(t, arrays, 2)
	got, err := s.Own(arrays["b"]).Float32s()
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3, 4}, got)
	require.Equal(t, []int{2, 2}, s.Own(arrays["a"]).Shape())
}

func TestFilesThatDoNotOpen(t *testing.T) {
	s := scoped(t)
	missing := filepath.Join(t.TempDir(), "missing")
	_, _, err := LoadSafetensors(missing, s.Stream())
	require.ErrorContains(t, err, "load_safetensors: ")
	_, err = LoadGGUF(missing + ".gguf")
	require.ErrorContains(t, err, "load_gguf: ")
	_, err = LoadGGUF("100%s")
	require.ErrorContains(t, err, "cannot be given the path")
	require.Error(t, SaveSafetensors(missing, map[string]Array{"a": {}}, nil))
	require.Error(t, SaveSafetensors("a\x00b", nil, nil))
}

func TestGGUF(t *testing.T) {
	files, _ := filepath.Glob("../.deps/checkpoints/*.gguf")
	if len(files) == 0 {
		t.Skip("no checkpoint in .deps/checkpoints: tools/checkpoint.sh fetches one")
	}
	s := scoped(t)
	g, err := LoadGGUF(files[0])
	require.NoError(t, err)
	defer g.Free()
	arch, ok := g.String("general.architecture")
	require.True(t, ok)
	layers, ok := g.Array(arch + ".block_count")
	require.True(t, ok)
	n, err := s.Own(layers).ItemInt()
	require.NoError(t, err)
	require.Positive(t, n)
	tokens, ok := g.Strings("tokenizer.ggml.tokens")
	require.True(t, ok)
	require.Equal(t, g.Arrays["token_embd.weight"].Dim(0), len(tokens))
	_, ok = g.String("no.such.key")
	require.False(t, ok)
	_, ok = g.Strings("general.architecture")
	require.False(t, ok)
	_, ok = g.Array("no.such.key")
	require.False(t, ok)
}
