package diag

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// SourceLine gives the n-th line (from 1) of a file without its end; ok is false where it is not known.
type SourceLine func(file string, line int) (text string, ok bool)

// Style is how Fprint writes.
type Style struct {
	Color bool
	Width int // columns of a screen, to which source lines are cut around what is wrong; 0: very long ones only are cut
}

// Escape sequences of Style.Color.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	blue   = "\x1b[1;34m"
	plain  = "\x1b[0m"
)

var severityColor = map[Severity]string{Error: red, Warning: yellow, Note: blue}

// Fprint writes diagnostics for a person, each as
//
//	llama.yaml:21:45: error[unknown-parameter]: rms_norm has no parameter epz
//	 21 |     - x: {rms_norm: h, weight: input_layernorm.weight, epz: 1e-5}
//	    |                                                        ^^^
//	  in: model.layers.0
//	  note: attention.yaml:3:1: declared here
//	  3 | params:
//	    | ^^^^^^
//	  help: did you mean eps?
//
// and at the end how many there were. source (nil: none) gives the lines to show. What comes from files cannot steer a
// terminal: control characters are written as visible ones.
func Fprint(w io.Writer, list []*Diagnostic, source SourceLine, style Style) error {
	p := &printer{w: bufio.NewWriter(w), source: source, style: style}
	for i, d := range list {
		if i > 0 {
			p.printf("\n")
		}
		p.diagnostic(d)
	}
	if s := Summary(list); s != "" {
		p.printf("\n%s\n", s)
	}
	return p.w.Flush()
}

// Summary counts by severity: "2 errors, 1 warning"; "" where there is nothing.
func Summary(list []*Diagnostic) string {
	counts := map[Severity]int{}
	for _, d := range list {
		counts[d.Severity]++
	}
	var parts []string
	for _, s := range []Severity{Error, Warning, Note} {
		switch n := counts[s]; {
		case n == 1:
			parts = append(parts, "1 "+s.String())
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

type printer struct {
	w      *bufio.Writer
	source SourceLine
	style  Style
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p *printer) paint(color, text string) string {
	if !p.style.Color {
		return text
	}
	return color + text + plain
}

func (p *printer) diagnostic(d *Diagnostic) {
	place := ""
	if !d.At.IsZero() {
		place = p.paint(bold, visible(d.At.String())+":") + " "
	}
	label := d.Severity.String()
	if d.Code != "" {
		label += "[" + d.Code + "]"
	}
	p.printf("%s%s %s\n", place, p.paint(severityColor[d.Severity], label+":"), indented(d.Message, "  "))
	p.excerpt(d.At, " ", severityColor[d.Severity])
	if d.Path != "" {
		p.printf("  in: %s\n", visible(d.Path))
	}
	for _, r := range d.Related {
		at := ""
		if !r.At.IsZero() {
			at = visible(r.At.String()) + ": "
		}
		p.printf("  %s %s%s\n", p.paint(blue, "note:"), at, indented(r.Message, "    "))
		p.excerpt(r.At, "  ", blue)
	}
	for _, h := range d.Help {
		p.printf("  %s %s\n", p.paint(bold, "help:"), indented(h, "    "))
	}
}

// indented puts the lines of a text after its first below its beginning.
func indented(text, by string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = visible(lines[i])
	}
	return strings.Join(lines, "\n"+by)
}

// longLine is what is shown of a line where no screen's width is known: no graph file has longer ones.
const longLine = 1000

// excerpt shows the first line of a range, underlined.
func (p *printer) excerpt(r Range, indent, color string) {
	if p.source == nil || r.IsZero() || r.Line < 1 {
		return
	}
	line, ok := p.source(r.File, r.Line)
	if !ok {
		return
	}
	number := fmt.Sprint(r.Line)
	room := 0
	if p.style.Width > 0 {
		room = max(20, p.style.Width-len(indent)-len(number)-3)
	} else if len(line) > longLine {
		room = longLine
	}
	text, before, length := underline(line, r, room)
	p.printf("%s%s %s\n", indent, p.paint(blue, number+" |"), text)
	p.printf("%s%s %s%s\n", indent, p.paint(blue, strings.Repeat(" ", len(number))+" |"), strings.Repeat(" ", before),
		p.paint(color, strings.Repeat("^", length)))
}
