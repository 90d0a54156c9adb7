package compose

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
)

// expansion turns one entry into a flat list of calls, from the asked outputs backwards: a node is expanded when
// something needs it, its inputs first.
type expansion struct {
	c       *composer
	answers []answer // to guards
	calls   []plan.Call
	slots   int
	dropped []plan.Dropped
	groups  []plan.Group
	grouped []*groupDecl // of which a member is called
	later   []deferred
	layers  int // indices of the outermost repeat
	depth   int
	keeps   map[string]bool // states that it has to write
	trace   *trace          // of the layer that is expanded, where that is noted
	// uncalled tells that nothing asks for the calls, as long as the answers to no guard make it one of several expansions.
	uncalled bool
}

// answer is a comparison that the expansion takes for true or false.
type answer struct {
	on    expr.Comparison
	value bool
}

// undecided stops an expansion at a comparison that its answers do not decide. It never leaves the package.
type undecided struct {
	on expr.Comparison
	at diag.Range
}

// maxDepth bounds calls inside calls; a repeat of many layers counts each as one.
const maxDepth = 4096

// value is a result that is expanded at its first use.
type value struct {
	make   func() *result
	peek   func() *value // of a block's or body's result: what it is there, found without expanding it
	out    *result
	done   bool
	busy   bool
	absent bool // known to be without a value, without expanding it
}

// result is what a value turned out to be; nil stands for a failure that is reported.
type result struct {
	operand plan.Operand
	typ     plan.Type
	list    []*value // a collected list
	none    bool
}

func (r *result) absent() bool { return r.none }

func known(r *result) *value { return &value{out: r, done: true, absent: r != nil && r.none} }

func absentValue() *value { return known(&result{none: true}) }

func (v *value) isAbsent() bool { return v.absent || v.done && v.out != nil && v.out.none }

// none tells whether a value turns out to be absent. The bodies that would give it are opened for that, and no operator
// or port of them.
func (v *value) none() bool {
	for v != nil && !v.done && !v.absent && v.peek != nil {
		v = v.peek()
	}
	return v != nil && v.isAbsent()
}

func (v *value) force() *result {
	if !v.done {
		if v.busy {
			return nil // it needs itself: the static pass has reported it
		}
		v.busy = true
		v.out = v.make()
		v.done, v.busy, v.make, v.peek = true, false, nil, nil
	}
	return v.out
}

// nodes adds a body's lines to a place.
func (x *expansion) nodes(p place, nodes []syntax.Node) (place, bool) {
	good := true
	for i := range nodes {
		for _, r := range nodes[i].Results {
			p.gives[r.Text] = true
		}
		if call := nodes[i].Call; call != nil {
			for _, col := range call.Collect {
				p.gives[col.Name.Text] = true
			}
		}
	}
	for i := range nodes {
		var ok bool
		p, ok = x.node(p, &nodes[i])
		good = good && ok
	}
	return p, good
}

func (x *expansion) node(p place, n *syntax.Node) (place, bool) {
	if n.Alias != nil {
		v, ok := x.input(p, *n.Alias)
		if !ok {
			v = known(nil)
		}
		return p.bind(n.Results[0].Text, v), ok
	}
	call := n.Call
	is, why, ok := p.there(call)
	if !ok {
		for _, r := range n.Results {
			p = p.bind(r.Text, known(nil))
		}
		return p, false
	}
	if !is {
		x.drop(p, n, why)
		return p, true
	}
	here := p
	if op := x.c.reg.Operator(call.Callee.Text); op != nil && op.Each && len(n.Results) > 1 && call.Repeat == nil && here.port(call.Callee.Text) == nil {
		if inputs := listItems(call.Input); len(inputs) == len(n.Results) {
			for i, single := range x.c.singles(n, inputs) {
				p = p.bind(n.Results[i].Text, x.results(here, single, single.Call, 1)[0])
			}
			return p, true
		}
	}
	values := x.results(here, n, call, len(n.Results)+len(call.Collect))
	for i, r := range n.Results {
		p = p.bind(r.Text, values[i])
	}
	for i, col := range call.Collect {
		p = p.bind(col.Name.Text, values[len(n.Results)+i])
	}
	return p, true
}

// singles are the nodes that a line `q, k: {op: [q, k]}` stands for, one per name.
func (c *composer) singles(n *syntax.Node, inputs []*syntax.Expr) []*syntax.Node {
	if s := c.apart[n]; s != nil {
		return s
	}
	out := make([]*syntax.Node, len(inputs))
	for i := range inputs {
		one := *n.Call
		one.Input = inputs[i]
		out[i] = &syntax.Node{Results: n.Results[i : i+1], Call: &one, At: n.At}
	}
	if c.apart == nil {
		c.apart = map[*syntax.Node][]*syntax.Node{}
	}
	c.apart[n] = out
	return out
}

func (x *expansion) drop(p place, n *syntax.Node, why string) {
	var names []string
	for _, r := range n.Results {
		names = append(names, r.Text)
		p.dropped[r.Text] = append(p.dropped[r.Text], fmt.Sprintf("line %d (%s)", n.At.Line, why))
	}
	x.dropped = append(x.dropped, plan.Dropped{Path: p.prefix, What: strings.Join(names, ", "), Why: why, At: n.At})
}

