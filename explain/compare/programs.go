package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/plan"
)

// family is the programs of one entry, guards and outputs, which rows choose among.
type family struct {
	name  string
	rows  []explain.Rows
	index []int // into Plan.Programs
}

func families(p *plan.Plan) []family {
	var out []family
	at := map[string]int{}
	for i := range p.Programs {
		g := &p.Programs[i]
		name := "entry " + g.Entry
		for _, condition := range explain.Conditions(p, g) {
			name += ", " + condition
		}
		var results []string
		for _, r := range g.Results {
			results = append(results, r.Name)
		}
		if name += ", outputs " + strings.Join(results, " "); len(results) == 0 {
			name = strings.TrimSuffix(name, "outputs ") + "states only"
		}
		n, ok := at[name]
		if !ok {
			n = len(out)
			at[name] = n
			out = append(out, family{name: name})
		}
		out[n].rows = append(out[n].rows, explain.Rows{First: g.First, Last: g.Last})
		out[n].index = append(out[n].index, i)
	}
	return out
}

func (f *family) ranges() string {
	var out []string
	for _, r := range f.rows {
		out = append(out, r.String())
	}
	return strings.Join(out, " | ")
}

// at is the program for a number of rows, or nil.
func (f *family) at(p *plan.Plan, rows int) *plan.Program {
	for i, r := range f.rows {
		if rows >= r.First && (r.Last == 0 || rows <= r.Last) {
			return &p.Programs[f.index[i]]
		}
	}
	return nil
}

func programs(a, b *plan.Plan) []Line {
	return keyed(families(a), families(b), func(f *family) string { return f.name },
		func(f *family) Line { return Line{Text: f.name + ", rows " + f.ranges()} },
		func(x, y *family) []Line {
			if x.ranges() == y.ranges() {
				return nil
			}
			return []Line{{Mark: "~", Text: fmt.Sprintf("%s, rows %s → %s", x.name, x.ranges(), y.ranges())}}
		})
}

// calls compares what programs do, classes left out, which are told of ports. What several families of programs have in
// common is told once, of the first.
func calls(a, b *plan.Plan) []Line {
	var out []Line
	told := map[string]bool{}
	others := families(b)
	for _, x := range families(a) {
		k := slices.IndexFunc(others, func(f family) bool { return f.name == x.name })
		if k < 0 {
			continue
		}
		y := &others[k]
		for _, first := range starts(&x, y) {
			pa, pb := x.at(a, first), y.at(b, first)
			if pa == nil || pb == nil {
				continue
			}
			lines := programCalls(a, pa, b, pb)
			key := fmt.Sprint(lines)
			if len(lines) == 0 || told[key] {
				continue
			}
			told[key] = true
			head := fmt.Sprintf("%s, from %d rows: %d calls → %d calls", x.name, first, len(pa.Calls), len(pb.Calls))
			out = append(append(out, Line{Mark: "~", Text: head}), lines...)
		}
	}
	return out
}

func starts(x, y *family) []int {
	var out []int
	for _, r := range append(slices.Clone(x.rows), y.rows...) {
		out = append(out, r.First)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// programCalls lists the calls that one program alone has; where there are none, whether the order or the wiring differs.
func programCalls(pa *plan.Plan, a *plan.Program, pb *plan.Plan, b *plan.Program) []Line {
	x, y := described(pa, a), described(pb, b)
	count := map[string]int{}
	for i := range y {
		count[y[i].Path+"\x00"+y[i].Text]++
	}
	var out []Line
	for _, l := range x {
		if k := l.Path + "\x00" + l.Text; count[k] > 0 {
			count[k]--
		} else {
			l.Mark = "-"
			out = append(out, l)
		}
	}
	for i := len(y) - 1; i >= 0; i-- { // of equal ones the last are those that are left
		if k := y[i].Path + "\x00" + y[i].Text; count[k] > 0 {
			count[k]--
			y[i].Mark = "+"
		}
	}
	for _, l := range y {
		if l.Mark != "" {
			out = append(out, l)
		}
	}
	if len(out) > 0 {
		var all []string
		for _, l := range append(x, y...) {
			all = append(all, l.Path)
		}
		return alike(out, all)
	}
	for i := range a.Calls {
		if !slices.Equal(a.Calls[i].Out, b.Calls[i].Out) || x[i].Path != y[i].Path || x[i].Text != y[i].Text || !sameInputs(pa, &a.Calls[i], pb, &b.Calls[i]) {
			return []Line{{Mark: "~", Path: x[i].Path, Text: fmt.Sprintf("the same calls, wired or ordered otherwise from call %d on: %s", i+1, x[i].Text), Place: y[i].Place}}
		}
	}
	return nil
}

func described(p *plan.Plan, g *plan.Program) []Line {
	out := make([]Line, len(g.Calls))
	for i := range g.Calls {
		c := explain.DescribeCall(p, &g.Calls[i])
		text := c.Does + c.Args
		if g.Calls[i].Port >= 0 {
			text = "port" + c.Args // its path says which
		}
		if c.State != "" {
			text += " with a state"
		}
		out[i] = Line{Path: c.Path, Text: text + ": " + strings.Join(c.Types, "; "), Place: c.Line}
	}
	return out
}

func sameInputs(pa *plan.Plan, a *plan.Call, pb *plan.Plan, b *plan.Call) bool {
	return slices.Equal(explain.DescribeCall(pa, a).Inputs, explain.DescribeCall(pb, b).Inputs)
}
