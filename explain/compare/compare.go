package compare

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/plan"
)

// Side is one of the two plans.
type Side struct {
	Report *explain.Report
	Plan   *plan.Plan
}

// Difference is all in which two plans differ.
type Difference struct {
	Same     bool      `json:"same"` // the hashes are equal
	A        Name      `json:"a"`
	B        Name      `json:"b"`
	Sections []Section `json:"sections"` // those with differences
}

// Name says what a side is.
type Name struct {
	Model    string   `json:"model"`
	Source   string   `json:"source"` // checkpoint or config
	Variants []string `json:"variants"`
	Hash     string   `json:"hash"`
}

// Section is the differences of one kind.
type Section struct {
	Name  string `json:"name"`
	Lines []Line `json:"lines"`
}

// Line is one difference.
type Line struct {
	Mark  string `json:"mark"` // - only in A, + only in B, ~ in both, but different
	Path  string `json:"path,omitempty"`
	Text  string `json:"text"`
	Place string `json:"line,omitempty"` // the bind line or node that makes it so
}

// Plans compares two plans.
func Plans(a, b Side) *Difference {
	d := &Difference{Same: a.Report.Hash == b.Report.Hash, A: name(a.Report), B: name(b.Report), Sections: []Section{}}
	for _, s := range []Section{
		{"plan", whole(a.Report, b.Report)},
		{"ports", ports(a.Report, b.Report)},
		{"states", states(a.Report, b.Report)},
		{"programs", programs(a.Plan, b.Plan)},
		{"calls", calls(a.Plan, b.Plan)},
		{"tensors", tensors(a.Plan, b.Plan)},
		{"dropped", dropped(a.Report, b.Report)},
		{"memory", memory(a.Report, b.Report)},
	} {
		if len(s.Lines) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	return d
}

func name(r *explain.Report) Name {
	n := Name{Model: r.Model, Source: r.Config, Variants: r.Variants, Hash: r.Hash}
	if r.Checkpoint != nil {
		n.Source = r.Checkpoint.Path
	}
	return n
}

func whole(a, b *explain.Report) []Line {
	var out []Line
	put := func(what string, x, y any) {
		if !reflect.DeepEqual(x, y) {
			out = append(out, Line{Mark: "~", Text: fmt.Sprintf("%s: %v → %v", what, x, y)})
		}
	}
	put("model", a.Model, b.Model)
	put("layers", a.Layers, b.Layers)
	put("submit", settings(a.Submit), settings(b.Submit))
	put("verify cost", costs(a.Verify), costs(b.Verify))
	put("config keys not asked for", none(strings.Join(a.Unasked, ", ")), none(strings.Join(b.Unasked, ", ")))
	return out
}

func settings(list []explain.RowSetting) string {
	var out []string
	for _, s := range list {
		out = append(out, s.Rows.String()+" "+explain.ArgsText(s.Args))
	}
	return none(strings.Join(out, ", "))
}

func costs(list []plan.Cost) string {
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprintf("%d: %g", c.Rows, c.Cost))
	}
	return none(strings.Join(out, ", "))
}

func none(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// keyed compares lists of what has a name; change tells of two that have the same.
func keyed[T any](a, b []T, key func(*T) string, only func(*T) Line, change func(x, y *T) []Line) []Line {
	in := map[string]*T{}
	for i := range b {
		in[key(&b[i])] = &b[i]
	}
	var out []Line
	seen := map[string]bool{}
	for i := range a {
		k := key(&a[i])
		seen[k] = true
		if y := in[k]; y != nil {
			out = append(out, change(&a[i], y)...)
			continue
		}
		l := only(&a[i])
		l.Mark = "-"
		out = append(out, l)
	}
	for i := range b {
		if !seen[key(&b[i])] {
			l := only(&b[i])
			l.Mark = "+"
			out = append(out, l)
		}
	}
	var all []string
	for _, list := range [][]T{a, b} {
		for i := range list {
			all = append(all, only(&list[i]).Path)
		}
	}
	return alike(out, all)
}

// alike makes one line of those that differ in the numbers of their paths alone; all are the paths of what is the same too.
func alike(lines []Line, all []string) []Line {
	var out []Line
	for _, g := range explain.Alike(lines, all, func(l *Line) string { return l.Path }, func(l *Line) string { return l.Mark + "\x00" + l.Text + "\x00" + l.Place }) {
		l := g.Items[0]
		l.Path = g.Label()
		out = append(out, l)
	}
	return out
}
