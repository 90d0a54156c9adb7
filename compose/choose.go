package compose

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
)

// choose gives the document to compose: the user's file, or the one shipped model that recognises the config.
func (c *composer) choose() *syntax.Document {
	if c.req.Graph != "" {
		return c.userFile()
	}
	if c.req.Model != "" {
		doc := c.lib.model(c.req.Model, nil)
		if doc != nil {
			return c.recognised(doc)
		}
		for _, kind := range []string{"variants", "rules"} {
			if doc = c.lib.readShipped(kind + "/" + c.req.Model + ".yaml"); doc != nil {
				return doc
			}
		}
		names := append(append(c.lib.shippedNames("models"), c.lib.shippedNames("variants")...), c.lib.shippedNames("rules")...)
		d := c.list.Errorf("unknown-model", diag.Range{File: c.req.Model}, "no model, variant or rules %s are shipped; a file of your own is named by its path", c.req.Model)
		d.Among(c.req.Model, names, "shipped")
		return nil
	}
	if c.req.Config == nil {
		c.list.Errorf("no-graph", diag.Range{File: "graphrun"}, "no graph file and no config: nothing says what to compose").Helped("name a graph file, a shipped model or a checkpoint's folder")
		return nil
	}
	var found []*syntax.Document
	models := c.lib.headers()
	for _, m := range models {
		if is, _ := c.recognises(m); is {
			found = append(found, m)
		}
	}
	at := diag.Range{File: c.req.Config.Path}
	switch len(found) {
	case 1:
		return c.lib.readShipped(strings.TrimPrefix(found[0].File.Path, shippedPrefix))
	case 0:
		c.noModel(models, at)
	default:
		d := c.list.Errorf("several-models", at, "%d shipped models recognise this config", len(found)).Helped("name one: --graph %s", found[0].Name.Text)
		for _, m := range found {
			d.Because(m.Recognises.At(), "%s does", m.Name.Text)
		}
	}
	return nil
}

// noModel says what was asked and which model_type is nearest.
func (c *composer) noModel(models []*syntax.Document, at diag.Range) {
	kind, _ := c.req.Config.Values["model_type"].(string)
	message := "no shipped model recognises this config"
	if kind != "" {
		message = fmt.Sprintf("no shipped model recognises this config (model_type %q)", kind)
	} else if _, has := c.req.Config.Values["model_type"]; !has {
		message += ": it has no model_type"
	}
	d := c.list.Errorf("no-model", at, "%s", message)
	var words []string
	for _, m := range models {
		if m.Recognises == nil {
			continue
		}
		text := m.Recognises.Node.Value
		for i, part := range strings.Split(text, "'") {
			if i%2 == 1 && part != "model_type" {
				words = append(words, part)
			}
		}
		d.Because(m.Recognises.At(), "%s asks: %s", m.Name.Text, text)
	}
	if near := diag.Nearest(kind, words); near != "" {
		d.Helped("the nearest model_type that is recognised is %s", near)
	}
	d.Helped("`graphrun init CHECKPOINT` writes a graph file to begin with; --graph takes it, or a shipped model that computes the same: --graph llama")
}

// recognises evaluates a model's own condition; it sees config and tensors only.
func (c *composer) recognises(doc *syntax.Document) (is bool, bad *expr.Error) {
	if doc.Recognises == nil {
		return false, nil
	}
	p := place{newFrame(&expansion{c: c}, doc, nil, ""), nil}
	v, err := c.ex.Eval(doc.Recognises.Node.Value, p)
	if err != nil {
		return false, err
	}
	is, ok := v.Bool()
	if !ok {
		return false, &expr.Error{Code: "parameter-type", Message: fmt.Sprintf("recognises is of type bool; this is of type %s", expr.TypeName(v.Type)),
			Help: "write a comparison, as in `config.string('model_type') == '" + doc.Name.Text + "'`"}
	}
	return is, nil
}

func (c *composer) userFile() *syntax.Document {
	doc := c.lib.open(c.req.Graph)
	if doc == nil {
		return nil
	}
	if doc.Kind != "model" {
		return doc
	}
	return c.recognised(doc)
}

// recognised gives a model that was asked for by name, if it recognises the config.
func (c *composer) recognised(doc *syntax.Document) *syntax.Document {
	if doc.Recognises == nil || c.req.Config == nil || c.list.HasErrors() {
		return doc
	}
	is, bad := c.recognises(doc)
	switch {
	case bad != nil && bad.Code != "config-value":
		c.exprError(doc.File, doc.Recognises.Node, 0, bad)
		return nil
	case is && bad == nil:
		return doc
	}
	severity := diag.Error
	if c.req.Force {
		severity = diag.Warning
	}
	why := "is false"
	if bad != nil {
		why = "cannot be answered: " + bad.Message
	}
	kind, _ := c.req.Config.Values["model_type"].(string)
	d := c.list.Add(severity, "not-recognised", doc.Recognises.At(), "%s does not recognise %s: its condition %s (model_type is %q)", doc.Name.Text, c.req.Config.Path, why, kind)
	if !c.req.Force {
		d.Helped("--force composes it all the same")
		return nil
	}
	return doc
}
