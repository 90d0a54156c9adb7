package cursor

import (
	"fmt"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/schema"
)

// Link is a step on the way from the top of a file to a place: through a key's value, or an item.
type Link struct {
	Node  *yaml.Node // the mapping or list
	Key   *yaml.Node // of a mapping
	Index int        // of a list, or of a mapping's pair
}

// Place is where the cursor stands.
type Place struct {
	File   *source.File
	Root   *yaml.Node
	Chain  []Link // the last one holds the scalar
	Scalar *yaml.Node
	IsKey  bool
	Word   string     // at the cursor, with its dots; while typing what is there of it
	Before string     // the text before the Word: while typing of the scalar, else of the line
	Range  diag.Range // of the word
}

// Steps is the way as a schema takes it: to the scalar, or of a key to the mapping that has it.
func (p *Place) Steps() []schema.Step {
	links := p.Chain
	if p.IsKey {
		links = links[:len(links)-1]
	}
	return stepsOf(links)
}

// Way is the way to the scalar, through a key to its value.
func (p *Place) Way() []schema.Step { return stepsOf(p.Chain) }

func stepsOf(links []Link) []schema.Step {
	out := make([]schema.Step, len(links))
	for i, l := range links {
		if l.Node.Kind == yaml.SequenceNode {
			out[i] = schema.Step{Index: l.Index, List: true}
		} else {
			out[i] = schema.Step{Key: l.Key.Value}
		}
	}
	return out
}

// find goes down to the scalar that is wanted, keys included.
func find(n *yaml.Node, wanted func(*yaml.Node) bool, chain []Link) ([]Link, *yaml.Node, bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			next := append(chain[:len(chain):len(chain)], Link{n, n.Content[i], i / 2})
			if wanted(n.Content[i]) {
				return next, n.Content[i], true
			}
			if c, s, isKey := find(n.Content[i+1], wanted, next); s != nil {
				return c, s, isKey
			}
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			if c, s, isKey := find(c, wanted, append(chain[:len(chain):len(chain)], Link{n, nil, i})); s != nil {
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

// At finds what stands at a line and column (in characters, both from 1). It is nil where no scalar does.
func At(file *source.File, line, col int) *Place {
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
	p := &Place{File: file, Root: file.Root, Chain: chain, Scalar: scalar, IsKey: isKey}
	p.wordAt(line, col)
	return p
}

// wordAt takes the word around a column from the line: a name with its dots.
func (p *Place) wordAt(line, col int) {
	row := []rune(p.File.Line(line))
	from := min(max(col-1, 0), len(row))
	to := from
	for from > 0 && isWord(row[from-1]) {
		from--
	}
	for to < len(row) && isWord(row[to]) {
		to++
	}
	p.Word = string(row[from:to])
	p.Range = diag.Range{File: p.File.Path, Line: line, Col: from + 1, EndLine: line, EndCol: to + 1}
	if from > 0 {
		p.Before = string(row[:from])
	}
}

func isWord(r rune) bool { return r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Segment is the part of a dotted word at a column, and the part before it: `shape` and `x` of `x.shape`. A word that
// begins with a dot, as behind `f(x)`, has the owner "?".
func (p *Place) Segment(col int) (name, owner string) {
	offset := 0
	for i, part := range strings.Split(p.Word, ".") {
		n := len([]rune(part))
		if col <= p.Range.Col+offset+n {
			return part, owner
		}
		offset += n + 1
		if owner = part; i == 0 && part == "" {
			owner = "?"
		}
	}
	return p.Word, ""
}

// Call is the call that the place is in, as its mapping, with the index of its link; -1 where it is in none.
func (p *Place) Call() (n *yaml.Node, at int) {
	for i := len(p.Chain) - 1; i >= 3; i-- {
		if p.Chain[i].Node.Kind != yaml.MappingNode || !IsNodes(p.Chain[i-3]) {
			continue
		}
		if p.Chain[i-2].Node.Kind == yaml.SequenceNode && p.Chain[i-1].Node.Kind == yaml.MappingNode {
			return p.Chain[i].Node, i
		}
	}
	return nil, -1
}

// IsNodes tells whether a link goes through a body's `nodes`.
func IsNodes(l Link) bool {
	return l.Node.Kind == yaml.MappingNode && l.Key.Value == "nodes"
}

// Callee is what a call's first key names; "" for an anonymous body.
func Callee(call *yaml.Node) string {
	if call == nil || call.Kind != yaml.MappingNode || len(call.Content) == 0 || Child(call, "nodes") != nil {
		return ""
	}
	return call.Content[0].Value
}

// Child is the value of a mapping's key, or nil.
func Child(n *yaml.Node, key string) *yaml.Node {
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

// IsAlias tells whether the place is the value of a line that is no call.
func (p *Place) IsAlias() bool {
	n := len(p.Chain)
	if p.IsKey || n < 3 || !IsNodes(p.Chain[n-3]) {
		return false
	}
	return p.Chain[n-1].Node.Kind == yaml.MappingNode
}

// InActivation tells whether the place is a port's activation.
func (p *Place) InActivation() bool {
	for _, l := range p.Chain {
		if l.Key != nil && l.Key.Value == "activation" {
			return true
		}
	}
	return false
}

// WeightPath explains a path below the prefix.
func (p *Place) WeightPath() string {
	if !strings.Contains(p.Scalar.Value, ".") {
		return ""
	}
	prefix := ""
	for i, l := range p.Chain {
		if l.Node.Kind != yaml.MappingNode || i == 0 {
			continue
		}
		if at := Child(l.Node, "at"); at != nil && at.Kind == yaml.ScalarNode && l.Key.Value != "at" {
			prefix += at.Value + "."
		}
	}
	return fmt.Sprintf("weight `%s%s` of the checkpoint, below the prefix of whoever calls this", prefix, p.Scalar.Value)
}
