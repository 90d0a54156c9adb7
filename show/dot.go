package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/show/dataflow"
)

// Dot writes a graph for Graphviz: blocks are clusters, ports have double sides, states are cylinders.
func Dot(w io.Writer, g *dataflow.Graph) error {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", dotText(g.Name))
	b.WriteString("  graph [rankdir=TB, fontname=\"Helvetica\", fontsize=11, nodesep=0.3, ranksep=0.35]\n")
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=11]\n")
	b.WriteString("  edge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\"]\n")
	dotNode(&b, g.Root, "  ")
	many := inDegrees(g)
	for _, e := range g.Flatten() {
		var attrs []string
		if many[e.To.ID] > 1 && !e.State {
			attrs = append(attrs, "label="+dotText(e.Name))
		}
		switch {
		case e.State:
			attrs = append(attrs, "style=dotted", "dir=none")
		case e.Maybe:
			attrs = append(attrs, "style=dashed")
		}
		fmt.Fprintf(&b, "  %s -> %s", e.From.ID, e.To.ID)
		if len(attrs) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(attrs, ", "))
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func dotNode(b *strings.Builder, n *dataflow.Node, indent string) {
	look := ""
	switch n.Kind {
	case dataflow.Block:
		fmt.Fprintf(b, "%ssubgraph cluster_%s {\n", indent, n.ID)
		fmt.Fprintf(b, "%s  graph [label=%s, labeljust=l, style=rounded, color=\"#9ca3af\"]\n", indent, dotText(title(n)))
		for _, c := range n.Children {
			if isPin(c) && !isEntry(n) {
				continue
			}
			dotNode(b, c, indent+"  ")
		}
		fmt.Fprintf(b, "%s}\n", indent)
		return
	case dataflow.Port:
		look = ", peripheries=2, style=filled, fillcolor=\"#dbeafe\""
	case dataflow.State:
		look = ", shape=cylinder, style=filled, fillcolor=\"#fef3c7\""
	case dataflow.Input, dataflow.Output:
		look = ", shape=ellipse, style=filled, fillcolor=\"#ecfdf5\""
	}
	fmt.Fprintf(b, "%s%s [label=%s%s]\n", indent, n.ID, dotText(strings.Join(labels(n), "\n")), look)
}

func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", "").Replace(s) + `"`
}
