package compose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// carries refuses a class beside `adapted` that an adapter would pass by: sums are added to products of one weight, and this
// class computes with several at once. Experts take no adapters.
func (c *composer) carries(by *picked, index int) bool {
	class, p := by.class, &c.plan.Ports[index]
	if class.Adapters || class.Parts != nil || p.Kind == "experts" || len(p.Weights) == 1 {
		return true
	}
	d := c.list.Errorf("adapter-ignored", by.at, "%s computes %s in one, which leaves no product for an adapter's sum", class.Name, strings.Join(p.Roles, " and ")).In(p.Path)
	if exact := c.reg.ExactClass(p.Kind, "parts"); exact != nil {
		d.Helped("write `adapted: %s`, or leave `adapted` away: it is the exact class", exact.Name)
	}
	return false
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
	c.list.Errorf("no-class", spec.At, "none of these classes' conditions holds").Helped("end the list with a class without `when`, or put the condition on the line")
	return nil, false
}

// picked is a class with its parameters.
type picked struct {
	class *registry.Class
	args  plan.Args
	at    diag.Range
}

// pick is the class that a choice names, held to the port and to a range of rows.
func (b *binder) pick(line *boundLine, index int, choice *syntax.ClassChoice, scope facts, s segment) (*picked, bool) {
	p := &b.plan.Ports[index]
	class, given, ok := b.namedClass(line.owner, choice, scope)
	if !ok {
		return nil, false
	}
	name := choice.Name
	if class.Takes(registry.StateRead) {
		b.list.Errorf("class-kind", name.At, "%s reads states and fills no port", class.Name).Helped("write it under states: `- {states: '**.kv', read: {rows: {…: %s}}}`", class.Name)
		return nil, false
	}
	if !class.Takes(p.Kind) {
		d := b.list.Errorf("class-kind", name.At, "%s fills ports of kind %s; %s is of kind %s", class.Name, strings.Join(class.Kinds, ", "), generalised(p.Path), p.Kind).Because(p.Place, "declared here")
		if fit := b.taking(p); len(fit) > 0 {
			d.Helped("%s", diag.Listed(class.Name, fit, "classes that take it"))
		}
		return nil, false
	}
	if !b.rowsFit(class, name.At, index, s) {
		return nil, false
	}
	if !b.suits(class, name.At) {
		return nil, false
	}
	args, ok := b.classArgs(class, given, name, scope)
	if !ok {
		return nil, false
	}
	if err := b.takes(class, index); err != nil {
		d := b.list.Errorf("class-refuses", name.At, "%s does not take %s: %v", class.Name, generalised(p.Path), err).Because(p.Place, "the port is declared here")
		if fit := b.taking(p); len(fit) > 0 {
			d.Helped("%s", diag.Listed(class.Name, fit, "classes that take it"))
		}
		if len(p.Weights) == 1 {
			d.Helped("to leave such ports to their exact class, put a condition on the line: `when: weight.storage != '%s'`", b.plan.Weights[p.Weights[0]].Facts.Storage)
		}
		return nil, false
	}
	return &picked{class, args, name.At}, class.Parts != nil || b.shares(class, args, p, name.At)
}

// takes asks a class whether it accepts a port, once for those of a sort.
func (b *binder) takes(class *registry.Class, index int) error {
	key := acceptKey{class, b.sort[index]}
	err, known := b.accepted[key]
	if !known {
		err = b.accepts(class, &b.plan.Ports[index])
		b.accepted[key] = err
	}
	return err
}

// instance makes a picked class one of a port, at the rows from first on.
func (c *composer) instance(by *picked, index, first int) int {
	if by.class.Parts != nil {
		return c.form(by, index, first)
	}
	p := &c.plan.Ports[index]
	exact := &c.plan.Instances[p.Rows[0].Instance]
	if by.class.Name == exact.Class && len(by.args) == 0 {
		return p.Rows[0].Instance
	}
	return c.intern(plan.Instance{Class: by.class.Name, Args: by.args, Kind: p.Kind, Path: p.Path, Weights: roleWeights(p), Activation: exact.Activation, At: by.at})
}

