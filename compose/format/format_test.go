package format_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose/format"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/graphs"
)

var update = flag.Bool("update", false, "write what formatting gives into testdata")

func formatted(t testing.TB, text string) string {
	t.Helper()
	var list diag.List
	out, err := format.Source("x.yaml", []byte(text), &list)
	require.NoError(t, err)
	require.Empty(t, list.Sorted())
	return string(out)
}

// TestCases holds each testdata/*.txtar's file `in` to its file `out`, and `out` to itself.
func TestCases(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			require.NoError(t, err)
			files := map[string]*txtar.File{}
			for i := range a.Files {
				files[a.Files[i].Name] = &a.Files[i]
			}
			in := strings.ReplaceAll(string(files["in"].Data), "␠", " ") // spaces that an editor would take away
			got := formatted(t, in)
			if *update {
				files["out"].Data = []byte(got)
				require.NoError(t, os.WriteFile(name, txtar.Format(a), 0o644))
				return
			}
			require.Equal(t, string(files["out"].Data), got)
			require.Equal(t, got, formatted(t, got), "formatted twice")
		})
	}
}

func TestShippedFilesAreCanonical(t *testing.T) {
	require.NoError(t, fs.WalkDir(graphs.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".yaml" {
			return err
		}
		data, err := fs.ReadFile(graphs.Files, name)
		require.NoError(t, err)
		require.Equal(t, string(data), formatted(t, string(data)), "`graphrun fmt -w graphs/%s` writes it", name)
		return nil
	}))
}

func TestLineEndsAndMarks(t *testing.T) {
	const want = "graphrun: v1\nkind: rules\nname: r\nrules:\n- {name: a, assert: 'true'}\n"
	for name, text := range map[string]string{
		"CRLF":             strings.ReplaceAll(want, "\n", "\r\n"),
		"byte order mark":  "\ufeff" + want,
		"no last line end": strings.TrimSuffix(want, "\n"),
		"blank lines":      "\n\n" + strings.ReplaceAll(want, "\nrules", "\n \n\n\nrules") + "\n \n\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := formatted(t, text)
			if name == "blank lines" {
				require.Equal(t, strings.ReplaceAll(want, "\nrules", "\n\nrules"), got)
				return
			}
			require.Equal(t, want, got)
		})
	}
}

func TestFaultyFilesStay(t *testing.T) {
	for name, text := range map[string]string{
		"no YAML":       "a: {b",
		"empty":         "",
		"not a mapping": "- a\n",
		"twice":         "a: 1\na: 2\n",
		"merge":         "a: &x {b: 1}\nc:\n  <<: *x\n",
	} {
		t.Run(name, func(t *testing.T) {
			var list diag.List
			out, err := format.Source("x.yaml", []byte(text), &list)
			require.NoError(t, err)
			require.True(t, list.HasErrors())
			require.Equal(t, text, string(out))
		})
	}
}
