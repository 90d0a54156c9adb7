package lsp

import (
	"sort"
	"strings"

	protocol "github.com/tliron/glsp/protocol_3_16"

	"github.com/graphrun/graphrun/lsp/cursor"
	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/schema"
	"github.com/graphrun/graphrun/schema/reference"
)

// choice is one thing that may be written at a place. Choices of a lower group come first.
type choice struct {
	label, detail, doc string
	kind               protocol.CompletionItemKind
	group              int
}

// complete lists what may be written at a place that is being typed.
func (w *world) complete(p *cursor.Place) []choice {
	c := &completer{w: w, p: p, seen: map[string]bool{}}
	if p.IsKey {
		c.keys()
	} else {
		c.values()
	}
	sort.SliceStable(c.out, func(i, k int) bool {
		if c.out[i].group != c.out[k].group {
			return c.out[i].group < c.out[k].group
		}
		return c.out[i].label < c.out[k].label
	})
	return c.out
}

type completer struct {
	w    *world
	p    *cursor.Place
	seen map[string]bool
	out  []choice
}

func (c *completer) add(x choice) {
	if x.label == "" || c.seen[x.label] || strings.Contains(x.label, cursor.Mark) {
		return
	}
	c.seen[x.label] = true
	c.out = append(c.out, x)
}

// keys are those of the place's schemas, but in a call what may be called, or what the callee takes.
func (c *completer) keys() {
	p := c.p
	holder := p.Chain[len(p.Chain)-1].Node
	for i := 0; i < len(holder.Content); i += 2 {
		if holder.Content[i] != p.Scalar {
			c.seen[holder.Content[i].Value] = true
		}
	}
	call, at := p.Call()
	inCall := call != nil && at == len(p.Chain)-1
	first := inCall && len(call.Content) > 0 && call.Content[0] == p.Scalar
	if first {
		c.callees()
	}
	if inCall && !first {
		c.arguments(cursor.Callee(call))
	}
	if len(p.Chain) >= 3 && cursor.IsNodes(p.Chain[len(p.Chain)-3]) { // the results of a line
		for _, n := range p.Scope() {
			if n.Kind == cursor.Value || n.Kind == cursor.Input {
				c.name(n, 0)
			}
		}
		return
	}
	schemas := c.w.schema.At(p.Root, p.Steps())
	if inCall && !first && c.w.schema.Defs.Get("anonymous").Properties.Get(cursor.Callee(call)) != nil { // a body that has no nodes yet
		schemas = append(schemas, c.w.schema.Defs.Get("anonymous"))
	}
	for _, s := range schemas {
		for _, k := range s.Properties {
			group := 3
			if e, ok := c.w.callee(p.File, k.Name); inCall && ok && (e.entry.Kind == reference.Operator || e.entry.Kind == reference.Block) {
				if !first {
					continue
				}
				group = 2
			}
			c.add(choice{label: k.Name, doc: c.w.schema.Text(k.Schema), kind: protocol.CompletionItemKindProperty, group: group})
		}
	}
}

// callees are ports in scope, blocks around the file, and then the schema's: shipped blocks and operators.
func (c *completer) callees() {
	for _, n := range c.p.Scope() {
		if n.Kind == cursor.Port {
			c.add(choice{label: n.Text, detail: "port " + cursor.PortKind(n.Value(c.p.Root)), doc: n.Markdown(), kind: protocol.CompletionItemKindField, group: 0})
		}
	}
	for _, f := range c.w.beside(c.p.File, reference.Block) {
		c.entry(f.entry, 1)
	}
	for _, kind := range []reference.Kind{reference.Block, reference.Operator} {
		for _, e := range c.w.library.Of(kind) {
			c.entry(e, 2)
		}
	}
}

func (c *completer) entry(e reference.Entry, group int) {
	kind := map[reference.Kind]protocol.CompletionItemKind{reference.Operator: protocol.CompletionItemKindFunction, reference.Block: protocol.CompletionItemKindModule,
		reference.Class: protocol.CompletionItemKindClass, reference.Model: protocol.CompletionItemKindFile}[e.Kind]
	c.add(choice{label: e.Name, detail: e.Signature(), doc: e.Markdown(), kind: kind, group: group})
}

// arguments are a callee's inputs and parameters.
func (c *completer) arguments(callee string) {
	if n := cursor.Lookup(c.p.Scope(), callee, cursor.Port); n != nil {
		if k := port.Kinds[cursor.PortKind(n.Value(c.p.Root))]; k != nil && k.Transposed {
			c.add(choice{label: "transposed", doc: "false multiplies by the matrices as they lie.", kind: protocol.CompletionItemKindProperty})
		}
		return
	}
	f, ok := c.w.callee(c.p.File, callee)
	if !ok {
		return
	}
	for _, item := range append(append([]reference.Item(nil), f.entry.Inputs...), f.entry.Params...) {
		text, _ := f.entry.Param(item.Name)
		group := 0
		if !item.Required() {
			group = 1
		}
		c.add(choice{label: item.Name, detail: item.Type, doc: text, kind: protocol.CompletionItemKindProperty, group: group})
	}
}

