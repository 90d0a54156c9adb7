package compose

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// partRoles are the parts of an mlp or of experts with their default names.
var partRoles = []struct{ role, key, name string }{{"gate_proj", "gate", "gate_proj"}, {"up_proj", "up", "up_proj"}, {"down_proj", "down", "down_proj"}}

// declared is what a port's declaration says, its expressions evaluated.
type declared struct {
	dims       []int
	bias       bool
	count      int    // of experts, of a multi_linear's matrices
	tied       string // of a head: the path of the weight that it shares; "": it has its own
	activation *plan.Activation
}

// same tells whether two evaluations of a declaration say the same.
func (d *declared) same(o *declared) bool {
	a, b := d.activation, o.activation
	return slices.Equal(d.dims, o.dims) && d.bias == o.bias && d.count == o.count && d.tied == o.tied &&
		(a == b || a != nil && b != nil && a.Operator == b.Operator && sameArgs(a.Args, b.Args))
}

// resolved is a port whose declaration is evaluated and whose class is bound.
type resolved struct {
	spec         *syntax.Port
	says         *declared
	first, index int // plan.Ports: of its parts, which stand before it, and its own
	in, out      int
	weights      []int // in the order of the parts
}

// callPort calls a port: its class is bound when it is first called.
func (x *expansion) callPort(p place, call *syntax.Call, d *portDecl, results int) []*value {
	c := x.c
	kind := port.Kinds[d.spec.Kind.Text]
	inputs := make([]registry.Input, len(kind.Inputs))
	for i, n := range kind.Inputs {
		inputs[i] = registry.Input{Name: n}
	}
	owner := "the port " + d.spec.Name.Text
	var known []string
	if kind.Transposed {
		known = []string{"transposed"}
	}
	g, params, good := x.gather(call, owner, func() []registry.Input { return inputs }, func(n string) bool { return containsString(known, n) }, func() []string { return known })
	if call.State != nil {
		c.list.Errorf("no-state", call.State.At, "a port has no state").In(p.prefix).Helped("leave out the key `state`")
		good = false
	}
	transposed := true
	for _, a := range params {
		v, ok := p.argument("bool", a, owner)
		good = good && ok
		transposed = v.Bool
	}
	var args []registry.Arg
	var operands []plan.Operand
	for _, in := range inputs {
		o, given := g.by[in.Name]
		if !given {
			missingInput(c.list.Errorf("missing-input", call.Callee.At, "%s takes an input %s, which is not given", owner, in.Name).Because(d.spec.Name.At, "declared here").In(p.prefix), call.Callee.Text, inputs, in.Name)
			good = false
			continue
		}
		a, od, ok := x.operand(p, p.prefix, owner, in, o, true)
		good = good && ok
		if ok && a[0].Scalar != nil {
			c.list.Errorf("input-type", o.at, "%s takes a value, not a number", owner).In(p.prefix).Helped("write the name of a value, as in `{%s: x}`", call.Callee.Text)
			good = false
		}
		args, operands = append(args, a...), append(operands, od...)
	}
	if results != 1 {
		c.list.Errorf("result-count", call.Range, "a port gives one result, and %d are named", results).In(p.prefix).Helped("name one, and take it apart with `split`")
		good = false
	}
	if !good || !x.compilable(p, call, owner, true, nil) {
		return nil
	}
	r, says, ok := x.resolvePort(d)
	if !ok {
		return nil
	}
	t, ok := x.portType(d, r, args, g, transposed)
	if !ok {
		return nil
	}
	c.noteInputs(r.index, args, &call.Range)
	x.trace.again(func(y *copying) bool {
		e := *d
		e.path = y.path(d.path)
		other, ok := c.portAgain(&e, says)
		if !ok || other.in != r.in || other.out != r.out || c.portDtype(other, args[0].Type.Dtype) != t.Dtype {
			return false
		}
		y.ports[r.index] = other.index
		c.noteInputs(other.index, args, &call.Range)
		if d.group != nil {
			c.groupAgain(d.group, y)
		}
		return true
	})
	pp := &c.plan.Ports[r.index]
	x.noteMember(d, operands[0], call.Range)
	var how plan.Args
	if !transposed {
		how = plan.Args{{Name: "transposed", Value: plan.Value{Kind: plan.Bool}}}
	}
	return x.emit(plan.Call{Port: r.index, Instance: pp.Rows[0].Instance, Args: how, In: operands, State: -1, Path: pp.Path, At: call.Range}, []plan.Type{t})
}

