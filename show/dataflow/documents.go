package dataflow

import (
	"fmt"
	"sort"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
)

// documents are the graph files that a composition read, parsed.
type documents struct {
	models, blocks map[string]*syntax.Document
}

// parse reads the sources again; what is wrong with them has been told by the composer.
func parse(sources map[string]*source.File) documents {
	d := documents{map[string]*syntax.Document{}, map[string]*syntax.Document{}}
	paths := make([]string, 0, len(sources))
	for path := range sources {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	for _, path := range paths {
		f := sources[path]
		if f == nil || f.Root == nil {
			continue
		}
		doc := syntax.Parse(f, &diag.List{})
		if doc == nil {
			continue
		}
		switch doc.Kind {
		case "model":
			d.models[doc.Name.Text] = doc
		case "block":
			d.blocks[doc.Name.Text] = doc
		}
	}
	return d
}

// chosen is the model of that name, with what it takes over from the one it extends; or the block.
func (d documents) chosen(name string) (*syntax.Document, error) {
	doc := d.models[name]
	if doc == nil {
		if doc = d.blocks[name]; doc == nil {
			return nil, fmt.Errorf("no model or block %s among the files that were read", name)
		}
		return doc, nil
	}
	out := *doc
	for depth := 0; doc.Extends != nil && depth < 16; depth++ {
		base := d.models[doc.Extends.Text]
		if base == nil {
			break
		}
		if out.Nodes == nil {
			out.Nodes = base.Nodes
		}
		if out.Ports == nil {
			out.Ports = base.Ports
		}
		if out.Weights == nil {
			out.Weights = base.Weights
		}
		if out.States == nil {
			out.States = base.States
		}
		if out.In == nil {
			out.In = base.In
		}
		if out.Out == nil {
			out.Out = base.Out
		}
		if out.Entries == nil {
			out.Entries = base.Entries
		}
		doc = base
	}
	return &out, nil
}