// values are words of the place's schemas, and by what text means there names, functions, classes or models.
func (c *completer) values() {
	p := c.p
	places := c.w.places(p)
	if call, at := p.Call(); call != nil && at == len(p.Chain)-1 && p.Chain[at].Key.Value != cursor.Callee(call) && cursor.Child(call, "nodes") == nil {
		c.argument(cursor.Callee(call), p.Chain[at].Key.Value, places)
	}
	expression := places[schema.Expression]
	if places[schema.Template] {
		expression = expression || strings.LastIndexByte(p.Before, '{') > strings.LastIndexByte(p.Before, '}')
	}
	switch {
	case expression:
		c.expression()
	case places[schema.Name]:
		for _, n := range p.Scope() {
			if n.Kind != cursor.Port && n.Kind != cursor.Class {
				c.name(n, 0)
			}
		}
	case places[schema.ClassName]:
		for _, n := range p.Scope() {
			if n.Kind == cursor.Class {
				c.name(n, 0)
			}
		}
		for _, e := range c.w.library.Of(reference.Class) {
			c.entry(e, 1)
		}
	case places[schema.ModelName]:
		for _, f := range c.w.beside(p.File, reference.Model) {
			c.entry(f.entry, 0)
		}
		for _, e := range c.w.library.Of(reference.Model) {
			c.entry(e, 1)
		}
	}
	if p.IsAlias() {
		for _, n := range p.Scope() {
			if n.Kind == cursor.Value || n.Kind == cursor.Input || n.Kind == cursor.Weight {
				c.name(n, 0)
			}
		}
	}
	if p.Before != "" {
		return // a word inside of an expression is no word of a list
	}
	for _, s := range c.w.schema.At(p.Root, p.Way()) {
		for _, v := range append(append([]any(nil), s.Enum...), s.Const) {
			if text, ok := v.(string); ok {
				c.word(text)
			}
		}
		for _, t := range s.Type {
			if t == "boolean" && s.Place != schema.Name {
				c.add(choice{label: "true", kind: protocol.CompletionItemKindValue, group: 4})
				c.add(choice{label: "false", kind: protocol.CompletionItemKindValue, group: 4})
			}
		}
	}
}

// word is one of a fixed list; where it names an operator or class its documentation comes along.
func (c *completer) word(text string) {
	doc, group := c.w.hoverNamed(text, reference.Class, reference.Port), 1
	if c.p.InActivation() {
		doc = c.w.hoverNamed(text, reference.Operator)
		if !strings.Contains(doc, "ctivation: ") { // what is made to be one comes first
			group = 2
		}
	}
	c.add(choice{label: text, doc: doc, kind: protocol.CompletionItemKindEnumMember, group: group})
}

// argument narrows names by what the callee takes: states alone where it wants one.
func (c *completer) argument(callee, key string, places map[schema.Place]bool) {
	f, ok := c.w.callee(c.p.File, callee)
	if !ok {
		return
	}
	for _, in := range f.entry.Inputs {
		if in.Name != key {
			continue
		}
		places[schema.Name] = true
		if in.Type == "state" {
			delete(places, schema.Name)
			for _, n := range c.p.Scope() {
				if n.Kind == cursor.State {
					c.name(n, 0)
				}
			}
		}
	}
	for _, p := range f.entry.Params { // of a block of the user's own, which the schema does not know
		if p.Name == key && !places[schema.Name] {
			places[schema.Expression] = p.Type != "dtype" && p.Type != "string"
		}
	}
}

func (c *completer) name(n cursor.Name, group int) {
	kind := map[cursor.Kind]protocol.CompletionItemKind{cursor.Value: protocol.CompletionItemKindVariable, cursor.Input: protocol.CompletionItemKindVariable,
		cursor.Weight: protocol.CompletionItemKindField, cursor.State: protocol.CompletionItemKindField, cursor.Port: protocol.CompletionItemKindField}[n.Kind]
	if kind == 0 {
		kind = protocol.CompletionItemKindConstant
	}
	c.add(choice{label: n.Text, detail: string(n.Kind), doc: n.Markdown(), kind: kind, group: group})
}

// expression offers numbers and values in scope and the functions and facts, or behind a dot its members.
func (c *completer) expression() {
	p := c.p
	word := p.Word
	if i := strings.LastIndex(word, "."); i >= 0 {
		_, owner := p.Segment(p.Range.EndCol)
		for _, f := range p.Members(owner) {
			c.add(choice{label: word[:i+1] + f.Name, detail: f.Signature, doc: f.Doc, kind: protocol.CompletionItemKindMethod})
		}
		return
	}
	for _, n := range p.Scope() {
		switch n.Kind {
		case cursor.Let, cursor.Parameter, cursor.Index, cursor.Dim, cursor.Member:
			c.name(n, 0)
		case cursor.Value, cursor.Input:
			c.name(n, 1)
		}
	}
	for _, f := range p.Words("") {
		c.add(choice{label: f.Name, detail: f.Signature, doc: f.Doc, kind: protocol.CompletionItemKindFunction, group: 2})
	}
}
