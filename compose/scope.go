package compose

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/shape"
)

// frame is one body at one place of the graph: what it declares, below which path. An anonymous body sees the names
// around it, a block none.
type frame struct {
	x      *expansion
	doc    *syntax.Document
	outer  *frame
	prefix string

	scalars map[string]*scalar
	ports   map[string]*portDecl
	weights map[string]*weightDecl
	states  map[string]*stateDecl
	inputs  map[string]bool     // inputs, true where given
	group   int                 // of a compiled block: 1 + index into the expansion's groups
	trace   *trace              // of the layer that it is in, where that is noted
	dropped map[string][]string // why nodes that give a name are not there
	gives   map[string]bool     // names that some line of the body gives
}

func newFrame(x *expansion, doc *syntax.Document, outer *frame, prefix string) *frame {
	f := &frame{x: x, doc: doc, outer: outer, prefix: prefix, scalars: map[string]*scalar{}, ports: map[string]*portDecl{},
		weights: map[string]*weightDecl{}, states: map[string]*stateDecl{}, inputs: map[string]bool{}, dropped: map[string][]string{}, gives: map[string]bool{}, trace: x.trace}
	if outer != nil {
		f.group = outer.group
	}
	return f
}

// scalar is a parameter, a let, an index or a name that a shape binds.
type scalar struct {
	value expr.Value
	dim   *shape.Dim // a length that is no int when composing: for dims only
	at    diag.Range
}

type portDecl struct {
	spec  *syntax.Port
	at    place
	path  string
	group *groupDecl // that it is in; nil: none
}

type weightDecl struct {
	spec *syntax.Weight
	at   place
	path string
}

type stateDecl struct {
	spec *syntax.State
	at   place
	path string
}

// binding is one name's value in the order of the body: names are rebound, and a node keeps what they meant where it
// stands.
type binding struct {
	name  string
	value *value
	next  *binding
}

// place is a frame seen from one line of its body.
type place struct {
	*frame
	values *binding
}

func (p place) bind(name string, v *value) place { return place{p.frame, &binding{name, v, p.values}} }

// value finds what a name is bound to, nil where no line above gives it.
func (p place) value(name string) *value {
	for b := p.values; b != nil; b = b.next {
		if b.name == name {
			return b.value
		}
	}
	return nil
}

func find[T any](f *frame, in func(*frame) map[string]T, name string) (T, bool) {
	for ; f != nil; f = f.outer {
		if v, ok := in(f)[name]; ok {
			return v, true
		}
	}
	var none T
	return none, false
}

func (f *frame) scalar(name string) *scalar {
	s, _ := find(f, func(f *frame) map[string]*scalar { return f.scalars }, name)
	return s
}

func (f *frame) port(name string) *portDecl {
	s, _ := find(f, func(f *frame) map[string]*portDecl { return f.ports }, name)
	return s
}

func (f *frame) weight(name string) *weightDecl {
	s, _ := find(f, func(f *frame) map[string]*weightDecl { return f.weights }, name)
	return s
}

func (f *frame) state(name string) *stateDecl {
	s, _ := find(f, func(f *frame) map[string]*stateDecl { return f.states }, name)
	return s
}

// mayGive tells whether a name could have a value here: an input, or one that some line of the body or around gives.
func (f *frame) mayGive(name string) bool {
	for ; f != nil; f = f.outer {
		if _, ok := f.inputs[name]; ok || f.gives[name] {
			return true
		}
	}
	return false
}

// why lists the reasons for which the nodes that give a name are not there.
func (f *frame) why(name string) []string {
	var out []string
	for ; f != nil; f = f.outer {
		out = append(out, f.dropped[name]...)
	}
	return out
}

func join(prefix, name string) string {
	switch {
	case prefix == "":
		return name
	case name == "":
		return prefix
	}
	return prefix + "." + name
}

// TypeOf, ValueOf and Names make a place the scope of an expression.
func (p place) TypeOf(name string) (*expr.Type, bool) {
	if s := p.scalar(name); s != nil {
		if s.dim != nil {
			return expr.Int, true
		}
		return s.value.Type, true
	}
	if p.value(name) != nil {
		return expr.ArrayType, true
	}
	switch name {
	case "config":
		if p.x.c.configSeen(p.frame) {
			return expr.Dict, true
		}
	case expr.Given:
		return expr.GivenType, true
	case "B", "T", "S":
		return expr.Int, true
	}
	return nil, false
}

