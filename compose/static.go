package compose

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
)

// static checks what needs no config: that names stand for something, keys and parameters are known, expressions have
// types, values are read. It looks at the document and at every block that it reaches, dropped branches too. Files inside the
// program are not looked at: a test holds them to have no finding.
func (c *composer) static(doc *syntax.Document) {
	c.checking = doc
	read := c.list // what reading the files found, those of blocks too
	c.list = &diag.List{}
	s := &checker{c: c, done: map[*syntax.Document]bool{}}
	s.document(doc)
	found := c.list
	c.list = read
	c.merge(found)
}

// hangs are codes that a declaration which could not be read brings about; unused ones hang on every error.
var hangs = map[string]bool{"unknown-name": true, "unknown-callee": true, "unknown-state": true, "missing-result": true, "unused-value": true}

// merge keeps what static checking found, without what follows from errors that are reported already.
func (c *composer) merge(found *diag.List) {
	broken, places := map[string]bool{}, map[string]bool{}
	for _, d := range c.list.Sorted() {
		if d.Severity == diag.Error {
			broken[d.At.File], places[d.At.String()] = true, true
		}
	}
	errors := c.list.HasErrors() || found.HasErrors()
	for _, d := range found.Sorted() {
		switch {
		case places[d.At.String()]:
		case hangs[d.Code] && broken[d.At.File]:
		case strings.HasPrefix(d.Code, "unused-") && d.Severity == diag.Warning && errors:
		default:
			c.list.Put(d)
		}
	}
}

// checker walks bodies. done are the documents that are checked; open those on the way down.
type checker struct {
	c    *composer
	done map[*syntax.Document]bool
	open []*syntax.Document
}

// nameKind is what a name of a body stands for.
type nameKind string

const (
	aValue  nameKind = "value"
	aLet    nameKind = "let"
	aParam  nameKind = "parameter"
	anIndex nameKind = "index"
	aPort   nameKind = "port"
	aWeight nameKind = "weight"
	aState  nameKind = "state"
	anInput nameKind = "input"
	aDim    nameKind = "dim that a shape binds"
)

type staticName struct {
	kind nameKind
	typ  *expr.Type // of scalars
	at   diag.Range
	read bool
}

// body is one body's names. An anonymous body sees those around it.
type body struct {
	doc     *syntax.Document
	outer   *body
	names   map[string]*staticName
	results map[string]bool // names that count as read
}

func newBody(doc *syntax.Document, outer *body) *body {
	return &body{doc: doc, outer: outer, names: map[string]*staticName{}, results: map[string]bool{}}
}

func (b *body) find(name string) *staticName {
	for ; b != nil; b = b.outer {
		if n := b.names[name]; n != nil {
			return n
		}
	}
	return nil
}

func (b *body) read(name string) {
	if n := b.find(name); n != nil {
		n.read = true
	}
}

// TypeOf and Names make a body the scope of static checks; it has no values.
func (b *body) TypeOf(name string) (*expr.Type, bool) {
	if n := b.find(name); n != nil {
		switch n.kind {
		case aValue, anInput:
			return expr.ArrayType, true
		case aPort, aWeight, aState:
			return nil, false
		}
		return n.typ, true
	}
	switch name {
	case "config":
		return expr.Dict, b.doc.Kind == "model"
	case expr.Given:
		return expr.GivenType, true
	case "B", "T", "S":
		return expr.Int, true
	}
	return nil, false
}

// ValueOf has no answer: nothing is evaluated here.
func (b *body) ValueOf(name string) (expr.Value, error) { return expr.Value{}, errSilent }

// Known tells of names that an expression cannot use.
func (b *body) Known(name string) (message, help string) {
	if n := b.find(name); n != nil {
		return fmt.Sprintf("%s is a %s, which an expression cannot ask", name, n.kind), "expressions see parameters, lets, indices, and the shape and dtype of values"
	}
	switch name {
	case "config", "tensors":
		return name + " is not a name in a block: a block sees its parameters alone", "declare a parameter, as in `params: {eps: float}`, and give it where the block is called"
	case "device", "checkpoint", "request", "weight", "port", "plan":
		return fmt.Sprintf("%s is not a name here: variants and rules ask it", name), "what hangs on it is a line of a variant, as in `bind`"
	}
	return "", ""
}

// Names lists what may be meant.
func (b *body) Names() []string {
	var out []string
	for x := b; x != nil; x = x.outer {
		for n, v := range x.names {
			if v.kind != aPort && v.kind != aWeight && v.kind != aState {
				out = append(out, n)
			}
		}
	}
	if b.doc.Kind == "model" {
		out = append(out, "config")
	}
	return out
}

