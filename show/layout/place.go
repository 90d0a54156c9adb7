package layout

import (
	"github.com/graphrun/graphrun/show/dataflow"
)

// Distances, in units of the drawing. The page's script has the same ones from here.
const (
	GapX   = 22.0 // between boxes of a row
	GapY   = 34.0 // between rows
	Pad    = 18.0 // inside a block
	Head   = 26.0 // of a block, for its title
	Spread = 14.0 // between edges that end at one box
)

// Box is a place; X and Y are its left upper corner.
type Box struct{ X, Y, W, H float64 }

// Middle is the x of the box's middle.
func (b Box) Middle() float64 { return b.X + b.W/2 }

// Point is a corner of a path.
type Point struct{ X, Y float64 }

// Path is where an edge runs: pairs of points, a pair for each row. The way inside a row is straight, so that it keeps clear of
// tall neighbours; that from one row to the next is curved.
type Path struct {
	Edge   dataflow.Edge
	Points []Point
}

// Drawing is everything at its place.
type Drawing struct {
	W, H  float64
	Boxes map[string]Box
	Paths []Path
}

// Measure gives the size of a leaf, and the least width of a block.
type Measure func(n *dataflow.Node) (w, h float64)

// Place lays out a graph with all blocks open.
func Place(g *dataflow.Graph, measure Measure) *Drawing {
	p := &placer{measure: measure, rel: map[string]Box{}, grids: map[string]Grid{}, bends: map[string]Box{}, rows: map[string]Box{}}
	size := p.size(g.Root)
	d := &Drawing{W: size.W, H: size.H, Boxes: map[string]Box{}}
	p.finish(d, g.Root, Box{0, 0, size.W, size.H})
	return d
}

type placer struct {
	measure Measure
	rel     map[string]Box // children, in their block
	bends   map[string]Box // likewise
	rows    map[string]Box // of each child, the top and height of its row
	grids   map[string]Grid
}

// size lays out a node's inside and gives its size.
func (p *placer) size(n *dataflow.Node) Box {
	w, h := p.measure(n)
	if n.Kind != dataflow.Block || len(n.Children) == 0 {
		return Box{W: w, H: h}
	}
	byID := map[string]*dataflow.Node{}
	sizes := map[string]Box{}
	for _, c := range n.Children {
		byID[c.ID] = c
		sizes[c.ID] = p.size(c)
		if isPin(c) && n.At != "" {
			sizes[c.ID] = Box{W: sizes[c.ID].W} // on the border
		}
	}
	g := Arrange(n)
	p.grids[n.ID] = g
	s := newSolver(p, n, g, byID, sizes)
	s.solve()
	left, right := s.extent()
	width := max(right-left+2*Pad, w)
	shift := Pad - left + (width-(right-left+2*Pad))/2
	y := Head
	for r, row := range g.Rows {
		tall := 0.0
		pins := true
		for _, id := range row {
			tall = max(tall, sizes[id].H)
			pins = pins && byID[id] != nil && isPin(byID[id])
		}
		if r > 0 {
			y += GapY
		}
		if pins && r == 0 && n.At != "" {
			y, tall = 0, 0
		}
		for i, id := range row {
			b := Box{X: s.x[r][i] - s.w[r][i]/2 + shift, Y: y + (tall-sizes[id].H)/2, W: s.w[r][i], H: sizes[id].H}
			if len(n.Edges) == 0 {
				b.Y = y // entries stand beside one another
			}
			if byID[id] == nil {
				p.bends[id] = Box{b.X, y, 0, tall}
				continue
			}
			p.rel[id], p.rows[id] = b, Box{Y: y, H: tall}
		}
		y += tall
		if pins && r == 0 && n.At != "" {
			y = Head - GapY/2
		}
	}
	if last := g.Rows[len(g.Rows)-1]; n.At != "" && byID[last[0]] != nil && byID[last[0]].Kind == dataflow.Output {
		return Box{W: width, H: y} // the results are on the border
	}
	return Box{W: width, H: y + Pad}
}

func isPin(n *dataflow.Node) bool { return n.Kind == dataflow.Input || n.Kind == dataflow.Output }

// finish makes places absolute and edges paths.
func (p *placer) finish(d *Drawing, n *dataflow.Node, at Box) {
	d.Boxes[n.ID] = at
	for _, c := range n.Children {
		b := p.rel[c.ID]
		b.X, b.Y = b.X+at.X, b.Y+at.Y
		p.finish(d, c, b)
	}
	chains := p.grids[n.ID].Chains
	ends := newEnds(n, func(id string) Box { return d.Boxes[id] }, func(k int) (float64, bool) {
		if k >= len(chains) || len(chains[k]) < 3 {
			return 0, false
		}
		return p.bends[chains[k][len(chains[k])-2]].X + at.X, true
	})
	for k, chain := range chains {
		if len(chain) == 0 {
			continue
		}
		e := n.Edges[k]
		start, end := ends.from(k), ends.to(k)
		above, below := p.rows[e.From.Node], p.rows[e.To.Node]
		points := []Point{start, {start.X, above.Y + above.H + at.Y}}
		for _, id := range chain[1 : len(chain)-1] {
			b := p.bends[id]
			points = append(points, Point{b.X + at.X, b.Y + at.Y}, Point{b.X + at.X, b.Y + b.H + at.Y})
		}
		points = append(points, Point{end.X, below.Y + at.Y}, end)
		d.Paths = append(d.Paths, Path{e, points})
	}
}
