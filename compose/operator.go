package compose

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// operand is one input of an operator's call as it stands in the file.
type operand struct {
	word *syntax.Word // a name …
	lit  *plan.Value  // … or a number …
	expr *syntax.Expr // … or, of `constant`, an expression
	at   diag.Range
}

// gathered are a call's inputs by name, and a variadic input's members.
type gathered struct {
	by   map[string]operand
	rest []operand
}

// listItems gives a list's items as expressions, or nil where the input is no list.
func listItems(e *syntax.Expr) []*syntax.Expr {
	if e == nil || e.Node.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]*syntax.Expr, len(e.Node.Content))
	for i, n := range e.Node.Content {
		out[i] = &syntax.Expr{Node: source.Deref(n), File: e.File}
	}
	return out
}

func (c *composer) operandOf(e *syntax.Expr, owner string) (operand, bool) {
	n := e.Node
	if n.Kind != yaml.ScalarNode {
		c.list.Errorf("input-type", e.At(), "an input of %s is a name or a number; this is a %s", owner, source.KindName(n)).Helped("%s", innerInput(n))
		return operand{}, false
	}
	if v, isLit, bad := literal(n); isLit {
		if bad != "" {
			badNumber(c.list, e.At(), bad)
			return operand{}, false
		}
		p := v.Plan()
		return operand{lit: &p, at: e.At()}, true
	}
	return operand{word: &syntax.Word{Text: n.Value, At: e.At()}, at: e.At()}, true
}

// gather sorts a call's input and its keys into inputs and parameters.
func (c *composer) gather(call *syntax.Call, owner string, inputs []registry.Input, isParam func(string) bool, paramNames []string) (*gathered, []syntax.Arg, bool) {
	g := &gathered{by: map[string]operand{}}
	good := true
	names := make([]string, len(inputs))
	put := func(name string, o operand) {
		if first, twice := g.by[name]; twice {
			c.list.Errorf("input-twice", o.at, "the input %s of %s is given twice", name, owner).Because(first.at, "first here").Helped("leave out one; the names of a list are the inputs in order: [%s]", strings.Join(names, ", "))
			good = false
		}
		g.by[name] = o
	}
	find := map[string]bool{}
	for i, in := range inputs {
		names[i], find[in.Name] = in.Name, true
	}
	switch {
	case call.Input == nil:
	case call.Input.Node.Kind == yaml.MappingNode:
		n := call.Input.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := syntax.Word{Text: n.Content[i].Value, At: call.Input.File.Range(n.Content[i])}
			if !find[key.Text] {
				d := c.list.Errorf("unknown-input", key.At, "%s has no input %s", owner, key.Text)
				d.Among(key.Text, names, "inputs")
				good = false
				continue
			}
			o, ok := c.named(key, n.Content[i+1], call.Input.File, owner)
			good = good && ok
			put(key.Text, o)
		}
	default:
		items := listItems(call.Input)
		if items == nil {
			items = []*syntax.Expr{call.Input}
		}
		for i, item := range items {
			o, ok := c.operandOf(item, owner)
			if !ok {
				good = false
				continue
			}
			switch {
			case i < len(inputs) && !inputs[i].Variadic:
				put(inputs[i].Name, o)
			case len(inputs) > 0 && inputs[len(inputs)-1].Variadic:
				g.rest = append(g.rest, o)
			default:
				c.list.Errorf("too-many-inputs", item.At(), "%s takes %s; this list has %d", owner, count(len(inputs), "input"), len(items)).Helped("%s", tooMany(c.reg.Operator(owner), names, len(items)))
				return g, nil, false
			}
		}
	}
	var params []syntax.Arg
	for _, a := range call.Args {
		switch {
		case find[a.Name.Text]:
			var node *yaml.Node
			var file = fileOfArg(a, call)
			if a.Value != nil {
				node = a.Value.Node
			}
			o, ok := c.named(a.Name, node, file, owner)
			good = good && ok
			put(a.Name.Text, o)
		case isParam(a.Name.Text):
			params = append(params, a)
		default:
			d := c.list.Errorf("unknown-parameter", a.Name.At, "%s has no parameter %s", owner, a.Name.Text)
			noParameter(d, a.Name.Text, append(append([]string(nil), paramNames...), names...))
			good = false
		}
	}
	return g, params, good
}

