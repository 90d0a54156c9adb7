package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteText writes the differences for a terminal; colour marks what only one side has.
func (d *Difference) WriteText(w io.Writer, colour bool) error {
	var b strings.Builder
	if d.Same {
		fmt.Fprintf(&b, "the same plan: %s\n", d.A.Hash)
		if len(d.Sections) > 0 {
			b.WriteString("beside what it runs:\n")
		}
	} else {
		d.A.text(&b, "-", colour)
		d.B.text(&b, "+", colour)
	}
	for _, s := range d.Sections {
		fmt.Fprintf(&b, "\n%s\n", s.Name)
		width := 0
		for _, l := range s.Lines {
			width = max(width, len([]rune(l.Path)))
		}
		for _, l := range s.Lines {
			text := l.Mark + " "
			if l.Path != "" {
				text += l.Path + strings.Repeat(" ", width-len([]rune(l.Path))) + "  "
			}
			text += l.Text
			if l.Place != "" {
				text += "   " + l.Place
			}
			b.WriteString(paint(text, l.Mark, colour) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (n Name) text(b *strings.Builder, mark string, colour bool) {
	variants := "none"
	if len(n.Variants) > 0 {
		variants = strings.Join(n.Variants, ", ")
	}
	b.WriteString(paint(fmt.Sprintf("%s model %s  for %s  variants %s  plan %s", mark, n.Model, n.Source, variants, n.Hash[:min(16, len(n.Hash))]), mark, colour) + "\n")
}

func paint(s, mark string, colour bool) string {
	code := map[string]string{"-": "31", "+": "32", "~": "33"}[mark]
	if !colour || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// WriteJSON writes the differences as an object.
func (d *Difference) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}