// sharing is the first member of a buffer group, which its buffers are made for.
type sharing struct {
	dims []int
	path string
	at   diag.Range
}

// shares holds the members of a buffer group (`share`) to the buffers of the first: they never run at once, since the calls
// of a program run one after another, but each must fit.
func (c *composer) shares(class *registry.Class, args plan.Args, p *plan.Port, at diag.Range) bool {
	group := args.String("share")
	if group == "" {
		return true
	}
	key := class.Name + " " + group
	first, ok := c.groups[key]
	if !ok {
		if c.groups == nil {
			c.groups = map[string]sharing{}
		}
		c.groups[key] = sharing{p.Dims, p.Path, at}
		return true
	}
	for i, d := range p.Dims {
		if d > first.dims[i] {
			c.list.Errorf("share-mismatch", at, "%s %v does not fit the buffers of the group %s, which are made for %s %v", generalised(p.Path), p.Dims, group, generalised(first.path), first.dims).
				Because(first.at, "the first of the group is bound here").Helped("put the shape into the group's name: share: '{inputs}x{outputs}'")
			return false
		}
	}
	return true
}

// suits holds a class to the device that the plan is for.
func (c *composer) suits(class *registry.Class, at diag.Range) bool {
	err := class.Suits(or(c.req.Device.Kind, "cpu"), c.req.Device.ANE)
	if err == nil {
		return true
	}
	when := "device.kind == '" + class.Needs + "'"
	if class.Needs == "ane" {
		when = "device.ane"
	}
	c.list.Errorf("class-device", at, "%s is not for this device: %v", class.Name, err).
		Helped("bind it under a condition: `when: %s`; or hold the whole variant to it: `requires: %s`", when, when)
	return false
}

// accepts asks a class whether it takes a port's weights and computes its activation.
func (c *composer) accepts(class *registry.Class, p *plan.Port) error {
	if act := c.plan.Instances[p.Rows[0].Instance].Activation; class.Activations != nil && act != nil && !containsString(class.Activations, act.Operator) {
		return fmt.Errorf("its activation is %s; %s is computed", act.Operator, strings.Join(class.Activations, " or "))
	}
	weights := map[string]plan.Facts{}
	for i, w := range p.Weights {
		weights[p.Roles[i]] = c.plan.Weights[w].Facts
	}
	return class.Accept(p.Kind, weights)
}

// roleWeights are a port's weights by role.
func roleWeights(p *plan.Port) []plan.RoleWeight {
	out := make([]plan.RoleWeight, len(p.Weights))
	for i, w := range p.Weights {
		out[i] = plan.RoleWeight{Role: p.Roles[i], Weight: w}
	}
	return out
}

// namedClass finds a class by its name, or by a name that the variant gives one with its parameters.
func (c *composer) namedClass(v *variant, choice *syntax.ClassChoice, scope facts) (*registry.Class, []syntax.Arg, bool) {
	name, given := choice.Name, choice.Args
	if named := namedIn(v.doc.Variant, name.Text); named != nil {
		inner, ok := c.chosen(&named.Class, scope)
		if !ok {
			return nil, nil, false
		}
		if len(given) > 0 {
			c.list.Errorf("unknown-parameter", given[0].Name.At, "%s is a class with its parameters already", name.Text).Because(named.Name.At, "named here").
				Helped("write them there, or name the class itself")
			return nil, nil, false
		}
		name, given = inner.Name, inner.Args
	}
	class := c.reg.Class(name.Text)
	if class == nil {
		c.unknownClass(v.doc.Variant, name)
		return nil, nil, false
	}
	return class, given, true
}