// tooMany advises on a list of more names than inputs.
func tooMany(op *registry.Operator, inputs []string, given int) string {
	if op != nil && op.Each && len(inputs) > 0 {
		return fmt.Sprintf("of several names it makes one node each: name %d results before the colon", given)
	}
	return "inputs: " + strings.Join(inputs, ", ")
}

// sortedCall is what gather made of a call.
type sortedCall struct {
	inputs *gathered
	params []syntax.Arg
}

// gather sorts a call once for all the places where it stands: what it finds hangs on the text alone.
func (x *expansion) gather(call *syntax.Call, owner string, inputs func() []registry.Input, isParam func(string) bool, paramNames func() []string) (*gathered, []syntax.Arg, bool) {
	c := x.c
	if s := c.sorted[call]; s != nil {
		return s.inputs, s.params, true
	}
	g, params, ok := c.gather(call, owner, inputs(), isParam, paramNames())
	if ok {
		if c.sorted == nil {
			c.sorted = map[*syntax.Call]*sortedCall{}
		}
		c.sorted[call] = &sortedCall{g, params}
	}
	return g, params, ok
}

func fileOfArg(a syntax.Arg, call *syntax.Call) *source.File {
	if a.Value != nil {
		return a.Value.File
	}
	if call.Input != nil {
		return call.Input.File
	}
	return nil
}

// named is an input given by its name; without a value it takes what has its name.
func (c *composer) named(key syntax.Word, n *yaml.Node, file *source.File, owner string) (operand, bool) {
	n = source.Deref(n)
	if n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return operand{word: &syntax.Word{Text: key.Text, At: key.At}, at: key.At}, true
	}
	return c.operandOf(&syntax.Expr{Node: n, File: file}, owner)
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "one " + what
	}
	return plan.Value{Kind: plan.Int, Int: int64(n)}.Text() + " " + what + "s"
}

func (x *expansion) callOperator(p place, call *syntax.Call, op *registry.Operator, results int) []*value {
	if op.Name == "constant" && call.Input != nil { // of an expression; `like` is an input like others
		rest := *call
		rest.Input = nil
		g, params, ok := x.c.gather(&rest, op.Name, op.Inputs, func(n string) bool { return op.Param(n) != nil }, paramNames(op.Params))
		if !ok {
			return nil
		}
		g.by[op.Inputs[0].Name] = operand{expr: call.Input, at: call.Input.At()}
		return x.callOperatorWith(p, call, op, results, g, params, ok)
	}
	g, params, ok := x.gather(call, op.Name, func() []registry.Input { return op.Inputs }, func(n string) bool { return op.Param(n) != nil }, func() []string { return paramNames(op.Params) })
	return x.callOperatorWith(p, call, op, results, g, params, ok)
}

func paramNames(params []registry.Param) []string {
	out := make([]string, len(params))
	for i, p := range params {
		out[i] = p.Name
	}
	return out
}

