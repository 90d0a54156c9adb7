package lsp

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/schema"
	"github.com/graphrun/graphrun/schema/reference"
)

// definition is where what stands at a place comes from: the line that gives a name, its declaration, or a file. ok is
// false where nothing is known.
func (w *world) definition(p *place, col int) (at diag.Range, ok bool) {
	text := p.scalar.Value
	call, link := p.call()
	inCall := call != nil && link == len(p.chain)-1
	switch {
	case p.isKey && inCall && text == callee(call):
		if n := lookup(p.scope(), text, aPort); n != nil {
			return p.declared(n)
		}
		return w.fileOf(p.file, text, reference.Block)
	case p.isKey && inCall: // a parameter: the block's declaration of it, or without a value the name in scope
		if value := child(call, text); value != nil && value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null" {
			if n := lookup(p.scope(), text); n != nil {
				return p.declared(n)
			}
		}
		return w.parameterOf(p.file, callee(call), text)
	case p.isKey:
		if n := lookup(p.scope(), text); n != nil && n.node != p.scalar {
			return p.declared(n)
		}
		return at, false
	}
	places := w.places(p)
	_, isAlias := p.alias()
	switch word, owner := p.segment(col); {
	case places[schema.ModelName]:
		return w.fileOf(p.file, text, reference.Model)
	case places[schema.ClassName]:
		if n := lookup(p.scope(), text, aClass); n != nil {
			return p.declared(n)
		}
	case places[schema.Name] || isAlias:
		if n := lookup(p.scope(), text); n != nil {
			return p.declared(n)
		}
	case (places[schema.Expression] || places[schema.Template]) && owner == "":
		if n := lookup(p.scope(), word); n != nil {
			return p.declared(n)
		}
	}
	return at, false
}

// declared is the place of a name's declaration; of several results of a line that of the one.
func (p *place) declared(n *name) (diag.Range, bool) {
	if n.node == nil {
		return diag.Range{}, false
	}
	if i := strings.Index(n.node.Value, n.text); i >= 0 && n.node.Value != n.text {
		return p.file.Within(n.node, len([]rune(n.node.Value[:i])), len([]rune(n.text))), true
	}
	return p.file.Range(n.node), true
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
	value := child(file.Root, key)
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