func (c *composer) unknownClass(v *syntax.Variant, name syntax.Word) {
	names := classNames(c.reg)
	for _, n := range v.Classes {
		names = append(names, n.Name.Text)
	}
	d := c.list.Errorf("unknown-class", name.At, "there is no class %s", name.Text).Among(name.Text, names, "classes")
	if own := names[len(names)-len(v.Classes):]; len(own) > 0 && diag.DidYouMean(name.Text, names) == "" {
		d.Helped("%s", diag.Listed(name.Text, own, "the variant's own"))
	}
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

// rowLimits are the row counts that a class takes.
func rowLimits(class *registry.Class) (lo, hi int) {
	return max(class.MinRows, 1), or(class.MaxRows, endless)
}

// rowsFit holds a range to a class's limits. There is no nearest match.
func (c *composer) rowsFit(class *registry.Class, at diag.Range, index int, s segment) bool {
	lo, hi := rowLimits(class)
	if s.first < lo || s.last > hi {
		d := c.list.Errorf("class-rows", at, "%s takes rows %s; this table binds it to %s", class.Name, spanText(lo, hi), spanText(s.first, s.last)).In(c.plan.Ports[index].Path)
		if max(s.first, lo) <= min(s.last, hi) {
			d.Helped("write `%s: %s`", spanText(max(s.first, lo), min(s.last, hi)), class.Name)
		}
		return false
	}
	if class.OneRow && s.first != s.last {
		c.list.Errorf("class-rows", at, "%s is made for one row count; this table binds it to %s", class.Name, spanText(s.first, s.last)).In(c.plan.Ports[index].Path).
			Helped("name one count, as the tokens of a full prompt chunk: `%d: %s`", 2048, class.Name)
		return false
	}
	if odd := c.notes[index].odd; odd != nil && (class.MinRows > 1 || class.MaxRows > 0 || class.OneRow) {
		c.list.Errorf("class-rows", at, "%s counts rows as B * T, and the port's input has other leading dims", class.Name).Because(*odd, "called here").In(c.plan.Ports[index].Path).
			Helped("bind a class of any row count, or leave the port to its exact class")
		return false
	}
	return true
}

// partsOf are the ports of a form's parts, by the form's roles; -1: the port lacks it.
func (c *composer) partsOf(form *picked, index int) (roles []string, ports []int) {
	exact := &c.plan.Instances[c.plan.Ports[index].Rows[0].Instance]
	roles = form.class.Parts
	if form.class.Name == exact.Class { // its parts are the port's: separate tensors or a fused one
		roles = make([]string, len(exact.Parts))
		for i, r := range exact.Parts {
			roles[i] = r.Role
		}
	}
	ports = make([]int, len(roles))
	for i, role := range roles {
		ports[i] = c.part(index, role)
	}
	return roles, ports
}

// lacksPart reports the first part of a form that a port does not have.
func (c *composer) lacksPart(form *picked, index int) bool {
	p := &c.plan.Ports[index]
	roles, ports := c.partsOf(form, index)
	i := slices.Index(ports, -1)
	if i >= 0 {
		c.list.Errorf("class-refuses", form.at, "%s takes a part %s, which %s does not have", form.class.Name, roles[i], generalised(p.Path)).Because(p.Place, "declared here").
			Helped("its parts are as its tensors are: a fused gate_up, or gate_proj and up_proj; mlp.unfused takes both")
	}
	return i >= 0
}

// form is a class over the parts' own bindings at the rows from first on.
func (c *composer) form(by *picked, index, first int) int {
	p := &c.plan.Ports[index]
	roles, ports := c.partsOf(by, index)
	parts := make([]plan.RolePart, len(roles))
	for i, role := range roles {
		parts[i] = plan.RolePart{Role: role, Instance: c.plan.Ports[ports[i]].At(first).Instance}
	}
	activation := c.plan.Instances[p.Rows[0].Instance].Activation
	return c.intern(plan.Instance{Class: by.class.Name, Args: by.args, Kind: p.Kind, Path: p.Path, Parts: parts, Activation: activation, At: by.at})
}
