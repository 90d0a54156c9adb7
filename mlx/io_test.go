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
