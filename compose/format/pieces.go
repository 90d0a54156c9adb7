package format

import (
	"strings"

	"gopkg.in/yaml.v3"
)

type pieceKind uint8

const (
	word    pieceKind = iota // a scalar, an alias, an anchor, a tag
	opening                  // { or [
	closing
	comma
	colon
	dash
)

// piece is a word or a mark of a line, with the spaces before it.
type piece struct {
	kind pieceKind
	text string
	gap  int
}

// pieces takes a line apart up to a column. Spaces around marks are the canonical ones; before a value in block style
// they are as they were, for people align values.
func (w *writer) pieces(line, end int) []piece {
	row := w.lines[line]
	var out []piece
	depth, col := len(w.open), leading(row)
	add := func(kind pieceKind, text string, from int) {
		p := piece{kind, text, 0}
		if n := len(out); n > 0 {
			p.gap = spacing(out[n-1].kind, kind, from-col, depth)
		}
		out = append(out, p)
	}
	if s := w.within[line]; s != nil {
		stop := min(end, len(row))
		if s.endLine == line {
			stop = min(s.endCol, stop)
		}
		add(word, string(row[min(col, stop):stop]), col)
		col = stop
	} else if depth == 0 {
		for col < end && row[col] == '-' && (col+1 == len(row) || row[col+1] == ' ') && w.at(line, col) == nil {
			add(dash, "-", col)
			for col++; col < end && row[col] == ' '; col++ {
			}
		}
	}
	for col < end {
		from := col
		for from < end && (row[from] == ' ' || row[from] == '\t') {
			from++
		}
		if from == end {
			break
		}
		if s := w.at(line, from); s != nil {
			stop := end
			switch {
			case s.block():
				stop = min(s.endOfHeader(w.text), end)
				add(word, string(row[from:stop]), from)
			case s.endLine == line:
				stop = min(max(s.endCol, from+1), end)
				add(word, quoted(s.node, string(row[from:stop])), from)
			default:
				add(word, strings.TrimRight(string(row[from:stop]), " \t"), from)
			}
			col = stop
			continue
		}
		stop := from + 1
		switch row[from] {
		case '{', '[':
			add(opening, string(row[from]), from)
			depth++
		case '}', ']':
			add(closing, string(row[from]), from)
			depth = max(0, depth-1)
		case ',':
			add(comma, ",", from)
		case ':':
			add(colon, ":", from)
		default:
			for stop < end && !strings.ContainsRune(" \t,[]{}", row[stop]) && w.at(line, stop) == nil {
				stop++
			}
			add(word, string(row[from:stop]), from)
		}
		col = stop
	}
	return out
}

// spacing is how many spaces stand between two pieces that were some apart.
func spacing(before, kind pieceKind, were, depth int) int {
	switch {
	case before == dash:
		return 1
	case depth == 0:
		return were
	case before == colon: // `{a: , b: 1}`: without the space the colon and the comma were part of the key
		return 1
	case before == opening && kind != comma:
		return 0
	case kind == closing, kind == comma, kind == colon:
		return 0
	case before == comma:
		return 1
	}
	return min(were, 1)
}

// fill joins pieces to lines of at most MaxColumns, if they can be broken at commas of flow collections, and opens and
// closes the brackets.
func (w *writer) fill(column int, pieces []piece, line int) []string {
	start := column
	for i := range pieces { // the first of a line has nothing before it
		if i == 0 {
			pieces[i].gap = 0
		}
		start += pieces[i].gap + len([]rune(pieces[i].text))
	}
	n := len(pieces)
	if start > MaxColumns {
		n = w.breakAt(column, pieces)
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", column))
	at := column
	for i, p := range pieces[:n] {
		b.WriteString(strings.Repeat(" ", p.gap) + p.text)
		at += p.gap + len([]rune(p.text))
		switch p.kind {
		case opening:
			hanging := i == len(pieces)-1
			w.open = append(w.open, bracket{column: at, hanging: hanging, shift: column - w.text.indent(line)})
		case closing:
			if k := len(w.open); k > 0 {
				w.open = w.open[:k-1]
			}
		}
	}
	first := strings.TrimRight(b.String(), " ")
	if n == len(pieces) {
		return []string{first}
	}
	next := max(0, column)
	if k := len(w.open); k > 0 {
		next = w.open[k-1].column
	}
	return append([]string{first}, w.fill(next, pieces[n:], line)...)
}

// breakAt is the number of pieces in the first line: up to the last comma within the limit among those of the outermost
// collection; all, where no comma helps.
func (w *writer) breakAt(column int, pieces []piece) int {
	depth, at := len(w.open), column
	best, bestDepth := len(pieces), 1<<30
	for i, p := range pieces[:len(pieces)-1] {
		at += p.gap + len([]rune(p.text))
		switch p.kind {
		case opening:
			depth++
		case closing:
			depth--
		case comma:
			fits := at <= MaxColumns
			if fits && depth <= bestDepth || !fits && best == len(pieces) {
				best, bestDepth = i+1, depth
			}
		}
	}
	return best
}

// quoted writes a quoted text with single quotes, or double ones where it holds a single one and nothing that would
// need an escape. Other texts stay as they are.
func quoted(n *yaml.Node, as string) string {
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		return as
	}
	for _, r := range n.Value {
		if r < 0x20 || r == 0x7f || r == 0x85 || r == 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r >= 0xd800 && r <= 0xdfff || r >= 0xfffe {
			return as
		}
	}
	if strings.Contains(n.Value, "'") && !strings.ContainsAny(n.Value, `"\`) {
		return `"` + n.Value + `"`
	}
	return "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
}
