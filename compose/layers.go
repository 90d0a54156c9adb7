package compose

import (
	"slices"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/plan"
)

// layers are the indices of a repeat whose result each next one takes, so that all before one are needed with it. They are
// expanded from the first on; those that turn out like one before are copied from it.
type layers struct {
	x           *expansion
	p           place
	call        *syntax.Call
	name        syntax.Word // the result
	first, stop int
	before      *value   // what the first index takes
	done        []*value // by index, from the first
	traced      []*traced
}

// traced is a layer that others are copied from.
type traced struct {
	*trace
	takes   plan.Type // what it took of the layer before
	gives   *result
	calls   []plan.Call
	slots   int // before its own
	group   int // likewise
	groups  []plan.Group
	dropped []plan.Dropped

	slotCount, operands int // of its own calls
}

// maxTraced bounds how many kinds of layers are kept; models have two or three.
const maxTraced = 6

// taken stands for the slot that a traced layer takes.
const taken = -1

// inOrder tells whether each index of a repeat takes the result of the one before, whatever its conditions say: every node
// that gives the result is a call that takes it.
func (x *expansion) inOrder(p place, n *syntax.Node, call *syntax.Call) bool {
	if len(n.Results) != 1 || call.Anonymous == nil {
		return false
	}
	name := n.Results[0].Text
	for _, col := range call.Collect {
		if col.Value.Text != name {
			return false
		}
	}
	gives := false
	for i := range call.Anonymous.Nodes {
		node := &call.Anonymous.Nodes[i]
		if wordIndex(node.Results, name) < 0 {
			continue
		}
		if len(node.Results) != 1 || node.Call == nil || !names(node.Call.Input, name) || !x.always(p, node.Call) {
			return false
		}
		gives = true
	}
	return gives
}

// always tells whether a call takes its inputs and gives a value wherever its body is expanded.
func (x *expansion) always(p place, call *syntax.Call) bool {
	if call.When != nil || call.Unless != nil || call.Repeat != nil || call.Anonymous != nil {
		return false
	}
	if !x.opens(p, call) {
		return true
	}
	block := x.c.lib.block(call.Callee.Text, p.doc)
	return block != nil && len(block.Out) > 0 && !block.Out[0].Optional
}

// names tells whether an input is a name or a list with it.
func names(input *syntax.Expr, name string) bool {
	items := listItems(input)
	if items == nil && input != nil {
		items = []*syntax.Expr{input}
	}
	for _, item := range items {
		if item.Node.Value == name {
			return true
		}
	}
	return false
}

// results are the last layer's, and those of all as often as they are collected.
func (l *layers) results(collected int) []*value {
	out := []*value{l.value(l.stop)}
	for range collected {
		all := make([]*value, l.stop-l.first)
		for i := range all {
			all[i] = l.value(l.first + i + 1)
		}
		out = append(out, known(&result{list: all}))
	}
	return out
}

// value is what the layers up to an index give.
func (l *layers) value(stop int) *value {
	return &value{make: func() *result {
		for len(l.done) < stop-l.first {
			l.done = append(l.done, known(l.next(l.first+len(l.done))))
		}
		return l.done[stop-l.first-1].force()
	}}
}

// next expands a layer, those before it being done.
func (l *layers) next(i int) *result {
	x, before := l.x, l.before
	if n := len(l.done); n > 0 {
		before = l.done[n-1]
	}
	inner := x.indexed(l.p, l.call, i)
	if x.trace != nil || len(x.keeps) > 0 || x.c.req.plain { // a layer within a layer, or one of which parts may be needed
		return l.expand(inner, before)
	}
	takes := before.force()
	if takes == nil || takes.none || takes.list != nil || takes.operand.Kind != plan.FromSlot {
		return l.expand(inner, before)
	}
	prefix, ok := x.path(inner, l.call)
	if !ok {
		return nil
	}
	for _, t := range l.traced {
		if r := l.copied(t, i, prefix, takes); r != nil {
			return r
		}
	}
	if len(l.traced) == maxTraced {
		return l.expand(inner, before)
	}
	return l.note(inner, prefix, takes)
}

func (l *layers) expand(p place, before *value) *result {
	words := []syntax.Word{l.name}
	values := l.x.invoke(p.bind(l.name.Text, before), l.call, 1, words)
	if len(values) == 0 || values[0] == nil {
		return nil
	}
	return values[0].force()
}