func (x *expansion) callOperatorWith(p place, call *syntax.Call, op *registry.Operator, results int, g *gathered, params []syntax.Arg, good bool) []*value {
	c := x.c
	prefix, ok := x.path(p, call)
	good = good && ok
	args, ok := x.params(p, op.Params, params, op.Name, call)
	good = good && ok
	inf := &registry.Infer{Args: args}
	operands := make([]plan.Operand, 0, len(op.Inputs))
	inputAt := map[string]diag.Range{}
	add := func(in registry.Input, o operand, given bool) {
		a, od, ok := x.operand(p, prefix, op.Name, in, o, given)
		good = good && ok
		inf.Inputs = append(inf.Inputs, a...)
		operands = append(operands, od...)
	}
	for _, in := range op.Inputs {
		if in.Variadic {
			for _, o := range g.rest {
				add(in, o, true)
			}
			continue
		}
		o, given := g.by[in.Name]
		if given {
			inputAt[in.Name] = o.at
		}
		if !given && !in.Optional {
			missingInput(c.list.Errorf("missing-input", call.Callee.At, "%s takes an input %s, which is not given", op.Name, in.Name).In(prefix), op.Name, op.Inputs, in.Name)
			good = false
		}
		add(in, o, given)
	}
	state := -1
	switch {
	case call.State != nil && op.State == registry.NoState:
		c.list.Errorf("no-state", call.State.At, "%s has no state", op.Name).In(prefix).Helped("leave out the key `state`")
		good = false
	case call.State != nil:
		var decl *plan.State
		if state, decl = x.stateOf(p, *call.State); decl == nil {
			good = false
		}
		inf.State = decl
	case op.State == registry.RequiredState:
		c.list.Errorf("missing-state", call.Callee.At, "%s uses a state, and none is named", op.Name).In(prefix).Helped("write `state: name` of a declared state")
		good = false
	}
	if !good {
		return nil
	}
	tensors := map[int]int{} // operand -> tensor
	inf.Weight = func(input string, want shape.Shape, like dtype.Dtype) (plan.Type, error) {
		for i, in := range op.Inputs {
			if in.Name == input && g.by[input].word != nil && operands[i].Kind == plan.FromTensor {
				index := operands[i].Index
				t, err := c.weightTensor(index, want, like)
				if err != nil {
					return t, registry.Wrong(input, "%v", err)
				}
				x.trace.again(func(y *copying) bool {
					other, err := c.weightTensor(at(y.tensors, index), want, like)
					return err == nil && other.Dtype == t.Dtype
				})
				tensors[i] = index
				return t, nil
			}
			if in.Name == input {
				t := inf.Inputs[i].Type
				if !t.Shape.Equal(want) {
					return t, registry.Wrong(input, "%s, where %s is wanted", t.Shape, want)
				}
				return t, nil
			}
		}
		return plan.Type{}, nil
	}
	inf.Least = func(symbol string) int { lo, _ := bounds(x.answers, symbol); return lo }
	inf.Fresh = func(s *plan.State) shape.Dim { return shape.Sym(lengthOf(s.Path)) }
	readsState := state >= 0
	for _, o := range operands {
		readsState = readsState || o.Kind == plan.FromState
	}
	if !x.compilable(p, call, op.Name, readsState, args) {
		return nil
	}
	types, err := op.Infer(inf)
	if err != nil {
		d := x.inferError(call, op.Name, prefix, err, inputAt)
		if s := inf.State; s != nil && strings.Contains(d.Message, s.Path) {
			d.Because(s.At, "declared here")
		}
		return nil
	}
	if len(types) != results {
		c.list.Errorf("result-count", call.Range, "%s gives %s, and %d are named", op.Name, count(len(types), "result"), results).In(prefix).Helped("name %s before the colon", count(len(types), "result"))
		return nil
	}
	for i := range operands {
		if index, ok := tensors[i]; ok {
			operands[i].Index = index
			operands[i].Type = plan.Type{Dtype: c.plan.Tensors[index].Dtype, Shape: shape.Of(c.plan.Tensors[index].Shape...)}
		}
	}
	if op.Opens && !x.opensPlain(call, op, inf, prefix) {
		return nil
	}
	x.noteStateDtype(inf.State, inf)
	return x.emit(plan.Call{Operator: op.Name, Port: -1, Instance: -1, Args: args, In: operands, State: state, Group: p.group, Path: prefix, At: call.Range}, types)
}

func (x *expansion) emit(call plan.Call, types []plan.Type) []*value {
	out := make([]*value, len(types))
	for i, t := range types {
		r := x.slot(t)
		call.Out = append(call.Out, r.operand.Index)
		out[i] = known(r)
	}
	call.Types = types
	x.calls = push(x.calls, call)
	return out
}

