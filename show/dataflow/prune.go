package dataflow

import "slices"

// prune takes out what leads nowhere: input pins of inner bodies that nothing reads, because what read them is not there.
func prune(n *Node) {
	for _, c := range n.Children {
		if c.Kind != Block {
			continue
		}
		prune(c)
		var idle []string
		c.Children = slices.DeleteFunc(c.Children, func(pin *Node) bool {
			is := pin.Kind == Input && !slices.ContainsFunc(c.Edges, func(e Edge) bool { return e.From.Node == pin.ID })
			if is {
				idle = append(idle, pin.ID)
			}
			return is
		})
		n.Edges = slices.DeleteFunc(n.Edges, func(e Edge) bool { return e.To.Node == c.ID && slices.Contains(idle, e.To.Pin) })
	}
}
