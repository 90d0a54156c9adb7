package cursor

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/port"
)

// Kind is what a name stands for.
type Kind string

const (
	Value     Kind = "value"
	Input     Kind = "input"
	Let       Kind = "let"
	Parameter Kind = "parameter"
	Index     Kind = "index"
	Port      Kind = "port"
	Weight    Kind = "weight"
	State     Kind = "state"
	Dim       Kind = "dim"
	Class     Kind = "class"
	Member    Kind = "member" // of a rule's `each`
)

// Name is something that a file gives a name to, at the node that does.
type Name struct {
	Text   string
	Kind   Kind
	Detail string     // what is said of it, in one line
	Node   *yaml.Node // nil for what is given without being written
}

// Scope collects the names that a place sees: of every body on the way to it, what it declares and what its lines above
// give.
func (p *Place) Scope() []Name {
	s := &scoper{}
	for i, l := range p.Chain {
		if l.Node.Kind != yaml.MappingNode || !isBody(p.Chain[:i], l) {
			continue
		}
		s.body(l, p.Chain[i+1:], i == 0)
	}
	return s.names
}

// isBody tells whether a mapping on the way is a file, an entry, an anonymous body or a rule.
func isBody(before []Link, l Link) bool {
	switch n := len(before); {
	case n == 0, Child(l.Node, "nodes") != nil:
		return true
	case n == 2 && before[0].Key != nil && (before[0].Key.Value == "entries" || before[0].Key.Value == "rules"):
		return true
	}
	// A call that is an anonymous body's, but has no nodes yet.
	return Child(l.Node, "repeat") != nil || Child(l.Node, "let") != nil
}

type scoper struct {
	names []Name
}

func (s *scoper) add(kind Kind, n *yaml.Node, detail string) {
	for _, text := range strings.Split(n.Value, ",") {
		if text = strings.TrimSpace(text); text != "" && !strings.Contains(text, Mark) {
			s.names = append(s.names, Name{text, kind, detail, n})
		}
	}
}

// body adds what a body declares, and the results of its lines: those above the place, where that is in one.
func (s *scoper) body(l Link, rest []Link, top bool) {
	n := l.Node
	s.pairs(Child(n, "params"), Parameter)
	s.pairs(Child(n, "let"), Let)
	s.inputs(n, top)
	s.pairs(Child(n, "ports"), Port)
	s.pairs(Child(n, "weights"), Weight)
	if state := Child(n, "state"); Child(n, "nodes") != nil || top {
		s.pairs(state, State)
	}
	if top {
		s.pairs(Child(n, "classes"), Class)
	}
	s.pairs(Child(n, "repeat"), Index)
	if as := Child(n, "as"); as != nil {
		s.add(Member, as, "of "+line(Child(n, "each")))
	}
	nodes := Child(n, "nodes")
	if nodes == nil || nodes.Kind != yaml.SequenceNode {
		return
	}
	until := len(nodes.Content)
	if IsNodes(l) && len(rest) > 0 {
		until = rest[0].Index
	}
	for _, item := range nodes.Content[:min(until, len(nodes.Content))] {
		s.results(item)
	}
}

func (s *scoper) results(item *yaml.Node) {
	if item.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(item.Content); i += 2 {
		call := source.Deref(item.Content[i+1])
		s.add(Value, item.Content[i], written(call))
		collect := Child(call, "collect")
		if collect == nil {
			continue
		}
		s.pairs(collect, Value)
	}
}

func (s *scoper) pairs(n *yaml.Node, kind Kind) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		s.add(kind, n.Content[i], written(n.Content[i+1]))
	}
}

var bareName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// inputs adds inputs, and the names that their shapes bind.
func (s *scoper) inputs(n *yaml.Node, top bool) {
	in := Child(n, "in")
	if in == nil && top && IsKind(n, "model") {
		s.names = append(s.names, Name{"tokens", Input, "int32 [B, T]", nil})
		return
	}
	s.pairs(in, Input)
	if in == nil || in.Kind != yaml.MappingNode {
		return
	}
	known := map[string]bool{"B": true, "T": true, "S": true}
	for _, x := range s.names {
		known[x.Text] = true
	}
	for i := 1; i < len(in.Content); i += 2 {
		dims := source.Deref(in.Content[i])
		if dims.Kind == yaml.MappingNode {
			dims = Child(dims, "shape")
		}
		if dims == nil || dims.Kind != yaml.SequenceNode {
			continue
		}
		for _, d := range dims.Content {
			if bareName.MatchString(d.Value) && !known[d.Value] && !strings.Contains(d.Value, Mark) {
				known[d.Value] = true
				s.add(Dim, d, "bound by the shape of "+in.Content[i-1].Value)
			}
		}
	}
}

// IsKind tells whether a file is of a kind.
func IsKind(root *yaml.Node, kind string) bool {
	n := Child(root, "kind")
	return n != nil && n.Value == kind
}

// Lookup finds what a name stands for: the latest that has it.
func Lookup(names []Name, text string, kinds ...Kind) *Name {
	for i := len(names) - 1; i >= 0; i-- {
		if names[i].Text != text {
			continue
		}
		if len(kinds) == 0 {
			return &names[i]
		}
		for _, k := range kinds {
			if names[i].Kind == k {
				return &names[i]
			}
		}
	}
	return nil
}

// PortKind is the kind that a port is declared with, "" where none is said.
func PortKind(decl *yaml.Node) string {
	decl = source.Deref(decl)
	if decl == nil || decl.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i < len(decl.Content); i += 2 {
		if k := port.Kinds[decl.Content[i].Value]; k != nil {
			return k.Name
		}
	}
	return ""
}

// Value is what stands behind a name's key.
func (n *Name) Value(root *yaml.Node) *yaml.Node {
	var out *yaml.Node
	var walk func(x *yaml.Node)
	walk = func(x *yaml.Node) {
		if x.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(x.Content); i += 2 {
				if x.Content[i] == n.Node {
					out = x.Content[i+1]
				}
			}
		}
		for _, c := range x.Content {
			if out == nil {
				walk(c)
			}
		}
	}
	walk(root)
	return out
}

// written is a node in one line, cut where it is long.
func written(n *yaml.Node) string {
	const most = 160
	text := []rune(line(n))
	if len(text) > most {
		return string(text[:most]) + " …"
	}
	return string(text)
}

func line(n *yaml.Node) string {
	n = source.Deref(n)
	switch {
	case n == nil:
		return ""
	case n.Kind == yaml.ScalarNode:
		return strings.Join(strings.Fields(n.Value), " ")
	case n.Kind == yaml.SequenceNode:
		if len(n.Content) > 0 && source.Deref(n.Content[0]).Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 {
			return fmt.Sprintf("[%d lines]", len(n.Content))
		}
		var out []string
		for _, c := range n.Content {
			out = append(out, line(c))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	var out []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		if v := n.Content[i+1]; v.Kind == yaml.ScalarNode && v.ShortTag() == "!!null" {
			out = append(out, n.Content[i].Value)
		} else {
			out = append(out, n.Content[i].Value+": "+line(v))
		}
	}
	return "{" + strings.Join(out, ", ") + "}"
}

// Markdown is a name's declaration.
func (n *Name) Markdown() string {
	if n.Detail == "" {
		return fmt.Sprintf("%s `%s`", n.Kind, n.Text)
	}
	return fmt.Sprintf("%s `%s`\n\n```yaml\n%s: %s\n```", n.Kind, n.Text, n.Text, n.Detail)
}
