package compose

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/port"
)

// boundLine is a bind line with its patterns compiled and its table evaluated, once for all ports.
type boundLine struct {
	owner    *variant
	spec     *syntax.BindLine
	patterns []*pattern.Pattern
	spans    []span
	single   bool // an expression of it may ask a port's path
	matched  bool // some port has its path and kind
	held     bool // and its condition held
	order    int  // among all lines
	won      bool // and a row count runs what it says
}

// bind fills the ports by the variants' lines, row count by row count. Under every table lies the exact class.
func (c *composer) bind() bool {
	lines, good := c.boundLines()
	c.checkSets()
	if !good {
		return false // what the other lines win is not known
	}
	b := newBinder(c, lines)
	for i := range c.plan.Ports {
		good = b.cover(i) && good
	}
	for i := range c.plan.Ports { // parts stand before what they are parts of
		good = b.fill(i) && good
	}
	c.checkLines(lines)
	return c.bindStates() && c.submitPolicy() && c.nativeOperators() && c.fusedOperators() && good && !c.list.HasErrors()
}

func (c *composer) boundLines() ([]*boundLine, bool) {
	var out []*boundLine
	good := true
	for _, v := range c.variants {
		good = c.knownEntries(v, v.doc.Variant.Entries) && good
		asked := slices.ContainsFunc(v.doc.Variant.Classes, func(n syntax.NamedClass) bool { return specMentions(&n.Class, "path") })
		for i := range v.doc.Variant.Bind {
			spec := &v.doc.Variant.Bind[i]
			line := &boundLine{owner: v, spec: spec, order: len(out), single: asked || asksPath(spec)}
			for _, w := range spec.Patterns {
				p, ok := c.compilePattern(w)
				good = good && ok
				if ok {
					line.patterns = append(line.patterns, p)
				}
			}
			var ok bool
			line.spans, ok = v.spans(c, rowsOf(spec.Rows))
			good = c.knownEntries(v, spec.Entries) && ok && good
			out = append(out, line)
		}
	}
	return out, good
}

var kindNames = port.Bound()

// inEntries tells whether a list of entries (none: all) has an entry.
func inEntries(words []syntax.Word, entry string) bool {
	return len(words) == 0 || hasWord(words, entry)
}

// knownEntries holds a list of entries to those of the model, offered or not. Models differ in them, so a variant of all
// models may name any.
func (c *composer) knownEntries(v *variant, words []syntax.Word) bool {
	if hasWord(v.doc.Variant.Of, "*") {
		return true
	}
	var names []string
	for _, e := range entriesOf(c.model) {
		names = append(names, e.Name.Text)
	}
	good := true
	for _, w := range words {
		if !containsString(names, w.Text) {
			d := c.list.Errorf("unknown-entry", w.At, "the model %s has no entry %s", c.model.Name.Text, w.Text)
			d.Among(w.Text, names, "its entries")
			good = false
		}
	}
	return good
}

func hasWord(words []syntax.Word, text string) bool {
	for _, w := range words {
		if w.Text == text {
			return true
		}
	}
	return false
}

// activationOf is the operator between the parts of an mlp, "" where there is none.
func activationOf(in *plan.Instance) string {
	if in.Activation == nil {
		return ""
	}
	return in.Activation.Operator
}

func weightRecord(f plan.Facts) expr.Value {
	return expr.Record("weight", map[string]any{"storage": f.Storage, "dtype": f.Dtype.String(), "bits": f.Bits, "group": f.Group, "mode": f.Mode,
		"layout": f.Layout, "axis": f.Axis, "inputs": f.Inputs, "outputs": f.Outputs, "bytes": f.Bytes, "bias": f.Bias})
}

// formRoles are the parts that a port's forms may be made of.
func formRoles(p *plan.Port) []string {
	switch p.Kind {
	case "mlp":
		return []string{"gate_proj", "up_proj", "down_proj", "gate_up"}
	case "gate_up":
		return []string{"gate_proj", "up_proj", "down_proj"}
	case "group":
		return p.Roles
	}
	return nil
}

// part is the port of a role of another, or -1: of a group a member, of an mlp or its pair what lies below the mlp's path.
func (c *composer) part(index int, role string) int {
	p := &c.plan.Ports[index]
	if p.Kind == "group" {
		if i := slices.Index(p.Roles, role); i >= 0 {
			return p.Members[i]
		}
		return -1
	}
	base := p.Path
	if p.Kind == "gate_up" {
		base = strings.TrimSuffix(p.Path, ".gate_up")
	}
	for i := c.notes[index].parts; i < index; i++ {
		if name, below := strings.CutPrefix(c.plan.Ports[i].Path, base); below && len(name) > 0 && name[1:] == role {
			return i
		}
	}
	return -1
}

// checkLines reports lines that match no port, and those that later lines hide whole.
func (c *composer) checkLines(lines []*boundLine) {
	for _, line := range lines {
		everywhere := hasWord(line.owner.doc.Variant.Of, "*")
		switch {
		case !line.matched && !everywhere:
			var paths []string
			group := false
			for i := range c.plan.Ports {
				paths = append(paths, generalised(c.plan.Ports[i].Path))
				group = group || c.plan.Ports[i].Kind == "group" && matchesAny(line.patterns, c.plan.Ports[i].Path)
			}
			d := c.list.Errorf("bind-no-match", line.spec.Patterns[0].At, "no port matches %s%s", wordList(line.spec.Patterns), ofKinds(line.spec.Kinds))
			if group && len(line.spec.Kinds) == 0 {
				d.Helped("a group is bound by a line that says `kind: group`")
				continue
			}
			d.Among(line.spec.Patterns[0].Text, paths, "ports")
		case line.held && !line.won && !line.owner.doc.Variant.Default:
			c.list.Warnf("bind-hidden", line.spec.At, "later lines hide this one whole: no row count of any port runs what it says").Helped("remove it, or put it below the lines that it is an exception of")
		}
	}
}

func ofKinds(kinds []syntax.Word) string {
	if len(kinds) == 0 {
		return ""
	}
	return " of kind " + wordList(kinds)
}

// generalised writes the numbers of a path as *, as a pattern would.
func generalised(path string) string {
	parts := strings.Split(path, ".")
	for i, s := range parts {
		if s != "" && strings.Trim(s, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}
