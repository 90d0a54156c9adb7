package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/show/dataflow"
)

// Formats are the names that Write takes.
func Formats() []string { return []string{"mermaid", "dot", "svg", "html"} }

// Write writes a graph in a format.
func Write(w io.Writer, g *dataflow.Graph, format string) error {
	switch format {
	case "mermaid":
		return Mermaid(w, g)
	case "dot":
		return Dot(w, g)
	case "svg":
		return SVG(w, g)
	case "html":
		return HTML(w, g)
	}
	return fmt.Errorf("%q is no format: there are %s", format, strings.Join(Formats(), ", "))
}