// inputNames lists what may stand among inputs.
func (b *body) inputNames() []string {
	var out []string
	for x := b; x != nil; x = x.outer {
		for n, v := range x.names {
			numeric := v.typ == nil || v.typ == expr.Int || v.typ == expr.Float || v.typ == expr.Bool
			if v.kind != aPort && numeric {
				out = append(out, n)
			}
		}
	}
	return out
}

// declare adds a name; hiding another is an error that shows both places, but values are rebound freely.
func (s *checker) declare(b *body, w syntax.Word, kind nameKind, typ *expr.Type) {
	first := b.find(w.Text)
	if first != nil && !(kind == aValue && (first.kind == aValue || first.kind == anInput)) {
		s.c.list.Errorf("name-hidden", w.At, "the %s %s hides a %s of that name", kind, w.Text, first.kind).
			Because(first.at, "the %s %s", first.kind, w.Text).Helped("give one of them another name")
		return
	}
	if kind == aParam || kind == aPort || kind == anInput {
		if s.c.reg.Operator(w.Text) != nil {
			s.c.list.Errorf("name-clash", w.At, "the %s %s has the name of an operator", kind, w.Text).Helped("give it another name")
		} else if s.c.lib.hasBlock(w.Text, b.doc) {
			s.c.list.Errorf("name-clash", w.At, "the %s %s has the name of a block", kind, w.Text).Helped("give it another name")
		}
	}
	if first == nil || first.kind != aValue && first.kind != anInput {
		b.names[w.Text] = &staticName{kind: kind, typ: typ, at: w.At}
	} else if b.names[w.Text] == nil {
		// Rebound inside an anonymous body: reading it there reads the name around, too.
		b.names[w.Text] = first
	}
}

func (s *checker) document(doc *syntax.Document) {
	if s.done[doc] || s.c.lib.fromShipped(doc) && !s.c.req.plain {
		return
	}
	s.done[doc] = true
	s.open = append(s.open, doc)
	defer func() { s.open = s.open[:len(s.open)-1] }()
	if s.c.reg.Operator(doc.Name.Text) != nil && doc.Kind == "block" {
		s.c.list.Errorf("name-clash", doc.Name.At, "the block %s has the name of an operator", doc.Name.Text).Helped("give it, and its file, another name")
	}
	b := newBody(doc, nil)
	for _, p := range doc.Params {
		s.declare(b, p.Name, aParam, expr.ParamType(p.Type.Text))
	}
	if doc.Kind == "block" {
		s.inputs(b, doc.In)
	}
	for _, p := range doc.Params {
		if p.Default != nil {
			s.typed(b, p.Default, p.Type.Text, "the default of "+p.Name.Text)
		}
	}
	if doc.Recognises != nil {
		s.typed(b, doc.Recognises, "bool", "recognises")
	}
	s.lets(b, doc.Let)
	s.viewReads(b, doc)
	s.declarations(b, &doc.Body)
	if doc.Kind == "block" {
		for _, i := range doc.In {
			s.shape(b, i.Dims, true)
		}
		s.graph(b, &doc.Body, doc.Out, doc.NodesAt)
		s.unread(b)
		return
	}
	for _, e := range entriesOf(doc) {
		if e.Requires != nil {
			s.typed(b, e.Requires, "bool", "requires")
		}
		inner := newBody(doc, b)
		if e.In == nil {
			inner.names["tokens"] = &staticName{kind: anInput, at: e.Name.At, read: true}
		}
		s.inputs(inner, e.In)
		for _, i := range e.In {
			s.shape(inner, i.Dims, true)
		}
		if e.Name.Text != textEntry {
			s.lets(inner, e.Let)
			s.declarations(inner, &e.Body)
		}
		s.graph(inner, &e.Body, e.Out, e.NodesAt)
		s.unread(inner)
	}
	s.unread(b)
}

// graph checks a body's lines and that they give its results; a model's entry without `out` gives logits.
func (s *checker) graph(b *body, d *syntax.Body, out []syntax.Output, nodesAt diag.Range) {
	if out == nil {
		b.results["logits"] = true
	}
	for _, o := range out {
		b.results[o.Name.Text] = true
	}
	s.lines(b, d)
	for _, o := range out {
		s.shape(b, o.Dims, true)
		if b.find(o.Name.Text) == nil {
			d := s.c.list.Errorf("missing-result", o.Name.At, "no line of the body gives the result %s", o.Name.Text)
			d.Among(o.Name.Text, valueNames(b), "it gives")
		}
	}
	if out == nil && nodesAt.Line > 0 && b.find("logits") == nil {
		d := s.c.list.Errorf("missing-result", nodesAt, "no line of the body gives logits, which a model's text entry gives")
		d.Among("logits", valueNames(b), "it gives")
	}
}

