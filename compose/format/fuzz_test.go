package format_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose/format"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/graphs"
)

// FuzzSource holds every text to this: formatting ends without a panic, and what it gives is formatted.
func FuzzSource(f *testing.F) {
	for _, pattern := range []string{"models/*.yaml", "blocks/*.yaml"} {
		names, err := fs.Glob(graphs.Files, pattern)
		require.NoError(f, err)
		for _, name := range names {
			data, err := fs.ReadFile(graphs.Files, name)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, name := range cases {
		a, err := txtar.ParseFile(name)
		require.NoError(f, err)
		for _, file := range a.Files {
			f.Add(file.Data)
		}
	}
	others, err := filepath.Glob("../../schema/testdata/valid/*.yaml")
	require.NoError(f, err)
	for _, name := range others {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var list diag.List
		out, err := format.Source("x.yaml", data, &list)
		if err != nil {
			require.ErrorIs(t, err, format.ErrUnsafe)
			if os.Getenv("GRAPHRUN_FUZZ_UNSAFE") != "" { // to look for what is not followed
				t.Fatalf("not followed:\n%s", data)
			}
			return
		}
		if list.HasErrors() {
			return
		}
		again, err := format.Source("x.yaml", out, &list)
		if errors.Is(err, format.ErrUnsafe) {
			t.Fatalf("formatting what was formatted is unsafe:\n%s", out)
		}
		require.Equal(t, string(out), string(again))
	})
}
