package explain

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/adapter"
)

// Target is a weight that adapters may name.
type Target struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`
	Inputs  int    `json:"inputs"`
	Outputs int    `json:"outputs"`
	Adapted bool   `json:"adapted,omitempty"` // some of its rows name a class for it; elsewhere the exact class runs
	Refused string `json:"refused,omitempty"` // why no adapter may touch it
}

func targets(p *plan.Plan) []Target {
	named := map[int]bool{}
	for i := range p.Ports {
		for _, r := range p.Ports[i].Rows {
			if r.Adapted >= 0 {
				for _, w := range p.Ports[i].Weights {
					named[w] = true
				}
			}
		}
	}
	var out []Target
	for _, t := range adapter.Targets(p) {
		out = append(out, Target{t.Path, t.Kind, t.Inputs, t.Outputs, named[t.Weight], t.Refused})
	}
	return out
}

func (r *Report) adaptersText(b *strings.Builder) {
	if len(r.Adapters) == 0 {
		return
	}
	b.WriteString("\ntargets of adapters; while one touches a port, that runs its exact class unless it names another\n")
	t := &table{before: []string{"", "  "}}
	key := func(x *Target) string { return fmt.Sprint(x.Inputs, x.Outputs, x.Adapted, x.Refused) }
	for _, g := range Alike(r.Adapters, nil, func(x *Target) string { return x.Path }, key) {
		x := &g.Items[0]
		note := x.Refused
		if x.Adapted && note == "" {
			note = "a class of their own"
		}
		t.add("  "+g.Path, times(len(g.Items)), fmt.Sprintf("[%d, %d]", x.Inputs, x.Outputs), note)
	}
	t.write(b)
}
