package lsp

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	protocol "github.com/tliron/glsp/protocol_3_16"

	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/schema"
	"github.com/graphrun/graphrun/schema/reference"
)

// hover explains what stands at a place, as Markdown; "" where there is nothing to say.
func (w *world) hover(p *place, col int) string {
	if p.isKey {
		return w.hoverKey(p)
	}
	return w.hoverValue(p, col)
}

func (w *world) hoverKey(p *place) string {
	call, at := p.call()
	key := p.scalar.Value
	if call != nil && at == len(p.chain)-1 {
		if key == callee(call) {
			return w.hoverCallee(p, key)
		}
		if text, ok := w.parameter(p, callee(call), key); ok {
			return text
		}
	}
	if call != nil && at == len(p.chain)-2 && p.chain[at].key.Value == callee(call) { // an input of a map
		if text, ok := w.parameter(p, callee(call), key); ok {
			return text
		}
	}
	if text := w.describe(p, key); text != "" {
		return text
	}
	if n := lookup(p.scope(), key); n != nil && n.node == p.scalar { // a declaration
		return n.markdown()
	}
	return ""
}

// describe is what the schema says of a key.
func (w *world) describe(p *place, key string) string {
	for _, s := range reversedSchemas(w.schema.At(p.root, p.steps())) {
		if c := s.Properties.Get(key); c != nil {
			if text := w.schema.Text(c); text != "" {
				return fmt.Sprintf("`%s`\n\n%s", key, text)
			}
		}
	}
	return ""
}

func reversedSchemas(list []*schema.Schema) []*schema.Schema {
	out := make([]*schema.Schema, len(list))
	for i, s := range list {
		out[len(list)-1-i] = s
	}
	return out
}

func (w *world) hoverCallee(p *place, name string) string {
	if n := lookup(p.scope(), name, aPort); n != nil {
		return n.markdown() + portDoc(p.root, n)
	}
	if f, ok := w.callee(p.file, name); ok {
		return f.entry.Markdown()
	}
	return ""
}

func portDoc(root *yaml.Node, n *name) string {
	k := port.Kinds[portKind(n.value(root))]
	if k == nil {
		return ""
	}
	return fmt.Sprintf("\n\nA port of kind `%s`: %s\n", k.Name, k.Doc)
}

// parameter is what a callee says of one of its keys.
func (w *world) parameter(p *place, callee, key string) (string, bool) {
	if callee == "" {
		return "", false
	}
	f, ok := w.callee(p.file, callee)
	if !ok {
		return "", false
	}
	return f.entry.Param(key)
}

func (w *world) hoverValue(p *place, col int) string {
	places := w.places(p)
	word, owner := p.segment(col)
	switch {
	case places[schema.ClassName]:
		return w.hoverNamed(p.scalar.Value, reference.Class)
	case places[schema.ModelName]:
		if f, ok := w.named(p.file, p.scalar.Value, reference.Model); ok {
			return f.entry.Markdown()
		}
	case places[schema.Name]:
		if n := lookup(p.scope(), p.scalar.Value); n != nil {
			return n.markdown()
		}
		return p.weight()
	case places[schema.Expression], places[schema.Template]:
		if owner == "" {
			if n := lookup(p.scope(), word); n != nil {
				return n.markdown()
			}
		}
		for _, f := range p.words(owner) {
			if f.name == word {
				return fmt.Sprintf("`%s`\n\n%s", f.signature, f.doc)
			}
		}
	}
	if o := p.activation(); o {
		return w.hoverNamed(p.scalar.Value, reference.Operator)
	}
	if _, isAlias := p.alias(); isAlias {
		if n := lookup(p.scope(), p.scalar.Value); n != nil {
			return n.markdown()
		}
	}
	return ""
}

func (w *world) hoverNamed(name string, kinds ...reference.Kind) string {
	for _, e := range w.library.Find(name) {
		for _, k := range kinds {
			if e.Kind == k {
				return e.Markdown()
			}
		}
	}
	return ""
}

// places are what text may mean where p stands.
func (w *world) places(p *place) map[schema.Place]bool {
	out := map[schema.Place]bool{}
	for _, s := range w.schema.At(p.root, stepsOf(p.chain)) {
		if s.Place != schema.Plain {
			out[s.Place] = true
		}
	}
	return out
}

// words are the functions and facts that a place's expressions know: by their names, or behind the dot of an owner.
func (p *place) words(owner string) []function {
	if owner == "" {
		return p.roots()
	}
	return p.members(owner)
}

// alias tells whether the place is the value of a line that is no call.
func (p *place) alias() (string, bool) {
	n := len(p.chain)
	if p.isKey || n < 3 || !isNodes(p.chain[n-3]) {
		return "", false
	}
	return p.scalar.Value, p.chain[n-1].node.Kind == yaml.MappingNode
}

// activation tells whether the place is a port's activation.
func (p *place) activation() bool {
	for _, l := range p.chain {
		if l.key != nil && l.key.Value == "activation" {
			return true
		}
	}
	return false
}

// weight explains a path below the prefix.
func (p *place) weight() string {
	if !strings.Contains(p.scalar.Value, ".") {
		return ""
	}
	prefix := ""
	for i, l := range p.chain {
		if l.node.Kind != yaml.MappingNode || i == 0 {
			continue
		}
		if at := child(l.node, "at"); at != nil && at.Kind == yaml.ScalarNode && l.key.Value != "at" {
			prefix += at.Value + "."
		}
	}
	return fmt.Sprintf("weight `%s%s` of the checkpoint, below the prefix of whoever calls this", prefix, p.scalar.Value)
}

// markdown is a name's declaration.
func (n *name) markdown() string {
	if n.detail == "" {
		return fmt.Sprintf("%s `%s`", n.kind, n.text)
	}
	return fmt.Sprintf("%s `%s`\n\n```yaml\n%s: %s\n```", n.kind, n.text, n.text, n.detail)
}

func markup(text string) protocol.MarkupContent {
	return protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: text}
}

// roots are what an expression may begin with at a place, besides names in scope.
func (p *place) roots() []function {
	out := append([]function(nil), functions...)
	has := func(key string) bool {
		for _, l := range p.chain {
			if l.key != nil && l.key.Value == key {
				return true
			}
		}
		return false
	}
	switch {
	case isKind(p.root, "model"):
		out = append(out, modelRoots...)
		if has("view") {
			out = append(out, viewRoots...)
		}
	case isKind(p.root, "variant"):
		return append(out, bindRoots...)
	case isKind(p.root, "rules"):
		return append(out, ruleRoots...)
	}
	if has("let") {
		return out
	}
	return append(out, lengths...)
}

// members are what may stand behind a dot, by what stands before it.
func (p *place) members(owner string) []function {
	if m := members[owner]; m != nil {
		return m
	}
	if n := lookup(p.scope(), owner); n != nil {
		switch {
		case n.kind == aValue || n.kind == anInput || n.kind == aWeight:
			return members["value"]
		case n.kind == aLet && strings.Contains(n.detail, "dict("), n.kind == aParameter && strings.HasPrefix(strings.Trim(n.detail, "{"), "map"):
			return members["config"]
		}
	}
	return append(append([]function(nil), members["list"]...), members["config"]...)
}
