package compose

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/weights/header"
)

// Example is one item of a file's `examples`: facts to compose it with.
type Example struct {
	Number  int    // from 1
	Name    string // as the file names it, else its config's path
	Config  string // path, as the file has it
	Tensors string // likewise; "": each weight is as the graph needs it
	Format  string // of the checkpoint, as declared
	// Fingerprint of the checkpoint, as declared; "": that of the tensors.
	Fingerprint string
	Device      Device
	Use         Use

	at          diag.Range
	configNode  *yaml.Node
	tensorsNode *yaml.Node
}

// examples composes a file for each of its examples, or for the one that the request names, of which the result has the
// plan. What is found is added to the list; a finding that several examples have is said once.
func (c *composer) examples(ctx context.Context, doc *syntax.Document, out *Result) error {
	list, ok := c.readExamples(doc)
	if !ok {
		return nil
	}
	chosen := list
	if c.req.Example != "" {
		one := c.chooseExample(doc, list)
		if one == nil {
			return nil
		}
		chosen = []*Example{one}
	}
	for _, e := range chosen {
		one, err := c.example(ctx, doc, e)
		if err != nil {
			return err
		}
		if one == nil {
			continue
		}
		out.Examples = append(out.Examples, e.Name)
		if c.req.Example != "" {
			out.Example = e
			one.result(out)
			if c.list.HasErrors() { // those of files that the example needs
				out.Plan = nil
			}
		}
	}
	return nil
}

// chooseExample finds the example that the request names: by its number or its name.
func (c *composer) chooseExample(doc *syntax.Document, list []*Example) *Example {
	var names []string
	for _, e := range list {
		if c.req.Example == strconv.Itoa(e.Number) || c.req.Example == e.Name {
			return e
		}
		names = append(names, e.Name)
	}
	if len(list) == 0 {
		c.list.Errorf("no-example", doc.Name.At, "%s has no examples", doc.Name.Text).Helped("add `examples: [config.json]`, or name a config or a checkpoint")
		return nil
	}
	d := c.list.Errorf("no-example", doc.Name.At, "%s has no example %s", doc.Name.Text, c.req.Example)
	d.Among(c.req.Example, names, "its examples, by number or name")
	return nil
}

// example composes a file with the facts of one example; nil where something keeps it from being tried.
func (c *composer) example(ctx context.Context, doc *syntax.Document, e *Example) (*composer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	one := &composer{req: c.req, list: &diag.List{}, reg: c.reg, lib: c.lib, ex: c.ex, finder: c.finder, asked: map[string]bool{}, declared: e}
	r := &one.req
	r.Graph, r.Model, r.Checkpoint, r.Device, r.Use = "", "", nil, e.Device, e.Use
	var err error
	if r.Config, err = c.exampleConfig(doc, e.Config); err != nil {
		c.unreadable(doc, e.configNode, err)
		return nil, nil
	}
	if e.Tensors != "" {
		if r.Checkpoint, err = c.exampleTensors(doc, e, r.Config); err != nil {
			if d := c.unreadable(doc, e.tensorsNode, err); len(d.Help) == 0 {
				d.Helped("`graphrun weights --json CHECKPOINT` writes such a listing: {\"name\": {\"dtype\": \"bfloat16\", \"shape\": [64, 64]}}")
			}
			return nil, nil
		}
	}
	if err := one.readConfig(); err != nil {
		c.list.Errorf("quantization", diag.Range{File: r.Config.Path}, "%v", err)
		return nil, nil
	}
	if one.kv, err = parseKV(e.Use.KV); err != nil {
		c.list.Errorf("bad-word", e.at, "%v", err).Helped("%s", kvForms)
		return nil, nil
	}
	c.finder.of = one
	defer func() { c.finder.of = c }()
	model := doc
	switch doc.Kind {
	case "variant":
		one.besides = doc
		model = one.modelOf(doc, e.at)
	case "rules":
		one.besides = doc
		model = one.choose()
	default:
		if is, bad := one.recognises(doc); !is || bad != nil {
			kind, _ := r.Config.Values["model_type"].(string)
			c.list.Errorf("not-recognised", doc.Recognises.At(), "%s does not recognise its own example %s (model_type is %q)", doc.Name.Text, r.Config.Path, kind).Helped("let `recognises` take it, or remove the example")
			return nil, nil
		}
	}
	if model != nil && model != doc {
		if doc.Kind == "rules" {
			model = one.merged(model)
		}
		model = c.checked(model)
	}
	if model != nil && !one.list.HasErrors() {
		one.compose(model)
	}
	for _, d := range one.list.Sorted() {
		if len(doc.Examples) > 1 {
			d.Because(e.at, "composed for the example %s", e.Name)
		}
		c.list.Put(d)
	}
	return one, nil
}

