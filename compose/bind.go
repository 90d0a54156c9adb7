package compose

import (
	"strings"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// boundLine is a bind line with its patterns compiled and its table evaluated, once for all ports.
type boundLine struct {
	owner    *variant
	spec     *syntax.BindLine
	patterns []*pattern.Pattern
	spans    []span
	matched  bool // some port has its path and kind
	held     bool // and its condition held
	won      bool // and a row count runs what it says
}

// bind fills the ports by the variants' lines, row count by row count. Under every table lies the exact class.
func (c *composer) bind() bool {
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
		good = c.fill(i, segments[i]) && good
	}
	c.checkLines(lines)
	return c.bindStates() && c.submitPolicy() && good && !c.list.HasErrors()
}

func (c *composer) boundLines() ([]*boundLine, bool) {
	var out []*boundLine
	good := true
	for _, v := range c.variants {
		if !c.inEntries(v.doc.Variant.Entries) {
			continue
		}
		for i := range v.doc.Variant.Bind {
			spec := &v.doc.Variant.Bind[i]
			line := &boundLine{owner: v, spec: spec}
			for _, w := range spec.Patterns {
				p, ok := c.compilePattern(w)
				good = good && ok
				if ok {
					line.patterns = append(line.patterns, p)
				}
			}
			for _, k := range spec.Kinds {
				if !containsString(kindNames, k.Text) {
					d := c.list.Errorf("bad-word", k.At, "there is no kind of port %s", k.Text)
					helpNames(d, k.Text, kindNames, "kinds")
					good = false
				}
			}
			rows := make([]syntax.Row, len(spec.Rows))
			for r := range spec.Rows {
				rows[r] = spec.Rows[r].Row
			}
			var ok bool
			line.spans, ok = v.spans(c, rows)
			good = good && ok
			out = append(out, line)
		}
	}
	return out, good
}

var kindNames = []string{"linear", "head", "embedding", "multi_linear", "mlp", "gate_up", "experts"}

// inEntries tells whether a list of entries (none: all) has the text entry.
func (c *composer) inEntries(words []syntax.Word) bool {
	for _, w := range words {
		if w.Text == "text" {
			return true
		}
	}
	return len(words) == 0
}

// lineHolds tells whether a line speaks of a port.
func (c *composer) lineHolds(line *boundLine, index int) (is, ok bool) {
	p := &c.plan.Ports[index]
	if !matchesAny(line.patterns, p.Path) && !c.matchesSecond(line.patterns, index) {
		return false, true
	}
	if len(line.spec.Kinds) > 0 && !hasWord(line.spec.Kinds, p.Kind) {
		return false, true
	}
	line.matched = true
	if !c.inEntries(line.spec.Entries) {
		return false, true
	}
	if line.spec.When == nil {
		line.held = true
		return true, true
	}
	v, ok := c.evalFacts(line.spec.When, c.portFacts(line.owner, index))
	if !ok {
		return false, false
	}
	b, isBool := v.Bool()
	if !isBool {
		c.list.Errorf("parameter-type", line.spec.When.At(), "a condition is of type bool; this is of type %s", expr.TypeName(v.Type))
		return false, false
	}
	line.held = line.held || b
	return b, true
}

// matchesSecond: a part of an mlp also has the path of its tensor.
func (c *composer) matchesSecond(patterns []*pattern.Pattern, index int) bool {
	for path, i := range c.second {
		if i == index && matchesAny(patterns, path) {
			return true
		}
	}
	return false
}

func hasWord(words []syntax.Word, text string) bool {
	for _, w := range words {
		if w.Text == text {
			return true
		}
	}
	return false
}

