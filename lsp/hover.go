package lsp

import (
	"fmt"

	"gopkg.in/yaml.v3"

	protocol "github.com/tliron/glsp/protocol_3_16"

	"github.com/graphrun/graphrun/lsp/cursor"
	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/schema"
	"github.com/graphrun/graphrun/schema/reference"
)

// hover explains what stands at a place, as Markdown; "" where there is nothing to say.
func (w *world) hover(p *cursor.Place, col int) string {
	if p.IsKey {
		return w.hoverKey(p)
	}
	return w.hoverValue(p, col)
}

func (w *world) hoverKey(p *cursor.Place) string {
	call, at := p.Call()
	key := p.Scalar.Value
	if call != nil && at == len(p.Chain)-1 {
		if key == cursor.Callee(call) {
			return w.hoverCallee(p, key)
		}
		if text, ok := w.parameter(p, cursor.Callee(call), key); ok {
			return text
		}
	}
	if call != nil && at == len(p.Chain)-2 && p.Chain[at].Key.Value == cursor.Callee(call) { // an input of a map
		if text, ok := w.parameter(p, cursor.Callee(call), key); ok {
			return text
		}
	}
	if text := w.describe(p, key); text != "" {
		return text
	}
	if n := cursor.Lookup(p.Scope(), key); n != nil && n.Node == p.Scalar { // a declaration
		return n.Markdown()
	}
	return ""
}

// describe is what the schema says of a key.
func (w *world) describe(p *cursor.Place, key string) string {
	for _, s := range reversedSchemas(w.schema.At(p.Root, p.Steps())) {
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

func (w *world) hoverCallee(p *cursor.Place, name string) string {
	if n := cursor.Lookup(p.Scope(), name, cursor.Port); n != nil {
		return n.Markdown() + portDoc(p.Root, n)
	}
	if f, ok := w.callee(p.File, name); ok {
		return f.entry.Markdown()
	}
	return ""
}

func portDoc(root *yaml.Node, n *cursor.Name) string {
	k := port.Kinds[cursor.PortKind(n.Value(root))]
	if k == nil {
		return ""
	}
	return fmt.Sprintf("\n\nA port of kind `%s`: %s\n", k.Name, k.Doc)
}

// parameter is what a callee says of one of its keys.
func (w *world) parameter(p *cursor.Place, callee, key string) (string, bool) {
	if callee == "" {
		return "", false
	}
	f, ok := w.callee(p.File, callee)
	if !ok {
		return "", false
	}
	return f.entry.Param(key)
}

func (w *world) hoverValue(p *cursor.Place, col int) string {
	places := w.places(p)
	word, owner := p.Segment(col)
	switch {
	case places[schema.ClassName]:
		return w.hoverNamed(p.Scalar.Value, reference.Class)
	case places[schema.ModelName]:
		if f, ok := w.named(p.File, p.Scalar.Value, reference.Model); ok {
			return f.entry.Markdown()
		}
	case places[schema.Name]:
		if n := cursor.Lookup(p.Scope(), p.Scalar.Value); n != nil {
			return n.Markdown()
		}
		return p.WeightPath()
	case places[schema.Expression], places[schema.Template]:
		if owner == "" {
			if n := cursor.Lookup(p.Scope(), word); n != nil {
				return n.Markdown()
			}
		}
		for _, f := range p.Words(owner) {
			if f.Name == word {
				return fmt.Sprintf("`%s`\n\n%s", f.Signature, f.Doc)
			}
		}
	}
	if p.InActivation() {
		return w.hoverNamed(p.Scalar.Value, reference.Operator)
	}
	if p.IsAlias() {
		if n := cursor.Lookup(p.Scope(), p.Scalar.Value); n != nil {
			return n.Markdown()
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
func (w *world) places(p *cursor.Place) map[schema.Place]bool {
	out := map[schema.Place]bool{}
	for _, s := range w.schema.At(p.Root, p.Way()) {
		if s.Place != schema.Plain {
			out[s.Place] = true
		}
	}
	return out
}

func markup(text string) protocol.MarkupContent {
	return protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: text}
}
