package layout

import "github.com/graphrun/graphrun/show/dataflow"

// solver finds the x of the items in a block's rows: near the middle of what they are linked to, in the order of the row,
// without overlaps.
type solver struct {
	x, w [][]float64 // middles and widths, by row
	near [][][]near  // of each item
}

// near is a linked item in another row, and where on both the link ends, from their middles.
type near struct {
	row, item   int
	here, there float64
	weight      float64
	above       bool
}

func newSolver(p *placer, n *dataflow.Node, g Grid, byID map[string]*dataflow.Node, sizes map[string]Box) *solver {
	s := &solver{}
	where := map[string][2]int{}
	for r, row := range g.Rows {
		s.x = append(s.x, make([]float64, len(row)))
		s.w = append(s.w, make([]float64, len(row)))
		s.near = append(s.near, make([][]near, len(row)))
		at := 0.0
		for i, id := range row {
			where[id] = [2]int{r, i}
			s.w[r][i] = sizes[id].W
			s.x[r][i] = at + s.w[r][i]/2
			at += s.w[r][i] + GapX
		}
		for i := range row {
			s.x[r][i] -= at / 2
		}
	}
	pinOffset := func(ref dataflow.Ref) float64 {
		if ref.Pin == "" {
			return 0
		}
		return p.rel[ref.Pin].Middle() - sizes[ref.Node].W/2
	}
	for k, chain := range g.Chains {
		for i := 1; i < len(chain); i++ {
			a, b := where[chain[i-1]], where[chain[i]]
			weight := 1.0
			ha, hb := 0.0, 0.0
			if i == 1 {
				ha = pinOffset(n.Edges[k].From)
			}
			if i == len(chain)-1 {
				hb = pinOffset(n.Edges[k].To)
			}
			if byID[chain[i-1]] == nil && byID[chain[i]] == nil {
				weight = 16 // a long edge is straight
			}
			if n.Edges[k].State {
				weight /= 4
			}
			s.near[a[0]][a[1]] = append(s.near[a[0]][a[1]], near{b[0], b[1], ha, hb, weight, false})
			s.near[b[0]][b[1]] = append(s.near[b[0]][b[1]], near{a[0], a[1], hb, ha, weight, true})
		}
	}
	return s
}

const passes = 24

func (s *solver) solve() {
	for i := range passes {
		for k := range s.x {
			r := k
			if i%2 == 1 {
				r = len(s.x) - 1 - k
			}
			s.row(r)
		}
	}
}

// row moves a row's items to the weighted middle of all that they are linked to.
func (s *solver) row(r int) {
	want := make([]float64, len(s.x[r]))
	weight := make([]float64, len(s.x[r]))
	for i := range want {
		sum, total := 0.0, 0.0
		for _, n := range s.near[r][i] {
			sum += n.weight * (s.x[n.row][n.item] + n.there - n.here)
			total += n.weight
		}
		if total == 0 {
			want[i], weight[i] = s.x[r][i], 0.1
			continue
		}
		want[i], weight[i] = sum/total, total
	}
	s.separate(r, want, weight)
}

// separate is the nearest row to the wanted one in which no two overlap: the regression over a chain of least distances
// (pool adjacent violators).
func (s *solver) separate(r int, want, weight []float64) {
	type pool struct {
		at, weight float64
		n          int
	}
	offset := make([]float64, len(want))
	for i := 1; i < len(want); i++ {
		offset[i] = offset[i-1] + (s.w[r][i-1]+s.w[r][i])/2 + GapX
	}
	var pools []pool
	for i := range want {
		pools = append(pools, pool{want[i] - offset[i], weight[i], 1})
		for len(pools) > 1 && pools[len(pools)-2].at > pools[len(pools)-1].at {
			a, b := pools[len(pools)-2], pools[len(pools)-1]
			total := a.weight + b.weight
			pools = append(pools[:len(pools)-2], pool{(a.at*a.weight + b.at*b.weight) / total, total, a.n + b.n})
		}
	}
	i := 0
	for _, p := range pools {
		for range p.n {
			s.x[r][i] = p.at + offset[i]
			i++
		}
	}
}

func (s *solver) extent() (left, right float64) {
	first := true
	for r := range s.x {
		for i := range s.x[r] {
			l, e := s.x[r][i]-s.w[r][i]/2, s.x[r][i]+s.w[r][i]/2
			if first || l < left {
				left = l
			}
			if first || e > right {
				right = e
			}
			first = false
		}
	}
	return left, right
}
