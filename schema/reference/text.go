package reference

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// DefaultWidth is to how many columns text is broken where a screen's are not known.
const DefaultWidth = 100

// Fprint writes an entry for a person, broken at width columns (0: DefaultWidth).
func (e Entry) Fprint(w io.Writer, width int) error {
	if width <= 0 {
		width = DefaultWidth
	}
	p := &page{w: bufio.NewWriter(w), width: max(width, 40)}
	p.line(string(e.Kind)+" ", e.Signature())
	p.paragraph("  ", e.Doc)
	p.items("inputs", e.Inputs)
	p.items("results", described(e.Outputs))
	title := "parameters"
	if e.Kind == State {
		title = "fields"
	}
	p.items(title, e.Params)
	switch e.State {
	case "required":
		p.section("state")
		p.paragraph("  ", "The call names a state: `state: kv`.")
	case "optional":
		p.section("state")
		p.paragraph("  ", "The call may name a state: `state: kv`.")
	case "map":
		p.section("state")
		p.paragraph("  ", "The call may give paths for states of the block: `state: {kv: 'layers.{i}.kv'}`.")
	}
	if e.Each {
		p.section("several")
		p.paragraph("  ", fmt.Sprintf("`a, b: {%s: [a, b], …}` is one node per name.", e.Name))
	}
	if len(e.Facts) > 0 {
		p.section("facts")
		rows := make([][]string, len(e.Facts))
		for i, f := range e.Facts {
			rows[i] = []string{f.Name, f.Text}
		}
		p.table(rows)
	}
	if len(e.Example) > 0 {
		p.section("example")
		for _, l := range e.Example {
			p.line("  ", l)
		}
	}
	if e.File != "" {
		p.section("file")
		p.line("  ", e.File)
	}
	return p.w.Flush()
}

// described are the items that say something beside their name.
func described(list []Item) []Item {
	var out []Item
	for _, i := range list {
		if i.Doc != "" || i.Optional {
			out = append(out, i)
		}
	}
	return out
}

// FprintTable writes a line per entry: its name and its first sentence, cut at width columns (0: whole).
func FprintTable(w io.Writer, entries []Entry, columns func(Entry) []string, width int) error {
	p := &page{w: bufio.NewWriter(w), width: width}
	rows := make([][]string, len(entries))
	for i, e := range entries {
		rows[i] = append(columns(e), e.Summary())
	}
	widths := columnWidths(rows)
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if i == len(row)-1 {
				b.WriteString(cell)
			} else {
				b.WriteString(pad(cell, widths[i]) + "  ")
			}
		}
		text := []rune(b.String())
		if width > 1 && len(text) > width {
			text = append(text[:width-1], '…')
		}
		p.line("", string(text))
	}
	return p.w.Flush()
}

type page struct {
	w     *bufio.Writer
	width int
}

func (p *page) line(lead, text string) { fmt.Fprintf(p.w, "%s%s\n", lead, text) }

func (p *page) section(title string) { fmt.Fprintf(p.w, "\n%s\n", title) }

func (p *page) paragraph(lead, text string) {
	for _, l := range wrap(text, p.width-utf8.RuneCountInString(lead)) {
		p.line(lead, l)
	}
}

func (p *page) items(title string, list []Item) {
	if len(list) == 0 {
		return
	}
	p.section(title)
	rows := make([][]string, len(list))
	for i, item := range list {
		what := item.Type
		switch {
		case title == "parameters" || title == "fields":
			what += ", " + item.Presence()
		case item.Variadic:
			what += "s"
		case item.Optional:
			what += ", optional"
		}
		doc := item.Doc
		if len(item.OneOf) > 0 {
			doc = strings.TrimSpace(doc + " (" + strings.Join(item.OneOf, ", ") + ")")
		}
		rows[i] = []string{item.Name, strings.TrimPrefix(what, ", "), doc}
	}
	p.table(rows)
}

// table writes rows whose last column is broken into lines.
func (p *page) table(rows [][]string) {
	widths := columnWidths(rows)
	for _, row := range rows {
		lead := "  "
		for i, cell := range row[:len(row)-1] {
			lead += pad(cell, widths[i]) + "  "
		}
		room := p.width - utf8.RuneCountInString(lead)
		lines := wrap(row[len(row)-1], max(room, 30))
		if len(lines) == 0 {
			lines = []string{""}
		}
		for i, l := range lines {
			if i > 0 {
				lead = strings.Repeat(" ", utf8.RuneCountInString(lead))
			}
			p.line("", strings.TrimRight(lead+l, " "))
		}
	}
}

func columnWidths(rows [][]string) []int {
	var out []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(out) {
				out = append(out, 0)
			}
			out[i] = max(out[i], utf8.RuneCountInString(cell))
		}
	}
	return out
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
}

// wrap breaks text between words.
func wrap(text string, width int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out, line = append(out, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}
