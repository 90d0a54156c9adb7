package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/show/dataflow"
)

// Mermaid writes a flowchart: blocks are subgraphs, ports have double sides, states are cylinders, dotted lines lead to
// states and to what is not always there.
func Mermaid(w io.Writer, g *dataflow.Graph) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%%%% %s\n", mermaidText(g.Name+": "+g.Doc))
	b.WriteString("flowchart TB\n")
	mermaidNode(&b, g.Root, "  ")
	many := inDegrees(g)
	for _, e := range g.Flatten() {
		label := ""
		if many[e.To.ID] > 1 && !e.State {
			label = "|" + mermaidText(e.Name) + "|"
		}
		arrow := "-->"
		switch {
		case e.State:
			arrow = "-.-"
		case e.Maybe:
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  %s %s%s %s\n", e.From.ID, arrow, label, e.To.ID)
	}
	b.WriteString("  classDef block fill:#f8fafc,stroke:#94a3b8,color:#111\n")
	b.WriteString("  classDef port fill:#dbeafe,stroke:#1d4ed8,color:#111\n")
	b.WriteString("  classDef state fill:#fef3c7,stroke:#b45309,color:#111\n")
	b.WriteString("  classDef pin fill:#ecfdf5,stroke:#047857,color:#111\n")
	for _, k := range []struct {
		class string
		kinds []dataflow.Kind
	}{{"block", []dataflow.Kind{dataflow.Block}}, {"port", []dataflow.Kind{dataflow.Port}}, {"state", []dataflow.Kind{dataflow.State}}, {"pin", []dataflow.Kind{dataflow.Input, dataflow.Output}}} {
		if ids := idsOf(g, k.kinds...); len(ids) > 0 {
			fmt.Fprintf(&b, "  class %s %s\n", strings.Join(ids, ","), k.class)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mermaidNode(b *strings.Builder, n *dataflow.Node, indent string) {
	label := func(sep string) string {
		lines := labels(n)
		for i := range lines {
			lines[i] = mermaidText(lines[i])
		}
		return strings.Join(lines, sep)
	}
	switch n.Kind {
	case dataflow.Block:
		fmt.Fprintf(b, "%ssubgraph %s[\"%s\"]\n", indent, n.ID, mermaidText(title(n)))
		fmt.Fprintf(b, "%s  direction TB\n", indent)
		for _, c := range n.Children {
			if isPin(c) && !isEntry(n) {
				continue
			}
			mermaidNode(b, c, indent+"  ")
		}
		fmt.Fprintf(b, "%send\n", indent)
	case dataflow.Port:
		fmt.Fprintf(b, "%s%s[[\"%s\"]]\n", indent, n.ID, label("<br/>"))
	case dataflow.State:
		fmt.Fprintf(b, "%s%s[(\"%s\")]\n", indent, n.ID, label("<br/>"))
	case dataflow.Input, dataflow.Output:
		fmt.Fprintf(b, "%s%s([\"%s\"])\n", indent, n.ID, label("<br/>"))
	default:
		fmt.Fprintf(b, "%s%s[\"%s\"]\n", indent, n.ID, label("<br/>"))
	}
}

// mermaidText escapes what Mermaid reads as its own.
func mermaidText(s string) string {
	s = oneLine(s)
	return strings.NewReplacer("&", "#amp;", "\"", "#quot;", "<", "#lt;", ">", "#gt;", "|", "#124;", "`", "#96;", "#", "#35;", ";", "#59;").Replace(s)
}
