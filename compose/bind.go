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
	matched  bool // some port has its path and kind
	held     bool // and its condition held
	order    int  // among all lines
	won      bool // and a row count runs what it says
}

// bind fills the ports by the variants' lines, row count by row count. Under every table lies the exact class.
func (c *composer) bind() bool {
	for _, v := range c.variants {
		v.asked = nil
	}
	lines, good := c.boundLines()
	c.checkSets()
	if !good {
		return false // what the other lines win is not known
	}
	segments := make([][]segment, len(c.plan.Ports))
	for i := range c.plan.Ports {
		segments[i] = []segment{{first: 1, last: endless}}
		for _, line := range lines {
			is, ok := c.lineHolds(line, i)
			good = good && ok
			if is {
				segments[i] = overlay(segments[i], line)
			}
		}
	}
	for i := range c.plan.Ports { // parts stand before what they are parts of
		if members := c.plan.Ports[i].Members; members != nil {
			var of [][]segment
			for _, m := range members {
				of = append(of, segments[m])
			}
			segments[i] = c.yielded(segments[i], of)
		}
		good = c.fill(i, segments[i]) && good
	}
	c.checkLines(lines)
	return c.bindStates() && c.submitPolicy() && c.nativeOperators() && c.fusedOperators() && good && !c.list.HasErrors()
}

