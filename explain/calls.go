package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/plan"
)

// Call is one line of a program.
type Call struct {
	Results []string `json:"results"`
	Types   []string `json:"types"`
	Does    string   `json:"does"` // the operator, or the port
	Class   string   `json:"class,omitempty"`
	Inputs  []string `json:"inputs"`
	Args    string   `json:"args,omitempty"`
	State   string   `json:"state,omitempty"`
	With    string   `json:"with,omitempty"` // what it runs in one with: the class of it all, told once
	Path    string   `json:"path,omitempty"`
	Line    string   `json:"line,omitempty"`
}

// Listing is a program call by call.
type Listing struct {
	Program
	Inputs []string `json:"inputs"`
	List   []Call   `json:"list"`
	Gives  []string `json:"gives"`
}

// Calls lists the program of that number, from 1.
func Calls(p *plan.Plan, number int) (*Listing, error) {
	if number < 1 || number > len(p.Programs) {
		return nil, fmt.Errorf("there is no program %d: the plan has %d, which `explain` lists", number, len(p.Programs))
	}
	g := &p.Programs[number-1]
	out := &Listing{Program: Program{
		Number: number, Entry: g.Entry, Guards: Conditions(p, g), Rows: Rows{g.First, g.Last}, Results: names(g.Results), Calls: len(g.Calls), Run: run(g), Slots: g.Slots,
	}}
	for _, in := range g.Inputs {
		out.Inputs = append(out.Inputs, fmt.Sprintf("%%%d %s: %s %s", in.Slot, in.Name, in.Dtype, in.Shape))
	}
	for _, r := range g.Results {
		out.Gives = append(out.Gives, fmt.Sprintf("%s: %%%d", r.Name, r.Slot))
	}
	for i := range g.Calls {
		out.List = append(out.List, DescribeCall(p, &g.Calls[i]))
	}
	for i := range g.Fused {
		u := &g.Fused[i]
		for _, k := range u.Calls() {
			out.List[k].With = fmt.Sprintf("%%%d", g.Calls[u.Place].Out[0])
		}
		out.List[u.Place].With = fusedText(p, g, u)
	}
	return out, nil
}

// note says in one with what the call runs.
func (c *Call) note() string {
	switch {
	case strings.HasPrefix(c.With, "%"):
		return "run with " + c.With
	case c.With != "":
		return "runs " + c.With
	}
	return ""
}

// DescribeCall writes a call in words.
func DescribeCall(p *plan.Plan, c *plan.Call) Call {
	out := Call{Does: c.Operator, Path: c.Path, Line: line(c.At), Args: ArgsText(c.Args), Results: []string{}, Types: []string{}, Inputs: []string{}}
	if c.Port >= 0 && c.Port < len(p.Ports) {
		out.Does, out.Class = p.Ports[c.Port].Path, ClassText(p, c.Instance)
	}
	for _, o := range c.Out {
		out.Results = append(out.Results, fmt.Sprintf("%%%d", o))
	}
	for _, t := range c.Types {
		out.Types = append(out.Types, TypeText(t))
	}
	for i := range c.In {
		out.Inputs = append(out.Inputs, operand(p, &c.In[i]))
	}
	if c.State >= 0 && c.State < len(p.States) {
		out.State = p.States[c.State].Path
	}
	return out
}

// TypeText is a dtype and a shape: "bfloat16 [B, T, 576]".
func TypeText(t plan.Type) string { return t.Dtype.String() + " " + t.Shape.String() }

func operand(p *plan.Plan, o *plan.Operand) string {
	switch {
	case o.Kind == plan.FromSlot:
		return fmt.Sprintf("%%%d", o.Index)
	case o.Kind == plan.FromTensor && o.Index >= 0 && o.Index < len(p.Tensors):
		return p.Tensors[o.Index].Name
	case o.Kind == plan.FromState && o.Index >= 0 && o.Index < len(p.States):
		return "state " + p.States[o.Index].Path
	case o.Kind == plan.FromScalar:
		return o.Scalar.Text()
	}
	return "-"
}

// WriteText writes a line per call.
func (l *Listing) WriteText(w io.Writer) error {
	var b strings.Builder
	outputs := listed(l.Results)
	fmt.Fprintf(&b, "program %d  entry %s  rows %s", l.Number, l.Entry, l.Rows)
	if len(l.Guards) > 0 {
		fmt.Fprintf(&b, "  guards %s", strings.Join(l.Guards, ", "))
	}
	fmt.Fprintf(&b, "  outputs %s  %d calls", outputs, l.Calls)
	if l.Run < l.Calls {
		fmt.Fprintf(&b, ", run as %d", l.Run)
	}
	fmt.Fprintf(&b, ", %d slots\n", l.Slots)
	for _, in := range l.Inputs {
		fmt.Fprintf(&b, "  %s\n", in)
	}
	t := &table{before: []string{"", "  "}}
	for i := range l.List {
		c := &l.List[i]
		does := fmt.Sprintf("%s(%s)%s", c.Does, strings.Join(c.Inputs, ", "), c.Args)
		if c.State != "" {
			does += " state " + c.State
		}
		t.add("  "+strings.Join(c.Results, ", ")+" =", does, c.Class, strings.Join(c.Types, "; "), c.Line, c.note())
	}
	t.write(&b)
	for _, g := range l.Gives {
		fmt.Fprintf(&b, "  %s\n", g)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes an object.
func (l *Listing) WriteJSON(w io.Writer) error { return encode(w, l) }

// WriteJSON writes the report as an object, with every port.
func (r *Report) WriteJSON(w io.Writer) error { return encode(w, r) }

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