// portType is the type of a port's result, its input's last dim held to the declaration.
func (x *expansion) portType(d *portDecl, r *resolved, args []registry.Arg, g *gathered, transposed bool) (plan.Type, bool) {
	c, in := x.c, args[0].Type
	first := g.by[port.Kinds[d.spec.Kind.Text].Inputs[0]]
	if d.spec.Kind.Text == "embedding" {
		if !in.Dtype.IsInteger() {
			c.list.Errorf("dtype-mismatch", first.at, "an embedding takes rows by an integer index; this is %s", in.Dtype).In(d.path).Helped("an entry's tokens are int32 [B, T]; `- i: {astype: x, dtype: int32}` makes indices")
			return plan.Type{}, false
		}
		return plan.Type{Dtype: c.portDtype(r, in.Dtype), Shape: append(in.Shape.Clone(), shape.Int(r.out))}, true
	}
	want, out := r.in, r.out
	if !transposed {
		want, out = out, want
	}
	if len(in.Shape) == 0 || !in.Shape.Last().Equal(shape.Int(want)) {
		e := c.list.Errorf("shape-mismatch", first.at, "the port %s takes [..., %d]; this is %s", d.spec.Name.Text, want, in.Shape).Because(d.spec.Kind.At, "declared here").In(d.path)
		if len(in.Shape) > 0 && transposed {
			e.Helped("its declaration is %s: [%d, %d]; for this input it would be [%s, %d]", d.spec.Kind.Text, r.in, r.out, in.Shape.Last(), r.out)
		}
		return plan.Type{}, false
	}
	if !in.Dtype.IsFloat() {
		c.list.Errorf("dtype-mismatch", first.at, "the port %s takes a float dtype; this is %s", d.spec.Name.Text, in.Dtype).In(d.path).Helped("convert it, as in `- y: {astype: x, dtype: float32}`")
		return plan.Type{}, false
	}
	dims := in.Shape.With(len(in.Shape)-1, shape.Int(out))
	if d.spec.Kind.Text == "experts" {
		dims = append(args[1].Type.Shape.Clone(), shape.Int(out))
	}
	return plan.Type{Dtype: c.portDtype(r, in.Dtype), Shape: dims}, true
}

// noteInputs notes what a port's classes may ask of its inputs.
func (c *composer) noteInputs(port int, args []registry.Arg, at *diag.Range) {
	note := &c.notes[port]
	if in := args[0].Type.Shape; note.odd == nil && (len(in) < 2 || !in[0].Equal(shape.Sym("B")) || !in[1].Equal(shape.Sym("T"))) {
		note.odd = at
	}
	if len(args) > 1 { // of experts: the indices
		if k, ok := args[1].Type.Shape.Last().Known(); ok {
			note.topK = k
		}
	}
}

// resolvePort evaluates a declaration and binds the exact class, once per path; says is nil where that was done before.
func (x *expansion) resolvePort(d *portDecl) (r *resolved, says *declared, ok bool) {
	c, key := x.c, portKey{x.c.entry, d.path}
	x.trace.declared(d.at.frame, d.path)
	if r, ok := c.ports[key]; ok {
		return r, nil, r != nil
	}
	c.ports[key] = nil
	if says, ok = x.declaration(d); ok {
		r, ok = c.bindPort(d, says)
	}
	return r, says, ok
}

// portAgain binds a port like one that was bound before. Without that one's declaration it has to be there.
func (c *composer) portAgain(d *portDecl, says *declared) (*resolved, bool) {
	r, ok := c.ports[portKey{c.entry, d.path}]
	if !ok && says != nil {
		if r, ok = c.bindPort(d, says); !ok {
			c.ports[portKey{c.entry, d.path}] = nil
		}
	}
	return r, r != nil
}