// results are lazy: the call is expanded when the first of them is needed.
func (x *expansion) results(p place, n *syntax.Node, call *syntax.Call, count int) []*value {
	var done []*value
	ran := false
	run := func() []*value {
		if !ran {
			ran = true
			if call.Repeat != nil {
				done = x.repeat(p, n, call)
			} else {
				done = x.invoke(p, call, len(n.Results), n.Results)
			}
		}
		return done
	}
	x.remember(p, call, run)
	return lazily(count, x.opens(p, call), run)
}

// opens tells whether a call's results are those of a body, which may leave some of them without a value.
func (x *expansion) opens(p place, call *syntax.Call) bool {
	return call.Repeat != nil || call.Anonymous != nil || p.port(call.Callee.Text) == nil && x.c.reg.Operator(call.Callee.Text) == nil
}

// lazily are values that run gives when the first of them is needed.
func lazily(count int, opens bool, run func() []*value) []*value {
	out := make([]*value, count)
	for i := range out {
		one := func() *value {
			if all := run(); i < len(all) {
				return all[i]
			}
			return nil
		}
		out[i] = &value{make: func() *result {
			if v := one(); v != nil {
				return v.force()
			}
			return nil
		}}
		if opens {
			out[i].peek = one
		}
	}
	return out
}

// repeat runs the call for each index; the results' names are carried.
func (x *expansion) repeat(p place, n *syntax.Node, call *syntax.Call) []*value {
	first, stop := 0, 0
	ok := true
	if call.Repeat.First != nil {
		first, ok = p.integer(call.Repeat.First, "the first index")
	}
	stop, good := p.integer(call.Repeat.Stop, "the number of repeats")
	if !ok || !good {
		return nil
	}
	if first < 0 || stop < first {
		x.c.list.Errorf("bad-repeat", call.Repeat.Stop.At(), "a repeat from %d to %d", first, stop).In(p.prefix).Helped("a repeat goes up from its first index, 0 or more, to the one before stop: [first, stop]")
		return nil
	}
	if stop-first > maxRepeat {
		x.c.list.Errorf("bad-repeat", call.Repeat.Stop.At(), "%d repeats; a graph may have %d", stop-first, maxRepeat).In(p.prefix)
		return nil
	}
	if p.outer == nil && p.prefix == "" {
		x.layers = max(x.layers, stop)
	}
	names := append([]syntax.Word(nil), n.Results...)
	if call.Anonymous != nil { // another call's collected values are among its results
		for _, col := range call.Collect {
			names = append(names, col.Value)
		}
	}
	carried := make([]*value, len(n.Results))
	for i, r := range n.Results {
		if carried[i] = p.value(r.Text); carried[i] == nil {
			carried[i] = absentValue()
		}
	}
	if first < stop && x.inOrder(p, n, call) {
		l := &layers{x: x, p: p, call: call, name: n.Results[0], first: first, stop: stop, before: carried[0]}
		return l.results(len(call.Collect))
	}
	taps := make([][]*value, len(call.Collect))
	for i := first; i < stop; i++ {
		inner := x.indexed(p, call, i)
		for k, r := range n.Results {
			inner = inner.bind(r.Text, carried[k])
		}
		one := x.lazy(inner, call, names)
		copy(carried, one[:len(n.Results)])
		for k, col := range call.Collect {
			tap := len(n.Results) + k
			if call.Anonymous == nil {
				tap = wordIndex(n.Results, col.Value.Text)
			}
			if tap >= 0 {
				taps[k] = append(taps[k], one[tap])
			}
		}
	}
	for _, t := range taps {
		carried = append(carried, known(&result{list: t}))
	}
	return carried
}

// indexed is the place of one index of a repeat.
func (x *expansion) indexed(p place, call *syntax.Call, i int) place {
	f := newFrame(x, p.doc, p.frame, p.prefix)
	f.scalars[call.Repeat.Index.Text] = &scalar{value: expr.Of(i), at: call.Repeat.Index.At}
	return place{f, p.values}
}

func wordIndex(words []syntax.Word, text string) int {
	for i, w := range words {
		if w.Text == text {
			return i
		}
	}
	return -1
}

// maxRepeat bounds one repeat; the largest models have a few hundred layers.
const maxRepeat = 2048

// lazy is one index of a repeat: invoked when one of its results is needed.
func (x *expansion) lazy(p place, call *syntax.Call, names []syntax.Word) []*value {
	var done []*value
	ran := false
	run := func() []*value {
		if !ran {
			ran = true
			done = x.invoke(p, call, len(names), names)
		}
		return done
	}
	x.remember(p, call, run)
	return lazily(len(names), x.opens(p, call), run)
}

