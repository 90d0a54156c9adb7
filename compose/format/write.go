package format

import "strings"

// bracket is an open flow collection. Lines that go on inside it begin at column, or, where the bracket ended its line,
// are moved by shift as that line was.
type bracket struct {
	column, shift int
	hanging       bool
}

// writer writes the lines.
type writer struct {
	*text
	indent map[int]int // by line, where it begins a block's key or item, or a comment
	open   []bracket
	shift  int // by how much the line was moved in which the latest key, item or scalar began
	out    []string
	kept   int // lines of out up to the last that is not blank
}

// file writes all lines: one blank line at most between others, none at the ends.
func (w *writer) file() string {
	for line := range w.lines {
		s := w.within[line]
		switch {
		case s == nil && w.blank(line):
			if w.kept == len(w.out) && w.kept > 0 {
				w.add("", false)
			}
		case s != nil && s.block():
			w.blockLine(line, s)
		default:
			w.line(line)
		}
	}
	return w.end()
}

func (w *writer) add(line string, keep bool) {
	w.out = append(w.out, line)
	if keep || line != "" {
		w.kept = len(w.out)
	}
}

// end joins the lines. A literal at the end of a file whose last line has no end gets none: it would be part of it.
func (w *writer) end() string {
	text := strings.Join(w.out[:w.kept], "\n")
	if s := w.within[len(w.lines)-1]; s != nil && s.block() {
		return text
	}
	return text + "\n"
}

// blockLine writes a line of a literal or folded scalar, moved so that its first line stands two columns inside its key;
// one that says its indentation goes with the key.
func (w *writer) blockLine(line int, s *span) {
	row := w.lines[line]
	if onlySpace(row) && len(row) <= w.margin(s) {
		w.add("", true)
		return
	}
	shift := w.begin(s, w.newIndent(s.line), true) - w.begin(s, w.text.indent(s.line), false)
	if !strings.ContainsAny(string(w.lines[s.line][s.col:s.endOfHeader(w.text)]), "123456789") {
		shift = w.begin(s, w.newIndent(s.line), true) + step - w.margin(s)
	}
	in := leading(row)
	w.add(strings.Repeat(" ", max(0, in+shift))+string(row[in:]), true)
}

func (w *writer) newIndent(line int) int {
	if c, ok := w.indent[line]; ok {
		return c
	}
	return w.text.indent(line)
}

// margin is the indentation of a literal's or folded scalar's first line.
func (t *text) margin(s *span) int {
	for line := s.line + 1; line <= s.endLine; line++ {
		if !onlySpace(t.lines[line]) {
			return leading(t.lines[line])
		}
	}
	return 0
}

func (s *span) endOfHeader(t *text) int {
	col := s.col
	for col < len(t.lines[s.line]) && t.lines[s.line][col] != ' ' {
		col++
	}
	return col
}

// begin is the column, from which a literal is indented, of the key or dash that holds it, where its line begins at a
// column; squeezed tells whether one space stands behind each dash, or as many as there are.
func (w *writer) begin(s *span, column int, squeezed bool) int {
	row := w.lines[s.line]
	col := leading(row)
	for col < len(row) && row[col] == '-' && (col+1 == len(row) || row[col+1] == ' ') {
		next := col + 1
		for next < len(row) && row[next] == ' ' {
			next++
		}
		if next == s.col {
			break
		}
		if squeezed {
			column += step
		} else {
			column += next - col
		}
		col = next
	}
	return column
}

// line writes one line, or several where it is too long.
func (w *writer) line(line int) {
	row := w.lines[line]
	end, comment := len(row), w.comment(line)
	if comment >= 0 {
		end = comment
	}
	pieces := w.pieces(line, end)
	column := w.column(line, pieces)
	if len(w.open) == 0 && !w.inside(line) {
		w.shift = column - w.text.indent(line)
	}
	lines := w.fill(column, pieces, line)
	for _, l := range lines[:len(lines)-1] {
		w.add(l, true)
	}
	last := lines[len(lines)-1]
	switch {
	case comment >= 0 && len(pieces) == 0:
		last = strings.Repeat(" ", column) + strings.TrimRight(string(row[comment:]), " \t")
	case comment >= 0:
		last = w.withComment(last, row, comment, len(lines) > 1)
	}
	w.add(last, w.inside(line))
}

// column is where a line begins.
func (w *writer) column(line int, pieces []piece) int {
	from := w.text.indent(line)
	if n := len(w.open); n > 0 {
		switch b := w.open[n-1]; {
		case b.hanging:
			return max(0, from+b.shift)
		case len(pieces) > 0 && pieces[0].kind == closing:
			return b.column - 1
		default:
			return b.column
		}
	}
	if s := w.within[line]; s != nil {
		return max(from+w.shift, w.least(s))
	}
	if c, ok := w.indent[line]; ok {
		return c
	}
	return max(0, from+w.shift)
}

// least is how far in the lines must be that go on with a scalar: as it, where it began a line, else inside its key.
func (w *writer) least(s *span) int {
	if s.col == w.text.indent(s.line) {
		return w.newIndent(s.line)
	}
	return w.begin(s, w.newIndent(s.line), true) + step
}

// withComment puts a comment behind a line: at the column where it was, if there is room.
func (w *writer) withComment(text string, row []rune, comment int, broken bool) string {
	said := strings.TrimRight(string(row[comment:]), " \t")
	gap := comment - len([]rune(strings.TrimRight(string(row[:comment]), " \t")))
	switch length := len([]rune(text)); {
	case gap <= 1:
		return text + " " + said
	case broken:
		return text + "  " + said
	default:
		return text + strings.Repeat(" ", max(comment-length, 2)) + said
	}
}