// declaration evaluates what a port's declaration says.
func (x *expansion) declaration(d *portDecl) (*declared, bool) {
	c := x.c
	dims := make([]int, 0, 2)
	good := true
	for _, e := range d.spec.Dims {
		n, ok := d.at.integer(e, "a port's dim")
		good = good && ok
		if ok && n <= 0 {
			c.list.Errorf("port-dims", e.At(), "a port's dim is positive; this is %d%s", n, c.with(d.at, e)).In(d.path)
			good = false
		}
		dims = append(dims, n)
	}
	if want := port.Kinds[d.spec.Kind.Text].Dims; len(dims) != len(want) {
		c.list.Errorf("port-dims", d.spec.Kind.At, "a port of kind %s is declared [%s]; this has %s", d.spec.Kind.Text, strings.Join(want, ", "), count(len(dims), "dim")).In(d.path).
			Helped("write it as in `%s: {%s: [%s]}`", d.spec.Name.Text, d.spec.Kind.Text, strings.Join(want, ", "))
		return nil, false
	}
	says := &declared{dims: dims}
	if d.spec.Bias != nil {
		b, ok := d.at.truth(d.spec.Bias)
		good, says.bias = good && ok, b
	}
	if !good {
		return nil, false
	}
	switch kind := d.spec.Kind.Text; kind {
	case "mlp":
		says.activation, good = x.activation(d, dims[1])
	case "experts":
		if says.count, good = x.portCount(d); good {
			says.activation, good = x.activation(d, dims[1])
		}
	case "multi_linear":
		says.count, good = x.portCount(d)
	case "head":
		says.tied, good = x.tied(d)
	}
	return says, good
}

// tied is the path of the weight that a head shares; "": it has its own.
func (x *expansion) tied(d *portDecl) (string, bool) {
	if d.spec.Tied == nil {
		return "", true
	}
	if d.spec.WhenTied != nil {
		if tied, ok := d.at.truth(d.spec.WhenTied); !ok || !tied {
			return "", ok
		}
	}
	path, ok := d.at.template(d.spec.Tied)
	x.trace.takes(path)
	return path, ok
}

// bindPort binds the exact class of a port's weights.
func (c *composer) bindPort(d *portDecl, says *declared) (*resolved, bool) {
	if r := c.elsewhere(d, says); r != nil {
		return r, true
	}
	first := len(c.plan.Ports)
	var r *resolved
	var ok bool
	switch d.spec.Kind.Text {
	case "mlp":
		r, ok = c.bindMLP(d, says)
	case "experts":
		r, ok = c.bindExperts(d, says)
	default:
		r, ok = c.bindSingle(d, says)
	}
	if ok {
		r.spec, r.says, r.first = d.spec, says, first
		c.ports[portKey{c.entry, d.path}] = r
	}
	return r, ok
}

// elsewhere binds a port as the one of that path in another entry, if what is declared there is the same.
func (c *composer) elsewhere(d *portDecl, says *declared) *resolved {
	for _, entry := range c.offeredEntries {
		other := c.ports[portKey{entry, d.path}]
		if other == nil || other.spec.Name != d.spec.Name || !other.says.same(says) {
			continue
		}
		r, moved := *other, len(c.plan.Ports)-other.first
		r.first, r.index = r.first+moved, r.index+moved
		for i := other.first; i <= other.index; i++ {
			p := c.plan.Ports[i]
			p.Entry = c.entry
			c.plan.Ports, c.notes = push(c.plan.Ports, p), push(c.notes, portNote{second: c.notes[i].second, parts: c.notes[i].parts + moved, twin: i})
		}
		c.ports[portKey{c.entry, d.path}] = &r
		return &r
	}
	return nil
}

// bindSingle binds a port of one weight.
func (c *composer) bindSingle(d *portDecl, says *declared) (*resolved, bool) {
	kind, dims := d.spec.Kind.Text, says.dims
	in, out := dims[0], dims[1]
	if kind == "embedding" {
		in, out = out, in // the table is [rows, width]: width inputs
	}
	var lead []int
	if kind == "multi_linear" {
		lead = []int{says.count}
	}
	w, ok := c.weightOf(or(says.tied, d.path), in, out, says.bias, lead, d.spec.Name.At)
	if !ok {
		return nil, false
	}
	instance, ok := c.exactInstance(kind, d.path, []plan.RoleWeight{{Role: "weight", Weight: w}}, d.spec.Name.At)
	if !ok {
		return nil, false
	}
	if kind == "embedding" {
		in, out = out, in
	}
	index := c.addPort(d, dims, []int{w}, []string{"weight"}, instance)
	return &resolved{index: index, in: in, out: out, weights: c.plan.Ports[index].Weights}, true
}

