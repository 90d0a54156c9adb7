package dataflow

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/plan"
)

// anonymous adds a body that sees the names around it.
func (w *body) anonymous(n *syntax.Node, path []string) {
	call := n.Call
	inner := w.inside(call, path)
	if inner == nil {
		return
	}
	inner.decl, inner.outer, inner.doc = call.Anonymous, w, w.doc
	inner.nodes()
	outs := map[string]string{}
	for _, r := range n.Results {
		outs[r.Text] = r.Text
	}
	for _, c := range call.Collect {
		outs[c.Name.Text] = c.Value.Text
	}
	if call.Repeat != nil {
		for _, r := range n.Results {
			if _, in := inner.values[r.Text]; in && inner.pin(r.Text) != "" {
				inner.node.Carries = append(inner.node.Carries, r.Text)
			}
		}
	}
	w.finish(n, inner, func(name string) string { return inner.output(outs[name]) })
}

// block adds a call of a block, which sees its inputs only.
func (w *body) block(n *syntax.Node, doc *syntax.Document, path []string) {
	call := n.Call
	inner := w.inside(call, path)
	if inner == nil {
		return
	}
	inner.decl, inner.doc = &doc.Body, doc
	inner.node.Of = doc.Name.Text
	inner.node.Facts = append(inner.node.Facts, docFact(doc.Doc)...)
	inner.mapped = map[string]string{}
	for _, s := range call.States {
		inner.mapped[s.Name.Text] = s.Path.Text
	}
	given := blockInputs(call, doc)
	for i := range doc.In {
		name, ok := given[doc.In[i].Name.Text]
		if !ok {
			continue
		}
		if refs := w.lookup(name); len(refs) > 0 {
			pin := inner.input(&doc.In[i])
			w.connect(refs, Ref{Node: inner.node.ID, Pin: pin}, name, false)
		}
	}
	for _, a := range call.Args {
		if _, is := given[a.Name.Text]; is && isInput(doc, a.Name.Text) {
			continue
		}
		if a.Value != nil { // a name alone takes the value of that name
			inner.node.Facts = append(inner.node.Facts, Fact{a.Name.Text, exprText(a.Value.Node)})
		}
	}
	inner.nodes()
	index := map[string]int{}
	for i, r := range n.Results {
		index[r.Text] = i
	}
	w.finish(n, inner, func(name string) string {
		if i, ok := index[name]; ok && i < len(doc.Out) {
			return inner.output(doc.Out[i].Name.Text)
		}
		for _, c := range call.Collect { // of a carried result, after each index
			if c.Name.Text != name {
				continue
			}
			if i, ok := index[c.Value.Text]; ok && i < len(doc.Out) {
				return inner.output(doc.Out[i].Name.Text)
			}
		}
		return ""
	})
}

// inside begins a body within this one; nil where the plan has nothing of it.
func (w *body) inside(call *syntax.Call, path []string) *body {
	if w.depth+1 > maxDepth {
		w.err = fmt.Errorf("%s: blocks are nested more than %d deep", line(call.Range), maxDepth)
		return nil
	}
	calls := w.gatherCall(call, path, 0)
	if w.index != nil && len(calls) == 0 {
		return nil
	}
	node := &Node{ID: w.id(), Kind: Block, Path: strings.Join(path, "."), At: line(call.Range), Facts: docFact(call.Doc)}
	if call.Path != nil {
		node.Name = strings.Join(pathOf(call.Path.Text), ".")
	}
	inner := &body{builder: w.builder, node: node, entry: w.entry, path: path, depth: w.depth + 1, values: map[string]*givers{}, states: map[string]string{}}
	inner.all = inner.turnsOf(calls)
	if call.Repeat != nil {
		node.Times = repeatText(call.Repeat)
		if n := repeats(calls, path); n > 0 {
			node.Times = count(n)
		}
	}
	return inner
}

// finish puts a body into this one, with its results.
func (w *body) finish(n *syntax.Node, inner *body, output func(name string) string) {
	turns := w.turnsOf(w.gatherCall(n.Call, inner.path, 0))
	always := w.presence(inner.node, n.Call, turns)
	w.node.Children = append(w.node.Children, inner.node)
	names := slices.Clone(n.Results)
	for _, c := range n.Call.Collect {
		names = append(names, c.Name)
	}
	for _, r := range names {
		if pin := output(r.Text); pin != "" {
			w.give(r.Text, Ref{Node: inner.node.ID, Pin: pin}, always, n.Call, turns)
		}
	}
}

// repeats is how often a repeat runs: by the paths that it makes, or by the calls of one line where all have one path.
func repeats(calls []*plan.Call, path []string) int {
	if own := strings.Contains(strings.Join(path, "."), "*"); own {
		return len(heads(calls, len(path))) / outerTurns(calls, path)
	}
	most := 0
	seen := map[string]int{}
	for _, c := range calls {
		key := c.At.String() + c.Path
		seen[key]++
		most = max(most, seen[key])
	}
	return most
}

// outerTurns is how often the body around a repeat is there.
func outerTurns(calls []*plan.Call, path []string) int {
	last := len(path) - 1
	for last >= 0 && !strings.Contains(path[last], "*") {
		last--
	}
	if last <= 0 || !strings.Contains(strings.Join(path[:last], "."), "*") {
		return 1
	}
	return max(1, len(heads(calls, last)))
}

// pin is the input pin of that name, or "".
func (w *body) pin(name string) string {
	for _, c := range w.node.Children {
		if c.Kind == Input && c.Name == name {
			return c.ID
		}
	}
	return ""
}

// blockInputs are the names given to a block's inputs.
func blockInputs(call *syntax.Call, doc *syntax.Document) map[string]string {
	out := map[string]string{}
	if call.Input != nil && call.Input.Node.Kind == yaml.MappingNode {
		for _, kv := range pairs(call.Input.Node) {
			out[kv[0]] = kv[1]
		}
	} else {
		for i, name := range operandNames(call.Input) {
			if i < len(doc.In) {
				out[doc.In[i].Name.Text] = name
			}
		}
	}
	for _, a := range call.Args {
		if !isInput(doc, a.Name.Text) {
			continue
		}
		out[a.Name.Text] = a.Name.Text
		if a.Value != nil {
			out[a.Name.Text] = exprText(a.Value.Node)
		}
	}
	return out
}

func isInput(doc *syntax.Document, name string) bool {
	for i := range doc.In {
		if doc.In[i].Name.Text == name {
			return true
		}
	}
	return false
}

func classesOf(p *plan.Plan, calls []*plan.Call) []int {
	var out []int
	for _, c := range calls {
		if c.Port >= 0 && c.Port < len(p.Ports) && !slices.Contains(out, c.Port) {
			out = append(out, c.Port)
		}
	}
	return out
}
