//go:build cgo && mlx

package e2e

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/weights/header"
)

// saved reads the arrays of a safetensors file into Go.
func saved(t *testing.T, path string) map[string]engine.Tensor {
	t.Helper()
	ck, err := header.Open(path)
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	out := map[string]engine.Tensor{}
	for _, h := range ck.Tensors {
		out[h.Name] = engine.Tensor{Dtype: h.Dtype, Shape: h.Shape, Data: data[h.Offset : h.Offset+h.Size]}
	}
	return out
}

func ids(x engine.Tensor) []int32 {
	out := make([]int32, len(x.Data)/4)
	for i := range out {
		b := x.Data[4*i:]
		out[i] = int32(b[0]) | int32(b[1])<<8 | int32(b[2])<<16 | int32(b[3])<<24
	}
	return out
}

// same counts the values that were compared, and fails at the first that differs.
func same(t *testing.T, what string, want, got engine.Tensor) int {
	t.Helper()
	require.Equal(t, want.Dtype, got.Dtype, "%s: dtype", what)
	size := want.Dtype.Size()
	require.Equal(t, len(want.Data), len(got.Data), "%s: size of %v and %v", what, want.Shape, got.Shape)
	if string(want.Data) == string(got.Data) {
		return len(want.Data) / size
	}
	a, err := want.Float32s()
	require.NoError(t, err)
	b, err := got.Float32s()
	require.NoError(t, err)
	differ, first, most := 0, -1, float32(0)
	for i := range a {
		if string(want.Data[i*size:(i+1)*size]) != string(got.Data[i*size:(i+1)*size]) {
			if differ++; first < 0 {
				first = i
			}
			most = max(most, a[i]-b[i], b[i]-a[i])
		}
	}
	require.Failf(t, "bits differ", "%s: %d of %d values differ, the first at %d (want %v, got %v), max |Δ| %v", what, differ, len(a), first, a[first], b[first], most)
	return 0
}

func rows(x engine.Tensor, from, to int) engine.Tensor {
	row := len(x.Data) / x.Shape[0]
	return engine.Tensor{Dtype: x.Dtype, Shape: append([]int{to - from}, x.Shape[1:]...), Data: x.Data[from*row : to*row]}
}

// inner drops a first dim of one.
func inner(x engine.Tensor) engine.Tensor {
	return engine.Tensor{Dtype: x.Dtype, Shape: x.Shape[1:], Data: x.Data}
}