// unreadable reports a file that an example names.
func (c *composer) unreadable(doc *syntax.Document, n *yaml.Node, err error) *diag.Diagnostic {
	if errors.Is(err, fs.ErrNotExist) {
		d := c.list.Errorf("file-unreadable", doc.File.Range(n), "there is no file %s", n.Value)
		beside, _ := filepath.Glob(filepath.Join(filepath.Dir(doc.File.Path), path.Dir(n.Value), "*.json"))
		for i := range beside {
			beside[i] = path.Join(path.Dir(n.Value), filepath.Base(beside[i]))
		}
		if near := diag.DidYouMean(n.Value, beside); near != "" {
			return d.Helped("%s", near)
		}
		return d.Helped("an example's paths count from the file that names them")
	}
	return c.list.Errorf("file-unreadable", doc.File.Range(n), "%v", err)
}

// checked gives a model that is checked statically, once for all examples; nil where that finds errors.
func (c *composer) checked(model *syntax.Document) *syntax.Document {
	if model == nil {
		return nil
	}
	sound, done := c.lib.checked[model.File]
	if !done {
		before := c.list.Errors()
		c.static(model)
		sound = c.list.Errors() == before && !c.list.In(model.File.Path)
		c.lib.checked[model.File] = sound
	}
	if !sound {
		return nil
	}
	return model
}

// modelOf finds the model of a variant that recognises the config: one that it is of, beside it or shipped, else a shipped
// one that extends these.
func (c *composer) modelOf(doc *syntax.Document, at diag.Range) *syntax.Document {
	if len(doc.Variant.Of) == 0 { // reported where the file was read
		return nil
	}
	faulty := false // a model that it is of: its own findings are enough
	var unknown []syntax.Word
	var asks []*syntax.Document
	for _, w := range doc.Variant.Of {
		if w.Text == "*" {
			return c.choose()
		}
		read := c.lib.list.Len()
		m := c.lib.model(w.Text, doc)
		if m == nil && c.lib.list.Len() == read && !c.lib.unsound(w.Text, doc) {
			unknown = append(unknown, w)
		}
		if faulty = faulty || c.lib.list.Len() > read || c.lib.unsound(w.Text, doc); m == nil {
			continue
		}
		if m = c.merged(m); m == nil {
			return nil
		}
		is, bad := c.recognises(m)
		switch {
		case is && bad == nil:
			return m
		case bad != nil && bad.Code != "config-value":
			c.exprError(m.File, m.Recognises.Node, 0, bad)
			return nil
		}
		asks = append(asks, m)
	}
	for _, m := range c.lib.models() {
		if m = c.merged(m); m == nil {
			continue
		}
		if is, _ := c.recognises(m); is && c.isOf(doc, m) {
			return m
		}
	}
	if faulty {
		return nil
	}
	for _, w := range unknown {
		c.list.Errorf("unknown-model", w.At, "there is no model %s that the variant could be of, beside this file or shipped", w.Text).Among(w.Text, c.lib.modelNames(doc), "models")
	}
	if len(unknown) > 0 {
		return nil
	}
	kind, _ := c.req.Config.Values["model_type"].(string)
	d := c.list.Errorf("variant-of-another", at, "the variant %s is of %s, which does not recognise %s (model_type is %q)", doc.Name.Text, wordList(doc.Variant.Of), c.req.Config.Path, kind)
	if others := c.ofTheirs(); len(others) > 0 {
		d.Helped("%s recognises it: write `of: %s`", others[0], others[0])
	} else {
		d.Helped("name a config that %s recognises", wordList(doc.Variant.Of))
	}
	for _, m := range asks {
		if m.Recognises != nil {
			d.Because(m.Recognises.At(), "%s asks: %s", m.Name.Text, m.Recognises.Node.Value)
		}
	}
	return nil
}

// exampleFile finds a file whose path counts from the file that names it; its text where it is not one on the disk.
func (c *composer) exampleFile(doc *syntax.Document, name string) (string, []byte, error) {
	if c.lib.fromShipped(doc) {
		file := path.Join(path.Dir(strings.TrimPrefix(doc.File.Path, shippedPrefix)), name)
		data, err := fs.ReadFile(c.req.Shipped, file)
		return shippedPrefix + file, data, err
	}
	file := filepath.Join(filepath.Dir(doc.File.Path), name)
	return file, c.req.Overlay[file], nil
}

// exampleConfig reads a config whose path counts from the file that names it.
func (c *composer) exampleConfig(doc *syntax.Document, name string) (*header.Config, error) {
	file, data, err := c.exampleFile(doc, name)
	switch {
	case err != nil:
		return nil, err
	case data != nil:
		return header.ParseConfig(file, bytes.NewReader(data))
	}
	return header.ReadConfig(file)
}

// exampleTensors reads a listing of tensors as if it were a checkpoint's headers.
func (c *composer) exampleTensors(doc *syntax.Document, e *Example, config *header.Config) (*header.Checkpoint, error) {
	file, data, err := c.exampleFile(doc, e.Tensors)
	if err != nil {
		return nil, err
	}
	ck := &header.Checkpoint{Path: file, Format: or(e.Format, "safetensors"), Config: config}
	key := listing{file, data != nil}
	known := false
	if ck.Tensors, known = c.lib.shared.tensors[key]; !known {
		if data != nil {
			ck.Tensors, err = header.ParseListing(file, bytes.NewReader(data))
		} else {
			ck.Tensors, err = header.ReadListing(file)
		}
		if err != nil {
			return ck, err
		}
		c.lib.shared.tensors[key] = ck.Tensors
	}
	ck.Quantization, err = header.ReadQuantization(config)
	return ck, err
}

