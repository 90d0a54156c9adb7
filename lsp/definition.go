package lsp

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/lsp/cursor"
	"github.com/graphrun/graphrun/schema"
	"github.com/graphrun/graphrun/schema/reference"
)

// definition is where what stands at a place comes from: the line that gives a name, its declaration, or a file. ok is
// false where nothing is known.
func (w *world) definition(p *cursor.Place, col int) (at diag.Range, ok bool) {
	text := p.Scalar.Value
	call, link := p.Call()
	inCall := call != nil && link == len(p.Chain)-1
	switch {
	case p.IsKey && inCall && text == cursor.Callee(call):
		if n := cursor.Lookup(p.Scope(), text, cursor.Port); n != nil {
			return declared(p, n)
		}
		return w.fileOf(p.File, text, reference.Block)
	case p.IsKey && inCall: // a parameter: the block's declaration of it, or without a value the name in scope
		if value := cursor.Child(call, text); value != nil && value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null" {
			if n := cursor.Lookup(p.Scope(), text); n != nil {
				return declared(p, n)
			}
		}
		return w.parameterOf(p.File, cursor.Callee(call), text)
	case p.IsKey:
		if n := cursor.Lookup(p.Scope(), text); n != nil && n.Node != p.Scalar {
			return declared(p, n)
		}
		return at, false
	}
	places := w.places(p)
	isAlias := p.IsAlias()
	switch word, owner := p.Segment(col); {
	case places[schema.ModelName]:
		return w.fileOf(p.File, text, reference.Model)
	case places[schema.ClassName]:
		if n := cursor.Lookup(p.Scope(), text, cursor.Class); n != nil {
			return declared(p, n)
		}
	case places[schema.Name] || isAlias:
		if n := cursor.Lookup(p.Scope(), text); n != nil {
			return declared(p, n)
		}
	case (places[schema.Expression] || places[schema.Template]) && owner == "":
		if n := cursor.Lookup(p.Scope(), word); n != nil {
			return declared(p, n)
		}
	}
	return at, false
}

// declared is the place of a name's declaration; of several results of a line that of the one.
func declared(p *cursor.Place, n *cursor.Name) (diag.Range, bool) {
	if n.Node == nil {
		return diag.Range{}, false
	}
	if i := strings.Index(n.Node.Value, n.Text); i >= 0 && n.Node.Value != n.Text {
		return p.File.Within(n.Node, len([]rune(n.Node.Value[:i])), len([]rune(n.Text))), true
	}
	return p.File.Range(n.Node), true
}

// fileOf is the beginning of the file that a name leads to: its `name` where there is one.
func (w *world) fileOf(file *source.File, name string, kind reference.Kind) (diag.Range, bool) {
	f, ok := w.named(file, name, kind)
	if !ok {
		return diag.Range{}, false
	}
	return w.within(f, "name", "")
}

func (w *world) parameterOf(file *source.File, callee, param string) (diag.Range, bool) {
	f, ok := w.named(file, callee, reference.Block)
	if !ok {
		return diag.Range{}, false
	}
	for _, section := range []string{"params", "in"} {
		if at, ok := w.within(f, section, param); ok {
			return at, true
		}
	}
	return diag.Range{}, false
}

// within is the place of a key of a file, or of a key inside that; with no inner key the value's.
func (w *world) within(f found, key, inner string) (diag.Range, bool) {
	path, err := w.show(f)
	if err != nil {
		return diag.Range{}, false
	}
	data, err := w.read(path)
	if err != nil {
		return diag.Range{}, false
	}
	var list diag.List
	file := source.Parse(path, data, &list)
	value := cursor.Child(file.Root, key)
	if value == nil {
		return diag.Range{File: path}, inner == ""
	}
	if inner == "" {
		return file.Range(value), true
	}
	for i := 0; value.Kind == yaml.MappingNode && i+1 < len(value.Content); i += 2 {
		if value.Content[i].Value == inner {
			return file.Range(value.Content[i]), true
		}
	}
	return diag.Range{}, false
}
