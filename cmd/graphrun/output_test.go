package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWriteFile: a write that fails leaves what was there, and nothing else.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.txt")
	full := errors.New("the disk is full")
	text := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, wrong := io.WriteString(w, s)
			return errors.Join(wrong, err)
		}
	}
	left := func() (out []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	require.ErrorIs(t, writeFile(name, text("half", full)), full)
	require.Empty(t, left())
	require.NoError(t, writeFile(name, text("whole", nil)))
	require.NoError(t, os.Chmod(name, 0o600))
	require.NoError(t, os.Symlink(name, filepath.Join(dir, "link")))
	require.ErrorIs(t, writeFile(name, text("half", full)), full)
	require.NoError(t, writeFile(filepath.Join(dir, "link"), text("anew", nil)))
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "anew", string(data))
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, []string{"a.txt", "link"}, left())
	require.NoError(t, writeFile(os.DevNull, text("x", nil)))
	require.Error(t, writeFile(filepath.Join(dir, "none", "a.txt"), text("x", nil)))
}