func valueNames(b *body) []string {
	var out []string
	for _, n := range sortedKeys(b.names) {
		if b.names[n].kind == aValue {
			out = append(out, n)
		}
	}
	return out
}

// inputs declares inputs and the names that their shapes bind.
func (s *checker) inputs(b *body, in []syntax.Input) {
	for _, i := range in {
		s.declare(b, i.Name, anInput, nil)
	}
	for _, i := range in {
		for _, d := range i.Dims {
			if d.Node.Kind == yaml.ScalarNode && isName(d.Node.Value) && !declares(b.doc.Let, d.Node.Value) {
				s.shape(b, []*syntax.Expr{d}, true)
			}
		}
	}
}

// shape checks dims; a bare name that is not in scope is bound by the shape.
func (s *checker) shape(b *body, dims []*syntax.Expr, bind bool) {
	for _, d := range dims {
		if d.Node.Kind != yaml.ScalarNode || d.Node.ShortTag() != "!!str" || d.Node.Value == "..." {
			continue
		}
		if _, known := b.TypeOf(d.Node.Value); bind && !known && isName(d.Node.Value) && b.find(d.Node.Value) == nil {
			b.names[d.Node.Value] = &staticName{kind: aDim, typ: expr.Int, at: d.At(), read: true}
			continue
		}
		s.typed(b, d, "int", "a dim")
	}
}

func (s *checker) lets(b *body, lets []syntax.Let) {
	for _, l := range lets {
		t, ok := s.typeOf(b, l.Value)
		if ok && t == expr.Dyn {
			s.c.list.Errorf("expression-type", l.Value.At(), "the let %s has no static type", l.Name.Text).Helped("%s", s.c.typedRead(l.Value.Node.Value))
		}
		if !ok {
			t = expr.Dyn
		}
		s.declare(b, l.Name, aLet, t)
	}
}

// typeOf gives the static type of what stands in an expression's place.
func (s *checker) typeOf(b *body, e *syntax.Expr) (*expr.Type, bool) {
	return s.typeOfNode(b, e.File, e.Node)
}

func (s *checker) typeOfNode(b *body, file *source.File, n *yaml.Node) (*expr.Type, bool) {
	n = source.Deref(n)
	switch n.Kind {
	case yaml.SequenceNode:
		of := expr.Dyn
		good := true
		for i, item := range n.Content {
			t, ok := s.typeOfNode(b, file, item)
			good = good && ok
			if i == 0 && ok {
				of = t
			}
		}
		return expr.List(of), good
	case yaml.MappingNode:
		good := true
		for i := 0; i+1 < len(n.Content); i += 2 {
			_, ok := s.typeOfNode(b, file, n.Content[i+1])
			good = good && ok
		}
		return expr.Dict, good
	}
	if v, is, bad := literal(n); is {
		if bad != "" {
			badNumber(s.c.list, file.Range(n), bad)
		}
		return v.Type, bad == ""
	}
	s.reads(b, n.Value)
	s.given(b, file, n, 0, n.Value)
	t, err := s.c.ex.Check(n.Value, b)
	if err != nil {
		s.c.exprError(file, n, 0, err)
		return nil, false
	}
	return t, true
}

func (s *checker) reads(b *body, src string) {
	for _, name := range s.c.ex.Names(src) {
		b.read(name)
	}
}

// given checks the names that given asks: the body's inputs, and what its lines or those around it give.
func (s *checker) given(b *body, file *source.File, n *yaml.Node, offset int, src string) {
	names, offsets := s.c.ex.GivenNames(src)
	for i, name := range names {
		b.read(name)
		found := b.find(name)
		if found != nil && (found.kind == aValue || found.kind == anInput) {
			continue
		}
		at := file.Within(n, offset+offsets[i], len([]rune(name)))
		if found != nil {
			s.c.list.Errorf("unknown-name", at, "given.%s: %s is a %s; given asks inputs and what lines give", name, name, found.kind).Because(found.at, "declared here").
				Helped("a %s always has a value: ask it itself, as in `when: %s`", found.kind, conditionOn(name, found))
			continue
		}
		d := s.c.list.Errorf("unknown-name", at, "given.%s: %s is no input of this body, and no line of it gives %s", name, name, name)
		d.Among(name, b.values(), "it has")
	}
}

// conditionOn writes a condition on a name that is no value.
func conditionOn(name string, n *staticName) string {
	if n.typ == expr.Bool {
		return name
	}
	return name + " > 0"
}