// invoke expands one call and gives its results.
func (x *expansion) invoke(p place, call *syntax.Call, count int, names []syntax.Word) []*value {
	if x.depth++; x.depth > maxDepth {
		x.c.list.Errorf("too-deep", call.Range, "more than %d calls inside one another", maxDepth)
		return nil
	}
	defer func() { x.depth-- }()
	if call.Anonymous != nil {
		return x.anonymous(p, call, names)
	}
	name := call.Callee.Text
	if port := p.port(name); port != nil {
		return x.callPort(p, call, port, count)
	}
	if op := x.c.reg.Operator(name); op != nil {
		return x.callOperator(p, call, op, count)
	}
	if block := x.c.lib.block(name, p.doc); block != nil {
		return x.callBlock(p, call, block, names)
	}
	x.c.unknownCallee(p.doc, call.Callee, portNames(p.frame))
	return nil
}

func (x *expansion) anonymous(p place, call *syntax.Call, names []syntax.Word) []*value {
	prefix, ok := x.path(p, call)
	if !ok {
		return nil
	}
	f := newFrame(x, p.doc, p.frame, prefix)
	body := place{f, p.values}
	if !x.declare(body, call.Anonymous) {
		return nil
	}
	body, _ = x.nodes(body, call.Anonymous.Nodes)
	out := make([]*value, len(names))
	for i, n := range names {
		if out[i] = body.value(n.Text); out[i] == nil {
			out[i] = absentValue()
		}
	}
	return out
}

// path is the prefix of what a call declares.
func (x *expansion) path(p place, call *syntax.Call) (string, bool) {
	if call.Path == nil {
		return p.prefix, true
	}
	if t := x.trace; t != nil && t.call == call {
		return t.prefix, true
	}
	text, ok := p.template(call.Path)
	return join(p.prefix, text), ok
}

// declare makes a body's lets, ports, weights and states known at a place.
func (x *expansion) declare(p place, b *syntax.Body) bool {
	if !p.declareLets(b.Let) {
		return false
	}
	good := true
	for i := range b.Ports {
		spec := &b.Ports[i]
		d := &portDecl{spec: spec, at: p, path: join(p.prefix, spec.Name.Text)}
		if spec.At != nil {
			text, ok := p.template(spec.At)
			good = good && ok
			d.path = join(p.prefix, text)
		}
		p.ports[spec.Name.Text] = d
	}
	x.declareGroups(p, b.Groups)
	for i := range b.Weights {
		spec := &b.Weights[i]
		p.weights[spec.Name.Text] = &weightDecl{spec, p, join(p.prefix, spec.Name.Text)}
	}
	for i := range b.States {
		spec := &b.States[i]
		d := &stateDecl{spec, p, join(p.prefix, spec.Name.Text)}
		if given := p.states[spec.Name.Text]; given != nil {
			d.path = given.path // mapped by the caller
		}
		p.states[spec.Name.Text] = d
	}
	return good
}

// input resolves a name among inputs: a value, a weight, a numeric scalar, a state, or nothing where it is absent.
func (x *expansion) input(p place, w syntax.Word) (*value, bool) {
	if v := p.value(w.Text); v != nil {
		return v, true
	}
	if s := p.scalar(w.Text); s != nil {
		return x.scalarInput(p, s, w)
	}
	if d := p.weight(w.Text); d != nil {
		return &value{make: func() *result { return x.declaredWeight(d, w.At) }}, true
	}
	if d := p.state(w.Text); d != nil {
		return &value{make: func() *result { return x.stateOperand(d) }}, true
	}
	if p.mayGive(w.Text) {
		return absentValue(), true
	}
	x.c.unknownInput(p, w)
	return nil, false
}

func (x *expansion) scalarInput(p place, s *scalar, w syntax.Word) (*value, bool) {
	x.trace.hands(s)
	v := s.value.Plan()
	if v.Kind != plan.Int && v.Kind != plan.Float && v.Kind != plan.Bool {
		x.c.list.Errorf("input-type", w.At, "%s is a %s; among inputs a name is a value, a weight, a state or a number", w.Text, expr.TypeName(s.value.Type)).In(p.prefix).
			Helped("`constant` makes a value of an expression, as in `- y: {constant: %s, dtype: float32}`", w.Text)
		return nil, false
	}
	return known(scalarResult(v)), true
}

func scalarResult(v plan.Value) *result {
	return &result{operand: plan.Operand{Kind: plan.FromScalar, Scalar: &v}}
}

// slot makes a new value of the program.
func (x *expansion) slot(t plan.Type) *result {
	r := &result{operand: plan.Operand{Kind: plan.FromSlot, Index: x.slots, Type: t}, typ: t}
	x.slots++
	return r
}

// decide answers a guard from the expansion's answers, also where one follows from another.
func (x *expansion) decide(c expr.Comparison) (value, known bool) {
	lo, hi := bounds(x.answers, c.Symbol)
	if v, known := within(c, lo, hi); known {
		return v, true
	}
	for _, a := range x.answers {
		if a.on == c {
			return a.value, true
		}
	}
	return false, false
}

func portNames(f *frame) []string {
	var out []string
	for ; f != nil; f = f.outer {
		for n := range f.ports {
			out = append(out, n)
		}
	}
	return out
}
