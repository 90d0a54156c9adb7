package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/show/dataflow"
)

// title is the one line that heads a block.
func title(n *dataflow.Node) string {
	s := n.Name
	switch {
	case n.Of == "entry" || n.Of == "block":
		s = n.Of + " " + n.Name
	case n.Of != "" && n.Name != "":
		s += ": " + n.Of
	case n.Of != "":
		s = n.Of
	}
	if n.Times != "" {
		s = strings.TrimSpace(s + " ×" + n.Times)
	}
	if len(n.Carries) > 0 {
		s += " carries " + strings.Join(n.Carries, ", ")
	}
	if n.Share != "" {
		s += " (" + n.Share + ")"
	}
	if s == "" {
		s = "nodes"
	}
	return s
}

// labels are the lines in a leaf's box: its name, what it is, what it gives.
func labels(n *dataflow.Node) []string {
	out := []string{n.Name}
	if n.Times != "" {
		out[0] += " ×" + n.Times
	}
	if n.Of != "" {
		out = append(out, n.Of)
	}
	if n.Kind != dataflow.State {
		if shape := shapeOf(n); shape != "" {
			out = append(out, shape)
		}
	}
	if n.Share != "" {
		out = append(out, n.Share)
	}
	return out
}

// shapeOf is the shape of what a leaf gives, where all indices give the same.
func shapeOf(n *dataflow.Node) string {
	if len(n.Types) != 1 {
		return ""
	}
	types := strings.Split(n.Types[0], "; ")
	for i, t := range types {
		if at := strings.IndexByte(t, '['); at >= 0 {
			types[i] = t[at:]
		}
	}
	if len(types) > 1 && len(slices.Compact(slices.Clone(types))) == 1 {
		return fmt.Sprintf("%d × %s", len(types), types[0])
	}
	return strings.Join(types, ", ")
}

func isPin(n *dataflow.Node) bool { return n.Kind == dataflow.Input || n.Kind == dataflow.Output }

// isEntry tells whether a block's pins stand for themselves: nothing around it gives or takes their values.
func isEntry(n *dataflow.Node) bool { return n.At == "" }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// inDegrees counts the values that lead to each leaf.
func inDegrees(g *dataflow.Graph) map[string]int {
	out := map[string]int{}
	for _, e := range g.Flatten() {
		if !e.State {
			out[e.To.ID]++
		}
	}
	return out
}

func idsOf(g *dataflow.Graph, kinds ...dataflow.Kind) []string {
	var out []string
	visit(g.Root, true, func(n *dataflow.Node, drawn bool) {
		for _, k := range kinds {
			if n.Kind == k && drawn {
				out = append(out, n.ID)
			}
		}
	})
	return out
}

// visit calls f for every node; drawn is false for the pins of inner blocks, which flat formats leave out.
func visit(n *dataflow.Node, drawn bool, f func(*dataflow.Node, bool)) {
	f(n, drawn)
	for _, c := range n.Children {
		visit(c, !isPin(c) || isEntry(n), f)
	}
}