// values are the names that given may ask.
func (b *body) values() []string {
	var out []string
	for ; b != nil; b = b.outer {
		for _, name := range sortedKeys(b.names) {
			if k := b.names[name].kind; k == aValue || k == anInput {
				out = append(out, name)
			}
		}
	}
	return out
}

// typed checks an expression against a parameter's type.
func (s *checker) typed(b *body, e *syntax.Expr, want, what string) {
	switch want {
	case "string":
		if e.Node.Kind == yaml.ScalarNode {
			s.template(b, &syntax.Template{Text: e.Node.Value, Node: e.Node, File: e.File})
		}
		return
	case "dtype", "any":
		return
	case "dims":
		if items := listItems(e); items != nil {
			s.shape(b, items, false)
			return
		}
	}
	t, ok := s.typeOf(b, e)
	if !ok || t == expr.Dyn || t == nil {
		return
	}
	have := expr.TypeName(t)
	if have == want || have == "int" && want == "float" || have == "ints" && (want == "floats" || want == "dims") || strings.HasSuffix(have, "list") || t.String() == "dyn" {
		return
	}
	otherType(s.c.list.Errorf("parameter-type", e.At(), "%s is of type %s; this is of type %s", what, want, have), want, have)
}

// template checks the expressions in a template.
func (s *checker) template(b *body, t *syntax.Template) {
	if t == nil {
		return
	}
	parts, open := templateParts(t.Text)
	for _, part := range parts {
		s.reads(b, part.text)
		s.given(b, t.File, t.Node, part.at, part.text)
		if _, err := s.c.ex.Check(part.text, b); err != nil {
			s.c.exprError(t.File, t.Node, part.at, err)
		}
	}
	if open >= 0 {
		s.c.list.Errorf("template", t.File.Within(t.Node, open, 1), "this brace is not closed").Helped("close it, or write {{ for a brace of the text")
	}
}

// viewNames are the keys of a view step that hold names of tensors, no expressions.
var viewNames = []string{"derive", "to", "into"}

// viewReads counts the lets that a view reads, those of the views that it takes over too; its patterns and conditions
// are checked when it is applied.
func (s *checker) viewReads(b *body, doc *syntax.Document, within ...string) {
	for i := range doc.View {
		step := &doc.View[i]
		if step.Verb.Text == "view" && len(step.Patterns) == 1 && !containsString(within, step.Patterns[0].Text) {
			name := step.Patterns[0].Text
			if other := s.c.lib.model(name, doc); other != nil {
				s.viewReads(b, other, append(within, name)...)
			}
		}
		if step.When != nil && step.When.Node.Kind == yaml.ScalarNode {
			s.reads(b, step.When.Node.Value)
		}
		for _, k := range step.Keys {
			if k.Value != nil && !containsString(viewNames, k.Name.Text) {
				s.readsNode(b, k.Value.Node)
			}
		}
	}
}

func (s *checker) readsNode(b *body, n *yaml.Node) {
	n = source.Deref(n)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		s.reads(b, n.Value)
	}
	for _, c := range n.Content {
		s.readsNode(b, c)
	}
}

// unread reports names whose value nothing reads.
func (s *checker) unread(b *body) {
	for _, name := range sortedKeys(b.names) {
		n := b.names[name]
		if n.read || b.results[name] || b.outer != nil && b.outer.find(name) == n {
			continue
		}
		switch n.kind {
		case aValue:
			s.c.list.Errorf("unused-value", n.at, "nothing reads %s", name).Helped("remove the line, or use its value")
		case aLet, aParam, aPort:
			d := s.c.list.Warnf("unused-"+strings.ReplaceAll(string(n.kind), "parameter", "param"), n.at, "nothing uses the %s %s", n.kind, name)
			if n.kind == aPort {
				d.Helped("call it, as in `- y: {%s: x}`, or remove it", name)
			} else {
				d.Helped("remove it")
			}
		}
	}
}

// hasBlock tells whether a block of that name exists, without reading it.
func (l *library) hasBlock(name string, from *syntax.Document) bool {
	for _, b := range l.blockNames(from) {
		if b == name {
			return b != from.Name.Text
		}
	}
	return false
}

func (s *checker) recursion(doc *syntax.Document, call *syntax.Call) bool {
	for i, d := range s.open {
		if d != doc {
			continue
		}
		var names []string
		for _, o := range s.open[i:] {
			names = append(names, o.Name.Text)
		}
		s.c.list.Errorf("recursion", call.Callee.At, "the block %s calls itself: %s → %s", doc.Name.Text, strings.Join(names, " → "), doc.Name.Text).
			Because(doc.Name.At, "the block").Helped("a call that is done several times is a repeat: `- h: {…: h, repeat: {i: n}}`")
		return true
	}
	return false
}
