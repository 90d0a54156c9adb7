package compose

import (
	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/registry"
)

// body checks declarations, then the lines in order. The caller has done the lets.
func (s *checker) body(b *body, d *syntax.Body) {
	s.declarations(b, d)
	s.lines(b, d)
}

func (s *checker) declarations(b *body, d *syntax.Body) {
	for i := range d.Ports {
		s.port(b, &d.Ports[i])
	}
	s.groups(d)
	for _, w := range d.Weights {
		s.declare(b, w.Name, aWeight, nil)
		s.shape(b, w.Dims, false)
		if w.When != nil {
			s.typed(b, w.When, "bool", "when")
		}
	}
	for i := range d.States {
		s.state(b, &d.States[i])
	}
}

func (s *checker) lines(b *body, d *syntax.Body) {
	// All results first: a name that some line gives is a name everywhere in the body.
	for i := range d.Nodes {
		n := &d.Nodes[i]
		for _, r := range n.Results {
			s.declare(b, r, aValue, nil)
		}
		if n.Call != nil {
			for _, c := range n.Call.Collect {
				s.declare(b, c.Name, aValue, nil)
			}
		}
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Alias != nil {
			s.use(b, *n.Alias)
			continue
		}
		s.call(b, n, n.Call)
	}
}

func (s *checker) port(b *body, p *syntax.Port) {
	s.declare(b, p.Name, aPort, nil)
	s.shape(b, p.Dims, false)
	s.template(b, p.At)
	s.template(b, p.Tied)
	for _, e := range []struct {
		e    *syntax.Expr
		typ  string
		what string
	}{{p.Bias, "bool", "bias"}, {p.Count, "int", "count"}, {p.WhenTied, "bool", "when_tied"}} {
		if e.e != nil {
			s.typed(b, e.e, e.typ, e.what)
		}
	}
	for _, a := range p.Activation {
		if a.When != nil {
			s.typed(b, a.When, "bool", "when")
		}
		op := s.c.reg.Operator(a.Name.Text)
		if op == nil {
			s.c.list.Errorf("unknown-activation", a.Name.At, "there is no operator %s", a.Name.Text).Among(a.Name.Text, s.c.activations(), "activations")
			continue
		}
		s.args(b, a.Args, func(name string) string {
			if p := op.Param(name); p != nil {
				return p.Type
			}
			return ""
		}, op.Name)
	}
}

func (s *checker) state(b *body, d *syntax.State) {
	s.declare(b, d.Name, aState, nil)
	s.shape(b, d.Dims, false)
	kind := s.c.reg.State(d.Kind.Text)
	if kind == nil {
		return
	}
	types := map[string]string{}
	for _, f := range kind.Fields {
		types[f.Name] = f.Type
	}
	for _, f := range d.Fields {
		if types[f.Name.Text] == "" {
			e := s.c.list.Errorf("unknown-key", f.Name.At, "a %s has no field %s", kind.Name, f.Name.Text)
			e.Among(f.Name.Text, paramNames(kind.Fields), "fields")
		}
	}
	s.args(b, d.Fields, func(name string) string { return types[name] }, "the state "+d.Name.Text)
}

// args checks arguments against their parameters' types; a type "" is an unknown name, reported elsewhere.
func (s *checker) args(b *body, args []syntax.Arg, typeOf func(string) string, owner string) {
	for _, a := range args {
		want := typeOf(a.Name.Text)
		switch {
		case want == "" || want == "any" && a.Value == nil:
			b.read(a.Name.Text)
		case a.Value != nil:
			s.typed(b, a.Value, want, owner+"'s parameter "+a.Name.Text)
		default:
			b.read(a.Name.Text)
			n := b.find(a.Name.Text)
			if n == nil || n.kind == aPort || n.kind == aState || n.kind == aWeight {
				d := s.c.list.Errorf("unknown-name", a.Name.At, "%s has no value here, and nothing in scope has its name", a.Name.Text)
				d.Helped("write `%s: value`, or declare %s", a.Name.Text, a.Name.Text)
			} else if n.typ != nil && n.typ != expr.Dyn {
				have := expr.TypeName(n.typ)
				if have != want && !(have == "int" && want == "float") && !(have == "ints" && (want == "floats" || want == "dims")) && have != "list" && have != "dyn" {
					s.c.list.Errorf("parameter-type", a.Name.At, "%s's parameter %s is of type %s; the %s %s is of type %s", owner, a.Name.Text, want, n.kind, a.Name.Text, have).Because(n.at, "declared here").
						Helped("write `%s: …`, an expression of type %s", a.Name.Text, want)
				}
			}
		}
	}
}

