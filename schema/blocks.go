package schema

import (
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/registry"
)

// blockSignature is how a shipped block is called.
type blockSignature struct {
	name, doc string
	inputs    []registry.Input
	params    []blockParam
}

type blockParam struct {
	name, typ string
	doc       string     // the comment at its line
	standard  *yaml.Node // the default, as it is written
	bound     bool       // by the first shape that holds it
}

func readBlocks(shipped fs.FS) ([]*blockSignature, error) {
	files, err := fs.Glob(shipped, "blocks/*.yaml")
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var out []*blockSignature
	for _, name := range files {
		data, err := fs.ReadFile(shipped, name)
		if err != nil {
			return nil, err
		}
		var list diag.List
		doc := syntax.Parse(source.Parse("graphs/"+name, data, &list), &list)
		if list.HasErrors() {
			return nil, list.Sorted()[0]
		}
		if want := path.Base(name); doc.Name.Text+".yaml" != want || doc.Kind != "block" {
			return nil, fmt.Errorf("graphs/%s holds the %s %s", name, doc.Kind, doc.Name.Text)
		}
		out = append(out, signatureOf(doc))
	}
	return out, nil
}

func signatureOf(doc *syntax.Document) *blockSignature {
	s := &blockSignature{name: doc.Name.Text, doc: doc.Doc}
	bare := map[string]bool{}
	shapes := func(dims []*syntax.Expr) {
		for _, d := range dims {
			if d.Node.Kind == yaml.ScalarNode {
				bare[d.Node.Value] = true
			}
		}
	}
	for _, in := range doc.In {
		text := "a value"
		if len(in.Dims) > 0 {
			text = "[" + commaed(in.Dims) + "]"
		}
		s.inputs = append(s.inputs, registry.Input{Name: in.Name.Text, Doc: text, Optional: in.Optional})
		shapes(in.Dims)
	}
	for _, o := range doc.Out {
		shapes(o.Dims)
	}
	comments := paramComments(doc.File)
	for _, p := range doc.Params {
		x := blockParam{name: p.Name.Text, typ: p.Type.Text, doc: comments[p.Name.Text], bound: bare[p.Name.Text]}
		if p.Default != nil {
			x.standard = p.Default.Node
		}
		s.params = append(s.params, x)
	}
	return s
}

// paramComments are the comments that stand behind the lines of `params`.
func paramComments(file *source.File) map[string]string {
	out := map[string]string{}
	for i := 0; i+1 < len(file.Root.Content); i += 2 {
		if file.Root.Content[i].Value != "params" {
			continue
		}
		params := source.Deref(file.Root.Content[i+1])
		for k := 0; k+1 < len(params.Content); k += 2 {
			comment := params.Content[k].LineComment
			if comment == "" {
				comment = params.Content[k+1].LineComment
			}
			out[params.Content[k].Value] = strings.TrimSpace(strings.TrimLeft(comment, "#"))
		}
	}
	return out
}

func commaed(dims []*syntax.Expr) string {
	out := ""
	for i, d := range dims {
		if i > 0 {
			out += ", "
		}
		out += d.Node.Value
	}
	return out
}

func (s *blockSignature) keys() []string {
	var out []string
	for _, in := range s.inputs {
		out = append(out, in.Name)
	}
	for _, p := range s.params {
		out = append(out, p.name)
	}
	return out
}

func (s *blockSignature) schema() *Schema {
	first := input(s.inputs, false)
	first.Description = s.doc
	out := closed(s.doc, key(s.name, first))
	out.Title = s.name
	for _, in := range s.inputs {
		out.Properties = append(out.Properties, key(in.Name, namedInput(in)))
	}
	for _, p := range s.params {
		x := typed(p.typ)
		x.Type = append(x.Type, "null")
		switch {
		case p.standard != nil:
			x.Description = fmt.Sprintf("(%s, %s by default)", p.typ, written(p.standard))
		case p.bound:
			x.Description = fmt.Sprintf("(%s, by default as the shapes have it)", p.typ)
		default:
			x.Description = fmt.Sprintf("(%s, required)", p.typ)
			out.Required = append(out.Required, p.name)
		}
		x.Description = strings.TrimSpace(sentence(p.doc) + " " + x.Description)
		out.Properties = append(out.Properties, key(p.name, x))
	}
	out.Properties = append(out.Properties, reserved()...)
	out.Properties = append(out.Properties, key("state", ref("call.state")))
	return out
}

// written is a default as a person would write it.
func written(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	flow := *n
	flow.Style = yaml.FlowStyle
	data, err := yaml.Marshal(&flow)
	if err != nil {
		return "…"
	}
	return string(data[:max(len(data)-1, 0)])
}
