package dataflow

// Flat is the graph's edges between leaves: no edge ends at a block or at one of its pins, except at the pins of entries.
type Flat struct {
	From, To *Node
	Name     string
	State    bool
	Maybe    bool
}

// Flatten resolves the pins of blocks.
func (g *Graph) Flatten() []Flat {
	f := &flattener{parent: map[string]*Node{}, nodes: map[string]*Node{}}
	f.index(g.Root)
	var out []Flat
	g.Root.Walk(func(n *Node, _ int) {
		for _, e := range n.Edges {
			to := n.Child(e.To.Node)
			if to == nil || to.Kind == Block || to.Kind == Output && !outermost(n) {
				continue
			}
			for _, s := range f.sources(n, e, 0) {
				s.To, s.Name = to, e.Name
				out = append(out, s)
			}
		}
	})
	return out
}

// outermost tells whether nothing around a block gives or takes the values of its pins: it is no call.
func outermost(n *Node) bool { return n.At == "" }

type flattener struct {
	parent, nodes map[string]*Node
}

func (f *flattener) index(n *Node) {
	f.nodes[n.ID] = n
	for _, c := range n.Children {
		f.parent[c.ID] = n
		f.index(c)
	}
}

// sources are the leaves that an edge of a container comes from.
func (f *flattener) sources(in *Node, e Edge, depth int) []Flat {
	from := in.Child(e.From.Node)
	if from == nil || depth > 2*maxDepth {
		return nil
	}
	var via *Node // the container whose edges lead on
	var match func(Edge) bool
	switch {
	case from.Kind == Block:
		via, match = from, func(x Edge) bool { return x.To.Node == e.From.Pin }
	case from.Kind == Input && !outermost(in):
		via = f.parent[in.ID]
		match = func(x Edge) bool { return x.To.Node == in.ID && x.To.Pin == from.ID }
	default:
		return []Flat{{From: from, State: e.State, Maybe: e.Maybe}}
	}
	if via == nil {
		return nil
	}
	var out []Flat
	for _, x := range via.Edges {
		if !match(x) {
			continue
		}
		for _, s := range f.sources(via, x, depth+1) {
			s.Maybe = s.Maybe || e.Maybe
			s.State = s.State || e.State
			out = append(out, s)
		}
	}
	return out
}
