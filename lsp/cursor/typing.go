package cursor

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

// Mark stands for the word that is being typed.
const Mark = "graphrunCursorHere"

// Typing understands a text that is being written: what stands before the cursor, with a Mark for the word at it, and
// with the brackets and quotes closed that are open there. What stands behind the cursor is not asked, for it is seldom
// right yet. There may be several readings: the word may begin a key or be a value.
func Typing(path, text string, line, col int) []*Place {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if line < 1 || line > len(lines) {
		return nil
	}
	row := []rune(lines[line-1])
	col = min(col, len(row)+1)
	from := col - 1
	for from > 0 && isWord(row[from-1]) {
		from--
	}
	head := strings.Join(lines[:line-1], "\n")
	if line > 1 {
		head += "\n"
	}
	head += string(row[:from])
	open, quote, comment := unclosed(head)
	if comment {
		return nil
	}
	tails := []string{""}
	switch {
	case quote != 0:
		tails = []string{string(quote)}
	case open == "" && onlyDashes(string(row[:from])):
		tails = []string{": ", ""}
	}
	var out []*Place
	for _, tail := range tails {
		typed := head + Mark + tail + reversed(open) + "\n"
		var list diag.List
		file := source.Parse(path, []byte(typed), &list)
		if file.Root == nil {
			continue
		}
		chain, scalar, isKey := find(file.Root, func(n *yaml.Node) bool { return strings.Contains(n.Value, Mark) }, nil)
		if scalar == nil {
			continue
		}
		before, _, _ := strings.Cut(scalar.Value, Mark)
		out = append(out, &Place{
			File: file, Root: file.Root, Chain: chain, Scalar: scalar, IsKey: isKey, Before: before, Word: string(row[from : col-1]),
			Range: diag.Range{File: path, Line: line, Col: from + 1, EndLine: line, EndCol: col},
		})
	}
	return out
}

func onlyDashes(s string) bool { return strings.Trim(s, " -") == "" }

// unclosed are the brackets that are open at the end of a text, the quote that is, and whether it ends in a comment.
func unclosed(text string) (open string, quote rune, comment bool) {
	before, space := ':', true   // the last character that is no space; whether one is just before
	skip, closed := false, false // whether the next character is escaped; whether a single quote has just been closed
	for _, c := range text {
		again := closed && c == '\''
		closed = false
		switch {
		case again: // two of them are one
			quote = c
		case comment:
			comment = c != '\n'
		case skip:
			skip = false
		case quote == '"' && c == '\\':
			skip = true
		case quote != 0:
			if c == quote {
				quote, closed = 0, c == '\''
			}
		case (c == '\'' || c == '"') && strings.ContainsRune(":,[{-\n", before):
			quote = c
		case c == '#' && space:
			comment = true
		case c == '{' || c == '[':
			if open != "" || strings.ContainsRune(":-\n", before) {
				open += string(c)
			}
		case (c == '}' || c == ']') && open != "":
			open = open[:len(open)-1]
		}
		space = c == ' ' || c == '\n' || c == '\t'
		if !space {
			before = c
		} else if c == '\n' && open == "" {
			before = '\n'
		}
	}
	return open, quote, comment
}

// reversed closes brackets.
func reversed(open string) string {
	var b strings.Builder
	for i := len(open) - 1; i >= 0; i-- {
		if open[i] == '{' {
			b.WriteByte('}')
		} else {
			b.WriteByte(']')
		}
	}
	return b.String()
}