// readExamples reads the list: a config's path, or {config: …, tensors: …, device: {…}, checkpoint: {…}, request: {…}}.
func (c *composer) readExamples(doc *syntax.Document) ([]*Example, bool) {
	var out []*Example
	good := true
	for i, n := range doc.Examples {
		e := &Example{Number: i + 1, Device: c.req.Device, Use: c.req.Use, at: doc.File.Range(n), configNode: source.Deref(n)}
		if n.Kind == yaml.MappingNode {
			r := exampleReader{c, doc, true}
			e.configNode = nil
			r.fields(n, "an example", map[string]any{"name": &e.Name, "config": &e.configNode, "tensors": &e.tensorsNode,
				"device": func(n *yaml.Node) {
					r.fields(n, "an example's device", map[string]any{"kind": &e.Device.Kind, "arch": &e.Device.Arch, "ane": &e.Device.ANE, "memory": &e.Device.Memory})
				},
				"checkpoint": func(n *yaml.Node) {
					r.fields(n, "an example's checkpoint", map[string]any{"fingerprint": &e.Fingerprint, "format": &e.Format})
				},
				"request": func(n *yaml.Node) {
					u := &e.Use
					r.fields(n, "an example's request", map[string]any{"context": &u.Context, "batch": &u.Batch, "draft_tokens": &u.DraftTokens, "chunk": &u.Chunk,
						"memory_budget": &u.MemoryBudget, "adapters": &u.Adapters, "kv": &u.KV})
				}})
			good = good && r.good
		}
		if e.configNode == nil || e.configNode.Kind != yaml.ScalarNode || e.tensorsNode != nil && e.tensorsNode.Kind != yaml.ScalarNode {
			c.list.Errorf("want-text", e.at, "an example is the path of a config.json, or {config: path, tensors: path, …}").Helped("write it as in `- examples/tiny.json`, or `- {config: examples/tiny.json, device: {kind: gpu}}`")
			good = false
			continue
		}
		if e.Device.Kind != "" && e.Device.Kind != "cpu" && e.Device.Kind != "gpu" {
			c.list.Errorf("bad-word", e.at, "a device's kind is cpu or gpu, not %s", e.Device.Kind).Among(e.Device.Kind, []string{"cpu", "gpu"}, "one of")
			good = false
		}
		e.Config = e.configNode.Value
		if e.tensorsNode != nil {
			e.Tensors = e.tensorsNode.Value
		}
		e.Name = or(e.Name, e.Config)
		out = append(out, e)
	}
	return out, good
}

// exampleReader reads an example's maps; their values are data, not expressions.
type exampleReader struct {
	c    *composer
	doc  *syntax.Document
	good bool
}

// fields reads a map of known keys: into a *string, *bool, *int, *int64 or **yaml.Node, or by a function.
func (r *exampleReader) fields(n *yaml.Node, what string, to map[string]any) {
	if n.Kind != yaml.MappingNode {
		r.c.list.Errorf("want-mapping", r.doc.File.Range(n), "%s is a mapping; this is a %s", what, source.KindName(n)).Helped("write `{key: value}`; its keys: %s", strings.Join(sortedKeys(to), ", "))
		r.good = false
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], source.Deref(n.Content[i+1])
		place, known := to[key.Value]
		if !known {
			d := r.c.list.Errorf("unknown-key", r.doc.File.Range(key), "%s has no key %q", what, key.Value)
			d.Among(key.Value, sortedKeys(to), "its keys")
			r.good = false
			continue
		}
		if want := readInto(v, place); want != "" {
			r.c.list.Errorf("parameter-type", r.doc.File.Range(v), "%s of %s is %s; this is %s", key.Value, what, want, v.Value).Helped("write `%s: %s`, or leave it out", key.Value, map[bool]string{true: "true", false: "4096"}[want == "true or false"])
			r.good = false
		}
	}
}

// readInto reads a scalar; it gives what is wanted where that cannot be.
func readInto(v *yaml.Node, place any) (want string) {
	var err error
	switch p := place.(type) {
	case func(*yaml.Node):
		p(v)
	case **yaml.Node:
		*p = v
	case *string:
		if v.Kind != yaml.ScalarNode {
			return "text"
		}
		*p = v.Value
	case *bool:
		if v.ShortTag() != "!!bool" {
			return "true or false"
		}
		*p = v.Value == "true"
	case *int:
		if *p, err = strconv.Atoi(v.Value); err != nil || *p < 0 {
			return "an int, 0 or more"
		}
	case *int64:
		if *p, err = strconv.ParseInt(v.Value, 10, 64); err != nil || *p < 0 {
			return "an int of bytes, 0 or more"
		}
	}
	return ""
}
