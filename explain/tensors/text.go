package tensors

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/weights/header"
)

// WriteText writes a table; weights that differ in the numbers of their names alone are one line.
func (l *List) WriteText(w io.Writer, color bool) error {
	var b strings.Builder
	type place struct {
		file string
		at   int64
	}
	stored, opened := int64(0), int64(0)
	seen := map[place]bool{} // one block of a GGUF file is codes, scales and biases
	for _, s := range l.Stored {
		if at := (place{s.File, s.Offset}); !seen[at] || s.Size == 0 {
			seen[at] = true
			stored += s.Size
		}
	}
	for i := range l.Weights {
		opened += l.Weights[i].Bytes
	}
	fmt.Fprintf(&b, "%s stored, %s", count(len(seen), "tensor"), explain.Bytes(stored))
	if l.Model == "" {
		b.WriteString("\n\n")
		l.storedText(&b, l.Stored)
		_, err := io.WriteString(w, trimmed(b.String()))
		return err
	}
	fmt.Fprintf(&b, "; %d after the view of %s, %s\n\n", len(l.Weights), l.Model, explain.Bytes(opened))
	p := &painter{color}
	table(&b, l.Weights, func(x *Weight) string { return p.users(x.Users) })
	var out []Stored
	for _, s := range l.Stored {
		if s.Dropped {
			out = append(out, s)
		}
	}
	if len(out) > 0 {
		fmt.Fprintf(&b, "\ndropped by the view\n")
		l.storedText(&b, out)
	}
	if unused := l.Unused(); len(unused) > 0 {
		fmt.Fprintf(&b, "\n%s\n", p.bad(fmt.Sprintf("used by nothing: %s", count(len(unused), "tensor"))))
		table(&b, unused, func(*Weight) string { return "" })
	}
	if len(l.Missing) > 0 {
		fmt.Fprintf(&b, "\n%s\n", p.bad(fmt.Sprintf("missing: %s", count(len(l.Missing), "tensor"))))
		table(&b, l.Missing, func(x *Weight) string { return "for " + strings.TrimSpace(p.users(x.Users)) })
	}
	if l.Guessed {
		b.WriteString("\nThe graph cannot be composed for these tensors; who uses what, and what is missing, is as the config alone has it.\n")
	}
	_, err := io.WriteString(w, trimmed(b.String()))
	return err
}

type painter struct{ color bool }

func (p *painter) bad(s string) string {
	if !p.color {
		return s
	}
	return "\x1b[1;31m" + s + "\x1b[0m"
}

