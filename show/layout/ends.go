package layout

import (
	"sort"

	"github.com/graphrun/graphrun/show/dataflow"
)

// ends gives the points where a block's edges leave and reach its children: at a pin, or spread along the box's side in
// the order of where the edges come from.
type ends struct {
	n        *dataflow.Node
	box      func(id string) Box
	out, in  []float64 // offsets from the middle, by edge
	starting map[string][]int
	ending   map[string][]int
}

func newEnds(n *dataflow.Node, box func(string) Box) *ends {
	e := &ends{n: n, box: box, out: make([]float64, len(n.Edges)), in: make([]float64, len(n.Edges)), ending: map[string][]int{}}
	for k, edge := range n.Edges {
		if edge.To.Pin == "" {
			e.ending[edge.To.Node] = append(e.ending[edge.To.Node], k)
		}
	}
	for id, list := range e.ending {
		sort.SliceStable(list, func(i, j int) bool { return e.source(list[i]) < e.source(list[j]) })
		e.spread(e.in, list, e.box(id).W)
	}
	return e
}

// source is the x that an edge comes from.
func (e *ends) source(k int) float64 {
	ref := e.n.Edges[k].From
	if ref.Pin != "" {
		return e.box(ref.Pin).Middle()
	}
	return e.box(ref.Node).Middle()
}

func (e *ends) spread(offsets []float64, list []int, width float64) {
	step := Spread
	if n := len(list); n > 1 {
		step = min(step, (width-12)/float64(n-1))
	}
	for i, k := range list {
		offsets[k] = (float64(i) - float64(len(list)-1)/2) * step
	}
}

func (e *ends) from(k int) Point {
	ref := e.n.Edges[k].From
	b := e.box(ref.Node)
	if ref.Pin != "" {
		return Point{e.box(ref.Pin).Middle(), b.Y + b.H}
	}
	return Point{b.Middle() + e.out[k], b.Y + b.H}
}

func (e *ends) to(k int) Point {
	ref := e.n.Edges[k].To
	b := e.box(ref.Node)
	if ref.Pin != "" {
		return Point{e.box(ref.Pin).Middle(), b.Y}
	}
	return Point{b.Middle() + e.in[k], b.Y}
}