// ValueOf gives a name's value.
func (p place) ValueOf(name string) (expr.Value, error) {
	if s := p.scalar(name); s != nil {
		p.x.trace.reads(s)
		if s.dim != nil {
			return expr.Value{}, fmt.Errorf("%s is %s, which is not known when a file is composed", name, s.dim)
		}
		return s.value, nil
	}
	if v := p.value(name); v != nil {
		r := v.force()
		if r == nil {
			return expr.Value{}, errSilent
		}
		if r.absent() {
			return expr.Value{}, fmt.Errorf("%s has no value here", name)
		}
		dims := make([]expr.Dim, len(r.typ.Shape))
		for i, d := range r.typ.Shape {
			if n, ok := d.Known(); ok {
				dims[i] = expr.Dim{Known: n}
			} else {
				dims[i] = expr.Dim{Symbolic: d.String()}
			}
		}
		return expr.Array(dims, r.typ.Dtype.String()), nil
	}
	switch name {
	case "config":
		return p.x.c.config, nil
	case expr.Given:
		return expr.Value{}, fmt.Errorf("given is asked for one name: given.NAME")
	case "B", "T", "S":
		return expr.Value{}, fmt.Errorf("%s is not known when a file is composed; it stands in dims and in guards alone", name)
	}
	return expr.Value{}, fmt.Errorf("%s is not a name here", name)
}

// HasValue answers given.NAME: of an input, or of a name that some line of the body or around it gives. A call that
// would give the name is opened as far as the answer needs; where that hangs on a guard, so does the answer.
func (p place) HasValue(name string) (has, known bool) {
	v := p.value(name)
	return v != nil && !v.none(), v != nil || p.mayGive(name)
}

// GivenNames lists what given may ask.
func (p place) GivenNames() []string {
	var out []string
	for f := p.frame; f != nil; f = f.outer {
		out = append(append(out, sortedKeys(f.inputs)...), sortedKeys(f.gives)...)
	}
	return out
}

// Names lists what an expression may use, for suggestions.
func (p place) Names() []string {
	var out []string
	for f := p.frame; f != nil; f = f.outer {
		for n := range f.scalars {
			out = append(out, n)
		}
	}
	for b := p.values; b != nil; b = b.next {
		out = append(out, b.name)
	}
	if p.x.c.configSeen(p.frame) {
		out = append(out, "config")
	}
	return out
}

// template replaces the {expressions} of a template.
func (p place) template(t *syntax.Template) (string, bool) {
	before := p.x.trace.count()
	text, ok := p.fill(t)
	p.x.trace.asked(before, func() bool { again, ok := p.fill(t); return ok && again == text })
	return text, ok
}

func (p place) fill(t *syntax.Template) (string, bool) {
	var b strings.Builder
	runes := []rune(t.Text)
	for i := 0; i < len(runes); {
		switch c := runes[i]; {
		case c == '{' && i+1 < len(runes) && runes[i+1] == '{', c == '}' && i+1 < len(runes) && runes[i+1] == '}':
			b.WriteRune(c)
			i += 2
		case c == '{':
			end := i + 1
			for end < len(runes) && runes[end] != '}' {
				end++
			}
			if end == len(runes) {
				p.x.c.list.Errorf("template", t.File.Within(t.Node, i, 1), "this brace is not closed").Helped("close it, or write {{ for a brace of the text")
				return "", false
			}
			v, err := p.x.c.ex.Eval(string(runes[i+1:end]), p)
			if err != nil {
				p.x.c.exprError(t.File, t.Node, i+1, err)
				return "", false
			}
			text, ok := plainText(v)
			if !ok {
				p.x.c.list.Errorf("template", t.File.Within(t.Node, i+1, end-i-1), "a template prints ints, bools, strings and floats; this is a %s", expr.TypeName(v.Type))
				return "", false
			}
			b.WriteString(text)
			i = end + 1
		default:
			b.WriteRune(c)
			i++
		}
	}
	return b.String(), true
}

func plainText(v expr.Value) (string, bool) {
	if n, ok := v.Int(); ok {
		return strconv.FormatInt(n, 10), true
	}
	if s, ok := v.Text(); ok {
		return s, true
	}
	if t, ok := v.Bool(); ok {
		return strconv.FormatBool(t), true
	}
	if f, ok := v.Number(); ok {
		return strconv.FormatFloat(f, 'g', -1, 64), true
	}
	return "", false
}