func (c *composer) boundLines() ([]*boundLine, bool) {
	var out []*boundLine
	good := true
	for _, v := range c.variants {
		good = c.knownEntries(v, v.doc.Variant.Entries) && good
		for i := range v.doc.Variant.Bind {
			spec := &v.doc.Variant.Bind[i]
			line := &boundLine{owner: v, spec: spec, order: len(out)}
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

// lineHolds tells whether a line speaks of a port.
func (c *composer) lineHolds(line *boundLine, index int) (is, ok bool) {
	p := &c.plan.Ports[index]
	meant := inEntries(line.spec.Entries, p.Entry) && inEntries(line.owner.doc.Variant.Entries, p.Entry)
	if !meant && line.matched {
		return false, true
	}
	if !matchesAny(line.patterns, p.Path) && !c.matchesSecond(line.patterns, index) {
		return false, true
	}
	if (len(line.spec.Kinds) > 0 || p.Kind == "group") && !hasWord(line.spec.Kinds, p.Kind) {
		return false, true // lines that mean the members' weights say no kind
	}
	line.matched = true // in some entry: those that are not offered here have no ports
	if !meant {
		return false, true
	}
	if line.spec.When == nil {
		line.held = true
		return true, true
	}
	holds, ok := c.truth(line.spec.When, c.portFacts(line.owner, index), "a condition")
	line.held = line.held || holds
	return holds, ok
}

// matchesSecond: a part of an mlp also has the path of its tensor.
func (c *composer) matchesSecond(patterns []*pattern.Pattern, index int) bool {
	path, has := c.second[index]
	return has && matchesAny(patterns, path)
}

func hasWord(words []syntax.Word, text string) bool {
	for _, w := range words {
		if w.Text == text {
			return true
		}
	}
	return false
}

// portFacts is the scope of a line's expressions at a port: its weights' facts under their roles. A variant's lines ask it
// one after another.
func (c *composer) portFacts(v *variant, index int) facts {
	if v.asked != nil && v.askedPort == index {
		return v.asked
	}
	p := &c.plan.Ports[index]
	more := facts{}
	count := 0
	var common plan.Facts
	for i, w := range p.Weights {
		f := c.plan.Weights[w].Facts
		count = f.Count
		if i == 0 {
			common = f
		}
		if f.Storage != common.Storage {
			common.Storage, common.Mode = "", ""
		}
		if f.Mode != common.Mode {
			common.Mode = ""
		}
		if _, ok := c.records[f]; !ok {
			c.records[f] = weightRecord(f)
		}
		more[p.Roles[i]] = c.records[f]
	}
	more["port"] = expr.Record("port", map[string]any{"path": p.Path, "kind": p.Kind, "entry": p.Entry, "count": count, "top_k": c.topK[index],
		"storage": common.Storage, "mode": common.Mode, "activation": activationOf(c.plan.Instances[p.Rows[0].Instance])})
	v.asked, v.askedPort = v.scope.with(more), index
	return v.asked
}

// activationOf is the operator between the parts of an mlp, "" where there is none.
func activationOf(in plan.Instance) string {
	if in.Activation == nil {
		return ""
	}
	return in.Activation.Operator
}

func weightRecord(f plan.Facts) expr.Value {
	return expr.Record("weight", map[string]any{"storage": f.Storage, "dtype": f.Dtype.String(), "bits": f.Bits, "group": f.Group, "mode": f.Mode,
		"layout": f.Layout, "axis": f.Axis, "inputs": f.Inputs, "outputs": f.Outputs, "bytes": f.Bytes, "bias": f.Bias})
}

// fill makes a port's rows of its segments.
func (c *composer) fill(index int, segments []segment) bool {
	p := &c.plan.Ports[index]
	exact := p.Rows[0].Instance
	segments = cutAt(segments, c.partStarts(p, segments))
	var rows []plan.RowClass
	good := true
	for _, s := range segments {
		r := plan.RowClass{First: s.first, Last: s.last, Instance: exact, Exact: true, Adapted: -1}
		if s.last == endless {
			r.Last = 0
		}
		if s.line != nil {
			s.line.won = true
			spec := &s.line.spec.Rows[s.entry].Class
			r.At, r.Exact = spec.At, false
			var ok bool
			if r.Instance, r.Adapted, ok = c.classOf(s.line, index, spec, s); !ok {
				good = false
				continue
			}
		} else if form := c.reg.Class(c.plan.Instances[exact].Class); form.Parts != nil {
			var ok bool
			if r.Instance, ok = c.form(form, index, nil, s, c.plan.Ports[index].Place); !ok {
				good = false
				continue
			}
		}
		if n := len(rows); n > 0 && rows[n-1].Instance == r.Instance && rows[n-1].Adapted == r.Adapted && rows[n-1].At == r.At {
			rows[n-1].Last = r.Last
			continue
		}
		rows = append(rows, r)
	}
	if good {
		p.Rows = rows
	}
	return good
}

// partStarts are the row counts at which the parts of a port's forms change.
func (c *composer) partStarts(p *plan.Port, segments []segment) []int {
	roles := p.Roles
	switch p.Kind {
	case "mlp", "gate_up":
		roles = []string{"gate_proj", "up_proj", "down_proj", "gate_up"}
	case "group":
	default:
		return nil
	}
	seen := map[int]bool{}
	var out []int
	for _, role := range roles {
		part := c.part(p, role)
		if part == nil || part == p {
			continue
		}
		for _, r := range part.Rows {
			if !seen[r.First] {
				seen[r.First] = true
				out = append(out, r.First)
			}
		}
	}
	sortInts(out)
	return out
}

// part is the port of a role of another, or nil: of a group a member, of an mlp or its pair what lies below the mlp's path.
func (c *composer) part(p *plan.Port, role string) *plan.Port {
	switch p.Kind {
	case "group":
		if i := slices.Index(p.Roles, role); i >= 0 {
			return &c.plan.Ports[p.Members[i]]
		}
		return nil
	case "gate_up":
		return c.portAt(p.Entry, strings.TrimSuffix(p.Path, ".gate_up")+"."+role)
	}
	return c.portAt(p.Entry, p.Path+"."+role)
}

func (c *composer) portAt(entry, path string) *plan.Port {
	if c.byPath == nil {
		c.byPath = map[portKey]int{}
		for i := range c.plan.Ports {
			c.byPath[portKey{c.plan.Ports[i].Entry, c.plan.Ports[i].Path}] = i
		}
	}
	if i, ok := c.byPath[portKey{entry, path}]; ok {
		return &c.plan.Ports[i]
	}
	return nil
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
