package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/diag"
)

// TestErrors holds errors.md to the explanations that `graphrun help CODE` shows.
func TestErrors(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Error codes\n\n" + written("diag/codes.md") + "\n" +
		"Every diagnostic has a code, which stays. `graphrun help CODE` prints the same entries.\n\n| code | |\n| --- | --- |\n")
	for _, e := range diag.Explanations() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", e.Code, e.Code, cell(e.Title))
	}
	for _, e := range diag.Explanations() {
		fmt.Fprintf(&b, "\n## %s\n\n%s%s.\n", e.Code, strings.ToUpper(e.Title[:1]), e.Title[1:])
		if e.Text != "" {
			b.WriteString("\n" + e.Text + "\n")
		}
	}
	generated(t, "errors.md", b.String())
}
