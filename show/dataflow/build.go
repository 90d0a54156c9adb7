package dataflow

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// Sources is what a graph is made of.
type Sources struct {
	Name     string // of the model or block
	Files    map[string]*source.File
	Registry *registry.Registry
	Plan     *plan.Plan // may be nil
}

// maxDepth bounds blocks in blocks; the composer refuses recursion before this.
const maxDepth = 64

// Make builds the picture of a model.
func Make(s Sources) (*Graph, error) {
	docs := parse(s.Files)
	doc, err := docs.chosen(s.Name)
	if err != nil {
		return nil, err
	}
	b := &builder{docs: docs, reg: s.Registry, index: newIndex(s.Plan), gathered: map[gathering][]*plan.Call{}}
	g := &Graph{Name: doc.Name.Text, Doc: doc.Doc, Planned: s.Plan != nil}
	roots := []*Node{b.entry("text", doc, &doc.Body, doc.In, doc.Out)}
	if doc.Kind != "model" {
		roots = []*Node{b.entry(doc.Name.Text, doc, &doc.Body, doc.In, doc.Out)}
	}
	for _, e := range doc.Entries {
		body := e.Body
		body.Ports = append(append([]syntax.Port(nil), doc.Ports...), e.Ports...)
		if n := b.entry(e.Name.Text, doc, &body, e.In, e.Out); len(n.Children) > 0 {
			roots = append(roots, n)
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	for _, r := range roots {
		prune(r)
	}
	g.Root = roots[0]
	if len(roots) > 1 {
		g.Root = &Node{ID: b.id(), Kind: Block, Name: doc.Name.Text, Children: roots}
	}
	return g, nil
}

type builder struct {
	docs     documents
	reg      *registry.Registry
	index    *index
	gathered map[gathering][]*plan.Call
	ids      int
	err      error
}

func (b *builder) id() string {
	b.ids++
	return fmt.Sprintf("n%d", b.ids)
}

// body is a block, an anonymous body or an entry while it is built.
type body struct {
	*builder
	node   *Node
	doc    *syntax.Document
	decl   *syntax.Body
	outer  *body // of an anonymous body
	entry  string
	path   []string
	depth  int
	values map[string]*givers
	states map[string]string // ids by name
	mapped map[string]string // states that the caller gives, with their paths
	all    map[turn]bool     // the times that the plan has it
}

func (b *builder) entry(name string, doc *syntax.Document, decl *syntax.Body, in []syntax.Input, out []syntax.Output) *Node {
	n := &Node{ID: b.id(), Kind: Block, Name: name, Of: "entry", Facts: docFact(doc.Doc)}
	if doc.Kind == "block" {
		n.Of = "block"
	}
	w := &body{builder: b, node: n, doc: doc, decl: decl, entry: name, values: map[string]*givers{}, states: map[string]string{}}
	w.all = w.turnsOf(w.gather(decl, nil))
	if in == nil && doc.Kind == "model" {
		in = []syntax.Input{{Name: syntax.Word{Text: "tokens"}}}
	}
	for i := range in {
		w.input(&in[i])
	}
	w.nodes()
	if out == nil && doc.Kind == "model" {
		out = []syntax.Output{{Name: syntax.Word{Text: "logits"}}}
	}
	for i := range out {
		w.output(out[i].Name.Text)
	}
	return n
}

func docFact(doc string) []Fact {
	if doc == "" {
		return nil
	}
	return []Fact{{"", strings.TrimSpace(doc)}}
}

// input adds a pin for an input.
func (w *body) input(in *syntax.Input) string {
	pin := &Node{ID: w.id(), Kind: Input, Name: in.Name.Text}
	if in.Dims != nil {
		parts := make([]string, len(in.Dims))
		for i, d := range in.Dims {
			parts[i] = d.Node.Value
		}
		pin.Types = []string{strings.TrimSpace(word(in.Dtype) + " [" + strings.Join(parts, ", ") + "]")}
	} else if w.doc.Kind == "model" {
		pin.Types = []string{"int32 [B, T]"}
	}
	w.node.Children = append(w.node.Children, pin)
	w.values[in.Name.Text] = &givers{refs: []Ref{{Node: pin.ID}}}
	return pin.ID
}

func word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	return w.Text
}

// output adds a pin for a result, "" where nothing gives it.
func (w *body) output(name string) string {
	from := w.lookup(name)
	if len(from) == 0 {
		return ""
	}
	pin := &Node{ID: w.id(), Kind: Output, Name: name}
	w.node.Children = append(w.node.Children, pin)
	w.connect(from, Ref{Node: pin.ID}, name, false)
	return pin.ID
}

func (w *body) connect(from []Ref, to Ref, name string, state bool) {
	for _, f := range from {
		w.node.Edges = append(w.node.Edges, Edge{From: f, To: to, Name: name, State: state, Maybe: len(from) > 1})
	}
}

// lookup gives what may have given a value. A value from around an anonymous body comes in by a pin, made when it is asked
// for.
func (w *body) lookup(name string) []Ref {
	if v := w.values[name]; v != nil {
		return v.refs
	}
	if w.outer == nil {
		return nil
	}
	from := w.outer.lookup(name)
	if len(from) == 0 {
		return nil
	}
	pin := &Node{ID: w.id(), Kind: Input, Name: name}
	w.node.Children = append(w.node.Children, pin)
	w.outer.connect(from, Ref{Node: w.node.ID, Pin: pin.ID}, name, false)
	w.values[name] = &givers{refs: []Ref{{Node: pin.ID}}}
	return w.values[name].refs
}

// state gives the cylinder of a state, made when it is first used.
func (w *body) state(name string) (owner *body, id string) {
	for f := w; f != nil; f = f.outer {
		if id, ok := f.states[name]; ok {
			return f, id
		}
		if path, ok := f.mapped[name]; ok {
			return f, f.addState(name, "shared", append([]Fact(nil), Fact{"path", path}))
		}
		for i := range f.decl.States {
			if s := &f.decl.States[i]; s.Name.Text == name {
				facts := args(s.Fields)
				if s.Dims != nil {
					facts = append(facts, Fact{"dims", exprs(s.Dims)})
				}
				return f, f.addState(name, s.Kind.Text, facts)
			}
		}
	}
	return nil, ""
}

func (w *body) addState(name, kind string, facts []Fact) string {
	n := &Node{ID: w.id(), Kind: State, Name: name, Of: kind, Path: strings.Join(append(w.path[:len(w.path):len(w.path)], name), "."), Facts: facts}
	w.planState(n)
	w.node.Children = append(w.node.Children, n)
	w.states[name] = n.ID
	return n.ID
}

// useState draws the edge between a state and a node of the body, through the bodies between them.
func (w *body) useState(name, node string) bool {
	owner, id := w.state(name)
	if owner == nil {
		return false
	}
	from := []Ref{{Node: id}}
	if owner != w {
		from = w.through(owner, id, name)
	}
	w.connect(from, Ref{Node: node}, name, true)
	return true
}

// through leads a state of a body around this one in by pins.
func (w *body) through(owner *body, id, name string) []Ref {
	from := []Ref{{Node: id}}
	if w.outer != owner {
		from = w.outer.through(owner, id, name)
	}
	pin := &Node{ID: w.id(), Kind: Input, Name: name, Of: "state"}
	w.node.Children = append(w.node.Children, pin)
	w.outer.connect(from, Ref{Node: w.node.ID, Pin: pin.ID}, name, true)
	return []Ref{{Node: pin.ID}}
}

func line(r diag.Range) string {
	if r.IsZero() {
		return ""
	}
	return r.String()
}
