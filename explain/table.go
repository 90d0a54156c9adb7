package explain

import (
	"strings"
	"unicode/utf8"
)

// table aligns cells in columns. A column's separator stands before it.
type table struct {
	before []string // separator before each column; the last is used for all further ones
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(b *strings.Builder) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		var l strings.Builder
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			l.WriteString(t.before[min(i, len(t.before)-1)])
			l.WriteString(cell)
			l.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
}
