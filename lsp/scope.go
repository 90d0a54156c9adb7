package lsp

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/port"
)

// nameKind is what a name stands for.
type nameKind string

const (
	aValue     nameKind = "value"
	anInput    nameKind = "input"
	aLet       nameKind = "let"
	aParameter nameKind = "parameter"
	anIndex    nameKind = "index"
	aPort      nameKind = "port"
	aWeight    nameKind = "weight"
	aState     nameKind = "state"
	aDim       nameKind = "dim"
	aClass     nameKind = "class"
	aMember    nameKind = "member" // of a rule's `each`
)

// name is something that a file gives a name to, at the node that does.
type name struct {
	text   string
	kind   nameKind
	detail string // what is said of it, in one line
	node   *yaml.Node
	inside int // how deep in bodies: a body's own names hide none, but come first
}

// scope collects the names that a place sees: of every body on the way to it, what it declares and what its lines above
// give.
func (p *place) scope() []name {
	s := &scoper{file: p.file}
	for i, l := range p.chain {
		if l.node.Kind != yaml.MappingNode || !isBody(p.chain[:i], l) {
			continue
		}
		s.depth = i
		s.body(l, p.chain[i+1:], i == 0)
	}
	return s.names
}

// isBody tells whether a mapping on the way is a file, an entry, an anonymous body or a rule.
func isBody(before []link, l link) bool {
	switch n := len(before); {
	case n == 0, child(l.node, "nodes") != nil:
		return true
	case n == 2 && before[0].key != nil && (before[0].key.Value == "entries" || before[0].key.Value == "rules"):
		return true
	}
	// A call that is an anonymous body's, but has no nodes yet.
	return child(l.node, "repeat") != nil || child(l.node, "let") != nil
}

type scoper struct {
	file  *source.File
	depth int
	names []name
}

func (s *scoper) add(kind nameKind, n *yaml.Node, detail string) {
	for _, text := range strings.Split(n.Value, ",") {
		if text = strings.TrimSpace(text); text != "" && !strings.Contains(text, mark) {
			s.names = append(s.names, name{text, kind, detail, n, s.depth})
		}
	}
}

// body adds what a body declares, and the results of its lines: those above the place, where that is in one.
func (s *scoper) body(l link, rest []link, top bool) {
	n := l.node
	s.pairs(child(n, "params"), aParameter)
	s.pairs(child(n, "let"), aLet)
	s.inputs(n, top)
	s.pairs(child(n, "ports"), aPort)
	s.pairs(child(n, "weights"), aWeight)
	if state := child(n, "state"); child(n, "nodes") != nil || top {
		s.pairs(state, aState)
	}
	if top {
		s.pairs(child(n, "classes"), aClass)
	}
	s.pairs(child(n, "repeat"), anIndex)
	if as := child(n, "as"); as != nil {
		s.add(aMember, as, "of "+line(child(n, "each")))
	}
	nodes := child(n, "nodes")
	if nodes == nil || nodes.Kind != yaml.SequenceNode {
		return
	}
	until := len(nodes.Content)
	if isNodes(l) && len(rest) > 0 {
		until = rest[0].index
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
		s.add(aValue, item.Content[i], written(call))
		collect := child(call, "collect")
		if collect == nil {
			continue
		}
		s.pairs(collect, aValue)
	}
}

func (s *scoper) pairs(n *yaml.Node, kind nameKind) {
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
	in := child(n, "in")
	if in == nil && top && isKind(n, "model") {
		s.names = append(s.names, name{"tokens", anInput, "int32 [B, T]", nil, s.depth})
		return
	}
	s.pairs(in, anInput)
	if in == nil || in.Kind != yaml.MappingNode {
		return
	}
	known := map[string]bool{"B": true, "T": true, "S": true}
	for _, x := range s.names {
		known[x.text] = true
	}
	for i := 1; i < len(in.Content); i += 2 {
		dims := source.Deref(in.Content[i])
		if dims.Kind == yaml.MappingNode {
			dims = child(dims, "shape")
		}
		if dims == nil || dims.Kind != yaml.SequenceNode {
			continue
		}
		for _, d := range dims.Content {
			if bareName.MatchString(d.Value) && !known[d.Value] && !strings.Contains(d.Value, mark) {
				known[d.Value] = true
				s.add(aDim, d, "bound by the shape of "+in.Content[i-1].Value)
			}
		}
	}
}

func isKind(root *yaml.Node, kind string) bool {
	n := child(root, "kind")
	return n != nil && n.Value == kind
}

// lookup finds what a name stands for: the latest that has it.
func lookup(names []name, text string, kinds ...nameKind) *name {
	for i := len(names) - 1; i >= 0; i-- {
		if names[i].text != text {
			continue
		}
		if len(kinds) == 0 {
			return &names[i]
		}
		for _, k := range kinds {
			if names[i].kind == k {
				return &names[i]
			}
		}
	}
	return nil
}

// portKind is the kind that a port is declared with, "" where none is said.
func portKind(decl *yaml.Node) string {
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

// value is what stands behind a name's key.
func (n *name) value(root *yaml.Node) *yaml.Node {
	var out *yaml.Node
	var walk func(x *yaml.Node)
	walk = func(x *yaml.Node) {
		if x.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(x.Content); i += 2 {
				if x.Content[i] == n.node {
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
