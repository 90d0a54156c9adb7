package explain

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/plan"
)

// Fused is what runs as one call, in the programs of a range of rows.
type Fused struct {
	Path  string `json:"path"` // of the port or the group, numbers as *
	Text  string `json:"text"` // rms_norm > class > add
	Rows  Rows   `json:"rows"`
	Times int    `json:"times"` // in a forward
}

// fused lists what runs as one, alike things once: of the first program of each entry and range that has it.
func fused(p *plan.Plan) []Fused {
	type key struct {
		entry, path, text string
		rows              Rows
	}
	var out []Fused
	at := map[key]int{}
	counted := map[key]int{} // by which program
	for i := range p.Programs {
		g := &p.Programs[i]
		for k := range g.Fused {
			u := &g.Fused[k]
			x := key{g.Entry, Pattern(fusedPath(p, g, u)), fusedText(p, g, u), Rows{g.First, g.Last}}
			n, ok := at[x]
			if !ok {
				n = len(out)
				at[x], counted[x] = n, i
				out = append(out, Fused{x.path, x.text, x.rows, 0})
			}
			if counted[x] == i {
				out[n].Times++
			}
		}
	}
	return out
}

func fusedPath(p *plan.Plan, g *plan.Program, u *plan.Fused) string {
	if u.Core >= 0 {
		return g.Calls[u.Core].Path
	}
	return p.Instances[u.Instance].Path
}

func fusedText(p *plan.Plan, g *plan.Program, u *plan.Fused) string {
	if u.Core >= 0 {
		var names []string // each once: q and k have the same before them
		for _, k := range u.Members {
			if name := g.Calls[k].Operator; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " > ")
	}
	text := ClassText(p, u.Instance)
	if u.Before >= 0 {
		text = g.Calls[u.Before].Operator + " > " + text
	}
	if u.After >= 0 {
		text += " > " + g.Calls[u.After].Operator
	}
	return text
}

// run is the number of calls that a forward runs.
func run(g *plan.Program) int {
	n := len(g.Calls)
	for i := range g.Fused {
		n -= len(g.Fused[i].Calls()) - 1
	}
	return n
}
