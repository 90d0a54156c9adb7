package lsp

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/lsp/cursor"
	"github.com/graphrun/graphrun/ops"
)

// BenchmarkComplete is one completion in the last call of a shipped model, as an editor asks while somebody types.
func BenchmarkComplete(b *testing.B) {
	reg, err := ops.Default()
	require.NoError(b, err)
	w, err := newWorld(reg, graphs.Files, "")
	require.NoError(b, err)
	data, err := fs.ReadFile(graphs.Files, "models/llama.yaml")
	require.NoError(b, err)
	text := string(data)
	lines := strings.Split(text[:strings.LastIndex(text, "{rms_norm: h, ")], "\n")
	col := len(lines[len(lines)-1]) + len("{rms_norm: h, ") + 1
	for b.Loop() {
		found := 0
		for _, p := range cursor.Typing("models/llama.yaml", text, len(lines), col) {
			found += len(w.complete(p))
		}
		if found == 0 {
			b.Fatal("nothing to write")
		}
	}
}
