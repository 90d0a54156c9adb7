package layout

import (
	"fmt"
	"slices"
	"sort"

	"github.com/graphrun/graphrun/show/dataflow"
)

// Grid is the children of a block in rows, top to bottom. An edge that crosses rows has a bend in each: an item of its
// own, named like no child.
type Grid struct {
	Rows   [][]string `json:"rows"`
	Chains [][]string `json:"chains"` // for each of the node's edges: from, bends, to; nil where it leads to no child
}

// Arrange puts a block's children in rows: the inputs first, the results last, each other child below what it needs.
// What needs nothing, as a state, stands just above its first user.
func Arrange(n *dataflow.Node) Grid {
	a := &arrangement{index: map[string]int{}, rank: make([]int, len(n.Children))}
	for i, c := range n.Children {
		a.index[c.ID] = i
		a.ids = append(a.ids, c.ID)
	}
	a.next, a.before = make([][]int, len(n.Children)), make([][]int, len(n.Children))
	for _, e := range n.Edges {
		from, ok := a.index[e.From.Node]
		to, ok2 := a.index[e.To.Node]
		if ok && ok2 && from != to {
			a.next[from] = append(a.next[from], to)
			a.before[to] = append(a.before[to], from)
		}
	}
	a.ranks(n)
	return a.grid(n)
}

type arrangement struct {
	ids          []string
	index        map[string]int
	rank         []int
	next, before [][]int
}

func (a *arrangement) ranks(n *dataflow.Node) {
	done := make([]bool, len(a.ids))
	busy := make([]bool, len(a.ids))
	var visit func(i int) int
	visit = func(i int) int {
		if done[i] || busy[i] {
			return a.rank[i]
		}
		busy[i] = true
		r := 1
		if n.Children[i].Kind == dataflow.Input {
			r = 0
		}
		for _, p := range a.before[i] {
			r = max(r, visit(p)+1)
		}
		a.rank[i], done[i], busy[i] = r, true, false
		return r
	}
	last := 1
	for i := range a.ids {
		last = max(last, visit(i))
	}
	for i, c := range n.Children { // sources go down to their users
		if len(a.before[i]) > 0 || len(a.next[i]) == 0 || c.Kind == dataflow.Input {
			continue
		}
		least := last
		for _, to := range a.next[i] {
			least = min(least, a.rank[to])
		}
		a.rank[i] = max(1, least-1)
	}
	for i, c := range n.Children {
		if c.Kind != dataflow.Output {
			continue
		}
		a.rank[i] = 1
		for k, other := range n.Children {
			if other.Kind != dataflow.Output {
				a.rank[i] = max(a.rank[i], a.rank[k]+1)
			}
		}
	}
}

// grid cuts edges at the rows between their ends and orders the rows.
func (a *arrangement) grid(n *dataflow.Node) Grid {
	height := 0
	for _, r := range a.rank {
		height = max(height, r+1)
	}
	g := Grid{Rows: make([][]string, height), Chains: make([][]string, len(n.Edges))}
	for i, id := range a.ids {
		g.Rows[a.rank[i]] = append(g.Rows[a.rank[i]], id)
	}
	for k, e := range n.Edges {
		from, ok := a.index[e.From.Node]
		to, ok2 := a.index[e.To.Node]
		if !ok || !ok2 {
			continue
		}
		chain := []string{e.From.Node}
		for r := a.rank[from] + 1; r < a.rank[to]; r++ {
			bend := fmt.Sprintf("%s-%d-%d", n.ID, k, r)
			g.Rows[r] = append(g.Rows[r], bend)
			chain = append(chain, bend)
		}
		g.Chains[k] = append(chain, e.To.Node)
	}
	g.Rows = slices.DeleteFunc(g.Rows, func(row []string) bool { return len(row) == 0 })
	order(&g)
	return g
}

// sweeps is how often the rows are ordered down and up again.
const sweeps = 12

// order moves each item towards the middle of its neighbours, down and up, and keeps the order with the fewest crossings.
func order(g *Grid) {
	links := linksOf(g)
	best, fewest := clone(g.Rows), crossings(g.Rows, links)
	for i := range sweeps {
		if fewest == 0 {
			break
		}
		if i%2 == 0 {
			for r := 1; r < len(g.Rows); r++ {
				sortRow(g.Rows[r], g.Rows[r-1], links.up)
			}
		} else {
			for r := len(g.Rows) - 2; r >= 0; r-- {
				sortRow(g.Rows[r], g.Rows[r+1], links.down)
			}
		}
		if n := crossings(g.Rows, links); n < fewest {
			best, fewest = clone(g.Rows), n
		}
	}
	g.Rows = best
}

// links are the neighbours of every item in the rows above and below.
type links struct{ up, down map[string][]string }

func linksOf(g *Grid) links {
	l := links{map[string][]string{}, map[string][]string{}}
	for _, chain := range g.Chains {
		for i := 1; i < len(chain); i++ {
			l.down[chain[i-1]] = append(l.down[chain[i-1]], chain[i])
			l.up[chain[i]] = append(l.up[chain[i]], chain[i-1])
		}
	}
	return l
}

func sortRow(row, fixed []string, near map[string][]string) {
	at := positions(fixed)
	own := positions(row)
	key := map[string]float64{}
	for _, id := range row {
		sum, n := 0.0, 0
		for _, other := range near[id] {
			if p, ok := at[other]; ok {
				sum += (float64(p) + 0.5) / float64(len(fixed))
				n++
			}
		}
		if n == 0 {
			key[id] = (float64(own[id]) + 0.5) / float64(len(row))
		} else {
			key[id] = sum / float64(n)
		}
	}
	sort.SliceStable(row, func(i, j int) bool { return key[row[i]] < key[row[j]] })
}

func positions(row []string) map[string]int {
	out := make(map[string]int, len(row))
	for i, id := range row {
		out[id] = i
	}
	return out
}

// crossings counts pairs of links that cross between neighbouring rows.
func crossings(rows [][]string, l links) int {
	n := 0
	for r := 1; r < len(rows); r++ {
		above, below := positions(rows[r-1]), positions(rows[r])
		var ends [][2]int
		for id, i := range above {
			for _, to := range l.down[id] {
				if j, ok := below[to]; ok {
					ends = append(ends, [2]int{i, j})
				}
			}
		}
		for i := range ends {
			for j := range i {
				if (ends[i][0]-ends[j][0])*(ends[i][1]-ends[j][1]) < 0 {
					n++
				}
			}
		}
	}
	return n
}

func clone(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = slices.Clone(r)
	}
	return out
}
