package docs

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated documents")

// written says at the head of a generated document where it comes from.
func written(from string) string {
	return "<!-- Generated from " + from + " by `go test ./docs -update`; edit that instead. -->\n"
}

func generated(t *testing.T, name, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		return
	}
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	have, want := strings.Split(string(data), "\n"), strings.Split(text, "\n")
	for i := range want {
		if i >= len(have) || have[i] != want[i] {
			t.Fatalf("%s is out of date; `go test ./docs -update` writes it anew. Line %d should be\n\t%s", name, i+1, want[i])
		}
	}
	require.Len(t, have, len(want), "%s is out of date; `go test ./docs -update` writes it anew", name)
}