// opensPlain holds an operator that takes a cache's arrays as they are to a cache that has them so.
func (x *expansion) opensPlain(call *syntax.Call, op *registry.Operator, inf *registry.Infer, prefix string) bool {
	s := inf.State
	if s == nil && len(inf.Inputs) > 0 {
		s = inf.Inputs[0].State
	}
	if s == nil {
		return true
	}
	if s.Scheme == "" {
		path := s.Path
		x.c.opened[path] = op.Name
		x.trace.again(func(y *copying) bool { x.c.opened[y.path(path)] = op.Name; return true })
		return true
	}
	x.c.list.Errorf("state-scheme", call.Callee.At, "%s takes the cache's arrays as they are; the request stores %s as %s", op.Name, s.Path, s.Stored()).In(prefix).
		Because(s.At, "declared here").Helped("only `attend` with `state: …` reads such a cache; compose this model with request.kv ''")
	return false
}

// noteStateDtype remembers the dtype that a cache holds: that of the first value written to it.
func (x *expansion) noteStateDtype(s *plan.State, inf *registry.Infer) {
	if s == nil || s.Kind != "cache" {
		return
	}
	for _, i := range []int{1, 0} {
		if a := inf.In(i); a.Given && a.Scalar == nil && a.State == nil {
			path, holds := s.Path, a.Type.Dtype
			x.c.stateDtype(path, holds)
			x.trace.again(func(y *copying) bool { x.c.stateDtype(y.path(path), holds); return true })
			return
		}
	}
}

func (x *expansion) inferError(call *syntax.Call, owner, prefix string, err error, inputAt map[string]diag.Range) *diag.Diagnostic {
	at, message, help, code := call.Range, err.Error(), "", "shape-mismatch"
	var arg *registry.ArgError
	if errors.As(err, &arg) {
		message, help = arg.Arg+": "+arg.Message, arg.Help
		if r, ok := inputAt[arg.Arg]; ok {
			at = r
		}
		if op := x.c.reg.Operator(owner); op != nil && op.Param(arg.Arg) != nil {
			code = "bad-argument"
		}
		if a := argNamed(call.Args, arg.Arg); a != nil {
			at = argRange(*a)
		}
	}
	d := x.c.list.Errorf(code, at, "%s: %s", owner, message).In(prefix)
	switch {
	case help != "":
		d.Helped("%s", help)
	case strings.Contains(message, "do not broadcast"):
		d.Helped("axes are laid together from the last; `- y: {expand_dims: x, axis: -1}` adds one of 1")
	}
	return d
}

// params evaluates a call's parameters by their declaration; defaults are filled in.
func (x *expansion) params(p place, decl []registry.Param, given []syntax.Arg, owner string, call *syntax.Call) (plan.Args, bool) {
	var out plan.Args
	good := true
	for _, d := range decl {
		arg := argNamed(given, d.Name)
		switch {
		case arg != nil:
			v, ok := p.argument(d.Type, *arg, owner)
			if ok && len(d.OneOf) > 0 && !containsString(d.OneOf, v.Text()) {
				dd := x.c.list.Errorf("bad-word", argRange(*arg), "%s's %s is %s, not %s", owner, d.Name, strings.Join(d.OneOf, ", "), v.Text())
				dd.Among(v.Text(), d.OneOf, "one of")
				ok = false
			}
			good = good && ok
			out = append(out, plan.Arg{Name: d.Name, Value: v})
		case d.Default != nil:
			out = append(out, plan.Arg{Name: d.Name, Value: *d.Default})
		case !d.Optional:
			missingParameter(x.c.list.Errorf("missing-parameter", call.Callee.At, "%s needs its parameter %s", owner, d.Name).In(p.prefix), d)
			good = false
		}
	}
	return out, good
}

// argNamed is the last argument of a name; nil: it is not given.
func argNamed(given []syntax.Arg, name string) *syntax.Arg {
	for i := len(given) - 1; i >= 0; i-- {
		if given[i].Name.Text == name {
			return &given[i]
		}
	}
	return nil
}

