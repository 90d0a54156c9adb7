package dataflow

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/plan"
)

// most is how many different texts a fact lists.
const most = 4

// planned adds what the plan says of a leaf: types, classes, values of its parameters.
func (w *body) planned(node *Node, calls []*plan.Call) {
	if w.index == nil {
		return
	}
	p := w.index.p
	var types []string
	values := map[string][]string{}
	for _, c := range calls {
		parts := make([]string, len(c.Types))
		for i, t := range c.Types {
			parts[i] = explain.TypeText(t)
		}
		types = append(types, strings.Join(parts, "; "))
		for _, a := range c.Args {
			values[a.Name] = append(values[a.Name], a.Value.Text())
		}
	}
	node.Types = distinct(types, most)
	for i, f := range node.Facts {
		if list := values[f.Name]; len(list) > 0 {
			node.Facts[i].Text = strings.Join(distinct(list, most), " | ")
		}
	}
	if node.Kind == Port {
		w.portFacts(node, p, classesOf(p, calls))
	}
}

// portFacts says what a port's matrices are and which class runs at which rows.
func (w *body) portFacts(node *Node, p *plan.Plan, ports []int) {
	var dims, storage, rows, classes []string
	for _, i := range ports {
		port := &p.Ports[i]
		dims = append(dims, fmt.Sprint(port.Dims))
		for _, n := range port.Weights {
			if n >= 0 && n < len(p.Weights) {
				storage = append(storage, explain.StorageText(p.Weights[n].Facts))
			}
		}
		var text []string
		for _, r := range port.Rows {
			class := explain.ClassText(p, r.Instance)
			classes = append(classes, class)
			if r.Exact {
				class = "exact " + class
			}
			class += partsText(p, r.Instance)
			if len(port.Rows) > 1 {
				class = explain.Rows{First: r.First, Last: r.Last}.String() + " " + class
			}
			text = append(text, class)
		}
		rows = append(rows, strings.Join(text, "\n"))
	}
	node.Of += " · " + strings.Join(distinct(classes, most), " | ")
	node.Facts = append(node.Facts,
		Fact{"in, out", strings.Join(distinct(dims, most), " | ")},
		Fact{"stored as", strings.Join(distinct(storage, most), " | ")},
		Fact{"rows", strings.Join(counted(rows), "\n")})
}

// partsText are the classes of a form's parts.
func partsText(p *plan.Plan, instance int) string {
	if instance < 0 || instance >= len(p.Instances) || len(p.Instances[instance].Parts) == 0 {
		return ""
	}
	var out []string
	for _, part := range p.Instances[instance].Parts {
		out = append(out, part.Role+" "+explain.ClassText(p, part.Instance))
	}
	return " of " + strings.Join(out, ", ")
}

// counted lists texts once each, with how many there are of each where they differ.
func counted(texts []string) []string {
	n := map[string]int{}
	for _, t := range texts {
		n[t]++
	}
	out := distinct(texts, most)
	if len(n) > 1 {
		for i, t := range out {
			if n[t] > 0 {
				out[i] = fmt.Sprintf("%s (×%d)", t, n[t])
			}
		}
	}
	return out
}

// planState adds what the plan says of a state.
func (w *body) planState(node *Node) {
	if w.index == nil {
		return
	}
	path := split(node.Path)
	var dtypes []string
	values := map[string][]string{}
	n := 0
	for i := range w.index.p.States {
		s := &w.index.p.States[i]
		if segments := split(s.Path); len(segments) != len(path) || !matches(path, segments) {
			continue
		}
		n++
		dtypes = append(dtypes, s.Dtype.String())
		for _, a := range s.Args {
			values[a.Name] = append(values[a.Name], a.Value.Text())
		}
	}
	for i, f := range node.Facts {
		if list := values[f.Name]; len(list) > 0 {
			node.Facts[i].Text = strings.Join(distinct(list, most), " | ")
		}
	}
	if n > 0 {
		node.Facts = append(node.Facts, Fact{"dtype", strings.Join(distinct(dtypes, most), " | ")}, Fact{"count", count(n)})
	}
}
