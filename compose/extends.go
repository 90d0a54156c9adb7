package compose

import (
	"strings"

	"github.com/graphrun/graphrun/compose/syntax"
)

// merged takes over what a model extends: lets by name, other keys whole.
func (c *composer) merged(doc *syntax.Document) *syntax.Document {
	return c.mergedFrom(doc, nil)
}

func (c *composer) mergedFrom(doc *syntax.Document, open []string) *syntax.Document {
	if doc.Kind != "model" || doc.Extends == nil {
		return doc
	}
	open = append(open, doc.Name.Text)
	if containsString(open, doc.Extends.Text) {
		c.list.Errorf("recursion", doc.Extends.At, "the model %s extends itself: %s → %s", doc.Extends.Text, strings.Join(open, " → "), doc.Extends.Text).Helped("name another model, or write its keys here and leave `extends` out")
		return nil
	}
	base := c.lib.model(doc.Extends.Text, doc)
	if base == nil {
		d := c.list.Errorf("unknown-model", doc.Extends.At, "there is no model %s to extend, beside this file or shipped", doc.Extends.Text)
		d.Among(doc.Extends.Text, c.lib.shippedNames("models"), "shipped")
		return nil
	}
	if base = c.mergedFrom(base, open); base == nil {
		return nil
	}
	out := *doc
	out.Let = append([]syntax.Let(nil), base.Let...)
	for _, l := range doc.Let {
		if i := letIndex(out.Let, l.Name.Text); i >= 0 {
			out.Let[i] = l
		} else {
			out.Let = append(out.Let, l)
		}
	}
	take := func(key string, assign func()) {
		if !doc.Has(key) {
			assign()
		}
	}
	take("params", func() { out.Params = base.Params })
	take("recognises", func() { out.Recognises = base.Recognises })
	take("view", func() { out.View = base.View })
	take("ports", func() { out.Ports = base.Ports })
	take("groups", func() { out.Groups = base.Groups })
	take("weights", func() { out.Weights = base.Weights })
	take("state", func() { out.States = base.States })
	take("nodes", func() { out.Nodes, out.NodesAt = base.Nodes, base.NodesAt })
	take("in", func() { out.In = base.In })
	take("out", func() { out.Out = base.Out })
	take("entries", func() { out.Entries = base.Entries })
	return &out
}

func letIndex(lets []syntax.Let, name string) int {
	for i, l := range lets {
		if l.Name.Text == name {
			return i
		}
	}
	return -1
}
