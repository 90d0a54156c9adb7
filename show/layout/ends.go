package layout

import (
	"sort"

	"github.com/graphrun/graphrun/show/dataflow"
)

// ends gives the points where a block's edges leave and reach its children: at a pin, or spread along the box's side in
// the order of where the edges come from.
type ends struct {
	n   *dataflow.Node
	box func(id string) Box
	in  []float64 // offsets from the middle, by edge
}

// newEnds takes the boxes of children, and the x of the last bend of an edge that has one.
func newEnds(n *dataflow.Node, box func(string) Box, bend func(edge int) (float64, bool)) *ends {
	e := &ends{n: n, box: box, in: make([]float64, len(n.Edges))}
	ending := map[string][]int{}
	for k, edge := range n.Edges {
		if edge.To.Pin == "" {
			ending[edge.To.Node] = append(ending[edge.To.Node], k)
		}
	}
	source := func(k int) float64 {
		if x, ok := bend(k); ok {
			return x
		}
		return e.from(k).X
	}
	for id, list := range ending {
		sort.SliceStable(list, func(i, j int) bool { return source(list[i]) < source(list[j]) })
		e.spread(list, e.box(id).W)
	}
	return e
}

func (e *ends) spread(list []int, width float64) {
	step := Spread
	if n := len(list); n > 1 {
		step = min(step, (width-12)/float64(n-1))
	}
	for i, k := range list {
		e.in[k] = (float64(i) - float64(len(list)-1)/2) * step
	}
}

func (e *ends) from(k int) Point {
	ref := e.n.Edges[k].From
	b := e.box(ref.Node)
	if ref.Pin != "" {
		return Point{e.box(ref.Pin).Middle(), b.Y + b.H}
	}
	return Point{b.Middle(), b.Y + b.H}
}

func (e *ends) to(k int) Point {
	ref := e.n.Edges[k].To
	b := e.box(ref.Node)
	if ref.Pin != "" {
		return Point{e.box(ref.Pin).Middle(), b.Y}
	}
	return Point{b.Middle() + e.in[k], b.Y}
}
