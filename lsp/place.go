package lsp

import (
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/schema"
)

// link is a step on the way from the top of a file to a place: through a key's value, or an item.
type link struct {
	node  *yaml.Node // the mapping or list
	key   *yaml.Node // of a mapping
	index int        // of a list
}

// place is where the cursor stands.
type place struct {
	file   *source.File
	root   *yaml.Node
	chain  []link // the last one holds the scalar
	scalar *yaml.Node
	isKey  bool
	word   string // at the cursor; while typing what is there of it
	before string // the scalar's text before the word
	at     diag.Range
}

// step is the last way taken.
func (p *place) step() link { return p.chain[len(p.chain)-1] }

// steps is the way as a schema takes it: to the scalar, or of a key to the mapping that has it.
func (p *place) steps() []schema.Step {
	links := p.chain
	if p.isKey {
		links = links[:len(links)-1]
	}
	return stepsOf(links)
}

func stepsOf(links []link) []schema.Step {
	out := make([]schema.Step, len(links))
	for i, l := range links {
		if l.node.Kind == yaml.SequenceNode {
			out[i] = schema.Step{Index: l.index, List: true}
		} else {
			out[i] = schema.Step{Key: l.key.Value}
		}
	}
	return out
}

// find goes down to the scalar that is wanted, keys included.
func find(n *yaml.Node, wanted func(*yaml.Node) bool, chain []link) ([]link, *yaml.Node, bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			next := append(chain[:len(chain):len(chain)], link{n, n.Content[i], i / 2})
			if wanted(n.Content[i]) {
				return next, n.Content[i], true
			}
			if c, s, isKey := find(n.Content[i+1], wanted, next); s != nil {
				return c, s, isKey
			}
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			if c, s, isKey := find(c, wanted, append(chain[:len(chain):len(chain)], link{n, nil, i})); s != nil {
				return c, s, isKey
			}
		}
	case yaml.ScalarNode:
		if wanted(n) {
			return chain, n, false
		}
	}
	return nil, nil, false
}

// placeAt finds what stands at a line and column (in characters, both from 1). It is nil where no scalar does.
func placeAt(file *source.File, line, col int) *place {
	if file == nil || file.Root == nil {
		return nil
	}
	at := func(n *yaml.Node) bool {
		if n.Kind != yaml.ScalarNode || n.Value == "" && n.Style == 0 {
			return false
		}
		r := file.Range(n)
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			last := file.Within(n, len([]rune(n.Value)), 0)
			r.EndLine, r.EndCol = last.Line, last.Col
		}
		return !(line < r.Line || line == r.Line && col < r.Col || line > r.EndLine || line == r.EndLine && col > r.EndCol)
	}
	chain, scalar, isKey := find(file.Root, at, nil)
	if scalar == nil {
		return nil
	}
	p := &place{file: file, root: file.Root, chain: chain, scalar: scalar, isKey: isKey}
	p.wordAt(line, col)
	return p
}

// wordAt takes the word around a column from the line: a name with its dots.
func (p *place) wordAt(line, col int) {
	row := []rune(p.file.Line(line))
	from := min(max(col-1, 0), len(row))
	to := from
	for from > 0 && isWord(row[from-1]) {
		from--
	}
	for to < len(row) && isWord(row[to]) {
		to++
	}
	p.word = string(row[from:to])
	p.at = diag.Range{File: p.file.Path, Line: line, Col: from + 1, EndLine: line, EndCol: to + 1}
	if from > 0 {
		p.before = string(row[:from])
	}
}

func isWord(r rune) bool { return r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// segment is the part of a dotted word at a column, and the part before it: `shape` and `x` of `x.shape`. A word that
// begins with a dot, as behind `f(x)`, has the owner "?".
func (p *place) segment(col int) (name, owner string) {
	offset := 0
	for i, part := range strings.Split(p.word, ".") {
		n := len([]rune(part))
		if col <= p.at.Col+offset+n {
			return part, owner
		}
		offset += n + 1
		if owner = part; i == 0 && part == "" {
			owner = "?"
		}
	}
	return p.word, ""
}

// call is the call that the place is in, as its mapping, with the index of its link; -1 where it is in none.
func (p *place) call() (n *yaml.Node, at int) {
	for i := len(p.chain) - 1; i >= 3; i-- {
		if p.chain[i].node.Kind != yaml.MappingNode || !isNodes(p.chain[i-3]) {
			continue
		}
		if p.chain[i-2].node.Kind == yaml.SequenceNode && p.chain[i-1].node.Kind == yaml.MappingNode {
			return p.chain[i].node, i
		}
	}
	return nil, -1
}

// isNodes tells whether a link goes through a body's `nodes`.
func isNodes(l link) bool {
	return l.node.Kind == yaml.MappingNode && l.key.Value == "nodes"
}

// callee is what a call's first key names; "" for an anonymous body.
func callee(call *yaml.Node) string {
	if call == nil || call.Kind != yaml.MappingNode || len(call.Content) == 0 || child(call, "nodes") != nil {
		return ""
	}
	return call.Content[0].Value
}

func child(n *yaml.Node, key string) *yaml.Node {
	if n = source.Deref(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return source.Deref(n.Content[i+1])
		}
	}
	return nil
}
