package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

func (n number) json() string {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return strconv.Quote(n.String())
	}
	return n.String()
}

// String is the shortest form.
func (n number) String() string { return strconv.FormatFloat(float64(n), 'g', -1, 64) }

// WriteJSON writes one object, with every node that differs.
func (c *Comparison) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// WriteText says that all is equal, or shows the first node that differs and how the outputs do. all lists every node that
// differs.
func (c *Comparison) WriteText(w io.Writer, all bool) error {
	var b strings.Builder
	if c.Same {
		fmt.Fprintf(&b, "equal, bit for bit: %s of %s\n", count(c.Values, "value"), count(c.Nodes, "node"))
	} else {
		fmt.Fprintf(&b, "%d of %s differ; the first:\n\n", len(c.Differ), count(c.Nodes, "node"))
		c.Differ[0].long(&b)
		c.outputs(&b)
		if all {
			b.WriteString("\nevery node that differs\n")
			for i := range c.Differ {
				c.Differ[i].short(&b)
			}
		}
	}
	if c.OnlyA+c.OnlyB > 0 {
		fmt.Fprintf(&b, "not compared: %s of the first alone, %d of the second\n", count(c.OnlyA, "node"), c.OnlyB)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Difference) long(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n", d.Node)
	side := func(name, by, line, dtype string, shape []int) {
		fmt.Fprintf(b, "  %s: %s %v", name, dtype, shape)
		for _, s := range []string{by, line} {
			if s != "" {
				b.WriteString("  " + s)
			}
		}
		b.WriteString("\n")
	}
	side("A", d.By, d.Line, d.Dtype, d.Shape)
	side("B", d.ByB, d.LineB, d.DtypeB, d.ShapeB)
	switch {
	case d.Mismatch == "shape":
		b.WriteString("  the shapes differ\n")
	case d.Count == 0:
		b.WriteString("  the dtypes differ, the values do not\n")
	default:
		fmt.Fprintf(b, "  %s differ; the first at %v: A %v, B %v\n", count(d.Count, "value"), d.Index, d.First, d.FirstB)
		fmt.Fprintf(b, "  max |Δ| %v, max |A| %v\n", d.MaxDelta, d.MaxValue)
	}
}

// outputs tells what became of the difference in the end.
func (c *Comparison) outputs(b *strings.Builder) {
	for i := range c.Differ {
		if d := &c.Differ[i]; i > 0 && strings.HasPrefix(d.Node, OutputPrefix) {
			b.WriteString("\n")
			d.short(b)
		}
	}
}

func (d *Difference) short(b *strings.Builder) {
	what := fmt.Sprintf("max |Δ| %v, max |A| %v, %s", d.MaxDelta, d.MaxValue, count(d.Count, "value"))
	switch {
	case d.Mismatch == "shape":
		what = fmt.Sprintf("%v beside %v", d.Shape, d.ShapeB)
	case d.Count == 0:
		what = d.Dtype + " beside " + d.DtypeB
	}
	fmt.Fprintf(b, "%s: %s\n", d.Node, what)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
