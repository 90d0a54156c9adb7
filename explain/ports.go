package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
)

// Port is what a port runs.
type Port struct {
	Path    string   `json:"path"`
	Kind    string   `json:"kind"`
	Dims    []int    `json:"dims"`
	Weights []Weight `json:"weights"`
	Rows    []Choice `json:"rows"`
}

// Weight is a weight of a port.
type Weight struct {
	Role  string     `json:"role"` // "weight" where the port has one
	Path  string     `json:"path"`
	Facts plan.Facts `json:"facts"`
}

// Choice is the class of a range of row counts.
type Choice struct {
	Rows    Rows   `json:"rows"`
	Class   string `json:"class"`             // with its parameters
	Exact   bool   `json:"exact"`             // no line won: the exact class of the weight's storage
	Adapted string `json:"adapted,omitempty"` // the class while an adapter touches the port; "": the exact one
	Line    string `json:"line,omitempty"`    // the bind line that won
	Unused  bool   `json:"unused,omitempty"`  // no program of the entry runs this: a form takes other parts
}

// entries lists each entry with the ports that its programs call, and the parts of these.
func entries(p *plan.Plan) []Entry {
	var out []Entry
	index := map[string]int{}
	for i := range p.Programs {
		g := &p.Programs[i]
		n, ok := index[g.Entry]
		if !ok {
			n = len(out)
			index[g.Entry] = n
			out = append(out, Entry{Name: g.Entry, Outputs: []string{}, Ports: []Port{}})
		}
		for _, name := range names(g.Results) {
			if !slices.Contains(out[n].Outputs, name) {
				out[n].Outputs = append(out[n].Outputs, name)
			}
		}
	}
	for i := range out {
		fillEntry(p, &out[i])
	}
	return out
}

func fillEntry(p *plan.Plan, e *Entry) {
	own := portsOf(p, e.Name)
	starts := []int{1}
	for _, i := range own {
		for _, r := range p.Ports[i].Rows {
			starts = append(starts, r.First)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	for i, first := range starts {
		r := Rows{First: first}
		if i+1 < len(starts) {
			r.Last = starts[i+1] - 1
		}
		e.Rows = append(e.Rows, r)
	}
	running := runs(p, e.Name, e.Rows)
	for _, i := range own {
		e.Ports = append(e.Ports, describe(p, &p.Ports[i], e.Rows, running))
	}
}

// portsOf are the ports that programs of an entry call, with their parts, in the order of the plan. A part is a port below
// the path of the one that is called.
func portsOf(p *plan.Plan, entry string) []int {
	called := make([]bool, len(p.Ports))
	roots := map[string]bool{} // of this entry
	for i := range p.Programs {
		if p.Programs[i].Entry != entry {
			continue
		}
		for k := range p.Programs[i].Calls {
			if n := p.Programs[i].Calls[k].Port; n >= 0 && n < len(p.Ports) && !called[n] {
				called[n] = true
				if kind := p.Ports[n].Kind; kind == "mlp" || kind == "gate_up" {
					roots[p.Ports[n].Path] = true
				}
			}
		}
	}
	for i := range p.Ports { // a group whose members are there, where some class fills it
		g := &p.Ports[i]
		called[i] = called[i] || len(g.Members) > 0 && called[g.Members[0]] && slices.ContainsFunc(g.Rows, func(r plan.RowClass) bool { return !r.Exact })
	}
	var out []int
	for i := range p.Ports {
		parent := p.Ports[i].Path
		if at := strings.LastIndexByte(parent, '.'); at >= 0 {
			parent = parent[:at]
		}
		if called[i] || p.Ports[i].Entry == entry && roots[parent] {
			out = append(out, i)
		}
	}
	return out
}

// runs are the instances that the entry's programs run in each range, parts of forms included.
func runs(p *plan.Plan, entry string, ranges []Rows) []map[int]bool {
	out := make([]map[int]bool, len(ranges))
	for i, r := range ranges {
		out[i] = map[int]bool{}
		for g := range p.Programs {
			if q := &p.Programs[g]; q.Entry == entry && q.First <= r.First && (q.Last == 0 || r.First <= q.Last) {
				in := map[int]bool{}
				for _, u := range q.Fused {
					reach(p, u.Instance, out[i])
					for _, m := range u.Members {
						in[m] = true
					}
				}
				for k := range q.Calls {
					if !in[k] {
						reach(p, q.Calls[k].Instance, out[i])
					}
				}
			}
		}
	}
	return out
}

func reach(p *plan.Plan, instance int, into map[int]bool) {
	if instance < 0 || instance >= len(p.Instances) || into[instance] {
		return
	}
	into[instance] = true
	for _, part := range p.Instances[instance].Parts {
		reach(p, part.Instance, into)
	}
}

func describe(p *plan.Plan, port *plan.Port, ranges []Rows, running []map[int]bool) Port {
	out := Port{Path: port.Path, Kind: port.Kind, Dims: append([]int{}, port.Dims...), Weights: []Weight{}}
	for i, w := range port.Weights {
		if w < 0 || w >= len(p.Weights) || i >= len(port.Roles) {
			continue
		}
		out.Weights = append(out.Weights, Weight{port.Roles[i], p.Weights[w].Path, p.Weights[w].Facts})
	}
	for i, r := range ranges {
		row := port.At(r.First)
		if row == nil {
			continue
		}
		c := Choice{Rows: r, Class: ClassText(p, row.Instance), Exact: row.Exact, Line: line(row.At), Unused: !running[i][row.Instance]}
		if row.Adapted >= 0 {
			c.Adapted = ClassText(p, row.Adapted)
		}
		out.Rows = append(out.Rows, c)
	}
	return out
}

// ClassText is an instance's class with its parameters.
func ClassText(p *plan.Plan, instance int) string {
	if instance < 0 || instance >= len(p.Instances) {
		return "?"
	}
	in := &p.Instances[instance]
	return in.Class + ArgsText(in.Args)
}

// ArgsText is {name: value, …}, or nothing.
func ArgsText(args plan.Args) string {
	if len(args) == 0 {
		return ""
	}
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a.Name + ": " + a.Value.Text()
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// StorageText is how a weight is stored: "dense bfloat16", "affine 4 bits g64".
func StorageText(f plan.Facts) string {
	var b strings.Builder
	b.WriteString(f.Storage)
	if f.Mode != "" && f.Mode != f.Storage {
		b.WriteString(" " + f.Mode)
	}
	if f.Bits == 0 {
		b.WriteString(" " + f.Dtype.String())
	} else {
		fmt.Fprintf(&b, " %d bits", f.Bits)
	}
	if f.Group > 0 {
		fmt.Fprintf(&b, " g%d", f.Group)
	}
	if f.Layout != "" {
		b.WriteString(" " + f.Layout)
	}
	return b.String()
}

// line is file:line:col of a place, "" for none.
func line(r diag.Range) string {
	if r.IsZero() {
		return ""
	}
	return r.String()
}
