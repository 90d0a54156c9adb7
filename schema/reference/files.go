package reference

import (
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
)

// OfDocument describes a graph file by its header.
func OfDocument(doc *syntax.Document) Entry {
	e := Entry{Kind: Kind(doc.Kind), Name: doc.Name.Text, Doc: doc.Doc, File: doc.File.Path}
	if e.Doc == "" { // kinds whose body is read elsewhere
		e.Doc = scalar(doc.File.Root, "doc")
	}
	if e.Name == "" {
		e.Name = strings.TrimSuffix(path.Base(doc.File.Path), ".yaml")
	}
	bare := map[string]bool{}
	array := func(name syntax.Word, dims []*syntax.Expr, dtype *syntax.Word, optional bool) Item {
		item := Item{Name: name.Text, Type: "value", Optional: optional}
		if dims != nil {
			item.Doc = "[" + commas(dims) + "]"
		}
		if dtype != nil {
			item.Doc = strings.TrimSpace(dtype.Text + " " + item.Doc)
		}
		for _, d := range dims {
			if d.Node.Kind == yaml.ScalarNode {
				bare[d.Node.Value] = true
			}
		}
		return item
	}
	for _, in := range doc.In {
		e.Inputs = append(e.Inputs, array(in.Name, in.Dims, in.Dtype, in.Optional))
	}
	for _, o := range doc.Out {
		e.Outputs = append(e.Outputs, array(o.Name, o.Dims, o.Dtype, o.Optional))
	}
	comments := paramComments(doc.File)
	for _, p := range doc.Params {
		item := Item{Name: p.Name.Text, Type: p.Type.Text, Doc: comments[p.Name.Text]}
		if p.Default != nil {
			text := written(p.Default.Node)
			item.Default = &text
		} else {
			item.Bound = bare[p.Name.Text]
		}
		e.Params = append(e.Params, item)
	}
	switch e.Kind {
	case Block:
		e.State = states(doc)
		e.Example = []string{"- " + e.resultNames() + ": " + e.call()}
	case Model:
		e.modelFacts(doc)
	case Variant:
		for _, k := range []string{"of", "requires"} {
			if text := scalar(doc.File.Root, k); text != "" {
				e.Facts = append(e.Facts, Fact{k, text})
			}
		}
		e.Example = []string{"graphrun explain --variant " + e.Name}
	case Rules:
		e.Example = []string{"graphrun validate --rules " + e.Name}
	}
	return e
}

// states tells whether a caller may give the states of a block by path.
func states(doc *syntax.Document) string {
	if len(doc.States) > 0 {
		return "map"
	}
	return ""
}

func (e *Entry) modelFacts(doc *syntax.Document) {
	if e.Inputs == nil {
		e.Inputs = []Item{{Name: "tokens", Type: "value", Doc: "int32 [B, T]"}}
	}
	if e.Outputs == nil {
		e.Outputs = []Item{{Name: "logits", Type: "value", Doc: "[B, T, vocab]"}}
	}
	if doc.Recognises != nil {
		e.Facts = append(e.Facts, Fact{"recognises", strings.Join(strings.Fields(doc.Recognises.Node.Value), " ")})
	}
	if doc.Extends != nil {
		e.Facts = append(e.Facts, Fact{"extends", doc.Extends.Text})
	}
	var entries []string
	for _, x := range doc.Entries {
		entries = append(entries, x.Name.Text)
	}
	if len(entries) > 0 {
		e.Facts = append(e.Facts, Fact{"entries", strings.Join(append([]string{"text"}, entries...), " ")})
	}
}

// paramComments are the comments that stand behind the lines of `params`: what a parameter is, in a file that has no
// other place to say it.
func paramComments(file *source.File) map[string]string {
	out := map[string]string{}
	params := child(file.Root, "params")
	if params == nil {
		return out
	}
	for k := 0; k+1 < len(params.Content); k += 2 {
		comment := params.Content[k].LineComment
		if comment == "" {
			comment = params.Content[k+1].LineComment
		}
		out[params.Content[k].Value] = strings.TrimSpace(strings.TrimLeft(comment, "#"))
	}
	return out
}

func child(root *yaml.Node, key string) *yaml.Node {
	for i := 0; root != nil && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == key {
			return source.Deref(root.Content[i+1])
		}
	}
	return nil
}

func scalar(root *yaml.Node, key string) string {
	switch n := child(root, key); {
	case n == nil:
		return ""
	case n.Kind == yaml.ScalarNode:
		return strings.Join(strings.Fields(n.Value), " ")
	default:
		return written(n)
	}
}

func commas(dims []*syntax.Expr) string {
	out := make([]string, len(dims))
	for i, d := range dims {
		out[i] = d.Node.Value
	}
	return strings.Join(out, ", ")
}

// written is a value as a person writes it in one line.
func written(n *yaml.Node) string {
	n = source.Deref(n)
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value
	case yaml.SequenceNode:
		out := make([]string, len(n.Content))
		for i, c := range n.Content {
			out[i] = written(c)
		}
		return "[" + strings.Join(out, ", ") + "]"
	case yaml.MappingNode:
		var out []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			out = append(out, n.Content[i].Value+": "+written(n.Content[i+1]))
		}
		return "{" + strings.Join(out, ", ") + "}"
	}
	return ""
}
