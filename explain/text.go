package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteText writes the report for a terminal. Ports of one entry that decide alike are one line.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	r.header(&b)
	for i := range r.Entries {
		r.Entries[i].text(&b)
	}
	if len(r.NoKernel) > 0 {
		b.WriteString("\nno kernel for this device in this build: the plan can be read, not run\n")
		wrapped(&b, r.NoKernel)
	}
	if len(r.KernelOf) > 0 {
		b.WriteString("\nby another class's kernel\n")
		wrapped(&b, r.KernelOf)
	}
	r.statesText(&b)
	r.programsText(&b)
	r.fusedText(&b)
	r.adaptersText(&b)
	r.policyText(&b)
	r.droppedText(&b)
	if len(r.Unasked) > 0 {
		fmt.Fprintf(&b, "\nconfig keys that no expression asked for\n")
		wrapped(&b, r.Unasked)
	}
	r.memoryText(&b)
	fmt.Fprintf(&b, "\nplan %s\n", r.Hash)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) header(b *strings.Builder) {
	fmt.Fprintf(b, "model %s", r.Model)
	switch c := r.Checkpoint; {
	case c != nil && c.Fingerprint != "":
		fmt.Fprintf(b, "  checkpoint %s (%s, %s)", c.Path, c.Format, c.Fingerprint)
	case c != nil:
		fmt.Fprintf(b, "  checkpoint %s (%s)", c.Path, c.Format)
	default:
		fmt.Fprintf(b, "  config %s (no checkpoint: weights are as the graph needs them, unaudited)", r.Config)
	}
	if r.Device != "" {
		fmt.Fprintf(b, "  device %s", r.Device)
	}
	variants := "none"
	if len(r.Variants) > 0 {
		variants = strings.Join(r.Variants, ", ")
	}
	fmt.Fprintf(b, "  variants %s\n", variants)
}

func (e *Entry) text(b *strings.Builder) {
	b.WriteString("\n")
	t := &table{before: []string{"", "  ", "  "}}
	head := []string{fmt.Sprintf("entry %s, outputs %s", e.Name, listed(e.Outputs)), "", "rows:"}
	for i, r := range e.Rows {
		t.before = append(t.before, " | ")
		if i == 0 {
			t.before[3] = " "
		}
		head = append(head, r.String())
	}
	t.before = append(t.before, "   ")
	t.add(head...)
	unused := false
	for _, g := range Alike(e.Ports, nil, func(p *Port) string { return p.Path }, decision) {
		p := &g.Items[0]
		cells := []string{"  " + g.Path, times(len(g.Items)), storage(p)}
		for i := range e.Rows {
			cell := "?"
			if i < len(p.Rows) {
				cell = p.Rows[i].text()
				unused = unused || p.Rows[i].Unused
			}
			cells = append(cells, cell)
		}
		lines := winners(p.Rows)
		if len(lines) == 0 {
			t.add(cells...)
			continue
		}
		t.add(append(cells, lines[0])...)
		for _, more := range lines[1:] {
			t.add(append(make([]string, len(cells)), more)...)
		}
	}
	t.write(b)
	if unused {
		b.WriteString("  [class]: bound, but no program runs it at these rows: the form above it takes other parts\n")
	}
}

// decision is what two ports have in common that decide alike.
func decision(p *Port) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%s", p.Kind, storage(p))
	for _, c := range p.Rows {
		fmt.Fprintf(&b, "|%s|%s", c.text(), c.Line)
	}
	return b.String()
}

func storage(p *Port) string {
	var out []string
	for _, w := range p.Weights {
		if s := StorageText(w.Facts); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return p.Kind
	}
	return p.Kind + ", " + strings.Join(out, " + ")
}

func (c *Choice) text() string {
	s := c.Class
	if c.Exact {
		s = "exact " + s
	}
	if c.Adapted != "" {
		s += " (adapted: " + c.Adapted + ")"
	}
	if c.Unused {
		s = "[" + s + "]"
	}
	return s
}

// winners are the bind lines of a port, each with its rows where there are several.
func winners(rows []Choice) []string {
	var lines []string
	where := map[string][]string{}
	for _, c := range rows {
		if c.Line == "" {
			continue
		}
		if !slices.Contains(lines, c.Line) {
			lines = append(lines, c.Line)
		}
		where[c.Line] = append(where[c.Line], c.Rows.String())
	}
	if len(lines) > 1 {
		for i, l := range lines {
			lines[i] = fmt.Sprintf("%s (%s)", l, strings.Join(where[l], ", "))
		}
	}
	return lines
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