// use checks a name among inputs.
func (s *checker) use(b *body, w syntax.Word) {
	b.read(w.Text)
	n := b.find(w.Text)
	if n != nil && n.kind != aPort {
		return
	}
	d := s.c.list.Errorf("unknown-name", w.At, "%s is not a value, weight, state or number here", w.Text)
	if n != nil {
		d.Because(n.at, "it is a port: a port is called, not passed").Helped("call it on a line above, as in `- y: {%s: x}`, and name y here", w.Text)
		return
	}
	d.Among(w.Text, b.inputNames(), "names here")
	s.c.readFromConfig(d, w.Text)
}

func (s *checker) call(b *body, n *syntax.Node, call *syntax.Call) {
	for _, e := range []*syntax.Expr{call.When, call.Unless} {
		if e != nil && !s.ownIndex(b, call.Repeat, e) {
			s.typed(b, e, "bool", "a condition")
		}
	}
	inner := b
	if r := call.Repeat; r != nil {
		inner = newBody(b.doc, b)
		for _, e := range []*syntax.Expr{r.First, r.Stop} {
			if e != nil {
				s.typed(b, e, "int", "a bound of repeat")
			}
		}
		s.declare(inner, r.Index, anIndex, expr.Int)
		inner.names[r.Index.Text] = &staticName{kind: anIndex, typ: expr.Int, at: r.Index.At, read: true}
		for _, res := range n.Results { // carried: the next index reads them
			b.read(res.Text)
		}
	}
	s.template(inner, call.Path)
	for _, st := range call.States {
		s.template(inner, st.Path)
	}
	if call.State != nil {
		b.read(call.State.Text)
		if n := b.find(call.State.Text); n == nil || n.kind != aState {
			d := s.c.list.Errorf("unknown-state", call.State.At, "%s is not a state here", call.State.Text)
			var states []string
			for x := b; x != nil; x = x.outer {
				for name, v := range x.names {
					if v.kind == aState {
						states = append(states, name)
					}
				}
			}
			d.Among(call.State.Text, states, "states")
		}
	}
	if call.Anonymous != nil {
		s.anonymous(inner, n, call)
		return
	}
	for _, col := range call.Collect {
		if wordIndex(n.Results, col.Value.Text) < 0 {
			d := s.c.list.Errorf("missing-result", col.Value.At, "%s is no result of this call, so it cannot be collected", col.Value.Text)
			d.Among(col.Value.Text, wordTexts(n.Results), "its results")
		}
	}
	s.named(inner, call, len(n.Results))
}

// ownIndex reports a condition that asks the index of the repeat that it stands on.
func (s *checker) ownIndex(b *body, r *syntax.Repeat, e *syntax.Expr) bool {
	if r == nil || e.Node.Kind != yaml.ScalarNode || b.find(r.Index.Text) != nil || !containsString(s.c.ex.Names(e.Node.Value), r.Index.Text) {
		return false
	}
	s.c.list.Errorf("unknown-name", e.At(), "this condition is asked once, before the repeat: it cannot ask the index %s", r.Index.Text).
		Because(r.Index.At, "the index").Helped("to leave out some indices, put the condition on a line of the repeated body: `repeat: {%s: …}, nodes: [{…, when: …}]`", r.Index.Text)
	return true
}

func wordTexts(words []syntax.Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return out
}

func (s *checker) anonymous(b *body, n *syntax.Node, call *syntax.Call) {
	inner := newBody(b.doc, b)
	for _, r := range n.Results {
		inner.results[r.Text] = true
	}
	for _, c := range call.Collect {
		inner.results[c.Value.Text] = true
	}
	s.lets(inner, call.Anonymous.Let)
	gives := map[string]bool{}
	for i := range call.Anonymous.Nodes {
		for _, r := range call.Anonymous.Nodes[i].Results {
			gives[r.Text] = true
		}
	}
	s.body(inner, call.Anonymous)
	for _, r := range append(append([]syntax.Word(nil), n.Results...), collected(call)...) {
		if !gives[r.Text] {
			s.c.list.Errorf("missing-result", r.At, "no line of the body gives the result %s", r.Text).Among(r.Text, sortedKeys(gives), "it gives")
		}
	}
	s.unread(inner)
}

func collected(call *syntax.Call) []syntax.Word {
	var out []syntax.Word
	for _, c := range call.Collect {
		out = append(out, c.Value)
	}
	return out
}