func (x *expansion) portCount(d *portDecl) (int, bool) {
	if d.spec.Count == nil {
		x.c.list.Errorf("missing-key", d.spec.Kind.At, "this port of kind %s has no key count", d.spec.Kind.Text).In(d.path).Helped("write `count: n`, the number of its matrices")
		return 0, false
	}
	return d.at.integer(d.spec.Count, "count")
}

// partNames are the tensors of an mlp's parts in the order of partRoles, and the one that holds gate and up: these have then
// none of their own.
func partNames(spec *syntax.Port) (names [3]string, fused string) {
	for i, p := range partRoles {
		names[i] = p.name
	}
	for _, given := range spec.Parts {
		if given.Role.Text == "gate_up" {
			fused = given.Name.Text
		}
		for i, p := range partRoles {
			if p.key == given.Role.Text && given.Name.Text != "" {
				names[i] = given.Name.Text
			}
		}
	}
	if fused != "" {
		names[0], names[1] = "", ""
	}
	return names, fused
}

// bindMLP binds the parts, each a linear port of its own, and the form over them.
func (c *composer) bindMLP(d *portDecl, says *declared) (*resolved, bool) {
	in, width := says.dims[0], says.dims[1]
	names, fused := partNames(d.spec)
	first := len(c.plan.Ports)
	var parts []plan.RolePart
	var weights []int
	part := func(role, name string, kind string, in, out int) bool {
		w, ok := c.weightOf(join(d.path, name), in, out, says.bias, nil, d.spec.Name.At)
		if !ok {
			return false
		}
		instance, ok := c.exactInstance("linear", d.path+"."+role, []plan.RoleWeight{{Role: "weight", Weight: w}}, d.spec.Name.At)
		if !ok {
			return false
		}
		weights = append(weights, w)
		parts = append(parts, plan.RolePart{Role: role, Instance: instance})
		c.pushPort(plan.Port{Path: d.path + "." + role, Kind: kind, Dims: []int{in, out}, Weights: []int{w}, Roles: []string{"weight"}, Place: d.spec.Name.At}, instance)
		c.notes[len(c.plan.Ports)-1].second = d.path + "." + name
		return true
	}
	good := true
	if fused != "" {
		good = part("gate_up", fused, "gate_up", in, 2*width)
	}
	for i, p := range partRoles {
		if names[i] == "" {
			continue
		}
		from, to := in, width
		if p.role == "down_proj" {
			from, to = width, in
		}
		good = part(p.role, names[i], "linear", from, to) && good
	}
	if !good {
		return nil, false
	}
	form := c.reg.ExactClass("mlp", "parts")
	if form == nil {
		c.list.Errorf("no-class", d.spec.Kind.At, "no exact class fills a port of kind mlp").In(d.path)
		return nil, false
	}
	instance := c.intern(plan.Instance{Class: form.Name, Kind: "mlp", Path: d.path, Parts: parts, Activation: says.activation, At: d.spec.Name.At})
	roles := make([]string, len(parts))
	for i, p := range parts {
		roles[i] = p.Role
	}
	if fused == "" {
		if !c.pairPort(d, in, width, parts, weights, says.activation) {
			return nil, false
		}
		c.notes[len(c.notes)-1].parts = first
	}
	index := c.addPort(d, says.dims, weights, roles, instance)
	c.notes[index].parts = first
	return &resolved{index: index, in: in, out: in, weights: weights}, true
}

// bindExperts binds the three stacked weights to the exact class of their storage.
func (c *composer) bindExperts(d *portDecl, says *declared) (*resolved, bool) {
	dims := says.dims
	names, fused := partNames(d.spec)
	var roles []plan.RoleWeight
	var weights []int
	add := func(role, name string, in, out int) bool {
		w, ok := c.weightOf(join(d.path, name), in, out, says.bias, []int{says.count}, d.spec.Name.At)
		roles, weights = append(roles, plan.RoleWeight{Role: role, Weight: w}), append(weights, w)
		return ok
	}
	good := true
	if fused != "" {
		good = add("gate_up", fused, dims[0], 2*dims[1])
	}
	for i, p := range partRoles {
		if names[i] == "" {
			continue
		}
		from, to := dims[0], dims[1]
		if p.role == "down_proj" {
			from, to = to, from
		}
		good = add(p.role, names[i], from, to) && good
	}
	if !good {
		return nil, false
	}
	instance, ok := c.exactInstance("experts", d.path, roles, d.spec.Name.At)
	if !ok {
		return nil, false
	}
	c.plan.Instances[instance].Activation = says.activation
	held := make([]string, len(roles))
	for i, r := range roles {
		held[i] = r.Role
	}
	index := c.addPort(d, dims, weights, held, instance)
	return &resolved{index: index, in: dims[0], out: dims[0], weights: weights}, true
}

