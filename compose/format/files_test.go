package format_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose/format"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	graph := write(t, dir, "a/graph.yaml", "# a comment\ngraphrun: v1\n")
	other := write(t, dir, "b/graph.yml", "graphrun: v1\n")
	workflow := write(t, dir, "a/workflow.yaml", "on: push\n")
	write(t, dir, ".hidden/graph.yaml", "graphrun: v1\n")
	write(t, dir, "a/config.json", "{}")
	found, err := format.Files([]string{dir})
	require.NoError(t, err)
	require.Equal(t, []string{graph, other}, found)
	found, err = format.Files([]string{workflow})
	require.NoError(t, err, "a file that is named is taken")
	require.Equal(t, []string{workflow}, found)
	_, err = format.Files([]string{filepath.Join(dir, "nothing.yaml")})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = format.Files([]string{filepath.Join(dir, ".hidden")})
	require.NoError(t, err, "so is a folder")
	_, err = format.Files([]string{t.TempDir()})
	require.ErrorContains(t, err, "no graph file there")
}

func TestFileAndReplace(t *testing.T) {
	dir := t.TempDir()
	name := write(t, dir, "r.yaml", "kind: rules\ngraphrun: v1\nname: r\nrules: [ ]\n")
	require.NoError(t, os.Chmod(name, 0o600))
	link := filepath.Join(dir, "link.yaml")
	require.NoError(t, os.Symlink(name, link))
	var list diag.List
	before, after, err := format.File(link, &list)
	require.NoError(t, err)
	require.NotEqual(t, string(before), string(after))
	require.NoError(t, format.Replace(link, after))
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "graphrun: v1\nkind: rules\nname: r\nrules: []\n", string(data))
	info, err := os.Lstat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing is left behind")

	large := write(t, dir, "large.yaml", strings.Repeat("#", source.MaxBytes+1))
	_, _, err = format.File(large, &list)
	require.ErrorContains(t, err, "a graph file may have")
}
