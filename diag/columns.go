package diag

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

const tabStop = 4

// cell is a character as it is shown.
type cell struct {
	text  string
	width int
}

// cells lays a line out: tabs to spaces, control characters made visible, wide characters counted as two columns.
func cells(line string) []cell {
	out := make([]cell, 0, len(line))
	column := 0
	for _, r := range line {
		c := cell{string(r), 1}
		switch {
		case r == '\t':
			c.width = tabStop - column%tabStop
			c.text = strings.Repeat(" ", c.width)
		case steers(r):
			c.text = visible(c.text)
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
			c.width = 0
		default:
			if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
				c.width = 2
			}
		}
		column += c.width
		out = append(out, c)
	}
	return out
}

// underline gives a line as it is shown in room columns (0: whole), and where the caret stands: columns before it and
// its length, at least 1. A range that goes on below ends with the line.
func underline(line string, r Range, room int) (text string, before, length int) {
	all := cells(strings.TrimRight(line, " \t\r"))
	from := min(max(r.Col-1, 0), len(all))
	to := len(all)
	if r.EndLine <= r.Line {
		to = min(max(r.EndCol-1, from), len(all))
	}
	first, last := window(all, from, to, room)
	var b strings.Builder
	if first > 0 {
		b.WriteString("…")
		before = 1
	}
	for i := first; i < last; i++ {
		b.WriteString(all[i].text)
		switch {
		case i < from:
			before += all[i].width
		case i < to:
			length += all[i].width
		}
	}
	if last < len(all) {
		b.WriteString("…")
	}
	return b.String(), before, max(length, 1)
}

// window is the part of a line that is shown: all of it where there is room, else what is underlined with as much
// before it as after.
func window(all []cell, from, to, room int) (first, last int) {
	total := 0
	for _, c := range all {
		total += c.width
	}
	if room <= 0 || total <= room {
		return 0, len(all)
	}
	room -= 2 // the two ellipses
	first, last = from, from
	used := 0
	take := func(i int) bool {
		if i < 0 || i >= len(all) || used+all[i].width > room {
			return false
		}
		used += all[i].width
		return true
	}
	for last < to && take(last) {
		last++
	}
	for left, right := true, true; left || right; {
		if left = take(first - 1); left {
			first--
		}
		if right = take(last); right {
			last++
		}
	}
	return first, last
}

// Units is how many UTF-16 units the first n characters of a line take: editors and SARIF count columns in them.
func Units(line string, n int) int {
	out := 0
	for _, r := range line {
		if n == 0 {
			break
		}
		n--
		if out++; r > 0xffff {
			out++
		}
	}
	return out
}

// steers tells whether a character does something to a terminal, or to the order in which others are shown.
func steers(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f ||
		r == 0x2028 || r == 0x2029
}

// visible replaces such characters: ESC by ␛, others by their like or �.
func visible(text string) string {
	if strings.IndexFunc(text, steers) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case !steers(r):
			return r
		case r < 0x20:
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		}
		return unicode.ReplacementChar
	}, text)
}