// activation chooses the operator between gate and up.
func (x *expansion) activation(d *portDecl, width int) (*plan.Activation, bool) {
	c := x.c
	for _, a := range d.spec.Activation {
		if a.When != nil {
			is, ok := d.at.truth(a.When)
			if !ok {
				return nil, false
			}
			if !is {
				continue
			}
		}
		op := c.reg.Operator(a.Name.Text)
		if op == nil {
			c.list.Errorf("unknown-activation", a.Name.At, "there is no operator %s", a.Name.Text).In(d.path).Among(a.Name.Text, c.activations(), "activations")
			return nil, false
		}
		if n := required(op); n != 1 && n != 2 || op.State == registry.RequiredState {
			c.list.Errorf("unknown-activation", a.Name.At, "%s cannot be an activation: that takes gate, or gate and up", a.Name.Text).In(d.path).Helped("%s", diag.Listed(a.Name.Text, c.activations(), "activations"))
			return nil, false
		}
		for _, arg := range a.Args {
			if op.Param(arg.Name.Text) == nil {
				e := c.list.Errorf("unknown-parameter", arg.Name.At, "%s has no parameter %s", op.Name, arg.Name.Text).In(d.path)
				noParameter(e, arg.Name.Text, paramNames(op.Params))
				return nil, false
			}
		}
		args, ok := x.params(d.at, op.Params, a.Args, op.Name, &syntax.Call{Callee: a.Name})
		return &plan.Activation{Operator: op.Name, Args: args}, ok
	}
	c.list.Errorf("missing-key", d.spec.Kind.At, "the port %s has no activation that holds", d.spec.Name.Text).In(d.path).Helped("write `activation: swiglu`")
	return nil, false
}

func required(op *registry.Operator) int {
	n := 0
	for _, in := range op.Inputs {
		if !in.Optional {
			n++
		}
	}
	return n
}

// pairPort is the gate and up of an mlp as one port, activation included.
func (c *composer) pairPort(d *portDecl, in, width int, parts []plan.RolePart, weights []int, act *plan.Activation) bool {
	form := c.reg.ExactClass("gate_up", "parts")
	if form == nil {
		c.list.Errorf("no-class", d.spec.Kind.At, "no exact class fills a port of kind gate_up").In(d.path)
		return false
	}
	instance := c.intern(plan.Instance{Class: form.Name, Kind: "gate_up", Path: d.path + ".gate_up", Parts: parts[:2], Activation: act, At: d.spec.Name.At})
	c.pushPort(plan.Port{Path: d.path + ".gate_up", Kind: "gate_up", Dims: []int{in, width}, Weights: weights[:2], Roles: []string{"gate_proj", "up_proj"}, Place: d.spec.Name.At}, instance)
	return true
}

func (c *composer) addPort(d *portDecl, dims, weights []int, roles []string, instance int) int {
	return c.pushPort(plan.Port{Path: d.path, Kind: d.spec.Kind.Text, Dims: dims, Weights: weights, Roles: roles, Place: d.spec.Name.At}, instance)
}

// pushPort adds a port that the exact class fills at every row count; bind lines change that later.
func (c *composer) pushPort(p plan.Port, instance int) int {
	p.Entry = c.entry
	p.Rows = []plan.RowClass{{First: 1, Instance: instance, Exact: true, Adapted: -1}}
	c.plan.Ports, c.notes = push(c.plan.Ports, p), push(c.notes, portNote{parts: len(c.plan.Ports), twin: -1})
	return len(c.plan.Ports) - 1
}

