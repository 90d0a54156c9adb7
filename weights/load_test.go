package weights

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/internal/testfile"
	"github.com/graphrun/graphrun/weights/view"
)

// write puts a file into a new folder and reads its header.
func write(t testing.TB, name string, content []byte) *header.Checkpoint {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o644))
	ck, err := header.Open(path)
	require.NoError(t, err)
	return ck
}

func small() []byte {
	return testfile.Pack(true, testfile.Tensor{Name: "a", Type: "F32", Shape: []int{2}, Data: []byte{0, 0, 128, 63, 0, 0, 0, 64}},
		testfile.Tensor{Name: "b", Type: "U8", Shape: []int{3}, Data: []byte{1, 2, 3}})
}

// The errors come before MLX is asked for anything, so they are the same in every build.
func TestOpenErrors(t *testing.T) {
	t.Run("file changed before", func(t *testing.T) {
		ck := write(t, "x.safetensors", small())
		require.NoError(t, os.Truncate(ck.Path, 20))
		_, err := OpenFiles(ck)
		require.ErrorContains(t, err, "the file has changed since its header was read")
	})
	t.Run("file changed between", func(t *testing.T) {
		ck := write(t, "x.safetensors", small())
		f, err := OpenFiles(ck)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(ck.Path, 20))
		_, err = f.Make(mlx.NewScope(mlx.Stream{}), view.FromTensor(&ck.Tensors[0]))
		require.ErrorContains(t, err, "tensor a: ")
		require.ErrorContains(t, err, "the file has changed since its header was read")
	})
	t.Run("file gone", func(t *testing.T) {
		ck := write(t, "x.safetensors", small())
		require.NoError(t, os.Remove(ck.Path))
		_, err := OpenFiles(ck)
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("closed", func(t *testing.T) {
		ck := write(t, "x.safetensors", small())
		f, err := OpenFiles(ck)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		_, err = f.Make(mlx.NewScope(mlx.Stream{}), view.FromTensor(&ck.Tensors[0]))
		require.ErrorContains(t, err, "the checkpoint is closed")
	})
	t.Run("outside the file", func(t *testing.T) {
		ck := write(t, "x.safetensors", small())
		f, err := OpenFiles(ck)
		require.NoError(t, err)
		bad := ck.Tensors[0]
		bad.Offset = 1 << 40
		_, err = f.Make(mlx.NewScope(mlx.Stream{}), view.FromTensor(&bad))
		require.ErrorContains(t, err, "are not in the file")
	})
	t.Run("unknown codec", func(t *testing.T) {
		ck := write(t, "x.safetensors", small())
		f, err := OpenFiles(ck)
		require.NoError(t, err)
		bad := ck.Tensors[0]
		bad.Codec = "q9.weight"
		_, err = f.Make(mlx.NewScope(mlx.Stream{}), view.FromTensor(&bad))
		require.ErrorContains(t, err, `stored in a way ("q9.weight") that cannot be unpacked`)
	})
}

// A page that can no longer be read is an error where Go code reads it.
func TestGuarded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, make([]byte, 1<<16), 0o644))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	data, free, err := mapFile(file, 1<<16)
	require.NoError(t, err)
	defer func() { require.NoError(t, free(data)) }()
	require.NoError(t, os.Truncate(path, 0))
	j := job{path: path, file: data, stored: data, copyTo: make([]byte, len(data))}
	require.ErrorContains(t, j.do(0, len(data)), "can no longer be read")
	j = job{path: path, file: data, stored: data}
	require.Error(t, j.do(0, len(data)))
	require.ErrorContains(t, touch(data), "can no longer be read")
	require.ErrorContains(t, guarded("x", func() { panic("other") }), "x: other")
}

func TestArena(t *testing.T) {
	var a arena
	freed := 0
	r1, p1, err := a.piece(100)
	require.NoError(t, err)
	r2, p2, err := a.piece(10)
	require.NoError(t, err)
	require.Same(t, r1, r2)
	require.Len(t, p1, 100)
	r3, p3, err := a.piece(arenaRegion)
	require.NoError(t, err)
	require.NotSame(t, r1, r3)
	p1[99], p2[0], p3[len(p3)-1] = 1, 2, 3
	require.Equal(t, []byte{1, 2}, []byte{p1[99], p2[0]})
	for _, r := range a.regions {
		free := r.free
		r.free = func(b []byte) error { freed++; return free(b) }
	}
	r1.hold()
	a.done()
	require.Equal(t, 1, freed)
	r1.release()
	require.Equal(t, 2, freed)
}
