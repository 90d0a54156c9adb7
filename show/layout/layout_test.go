package layout_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/show/dataflow"
	"github.com/graphrun/graphrun/show/layout"
)

func leaf(id string) *dataflow.Node {
	return &dataflow.Node{ID: id, Kind: dataflow.Operator, Name: id}
}

func edge(from, to string) dataflow.Edge {
	return dataflow.Edge{From: dataflow.Ref{Node: from}, To: dataflow.Ref{Node: to}}
}

// residual is in -> a -> b -> add, and in -> add; a state stands at b.
func residual() *dataflow.Node {
	return &dataflow.Node{ID: "block", Kind: dataflow.Block, At: "x", Children: []*dataflow.Node{
		{ID: "in", Kind: dataflow.Input}, leaf("a"), leaf("b"), {ID: "kv", Kind: dataflow.State}, leaf("add"), {ID: "out", Kind: dataflow.Output},
	}, Edges: []dataflow.Edge{edge("in", "a"), edge("a", "b"), edge("kv", "b"), edge("b", "add"), edge("in", "add"), edge("add", "out")}}
}

func row(g layout.Grid, id string) int {
	for r, row := range g.Rows {
		for _, other := range row {
			if other == id {
				return r
			}
		}
	}
	return -1
}

func TestRows(t *testing.T) {
	g := layout.Arrange(residual())
	require.Len(t, g.Rows, 5)
	for id, want := range map[string]int{"in": 0, "a": 1, "kv": 1, "b": 2, "add": 3, "out": 4} {
		require.Equal(t, want, row(g, id), id)
	}
	require.Equal(t, []string{"in", "block-4-1", "block-4-2", "add"}, g.Chains[4], "an edge bends in each row between")
}

// TestOrder: two edges that cross in the order of the file do not in the drawing.
func TestOrder(t *testing.T) {
	g := layout.Arrange(&dataflow.Node{ID: "n", Children: []*dataflow.Node{leaf("a"), leaf("b"), leaf("c"), leaf("d")},
		Edges: []dataflow.Edge{edge("a", "d"), edge("b", "c")}})
	require.Len(t, g.Rows, 2)
	require.Equal(t, g.Rows[0][0] == "a", g.Rows[1][0] == "d")
}

// TestCycle: a cycle, which no valid graph has, ends all the same.
func TestCycle(t *testing.T) {
	g := layout.Arrange(&dataflow.Node{ID: "n", Children: []*dataflow.Node{leaf("a"), leaf("b")}, Edges: []dataflow.Edge{edge("a", "b"), edge("b", "a"), edge("a", "a"), edge("a", "gone")}})
	require.Len(t, g.Chains, 4)
	require.Nil(t, g.Chains[3])
}

// TestPlaces: children lie inside their block, side by side or one below the other; paths end at their boxes.
func TestPlaces(t *testing.T) {
	inner := residual()
	for i := range 6 {
		inner.Children = append(inner.Children, leaf(fmt.Sprint("more", i)))
		inner.Edges = append(inner.Edges, edge("a", fmt.Sprint("more", i)), edge(fmt.Sprint("more", i), "add"))
	}
	root := &dataflow.Node{ID: "root", Kind: dataflow.Block, Children: []*dataflow.Node{leaf("before"), inner, leaf("after")}, Edges: []dataflow.Edge{
		{From: dataflow.Ref{Node: "before"}, To: dataflow.Ref{Node: "block", Pin: "in"}},
		{From: dataflow.Ref{Node: "block", Pin: "out"}, To: dataflow.Ref{Node: "after"}},
	}}
	d := layout.Place(&dataflow.Graph{Root: root}, func(n *dataflow.Node) (float64, float64) { return 40 + float64(len(n.ID)*10), 30 })
	root.Walk(func(n *dataflow.Node, _ int) {
		outer := d.Boxes[n.ID]
		for i, c := range n.Children {
			b := d.Boxes[c.ID]
			require.True(t, b.X >= outer.X && b.Y >= outer.Y && b.X+b.W <= outer.X+outer.W+0.01 && b.Y+b.H <= outer.Y+outer.H+0.01, "%s in %s: %v %v", c.ID, n.ID, b, outer)
			for _, other := range n.Children[:i] {
				o := d.Boxes[other.ID]
				apart := b.X+b.W <= o.X+0.01 || o.X+o.W <= b.X+0.01 || b.Y+b.H <= o.Y+0.01 || o.Y+o.H <= b.Y+0.01
				require.True(t, apart, "%s over %s", c.ID, other.ID)
			}
		}
	})
	require.Len(t, d.Paths, len(root.Edges)+len(inner.Edges))
	for _, p := range d.Paths {
		from, to := d.Boxes[p.Edge.From.Node], d.Boxes[p.Edge.To.Node]
		first, last := p.Points[0], p.Points[len(p.Points)-1]
		require.InDelta(t, from.Y+from.H, first.Y, 0.01)
		require.InDelta(t, to.Y, last.Y, 0.01)
		require.True(t, last.X >= to.X && last.X <= to.X+to.W)
		require.Zero(t, len(p.Points)%2)
	}
}

// BenchmarkPlace lays out a block of a thousand nodes.
func BenchmarkPlace(b *testing.B) {
	n := &dataflow.Node{ID: "n", Kind: dataflow.Block}
	for i := range 1000 {
		n.Children = append(n.Children, leaf(fmt.Sprint(i)))
		for _, from := range []int{i - 1, i - 3, i - 7} {
			if from >= 0 {
				n.Edges = append(n.Edges, edge(fmt.Sprint(from), fmt.Sprint(i)))
			}
		}
	}
	for b.Loop() {
		layout.Place(&dataflow.Graph{Root: n}, func(*dataflow.Node) (float64, float64) { return 80, 40 })
	}
}
