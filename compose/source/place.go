package source

import (
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/diag"
)

// Range is where a node stands. yaml.v3 gives the start; the end is computed from the text.
func (f *File) Range(n *yaml.Node) diag.Range {
	if n == nil || n.Line == 0 {
		return diag.Range{File: f.Path, Line: 1, Col: 1, EndLine: 1, EndCol: 1}
	}
	if r, ok := f.plain(n); ok {
		return r
	}
	if r, ok := f.ranges[n]; ok { // a node is asked again for every layer
		return r
	}
	r := f.measure(n)
	if f.ranges == nil {
		f.ranges = map[*yaml.Node]diag.Range{}
	}
	f.ranges[n] = r
	return r
}

// plain is where a plain word stands, as most nodes are; of others it is not ok.
func (f *File) plain(n *yaml.Node) (r diag.Range, ok bool) {
	if n.Kind != yaml.ScalarNode || n.Style != 0 || n.Value == "" {
		return r, false
	}
	line, end := f.Line(n.Line), n.Column-1+len(n.Value)
	if end > len(line) || line[n.Column-1:end] != n.Value || !isASCII(line[:end]) {
		return r, false
	}
	return diag.Range{File: f.Path, Line: n.Line, Col: n.Column, EndLine: n.Line, EndCol: end + 1}, true
}

func (f *File) measure(n *yaml.Node) diag.Range {
	r := diag.Range{File: f.Path, Line: n.Line, Col: n.Column, EndLine: n.Line, EndCol: n.Column + 1}
	switch n.Kind {
	case yaml.ScalarNode:
		f.scalarEnd(n, &r)
	case yaml.AliasNode:
		r.EndCol = r.Col + 1 + len([]rune(n.Value))
	case yaml.MappingNode, yaml.SequenceNode:
		if len(n.Content) > 0 {
			end := f.Range(n.Content[len(n.Content)-1])
			r.EndLine, r.EndCol = end.EndLine, end.EndCol
		}
		if n.Style&yaml.FlowStyle != 0 {
			f.closing(n.Kind, &r)
		}
	}
	return r
}

// closing moves the end past the bracket that closes a flow node.
func (f *File) closing(kind yaml.Kind, r *diag.Range) {
	want := map[yaml.Kind]rune{yaml.MappingNode: '}', yaml.SequenceNode: ']'}[kind]
	line, col := r.EndLine, r.EndCol
	for ; line <= len(f.lines) && line < r.EndLine+3; line++ {
		runes := []rune(f.Line(line))
		for i := col - 1; i >= 0 && i < len(runes); i++ {
			if runes[i] == want {
				r.EndLine, r.EndCol = line, i+2
				return
			}
		}
		col = 1
	}
}

func (f *File) scalarEnd(n *yaml.Node, r *diag.Range) {
	runes := []rune(f.Line(n.Line))
	start := n.Column - 1
	if start >= len(runes) {
		return
	}
	switch {
	case n.Style&yaml.SingleQuotedStyle != 0:
		f.quotedEnd(n, r, '\'')
	case n.Style&yaml.DoubleQuotedStyle != 0:
		f.quotedEnd(n, r, '"')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		r.EndCol = len(runes) + 1
	default:
		if rest := string(runes[start:]); strings.HasPrefix(rest, n.Value) && n.Value != "" {
			r.EndCol = n.Column + len([]rune(n.Value))
		} else if n.Value == "" {
			r.EndCol = n.Column
		} else {
			last := f.place(n, len([]rune(n.Value))-1)
			r.EndLine, r.EndCol = last.Line, last.Col+1
		}
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (f *File) quotedEnd(n *yaml.Node, r *diag.Range, quote rune) {
	line, i := n.Line, n.Column // behind the opening quote
	for ; line <= len(f.lines); line, i = line+1, 0 {
		runes := []rune(f.Line(line))
		for ; i < len(runes); i++ {
			switch {
			case quote == '"' && runes[i] == '\\':
				i++
			case runes[i] == quote && quote == '\'' && i+1 < len(runes) && runes[i+1] == quote:
				i++
			case runes[i] == quote:
				r.EndLine, r.EndCol = line, i+2
				return
			}
		}
	}
	r.EndCol = len([]rune(f.Line(n.Line))) + 1
}

// Within is the place of length characters from offset (in characters) of a scalar's value: where an error inside an
// expression stands in the file, also in quoted, folded and literal scalars.
func (f *File) Within(n *yaml.Node, offset, length int) diag.Range {
	if n.Kind != yaml.ScalarNode {
		return f.Range(n)
	}
	total := len([]rune(n.Value))
	offset = max(0, min(offset, total))
	first := f.place(n, offset)
	if length < 1 {
		first.EndLine, first.EndCol = first.Line, first.Col+1
		return first
	}
	last := f.place(n, max(offset, min(offset+length, total)-1))
	first.EndLine, first.EndCol = last.Line, last.Col+1
	return first
}

// place walks the scalar's text in the file beside its value, character by character.
func (f *File) place(n *yaml.Node, offset int) diag.Range {
	at := func(line, col int) diag.Range {
		return diag.Range{File: f.Path, Line: line, Col: col, EndLine: line, EndCol: col + 1}
	}
	value := []rune(n.Value)
	line, i := n.Line, n.Column-1
	double := n.Style&yaml.DoubleQuotedStyle != 0
	single := n.Style&yaml.SingleQuotedStyle != 0
	block := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch {
	case double || single:
		i++
	case block:
		line++
		for line <= len(f.lines) && strings.TrimSpace(f.Line(line)) == "" {
			line++
		}
		i = indent(f.Line(line))
	}
	margin := i
	for k := 0; k < offset && k < len(value); k++ {
		runes := []rune(f.Line(line))
		if i < len(runes) && !(value[k] == ' ' && onlySpace(runes[i:]) && !double && !single) && !(block && value[k] == '\n') {
			switch {
			case double && runes[i] == '\\':
				i += escapeLength(runes[i:])
			case single && runes[i] == '\'':
				i += 2
			default:
				i++
			}
			continue
		}
		if line >= len(f.lines) {
			break
		}
		// A fold or a line's end: the value has a space or a newline, the file goes on in the next line.
		line++
		next := f.Line(line)
		if block {
			i = min(margin, len([]rune(next)))
		} else {
			for line < len(f.lines) && strings.TrimSpace(next) == "" {
				line++
				next = f.Line(line)
			}
			i = indent(next)
		}
	}
	return at(line, i+1)
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func onlySpace(r []rune) bool { return strings.TrimSpace(string(r)) == "" }

func escapeLength(r []rune) int {
	if len(r) < 2 {
		return 1
	}
	switch r[1] {
	case 'x':
		return min(4, len(r))
	case 'u':
		return min(6, len(r))
	case 'U':
		return min(10, len(r))
	}
	return 2
}

// Text is what the file has at a place, its first line.
func (f *File) Text(r diag.Range) string {
	runes := []rune(f.Line(r.Line))
	from, to := r.Col-1, len(runes)
	if r.EndLine == r.Line {
		to = min(to, r.EndCol-1)
	}
	if from < 0 || from >= to {
		return ""
	}
	return string(runes[from:to])
}
