package lsp

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/lsp/cursor"
	"github.com/graphrun/graphrun/ops"
)

// TestEveryPlace asks everything at many places of the shipped files, the text cut off there and not: nothing panics, and
// inside of a call there is always something to say.
func TestEveryPlace(t *testing.T) {
	reg, err := ops.Default()
	require.NoError(t, err)
	w, err := newWorld(reg, graphs.Files, t.TempDir())
	require.NoError(t, err)
	files, err := fs.Glob(graphs.Files, "*/*.yaml")
	require.NoError(t, err)
	if testing.Short() {
		files = files[:2]
	}
	asked, said := 0, 0
	for k, name := range files {
		data, err := fs.ReadFile(graphs.Files, name)
		require.NoError(t, err)
		var list diag.List
		file := source.Parse(name, data, &list)
		text, prose := string(data), false
		for i, l := range strings.Split(text, "\n") {
			if strings.HasPrefix(l, "examples:") {
				break // paths and facts: data, of which there is nothing to say
			}
			if prose = strings.HasPrefix(l, "doc:") || prose && strings.HasPrefix(l, " "); prose {
				continue
			}
			for col := 1 + (i+k)%17; col <= len([]rune(l))+1; col += 17 {
				if p := cursor.At(file, i+1, col); p != nil {
					asked++
					if w.hover(p, col) != "" {
						said++
					}
					w.definition(p, col)
				}
				if (i+col)%5 == 0 {
					for _, p := range cursor.Typing(name, text, i+1, col) {
						w.complete(p)
					}
				}
			}
		}
	}
	require.Greater(t, asked, 50)
	require.Greater(t, float64(said)/float64(asked), 0.6)
}

func TestPositions(t *testing.T) {
	const line = "a😀é b"
	for chars, want := range map[int]int{0: 0, 1: 1, 2: 3, 3: 4, 5: 6, 99: 6} {
		require.Equal(t, want, diag.Units(line, chars))
	}
	for units, want := range map[int]int{0: 0, 1: 1, 3: 2, 4: 3, 6: 5, 99: 5} {
		require.Equal(t, want, characters(line, units))
	}
	require.Equal(t, "/a b/ü.yaml", pathOf("file:///a%20b/%C3%BC.yaml"))
	require.Equal(t, "file:///a%20b/%C3%BC.yaml", uriOf("/a b/ü.yaml"))
	require.Empty(t, pathOf("untitled:Untitled-1"))
	require.Empty(t, pathOf("::"))
}