// exactInstance binds the exact class of the weights' storage.
func (c *composer) exactInstance(kind, path string, roles []plan.RoleWeight, at diag.Range) (int, bool) {
	key := exactKey{kind: kind, roles: len(roles)}
	for i, r := range roles {
		key.facts[i] = c.facts[r.Weight]
	}
	if class := c.exact[key]; class != nil { // it took such weights before
		return c.intern(plan.Instance{Class: class.Name, Kind: kind, Path: path, Weights: roles, At: at}), true
	}
	facts := map[string]plan.Facts{}
	for _, r := range roles {
		facts[r.Role] = c.plan.Weights[r.Weight].Facts
	}
	storage := c.plan.Weights[roles[0].Weight].Facts.Storage
	class := c.reg.ExactClass(kind, storage)
	if class == nil {
		c.list.Errorf("no-class", at, "no exact class fills a port of kind %s with %s weights", kind, storage).In(path).Helped("%s", diag.Listed("", c.fitting(kind), "classes of such ports"))
		return -1, false
	}
	if err := class.Accept(kind, facts); err != nil {
		d := c.list.Errorf("class-refuses", at, "%s does not take %s: %v", class.Name, path, err).In(path)
		for _, r := range roles {
			if t := c.plan.Tensors[c.plan.Weights[r.Weight].Tensor]; t.Recipe != nil {
				d.Helped("%s%s", t.Name, storedIn(t))
			}
		}
		return -1, false
	}
	c.exact[key] = class
	return c.intern(plan.Instance{Class: class.Name, Kind: kind, Path: path, Weights: roles, At: at}), true
}

// exactKey is what chooses an exact class. The numbers of the facts stand in the order of the roles, which follow from the kind.
type exactKey struct {
	kind  string
	roles int
	facts [3]int
}

// intern keeps one instance of the same class, parameters, weights and parts. Where no program is made, nothing asks whose
// weights they are, and one stands for all.
func (c *composer) intern(in plan.Instance) int {
	room := make([]byte, 0, 128)
	key := appendArgs(append(append(append(room, in.Class...), 0), in.Kind...), in.Args)
	number := func(of int) {
		if !c.uncalled() {
			key = strconv.AppendInt(key, int64(of), 10)
		}
	}
	for _, w := range in.Weights {
		key = append(append(key, "\x00w"...), w.Role...)
		number(w.Weight)
	}
	for _, p := range in.Parts {
		key = append(append(key, "\x00p"...), p.Role...)
		number(p.Instance)
	}
	if in.Activation != nil {
		key = appendArgs(append(append(key, "\x00a"...), in.Activation.Operator...), in.Activation.Args)
	}
	if i, ok := c.instances[string(key)]; ok {
		return i
	}
	c.plan.Instances = push(c.plan.Instances, in)
	c.instances[string(key)] = len(c.plan.Instances) - 1
	return len(c.plan.Instances) - 1
}

func appendArgs(key []byte, args plan.Args) []byte {
	if len(args) == 0 {
		return key
	}
	return append(append(key, 0), showArgs(args)...)
}

// portDtype is the dtype of a port's result. Of an mlp or of experts it is what the last weight, down, makes of the promoted
// dtypes of the others.
func (c *composer) portDtype(r *resolved, x dtype.Dtype) dtype.Dtype {
	w := &c.plan.Weights[r.weights[0]]
	if r.spec.Kind.Text == "embedding" {
		if w.Facts.Storage == "affine" && w.Facts.Mode != "affine" { // the modes' rows are bfloat16
			return dtype.Bfloat16
		}
		return w.Facts.Dtype
	}
	last := len(r.weights) - 1
	if last == 0 {
		return c.productDtype(w, x)
	}
	bent := c.productDtype(w, x)
	for _, i := range r.weights[1:last] {
		bent = dtype.Promote(bent, c.productDtype(&c.plan.Weights[i], x))
	}
	return c.productDtype(&c.plan.Weights[r.weights[last]], bent)
}

// productDtype is the dtype that a weight's product has: MLX's promotion of the input with a dense weight or with affine
// scales; the other modes and trellis codes keep the input's.
func (c *composer) productDtype(w *plan.Weight, x dtype.Dtype) dtype.Dtype {
	if w.Facts.Storage == "dense" || w.Facts.Mode == "affine" {
		x = dtype.Promote(x, w.Facts.Dtype)
	}
	if w.Bias >= 0 {
		x = dtype.Promote(x, c.plan.Tensors[w.Bias].Dtype)
	}
	return x
}

// push appends to a list that grows long: it doubles, where append would copy it over and over.
func push[T any](list []T, item T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(len(list), 8))
	}
	return append(list, item)
}

func sortedKeys[T any](m map[string]T) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
