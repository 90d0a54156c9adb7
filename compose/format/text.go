package format

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
)

// span is where a scalar or an alias stands: from a character of a line to one, not included, of the same or another.
// Lines and columns count from 0.
type span struct {
	line, col       int
	endLine, endCol int
	node            *yaml.Node
}

func (s *span) block() bool { return s.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 }

// text is a file's characters with what is known of each line: where scalars stand, so that everything else is the
// language's own punctuation.
type text struct {
	file   *source.File
	lines  [][]rune
	starts map[int][]*span // by line, in order
	within map[int]*span   // lines that begin inside a scalar
}

func newText(file *source.File) *text {
	t := &text{file: file, starts: map[int][]*span{}, within: map[int]*span{}}
	for _, l := range strings.Split(string(file.Data), "\n") {
		t.lines = append(t.lines, []rune(l))
	}
	t.walk(file.Root, -1)
	for line, list := range t.starts {
		sortSpans(list)
		for _, s := range list {
			for l := line + 1; l <= s.endLine; l++ {
				t.within[l] = s
			}
		}
	}
	return t
}

func sortSpans(list []*span) {
	for i := 1; i < len(list); i++ {
		for k := i; k > 0 && list[k].col < list[k-1].col; k-- {
			list[k], list[k-1] = list[k-1], list[k]
		}
	}
}

// walk finds the spans. parent is the indentation of the block that holds a node.
func (t *text) walk(n *yaml.Node, parent int) {
	switch n.Kind {
	case yaml.ScalarNode, yaml.AliasNode:
		if s := t.span(n, parent); s != nil {
			t.starts[s.line] = append(t.starts[s.line], s)
		}
		return
	}
	inner := parent
	if n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 {
		inner = n.Content[0].Column - 1
		if n.Kind == yaml.SequenceNode {
			if _, col, ok := t.dash(n.Content[0]); ok {
				inner = col
			}
		}
	}
	for _, c := range n.Content {
		t.walk(c, inner)
	}
}

// begin is where a scalar's own text starts, behind an anchor and a tag.
func (t *text) begin(n *yaml.Node) (line, col int) {
	line, col = n.Line-1, n.Column-1
	for n.Kind != yaml.AliasNode && line < len(t.lines) {
		for line < len(t.lines) && (col >= len(t.lines[line]) || onlySpace(t.lines[line][col:])) && (n.Anchor != "" || n.Style&yaml.TaggedStyle != 0) && n.Value != "" {
			line, col = line+1, 0
		}
		if line >= len(t.lines) || col >= len(t.lines[line]) {
			return line, col
		}
		switch c := t.lines[line][col]; {
		case c == ' ':
			col++
		case c == '&' && n.Anchor != "" || c == '!' && n.Style&yaml.TaggedStyle != 0:
			for col < len(t.lines[line]) && t.lines[line][col] != ' ' && !strings.ContainsRune(",]}", t.lines[line][col]) {
				col++
			}
		default:
			return line, col
		}
	}
	return line, col
}

func (t *text) span(n *yaml.Node, parent int) *span {
	line, col := t.begin(n)
	if line >= len(t.lines) || col > len(t.lines[line]) {
		return nil
	}
	s := &span{line: line, col: col, endLine: line, endCol: col, node: n}
	if n.Kind == yaml.AliasNode {
		s.endCol = col + 1 + len([]rune(n.Value))
		return s
	}
	plain := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	if plain && n.Value == "" {
		return nil
	}
	if s.block() {
		t.blockSpan(s, parent)
		return s
	}
	at := *n
	at.Line, at.Column, at.Anchor = line+1, col+1, ""
	r := t.file.Range(&at)
	s.endLine, s.endCol = r.EndLine-1, r.EndCol-1
	return s
}

// blockSpan ends a literal or folded scalar: its header in its first line, then every line that is indented as its
// first one with text. Blank lines at the end belong to it where it keeps them, or where they hold space that is text.
func (t *text) blockSpan(s *span, parent int) {
	header := s.col
	for header < len(t.lines[s.line]) && strings.ContainsRune("|>+-0123456789", t.lines[s.line][header]) {
		header++
	}
	indicators := string(t.lines[s.line][s.col:header])
	s.endCol = header
	margin := -1
	if strings.ContainsAny(indicators, "123456789") {
		margin = parent + 1
	}
	last := s.line
	for line := s.line + 1; line < len(t.lines); line++ {
		if onlySpace(t.lines[line]) {
			if margin >= 0 && len(t.lines[line]) > margin { // space beyond the margin is text
				last = line
			}
			continue
		}
		in := leading(t.lines[line])
		if margin < 0 {
			margin = max(in, parent+1)
		}
		if in < margin {
			break
		}
		last = line
	}
	if strings.Contains(indicators, "+") {
		for last+1 < len(t.lines)-1 && onlySpace(t.lines[last+1]) {
			last++
		}
	}
	if last > s.line {
		s.endLine, s.endCol = last, len(t.lines[last])
	}
}

// dash finds the dash of a list's item in block style: left of the item, or at the end of a line above.
func (t *text) dash(item *yaml.Node) (line, col int, ok bool) {
	line = item.Line - 1
	if line >= len(t.lines) {
		return 0, 0, false
	}
	row := t.lines[line][:min(item.Column-1, len(t.lines[line]))]
	for {
		before := []rune(strings.TrimRight(string(row), " "))
		if n := len(before); n > 0 {
			return line, n - 1, before[n-1] == '-' && (n == 1 || before[n-2] == ' ')
		}
		if line--; line < 0 {
			return 0, 0, false
		}
		row = t.lines[line]
		if c := strings.Index(" "+string(row), " #"); c >= 0 {
			row = []rune(string(row)[:c])
		}
	}
}

// lastLine is the last line that a node's own text reaches.
func (t *text) lastLine(n *yaml.Node) int {
	last := n.Line - 1
	for _, c := range n.Content {
		last = max(last, t.lastLine(c))
	}
	for _, s := range t.starts[last] {
		last = max(last, s.endLine)
	}
	return last
}

// comment is the column at which a line's comment begins, -1 where it has none.
func (t *text) comment(line int) int {
	col := 0
	if s := t.within[line]; s != nil {
		if s.endLine > line || s.block() {
			return -1
		}
		col = s.endCol
	}
	row := t.lines[line]
	for col < len(row) {
		if s := t.at(line, col); s != nil {
			if s.endLine > line && !s.block() {
				return -1
			}
			if s.block() {
				for col = s.col + 1; col < len(row) && row[col] != ' '; col++ {
				}
			} else {
				col = max(s.endCol, col+1)
			}
			continue
		}
		if row[col] == '#' && (col == 0 || row[col-1] == ' ' || row[col-1] == '\t') {
			return col
		}
		col++
	}
	return -1
}

// at is the span that begins at a place.
func (t *text) at(line, col int) *span {
	for _, s := range t.starts[line] {
		if s.col == col {
			return s
		}
	}
	return nil
}

func (t *text) inside(line int) bool    { return t.within[line] != nil }
func (t *text) blank(line int) bool     { return onlySpace(t.lines[line]) }
func (t *text) indent(line int) int     { return leading(t.lines[line]) }
func (t *text) isComment(line int) bool { return t.comment(line) == t.indent(line) && !t.blank(line) }

func leading(row []rune) int {
	for i, c := range row {
		if c != ' ' {
			return i
		}
	}
	return len(row)
}

func onlySpace(row []rune) bool { return strings.TrimSpace(string(row)) == "" }