func (p *painter) users(list []User) string {
	if len(list) == 0 {
		return p.bad("nothing")
	}
	var out []string
	for _, u := range list {
		path := explain.Pattern(u.Path)
		if path == "" {
			path = "the model"
		}
		if text := u.By + " " + path; !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("×%d", n)
}

// table writes weights; scales and biases of a quantised one stand in its line.
func table(b *strings.Builder, list []Weight, users func(*Weight) string) {
	byName := map[string]*Weight{}
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	var rows []Weight
	for _, w := range list {
		if of := byName[module(w.Name)+".weight"]; of == nil || of.Quant == nil || !isPart(w.Name) {
			rows = append(rows, w)
		}
	}
	facts := func(w *Weight) string {
		return fmt.Sprintf("%s %v\t%s\t%s\t%s", w.Dtype, w.Shape, quantText(w, byName), from(w), users(w))
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, g := range explain.Alike(rows, nil, func(w *Weight) string { return w.Name }, facts) {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", g.Path, times(len(g.Items)), facts(&g.Items[0]))
	}
	_ = t.Flush() // into memory
}

// trimmed has no spaces at the ends of lines, where a table's last cells are empty.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func isPart(name string) bool {
	return strings.HasSuffix(name, ".scales") || strings.HasSuffix(name, ".biases")
}

// quantText says how a weight is quantised, with its scales and biases.
func quantText(w *Weight, byName map[string]*Weight) string {
	if w.Quant == nil {
		return w.Kept
	}
	out := w.Quant.String()
	scales, biases := byName[module(w.Name)+".scales"], byName[module(w.Name)+".biases"]
	if scales != nil {
		out += ", scales "
		if biases != nil {
			out += "and biases "
		}
		out += scales.Dtype + " " + fmt.Sprint(scales.Shape)
	}
	return out
}

// from says how a weight is stored, as far as its own name, dtype and shape do not.
func from(w *Weight) string {
	if len(w.From) == 0 {
		return ""
	}
	var names []string
	for _, t := range w.From {
		if n := explain.Pattern(t.FileName()); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	out := w.From[0].Stored
	if len(w.From) > 1 {
		out = fmt.Sprintf("%d × %s", len(w.From), out)
	}
	if !slices.Equal(w.From[0].Shape, w.Shape) {
		out += " " + fmt.Sprint(w.From[0].Shape)
	}
	if len(names) > 1 || names[0] != explain.Pattern(w.Name) {
		out += " " + strings.Join(names[:min(2, len(names))], ", ")
		if len(names) > 2 {
			out += " …"
		}
	}
	if w.How != "" {
		out += " (" + w.How + ")"
	}
	return out
}

func (l *List) storedText(b *strings.Builder, list []Stored) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	facts := func(s *Stored) string {
		as := ""
		if s.As != "" {
			as = "kept for the entry " + s.As
		}
		return fmt.Sprintf("%s %v\t%s\t%s", s.Dtype, s.Shape, s.Stored, as)
	}
	for _, g := range explain.Alike(list, nil, func(s *Stored) string { return s.Name }, facts) {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", g.Path, times(len(g.Items)), facts(&g.Items[0]))
	}
	_ = t.Flush()
}

// jsonStored is a stored tensor in JSON; an example's `tensors` reads its dtype and shape.
type jsonStored struct {
	Dtype   string       `json:"dtype"`
	Shape   []int        `json:"shape"`
	Stored  string       `json:"stored"` // the file's own type
	File    string       `json:"file"`
	Source  string       `json:"source,omitempty"` // the name in the file, where that is another one
	Bytes   int64        `json:"bytes"`            // in the file
	Dropped bool         `json:"dropped,omitempty"`
	As      string       `json:"dropped_as,omitempty"`
	Gives   []jsonWeight `json:"gives,omitempty"`
}

type jsonWeight struct {
	Name   string        `json:"name"`
	Dtype  string        `json:"dtype"`
	Shape  []int         `json:"shape"`
	Quant  *header.Quant `json:"quantization,omitempty"`
	Kept   string        `json:"storage,omitempty"`
	How    string        `json:"made_by,omitempty"`
	Users  []User        `json:"used_by"`
	Unused bool          `json:"unused,omitempty"`
}

// WriteJSON writes one object, a key for each stored tensor. Where weights are missing, the key __missing__ lists them.
func (l *List) WriteJSON(w io.Writer) error {
	out := map[string]any{}
	for _, s := range l.Stored {
		j := jsonStored{Dtype: s.Dtype.String(), Shape: dims(s.Shape), Stored: s.Stored, File: s.File, Source: s.Source, Bytes: s.Size, Dropped: s.Dropped, As: s.As}
		for _, i := range s.Gives {
			j.Gives = append(j.Gives, jsonOf(&l.Weights[i]))
		}
		out[s.Name] = j
	}
	var missing []jsonWeight
	for i := range l.Missing {
		missing = append(missing, jsonOf(&l.Missing[i]))
	}
	if missing != nil {
		out["__missing__"] = missing
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func jsonOf(w *Weight) jsonWeight {
	return jsonWeight{w.Name, w.Dtype, dims(w.Shape), w.Quant, w.Kept, w.How, append([]User{}, w.Users...), len(w.Users) == 0}
}

func dims(shape []int) []int { return append([]int{}, shape...) }
