package show

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/graphrun/graphrun/show/dataflow"
	"github.com/graphrun/graphrun/show/layout"
)

// SVG writes one picture with every block open. Hovering over a box shows its types, parameters and place, as the titles of
// its group.
func SVG(w io.Writer, g *dataflow.Graph) error {
	const margin = 16.0
	d := layout.Place(g, measure)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="%g %g %.1f %.1f">`+"\n",
		d.W+2*margin, d.H+2*margin, -margin, -margin, d.W+2*margin, d.H+2*margin)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n", html.EscapeString(oneLine(g.Name+": "+g.Doc)), svgStyle)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,1L8,4L0,7z" fill="#64748b"/></marker></defs>` + "\n")
	b.WriteString(`<rect class="paper" x="-16" y="-16" width="100%" height="100%"/>` + "\n")
	svgBlocks(&b, g.Root, d, 0)
	for _, p := range d.Paths {
		class := "edge"
		switch {
		case p.Edge.State:
			class = "edge state"
		case p.Edge.Maybe:
			class = "edge maybe"
		}
		arrow := ` marker-end="url(#arrow)"`
		if p.Edge.State {
			arrow = ""
		}
		fmt.Fprintf(&b, `<path class="%s" d="%s"%s/>`+"\n", class, curve(p.Points), arrow)
	}
	svgLeaves(&b, g.Root, d, true)
	svgTitles(&b, g.Root, d)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

const svgStyle = `text{font-family:` + fonts + `;fill:#1f2937;white-space:pre}
.big{font-size:12px;font-weight:600}.small{font-size:10.3px;fill:#4b5563}.title{font-size:12px;font-weight:600;fill:#374151}.pin text{font-size:9.5px;fill:#6b7280}
.title,.pin text{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}
.paper{fill:#fff}.block{fill:#f8fafc;stroke:#94a3b8}.block.odd{fill:#fff}.operator .box{fill:#fff;stroke:#64748b}
.port .box{fill:#dbeafe;stroke:#2563eb}.state .box{fill:#fef3c7;stroke:#b45309}.end .box{fill:#d1fae5;stroke:#047857}
.pin circle{fill:#fff;stroke:#64748b}.edge{fill:none;stroke:#64748b;stroke-width:1.2}.edge.state{stroke:#b45309;stroke-dasharray:2 3}.edge.maybe{stroke-dasharray:6 3}`

// curve is the path through pairs of points: straight inside a pair, curved from one to the next.
func curve(points []layout.Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%.1f,%.1f", points[0].X, points[0].Y)
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		switch middle := (from.Y + to.Y) / 2; {
		case i%2 == 0:
			fmt.Fprintf(&b, "C%.1f,%.1f %.1f,%.1f %.1f,%.1f", from.X, middle, to.X, middle, to.X, to.Y)
		case to != from:
			fmt.Fprintf(&b, "V%.1f", to.Y)
		}
	}
	return b.String()
}

func svgBlocks(b *strings.Builder, n *dataflow.Node, d *layout.Drawing, depth int) {
	if n.Kind != dataflow.Block {
		return
	}
	box := d.Boxes[n.ID]
	odd := ""
	if depth%2 == 1 {
		odd = " odd"
	}
	fmt.Fprintf(b, `<g><title>%s</title><rect class="block%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="8"/>`,
		html.EscapeString(tip(n)), odd, box.X, box.Y, box.W, box.H)
	b.WriteString("</g>\n")
	for _, c := range n.Children {
		svgBlocks(b, c, d, depth+1)
	}
}

// svgTitles writes the heads of blocks, after the edges, which they are not to be struck through by.
func svgTitles(b *strings.Builder, n *dataflow.Node, d *layout.Drawing) {
	if n.Kind != dataflow.Block {
		return
	}
	box := d.Boxes[n.ID]
	fmt.Fprintf(b, `<text class="title" x="%.1f" y="%.1f">%s</text>`+"\n", box.X+10, box.Y+17, html.EscapeString(title(n)))
	for _, c := range n.Children {
		svgTitles(b, c, d)
	}
}

func svgLeaves(b *strings.Builder, n *dataflow.Node, d *layout.Drawing, own bool) {
	box := d.Boxes[n.ID]
	switch {
	case n.Kind == dataflow.Block:
		for _, c := range n.Children {
			svgLeaves(b, c, d, isEntry(n))
		}
		return
	case isPin(n) && !own:
		fmt.Fprintf(b, `<g class="pin"><circle cx="%.1f" cy="%.1f" r="3"/><text x="%.1f" y="%.1f">%s</text></g>`+"\n",
			box.Middle(), box.Y, box.Middle()+6, box.Y-5, html.EscapeString(n.Name))
		return
	}
	class := string(n.Kind)
	if isPin(n) {
		class = "end"
	}
	fmt.Fprintf(b, `<g class="%s"><title>%s</title>%s`, class, html.EscapeString(tip(n)), outline(n.Kind, box))
	y := box.Y + 17
	if n.Kind == dataflow.State {
		y += 9
	}
	for i, l := range labels(n) {
		style := "small"
		if i == 0 {
			style = "big"
		}
		fmt.Fprintf(b, `<text class="%s" text-anchor="middle" x="%.1f" y="%.1f">%s</text>`, style, box.Middle(), y, html.EscapeString(l))
		y += smallLine
		if i == 0 {
			y++
		}
	}
	b.WriteString("</g>\n")
}

// outline is the shape that tells what a leaf is.
func outline(kind dataflow.Kind, b layout.Box) string {
	rect := func(radius float64) string {
		return fmt.Sprintf(`<rect class="box" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%g"/>`, b.X, b.Y, b.W, b.H, radius)
	}
	switch kind {
	case dataflow.Port:
		return rect(2) + fmt.Sprintf(`<path class="box" d="M%.1f,%.1fV%.1fM%.1f,%.1fV%.1f"/>`, b.X+5, b.Y, b.Y+b.H, b.X+b.W-5, b.Y, b.Y+b.H)
	case dataflow.State:
		const lid = 6.0
		return fmt.Sprintf(`<path class="box" d="M%[1]g,%[2]gA%[3]g,%[4]g 0 0 1 %[5]g,%[2]gV%[6]gA%[3]g,%[4]g 0 0 1 %[1]g,%[6]gZM%[1]g,%[2]gA%[3]g,%[4]g 0 0 0 %[5]g,%[2]g"/>`,
			b.X, b.Y+lid, b.W/2, lid, b.X+b.W, b.Y+b.H-lid)
	case dataflow.Input, dataflow.Output:
		return rect(b.H / 2)
	}
	return rect(5)
}

// tip is all that is known of a node, a line each.
func tip(n *dataflow.Node) string {
	var out []string
	add := func(name, text string) {
		switch {
		case text == "":
		case name == "":
			out = append(out, oneLine(text))
		default:
			out = append(out, name+": "+oneLine(text))
		}
	}
	add("", title(n))
	add("path", n.Path)
	add("gives", strings.Join(n.Types, " | "))
	for _, f := range n.Facts {
		add(f.Name, f.Text)
	}
	add("", n.At)
	return strings.Join(out, "\n")
}