// named checks a call of a port, an operator or a block.
func (s *checker) named(b *body, call *syntax.Call, results int) {
	c, name := s.c, call.Callee.Text
	if n := b.find(name); n != nil && n.kind == aPort {
		n.read = true
		s.callInputs(b, call, "the port "+name, nil, func(p string) string {
			if p == "transposed" {
				return "bool"
			}
			return ""
		}, portInputs(b, name))
		return
	}
	if op := c.reg.Operator(name); op != nil {
		if op.Name == "constant" {
			if call.Input != nil {
				s.typeOf(b, call.Input)
			}
			return
		}
		var items []registry.Input
		items = append(items, op.Inputs...)
		s.callInputs(b, call, name, paramNames(op.Params), func(p string) string {
			if d := op.Param(p); d != nil {
				return d.Type
			}
			return ""
		}, items)
		return
	}
	doc := c.lib.block(name, b.doc)
	if doc == nil {
		var ports []string
		for x := b; x != nil; x = x.outer {
			for n, v := range x.names {
				if v.kind == aPort {
					ports = append(ports, n)
				}
			}
		}
		if n := b.find(name); n != nil && n.kind != aPort {
			c.list.Errorf("unknown-callee", call.Callee.At, "%s is a %s, which cannot be called", name, n.kind).Because(n.at, "the %s", n.kind).
				Helped("a call's first key is a port, an operator or a block; another name of a value is written `- y: %s`", name)
		} else {
			c.unknownCallee(b.doc, call.Callee, ports)
		}
		s.readAll(b, call)
		return
	}
	inputs := make([]registry.Input, len(doc.In))
	for i, in := range doc.In {
		inputs[i] = registry.Input{Name: in.Name.Text, Optional: in.Optional}
	}
	s.callInputs(b, call, name, blockParams(doc), func(p string) string {
		if d := blockParam(doc, p); d != nil {
			return d.Type.Text
		}
		return ""
	}, inputs)
	if results > len(doc.Out) {
		c.list.Errorf("result-count", call.Callee.At, "%s gives %s, and %d are named", name, count(len(doc.Out), "result"), results).Because(doc.Name.At, "its results: %s", outNames(doc)).
			Helped("name %s before the colon", count(len(doc.Out), "result"))
	}
	if !s.recursion(doc, call) {
		s.document(doc)
	}
}

func portInputs(b *body, name string) []registry.Input {
	kind := ""
	for x := b; x != nil && kind == ""; x = x.outer {
		for _, d := range portSpecs(x, name) {
			kind = d
		}
	}
	k := port.Kinds[kind]
	if k == nil {
		return []registry.Input{{Name: "x"}}
	}
	out := make([]registry.Input, len(k.Inputs))
	for i, n := range k.Inputs {
		out[i] = registry.Input{Name: n}
	}
	return out
}

// portSpecs finds the kinds that a body's document declares under a name.
func portSpecs(b *body, name string) []string {
	if n := b.names[name]; n == nil || n.kind != aPort {
		return nil
	}
	var out []string
	var walk func(d *syntax.Body)
	walk = func(d *syntax.Body) {
		for i := range d.Ports {
			if d.Ports[i].Name.Text == name && d.Ports[i].Name.At == b.names[name].at {
				out = append(out, d.Ports[i].Kind.Text)
			}
		}
		for i := range d.Nodes {
			if call := d.Nodes[i].Call; call != nil && call.Anonymous != nil {
				walk(call.Anonymous)
			}
		}
	}
	walk(&b.doc.Body)
	return out
}

// callInputs sorts a call's keys and checks each.
func (s *checker) callInputs(b *body, call *syntax.Call, owner string, params []string, typeOf func(string) string, inputs []registry.Input) {
	for _, e := range s.others(call, owner) {
		if o, ok := s.c.operandOf(e, owner); ok && o.word != nil {
			s.use(b, *o.word)
		}
	}
	g, args, _ := s.c.gather(s.oneOf(call, owner), owner, inputs, func(n string) bool { return typeOf(n) != "" }, params)
	s.args(b, args, typeOf, owner)
	kinds := map[string]registry.InputKind{}
	for _, in := range inputs {
		kinds[in.Name] = in.Kind
	}
	for name, o := range g.by {
		if o.word == nil || kinds[name] == registry.Weight && b.find(o.word.Text) == nil {
			continue
		}
		s.use(b, *o.word)
	}
	for _, o := range g.rest {
		if o.word != nil {
			s.use(b, *o.word)
		}
	}
}

// oneOf is the call as it is for the first name, where `q, k: {op: [q, k]}` is one node per name.
func (s *checker) oneOf(call *syntax.Call, owner string) *syntax.Call {
	if s.others(call, owner) == nil {
		return call
	}
	one := *call
	one.Input = listItems(call.Input)[0]
	return &one
}

// others are the inputs of the further nodes of such a line.
func (s *checker) others(call *syntax.Call, owner string) []*syntax.Expr {
	op, items := s.c.reg.Operator(owner), listItems(call.Input)
	if op == nil || !op.Each || len(items) < 2 {
		return nil
	}
	return items[1:]
}

// readAll counts what a call that cannot be checked may read.
func (s *checker) readAll(b *body, call *syntax.Call) {
	if call.Input != nil {
		s.readsNode(b, call.Input.Node)
	}
	for _, a := range call.Args {
		b.read(a.Name.Text)
		if a.Value != nil {
			s.readsNode(b, a.Value.Node)
		}
	}
}