// portFacts is the scope of a line's expressions at a port: its weights' facts under their roles.
func (c *composer) portFacts(v *variant, index int) facts {
	p := &c.plan.Ports[index]
	more := facts{}
	count := 0
	for i, w := range p.Weights {
		f := c.plan.Weights[w].Facts
		count = f.Count
		more[p.Roles[i]] = weightRecord(f)
	}
	more["port"] = expr.Record("port", map[string]any{"path": p.Path, "kind": p.Kind, "entry": "text", "count": count, "top_k": c.topK[index]})
	return v.scope.with(more)
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
	if p.Kind != "mlp" && p.Kind != "gate_up" {
		return nil
	}
	seen := map[int]bool{}
	var out []int
	base := p.Path
	if p.Kind == "gate_up" {
		base = strings.TrimSuffix(p.Path, ".gate_up")
	}
	for _, role := range []string{"gate_proj", "up_proj", "down_proj", "gate_up"} {
		part := c.portAt(base + "." + role)
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

func (c *composer) portAt(path string) *plan.Port {
	if c.byPath == nil {
		c.byPath = map[string]int{}
		for i := range c.plan.Ports {
			c.byPath[c.plan.Ports[i].Path] = i
		}
	}
	if i, ok := c.byPath[path]; ok {
		return &c.plan.Ports[i]
	}
	return nil
}

// classOf chooses among a class's conditions, evaluates its parameters and makes the instance for a range of rows.
func (c *composer) classOf(line *boundLine, index int, spec *syntax.ClassSpec, s segment) (instance, adapted int, ok bool) {
	scope := c.portFacts(line.owner, index)
	choice, ok := c.chosen(spec, scope)
	if !ok {
		return -1, -1, false
	}
	instance, ok = c.instanceOf(line, index, choice, scope, s)
	if !ok || choice.Adapted == nil {
		return instance, -1, ok
	}
	other, ok := c.chosen(choice.Adapted, scope)
	if !ok {
		return -1, -1, false
	}
	adapted, ok = c.instanceOf(line, index, other, scope, s)
	return instance, adapted, ok
}

// chosen is the first class of a list whose condition holds.
func (c *composer) chosen(spec *syntax.ClassSpec, scope facts) (*syntax.ClassChoice, bool) {
	for i := range spec.Choices {
		choice := &spec.Choices[i]
		if choice.When == nil {
			return choice, true
		}
		v, ok := c.evalFacts(choice.When, scope)
		if !ok {
			return nil, false
		}
		if b, _ := v.Bool(); b {
			return choice, true
		}
	}
	c.list.Errorf("no-class", spec.At, "none of these classes' conditions holds")
	return nil, false
}

func (c *composer) instanceOf(line *boundLine, index int, choice *syntax.ClassChoice, scope facts, s segment) (int, bool) {
	p := &c.plan.Ports[index]
	name, given := choice.Name, choice.Args
	for _, named := range line.owner.doc.Variant.Classes { // a name of the variant's own
		if named.Name.Text == name.Text {
			inner, ok := c.chosen(&named.Class, scope)
			if !ok {
				return -1, false
			}
			if len(given) > 0 {
				c.list.Errorf("unknown-parameter", given[0].Name.At, "%s is a class with its parameters already", name.Text).Because(named.Name.At, "named here")
				return -1, false
			}
			name, given = inner.Name, inner.Args
		}
	}
	class := c.reg.Class(name.Text)
	if class == nil {
		names := classNames(c.reg)
		for _, n := range line.owner.doc.Variant.Classes {
			names = append(names, n.Name.Text)
		}
		d := c.list.Errorf("unknown-class", name.At, "there is no class %s", name.Text)
		helpNames(d, name.Text, names, "classes")
		return -1, false
	}
	if !class.Takes(p.Kind) {
		d := c.list.Errorf("class-kind", name.At, "%s fills ports of kind %s; %s is of kind %s", class.Name, strings.Join(class.Kinds, ", "), generalised(p.Path), p.Kind).Because(p.Place, "declared here")
		if fit := c.fitting(p.Kind); len(fit) > 0 {
			d.Helped("classes for a %s: %s", p.Kind, strings.Join(fit, ", "))
		}
		return -1, false
	}
	if !c.rowsFit(class, name.At, index, s) {
		return -1, false
	}
	args, ok := c.classArgs(class, given, name, scope)
	if !ok {
		return -1, false
	}
	if class.Parts != nil {
		return c.form(class, index, args, s, name.At)
	}
	weights := map[string]plan.Facts{}
	roles := make([]plan.RoleWeight, len(p.Weights))
	for i, w := range p.Weights {
		weights[p.Roles[i]] = c.plan.Weights[w].Facts
		roles[i] = plan.RoleWeight{Role: p.Roles[i], Weight: w}
	}
	if err := class.Accept(p.Kind, weights); err != nil {
		d := c.list.Errorf("class-refuses", name.At, "%s does not take %s: %v", class.Name, generalised(p.Path), err).Because(p.Place, "the port is declared here")
		d.Helped("leave it to the exact class by a condition: when: …")
		return -1, false
	}
	exact := c.plan.Instances[p.Rows[0].Instance]
	return c.intern(plan.Instance{Class: class.Name, Args: args, Kind: p.Kind, Path: p.Path, Weights: roles, Activation: exact.Activation, At: name.At}), true
}

func classNames(r *registry.Registry) []string {
	var out []string
	for _, c := range r.Classes() {
		out = append(out, c.Name)
	}
	return out
}

func (c *composer) fitting(kind string) []string {
	var out []string
	for _, class := range c.reg.Classes() {
		if class.Takes(kind) {
			out = append(out, class.Name)
		}
	}
	return out
}

// rowsFit holds a range to a class's limits. There is no nearest match.
func (c *composer) rowsFit(class *registry.Class, at diag.Range, index int, s segment) bool {
	lo, hi := max(class.MinRows, 1), class.MaxRows
	if hi == 0 {
		hi = endless
	}
	if s.first < lo || s.last > hi {
		d := c.list.Errorf("class-rows", at, "%s takes %s rows; this table binds it to %s", class.Name, spanText(lo, hi), spanText(s.first, s.last)).In(c.plan.Ports[index].Path)
		if max(s.first, lo) <= min(s.last, hi) {
			d.Helped("write `%s: %s`", spanText(max(s.first, lo), min(s.last, hi)), class.Name)
		}
		return false
	}
	if odd := c.odd[index]; odd != nil && (class.MinRows > 1 || class.MaxRows > 0) {
		c.list.Errorf("class-rows", at, "%s counts rows as B * T, and the port's input has other leading dims", class.Name).Because(*odd, "called here").In(c.plan.Ports[index].Path)
		return false
	}
	return true
}

func (c *composer) classArgs(class *registry.Class, given []syntax.Arg, name syntax.Word, scope facts) (plan.Args, bool) {
	var out plan.Args
	good := true
	for _, a := range given {
		known := false
		for _, p := range class.Params {
			known = known || p.Name == a.Name.Text
		}
		if !known {
			d := c.list.Errorf("unknown-parameter", a.Name.At, "%s has no parameter %s", class.Name, a.Name.Text)
			helpNames(d, a.Name.Text, paramNames(class.Params), "it has")
			good = false
		}
	}
	for _, p := range class.Params {
		var arg *syntax.Arg
		for i := range given {
			if given[i].Name.Text == p.Name {
				arg = &given[i]
			}
		}
		switch {
		case arg != nil && arg.Value != nil:
			v, ok := c.classArg(p, arg, class.Name, scope)
			good = good && ok
			out = append(out, plan.Arg{Name: p.Name, Value: v})
		case p.Default != nil:
			out = append(out, plan.Arg{Name: p.Name, Value: *p.Default})
		case !p.Optional:
			c.list.Errorf("missing-parameter", name.At, "%s needs its parameter %s", class.Name, p.Name).Helped("%s: %s", p.Name, p.Doc)
			good = false
		}
	}
	return out, good
}

func (c *composer) classArg(p registry.Param, arg *syntax.Arg, owner string, scope facts) (plan.Value, bool) {
	x := &expansion{c: c}
	frame := newFrame(x, c.model, nil, "")
	for name, v := range scope {
		frame.scalars[name] = &scalar{value: v}
	}
	return place{frame, nil}.argument(p.Type, *arg, owner)
}

// form is a class over the parts' own bindings at a range of rows.
func (c *composer) form(class *registry.Class, index int, args plan.Args, s segment, at diag.Range) (int, bool) {
	p := &c.plan.Ports[index]
	exact := c.plan.Instances[p.Rows[0].Instance]
	base := p.Path
	if p.Kind == "gate_up" {
		base = strings.TrimSuffix(p.Path, ".gate_up")
	}
	roles := class.Parts
	if class.Name == exact.Class { // its parts are the port's: separate tensors or a fused one
		roles = nil
		for _, r := range exact.Parts {
			roles = append(roles, r.Role)
		}
	}
	var parts []plan.RolePart
	for _, role := range roles {
		part := c.portAt(base + "." + role)
		if part == nil {
			c.list.Errorf("class-refuses", at, "%s takes a part %s, which %s does not have", class.Name, role, generalised(p.Path)).Because(p.Place, "declared here")
			return -1, false
		}
		row := part.At(s.first)
		if row == nil {
			return -1, false // the part could not be bound: reported there
		}
		parts = append(parts, plan.RolePart{Role: role, Instance: row.Instance})
	}
	return c.intern(plan.Instance{Class: class.Name, Args: args, Kind: p.Kind, Path: p.Path, Parts: parts, Activation: exact.Activation, At: at}), true
}

// checkLines reports lines that match no port, and those that later lines hide whole.
func (c *composer) checkLines(lines []*boundLine) {
	for _, line := range lines {
		everywhere := hasWord(line.owner.doc.Variant.Of, "*")
		switch {
		case !line.matched && !everywhere:
			var paths []string
			for i := range c.plan.Ports {
				paths = append(paths, generalised(c.plan.Ports[i].Path))
			}
			d := c.list.Errorf("bind-no-match", line.spec.Patterns[0].At, "no port matches %s%s", wordList(line.spec.Patterns), ofKinds(line.spec.Kinds))
			helpNames(d, line.spec.Patterns[0].Text, paths, "ports")
		case line.held && !line.won:
			c.list.Warnf("bind-hidden", line.spec.At, "later lines hide this one whole: no row count of any port runs what it says")
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
