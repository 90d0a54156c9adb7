package compose

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/weights/header"
)

// examples composes a model for each config of its `examples` list, where the request gives none. What is found is added
// to the list; a finding that several examples have is said once. It gives the examples' names.
func (c *composer) examples(ctx context.Context, doc *syntax.Document) ([]string, error) {
	var done []string
	for _, n := range doc.Examples {
		node := n
		if n.Kind == yaml.MappingNode {
			node = nil
			for i := 0; i+1 < len(n.Content); i += 2 {
				switch key := n.Content[i].Value; key {
				case "config":
					node = source.Deref(n.Content[i+1])
				case "tensors", "device", "checkpoint", "request":
				default:
					d := c.list.Errorf("unknown-key", doc.File.Range(n.Content[i]), "an example has no key %q", key)
					helpNames(d, key, []string{"config", "tensors", "device", "checkpoint", "request"}, "its keys")
				}
			}
		}
		if node == nil || node.Kind != yaml.ScalarNode {
			c.list.Errorf("want-text", doc.File.Range(n), "an example is the path of a config.json, or {config: path, …}")
			continue
		}
		config, err := c.exampleConfig(doc, node.Value)
		if err != nil {
			c.list.Errorf("file-unreadable", doc.File.Range(node), "%v", err)
			continue
		}
		r := c.req
		r.Graph, r.Config, r.Checkpoint = doc.File.Path, config, nil
		one := &composer{req: r, list: c.list, reg: c.reg, lib: c.lib, ex: c.ex, asked: map[string]bool{}}
		if err := one.withConfig(ctx, doc); err != nil {
			return done, err
		}
		done = append(done, node.Value)
	}
	return done, nil
}

// exampleConfig reads a config whose path counts from the file that names it.
func (c *composer) exampleConfig(doc *syntax.Document, name string) (*header.Config, error) {
	if inside, ok := strings.CutPrefix(doc.File.Path, shippedPrefix); ok {
		file := path.Join(path.Dir(inside), name)
		data, err := fs.ReadFile(c.req.Shipped, file)
		if err != nil {
			return nil, err
		}
		return header.ParseConfig(shippedPrefix+file, bytes.NewReader(data))
	}
	file := filepath.Join(filepath.Dir(doc.File.Path), name)
	if text, ok := c.req.Overlay[file]; ok {
		return header.ParseConfig(file, bytes.NewReader(text))
	}
	return header.ReadConfig(file)
}

// withConfig composes a document that is read and checked already.
func (c *composer) withConfig(ctx context.Context, doc *syntax.Document) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.readConfig(); err != nil {
		c.list.Errorf("quantization", diag.Range{File: c.req.Config.Path}, "%v", err)
		return nil
	}
	if is, bad := c.recognises(doc); !is || bad != nil {
		kind, _ := c.req.Config.Values["model_type"].(string)
		c.list.Errorf("not-recognised", doc.Recognises.At(), "%s does not recognise its own example %s (model_type is %q)", doc.Name.Text, c.req.Config.Path, kind)
		return nil
	}
	c.compose(doc)
	return nil
}
