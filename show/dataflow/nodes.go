package dataflow

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

func (w *body) nodes() {
	for i := range w.decl.Nodes {
		n := &w.decl.Nodes[i]
		if n.Alias != nil {
			if refs := w.lookup(n.Alias.Text); len(refs) > 0 {
				w.values[n.Results[0].Text] = &givers{refs: refs}
			}
			continue
		}
		w.call(n)
	}
}

func (w *body) call(n *syntax.Node) {
	call := n.Call
	path := w.below(w.path, call)
	if call.Anonymous != nil {
		w.anonymous(n, path)
		return
	}
	name := call.Callee.Text
	if w.port(name) != nil {
		w.leaf(n, call, path, Port, 0, 1)
		return
	}
	if op := w.reg.Operator(name); op != nil {
		if items := list(call.Input); op.Each && len(n.Results) > 1 && len(items) == len(n.Results) {
			for i := range items {
				one := *call
				one.Input = items[i]
				single := &syntax.Node{Results: n.Results[i : i+1], Call: &one, At: n.At}
				w.leaf(single, &one, path, Operator, i, len(items))
			}
			return
		}
		w.leaf(n, call, path, Operator, 0, 1)
		return
	}
	if doc := w.docs.blocks[name]; doc != nil {
		w.block(n, doc, path)
		return
	}
	w.leaf(n, call, path, Operator, 0, 1) // an operator that this registry lacks
}

func (w *body) port(name string) *syntax.Port {
	for f := w; f != nil; f = f.outer {
		for i := range f.decl.Ports {
			if f.decl.Ports[i].Name.Text == name {
				return &f.decl.Ports[i]
			}
		}
	}
	return nil
}

// leaf adds a call of an operator or a port; it is number i of n that one line makes.
func (w *body) leaf(n *syntax.Node, call *syntax.Call, path []string, kind Kind, i, of int) {
	var found []*plan.Call
	if w.index != nil {
		found = w.index.find(w.entry, call.Range, path)
		found = every(found, i, of)
		if len(found) == 0 {
			return // not there, or nothing needs it
		}
	}
	node := &Node{ID: w.id(), Kind: kind, Name: call.Callee.Text, At: line(call.Range), Facts: docFact(call.Doc)}
	node.Path = strings.Join(path, ".")
	if kind == Port {
		node.Path = strings.Join(append(slices.Clone(path), portName(w.port(call.Callee.Text))...), ".")
		node.Of = w.port(call.Callee.Text).Kind.Text
	}
	if call.Repeat != nil {
		node.Times = repeatText(call.Repeat)
	}
	turns := w.turnsOf(found)
	always := w.presence(node, call, turns)
	w.node.Children = append(w.node.Children, node)
	w.operands(node, call, kind)
	w.planned(node, found)
	for _, r := range n.Results {
		w.give(r.Text, Ref{Node: node.ID}, always, call, turns)
	}
	for _, c := range call.Collect {
		w.give(c.Name.Text, Ref{Node: node.ID}, always, call, turns)
	}
}

// every picks the calls that number i of a line of several results made.
func every(calls []*plan.Call, i, of int) []*plan.Call {
	if of == 1 {
		return calls
	}
	var out []*plan.Call
	seen := map[string]int{}
	for _, c := range calls {
		if seen[c.Path]%of == i {
			out = append(out, c)
		}
		seen[c.Path]++
	}
	return out
}

func portName(p *syntax.Port) []string {
	if p.At != nil {
		return pathOf(p.At.Text)
	}
	return split(p.Name.Text)
}

func repeatText(r *syntax.Repeat) string {
	if r.First != nil {
		return r.First.Node.Value + ".." + r.Stop.Node.Value
	}
	return r.Stop.Node.Value
}

// operands draws a leaf's edges and notes its other arguments.
func (w *body) operands(node *Node, call *syntax.Call, kind Kind) {
	var op *registry.Operator
	if kind == Operator {
		op = w.reg.Operator(call.Callee.Text)
	}
	inputs := map[string]bool{"positions": true, "mask": true, "indices": true, "x": true}
	if op != nil {
		inputs = map[string]bool{}
		for _, in := range op.Inputs {
			inputs[in.Name] = true
		}
	}
	for _, item := range operandNames(call.Input) {
		w.operand(node, "", item)
	}
	for _, a := range call.Args {
		text := a.Name.Text
		if a.Value != nil {
			text = exprText(a.Value.Node)
		}
		if inputs[a.Name.Text] {
			w.operand(node, a.Name.Text, text)
		} else {
			node.Facts = append(node.Facts, Fact{a.Name.Text, text}) // the plan may know the value
		}
	}
	if call.State != nil && !w.useState(call.State.Text, node.ID) {
		node.Facts = append(node.Facts, Fact{"state", call.State.Text})
	}
}

// operand is a value, a state, or else a weight or number, which is noted.
func (w *body) operand(node *Node, input, name string) {
	if refs := w.lookup(name); len(refs) > 0 {
		w.connect(refs, Ref{Node: node.ID}, name, false)
		return
	}
	if w.useState(name, node.ID) {
		return
	}
	if input == "" {
		input = "input"
	}
	node.Facts = append(node.Facts, Fact{input, name})
}

// list gives the items of a list input, each as an input.
func list(e *syntax.Expr) []*syntax.Expr {
	if e == nil || e.Node.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]*syntax.Expr, len(e.Node.Content))
	for i, n := range e.Node.Content {
		out[i] = &syntax.Expr{Node: n, File: e.File}
	}
	return out
}

// operandNames are the names that an input holds: one, a list, or a map whose keys without a value are names themselves.
func operandNames(e *syntax.Expr) []string {
	if e == nil {
		return nil
	}
	switch e.Node.Kind {
	case yaml.ScalarNode:
		return []string{e.Node.Value}
	case yaml.SequenceNode:
		var out []string
		for _, n := range e.Node.Content {
			out = append(out, exprText(n))
		}
		return out
	case yaml.MappingNode:
		var out []string
		for _, kv := range pairs(e.Node) {
			out = append(out, kv[1])
		}
		return out
	}
	return nil
}

// pairs are the keys and values of a map; a key without a value stands for the value of that name.
func pairs(n *yaml.Node) [][2]string {
	var out [][2]string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		text := exprText(value)
		if value.Kind == yaml.ScalarNode && value.Tag == "!!null" {
			text = key
		}
		out = append(out, [2]string{key, text})
	}
	return out
}

// exprText writes an expression's place as a line of text.
func exprText(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value
	case yaml.AliasNode:
		return "*" + n.Value
	case yaml.SequenceNode:
		parts := make([]string, len(n.Content))
		for i, c := range n.Content {
			parts[i] = exprText(c)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.MappingNode:
		var parts []string
		for _, kv := range pairs(n) {
			parts = append(parts, kv[0]+": "+kv[1])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return ""
}

func exprs(list []*syntax.Expr) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = exprText(e.Node)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func args(list []syntax.Arg) []Fact {
	var out []Fact
	for _, a := range list {
		text := a.Name.Text
		if a.Value != nil {
			text = exprText(a.Value.Node)
		}
		out = append(out, Fact{a.Name.Text, text})
	}
	return out
}

func count(n int) string { return strconv.Itoa(n) }
