package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
)

// TestLinks follows the links between documents, to files and to headings.
func TestLinks(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, doc), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join(filepath.Dir(doc), path)
			if path == "" {
				target = doc
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", doc, m[1])
			if anchor != "" {
				require.Contains(t, anchors(read(t, target)), anchor, "%s links to %s", doc, m[1])
			}
		}
	}
}

// read gives a document without what stands in fences.
func read(t *testing.T, doc string) string {
	text, err := os.ReadFile(doc)
	require.NoError(t, err)
	return fenced.ReplaceAllString(string(text), "")
}

// anchors are the names that GitHub gives a document's headings.
func anchors(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		out = append(out, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}