func argRange(a syntax.Arg) diag.Range {
	if a.Value != nil {
		return a.Value.At()
	}
	return a.Name.At
}

func containsString(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// operand resolves one input; a collected list stands for its members where the input is variadic.
func (x *expansion) operand(p place, prefix, owner string, in registry.Input, o operand, given bool) ([]registry.Arg, []plan.Operand, bool) {
	c := x.c
	nothing := func(ok bool) ([]registry.Arg, []plan.Operand, bool) {
		return []registry.Arg{{}}, []plan.Operand{{Kind: plan.FromNothing}}, ok
	}
	if !given {
		return nothing(true)
	}
	if o.expr != nil {
		v, ok := p.eval(o.expr)
		lit := v.Plan()
		return []registry.Arg{{Given: true, Scalar: &lit}}, []plan.Operand{{Kind: plan.FromScalar, Scalar: &lit}}, ok
	}
	if o.lit != nil {
		if in.Kind != registry.Value {
			c.list.Errorf("input-type", o.at, "the input %s of %s is no number", in.Name, owner).In(prefix).Helped("write a name: a value, a weight or a state")
			return nothing(false)
		}
		return []registry.Arg{{Given: true, Scalar: o.lit}}, []plan.Operand{{Kind: plan.FromScalar, Scalar: o.lit}}, true
	}
	if in.Kind == registry.State {
		index, decl := x.stateOf(p, *o.word)
		if decl == nil {
			return nothing(false)
		}
		return []registry.Arg{{Given: true, State: decl}}, []plan.Operand{{Kind: plan.FromState, Index: index}}, true
	}
	var r *result
	if in.Kind == registry.Weight && !p.inScope(o.word.Text) {
		index, ok := x.tensor(join(prefix, o.word.Text), o.at)
		if !ok {
			return nothing(false)
		}
		return []registry.Arg{{Given: true}}, []plan.Operand{{Kind: plan.FromTensor, Index: index}}, true
	}
	v, ok := x.input(p, *o.word)
	if !ok {
		return nothing(false)
	}
	if r = v.force(); r == nil {
		return nothing(false)
	}
	switch {
	case r.none && in.Optional:
		return nothing(true)
	case r.none:
		x.absentError(p, *o.word, owner, in.Name)
		return nothing(false)
	case r.list != nil && !in.Variadic:
		c.list.Errorf("input-type", o.at, "%s is a list of values; the input %s of %s is one", o.word.Text, in.Name, owner).In(prefix).Helped("an operator that takes many makes one of it, as in `- y: {stack: %s, axis: 0}`", o.word.Text)
		return nothing(false)
	case r.list != nil:
		var args []registry.Arg
		var ods []plan.Operand
		for _, m := range r.list {
			one := m.force()
			if one == nil || one.none {
				return nothing(false)
			}
			args, ods = append(args, registry.Arg{Given: true, Type: one.typ}), append(ods, one.operand)
		}
		return args, ods, true
	case in.Kind == registry.TypeOf:
		return []registry.Arg{{Given: true, Type: r.typ}}, []plan.Operand{{Kind: plan.FromNothing, Type: r.typ}}, true
	case r.operand.Kind == plan.FromScalar:
		return []registry.Arg{{Given: true, Scalar: r.operand.Scalar}}, []plan.Operand{r.operand}, true
	}
	od := r.operand
	od.Type = r.typ
	return []registry.Arg{{Given: true, Type: r.typ}}, []plan.Operand{od}, true
}

// inScope tells whether a name is one of the body's, so that a weight input does not take it for a tensor.
func (p place) inScope(name string) bool {
	return p.value(name) != nil || p.scalar(name) != nil || p.weight(name) != nil || p.mayGive(name)
}

func (x *expansion) absentError(p place, w syntax.Word, owner, input string) {
	d := x.c.list.Errorf("absent-value", w.At, "%s has no value at this line, and the input %s of %s needs one", w.Text, input, owner).In(p.prefix)
	for _, why := range p.why(w.Text) {
		d.Helped("the node that gives it is not there: %s", why)
	}
}