// note expands a layer and keeps what it asked.
func (l *layers) note(inner place, prefix string, takes *result) *result {
	x := l.x
	t := &traced{trace: &trace{call: l.call, index: inner.scalars[l.call.Repeat.Index.Text], prefix: prefix, own: true},
		takes: takes.typ, slots: x.slots, group: len(x.groups)}
	before, calls, dropped := x.c.list.Len(), len(x.calls), len(x.dropped)
	had, groups := *x.c.plan, len(x.c.groupOrder)
	stands := *takes
	stands.operand.Index = taken
	x.trace, inner.trace = t.trace, t.trace
	inner.values = t.guarded(inner.values)
	t.gives = l.expand(inner, known(&stands))
	x.trace = nil
	t.calls = slices.Clone(x.calls[calls:]) // they keep the stand-in
	for i := range t.calls {
		x.calls[calls+i].In = taking(t.calls[i].In, takes.operand.Index)
		t.operands += len(t.calls[i].In)
	}
	stands.operand.Index = takes.operand.Index
	if t.own && t.gives != nil && x.c.list.Len() == before {
		t.slotCount = x.slots - t.slots
		t.groups, t.dropped = slices.Clone(x.groups[t.group:]), slices.Clone(x.dropped[dropped:])
		l.traced = append(l.traced, t)
		x.c.room(&had, groups, l.stop-l.first-len(l.done))
	}
	return t.gives
}

// room makes place for what layers to come will add, as much each as the one since the plan was as before, and for the ports
// of all groups, which stand behind them.
func (c *composer) room(before *plan.Plan, groups, layers int) {
	p := c.plan
	ports := layers*(len(p.Ports)-len(before.Ports)+len(c.groupOrder)-groups) + len(c.groupOrder)
	p.Ports, c.notes = slices.Grow(p.Ports, ports), slices.Grow(c.notes, ports)
	p.Weights = slices.Grow(p.Weights, layers*(len(p.Weights)-len(before.Weights)))
	p.Tensors = slices.Grow(p.Tensors, layers*(len(p.Tensors)-len(before.Tensors)))
}

// taking puts a slot where its stand-in is.
func taking(in []plan.Operand, slot int) []plan.Operand {
	out := slices.Clone(in)
	for i := range out {
		if out[i].Kind == plan.FromSlot && out[i].Index == taken {
			out[i].Index = slot
		}
	}
	return out
}

// guarded are the values around a layer; one that the layer is the first to need is expanded among its calls.
func (t *trace) guarded(b *binding) *binding {
	if b == nil {
		return nil
	}
	v := b.value
	if !v.done && !v.absent {
		v = &value{make: func() *result { t.fail(); return b.value.force() }}
		if b.value.peek != nil {
			v.peek = func() *value { t.fail(); return b.value }
		}
	}
	return &binding{b.name, v, t.guarded(b.next)}
}

// copied is a layer made from another, nil where it would not be alike.
func (l *layers) copied(t *traced, i int, prefix string, takes *result) *result {
	x := l.x
	if takes.typ.Dtype != t.takes.Dtype || !takes.typ.Shape.Equal(t.takes.Shape) {
		return nil
	}
	held, said := t.index.value, x.c.list.Len()
	t.index.value = expr.Of(i)
	defer func() { t.index.value = held }()
	y := &copying{from: t.prefix, to: prefix, tensors: map[int]int{}, ports: map[int]int{}, states: map[int]int{}}
	for _, same := range t.steps {
		if !same(y) || x.c.list.Len() != said {
			return nil
		}
	}
	return x.copy(t, y, takes.operand.Index)
}

// copy adds a traced layer's calls once more.
func (x *expansion) copy(t *traced, y *copying, takes int) *result {
	slots := x.slots - t.slots
	slot := func(s int) int {
		switch {
		case s == taken:
			return takes
		case s >= t.slots:
			return s + slots
		}
		return s
	}
	if !x.uncalled {
		x.copyCalls(t, y, slot)
	}
	x.slots += t.slotCount
	given := *t.gives
	given.operand.Index, given.typ = slot(given.operand.Index), y.typ(given.typ)
	given.operand.Type = given.typ
	return &given
}

// copyCalls adds the calls themselves, and what the nodes say that are not there.
func (x *expansion) copyCalls(t *traced, y *copying, slot func(int) int) {
	groups := len(x.groups) - t.group
	for _, g := range t.groups {
		g.Path = y.path(g.Path)
		x.groups = append(x.groups, g)
	}
	for _, d := range t.dropped {
		d.Path = y.path(d.Path)
		x.dropped = push(x.dropped, d)
	}
	operands, outs := make([]plan.Operand, 0, t.operands), make([]int, 0, t.slotCount)
	for _, call := range t.calls {
		call.Path = y.path(call.Path)
		if call.Port >= 0 {
			call.Port = at(y.ports, call.Port)
			call.Instance = x.c.plan.Ports[call.Port].Rows[0].Instance
		}
		if call.State >= 0 {
			call.State = at(y.states, call.State)
		}
		if call.Group > t.group {
			call.Group += groups
		}
		first := len(operands)
		for _, in := range call.In {
			switch in.Kind {
			case plan.FromSlot:
				in.Index = slot(in.Index)
			case plan.FromTensor:
				in.Index = at(y.tensors, in.Index)
			case plan.FromState:
				in.Index = at(y.states, in.Index)
			}
			in.Type = y.typ(in.Type)
			operands = append(operands, in)
		}
		call.In = operands[first:len(operands):len(operands)]
		first = len(outs)
		for _, o := range call.Out {
			outs = append(outs, slot(o))
		}
		call.Out = outs[first:len(outs):len(outs)]
		call.Types = y.types(call.Types)
		x.calls = push(x.calls, call)
	}
}
