package docs

import (
	"flag"
	"os"
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
	have, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, text, string(have), "%s is out of date: go test ./docs -update", name)
}
