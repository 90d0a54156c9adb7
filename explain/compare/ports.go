package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/explain"
)

// entryPort is a port of an entry.
type entryPort struct {
	entry string
	*explain.Port
}

func portsOf(r *explain.Report) []entryPort {
	var out []entryPort
	for i := range r.Entries {
		for k := range r.Entries[i].Ports {
			out = append(out, entryPort{r.Entries[i].Name, &r.Entries[i].Ports[k]})
		}
	}
	return out
}

func ports(a, b *explain.Report) []Line {
	several := len(a.Entries) > 1 || len(b.Entries) > 1
	path := func(p *entryPort) string {
		if several {
			return p.entry + ": " + p.Path
		}
		return p.Path
	}
	return keyed(portsOf(a), portsOf(b), func(p *entryPort) string { return p.entry + "\x00" + p.Path },
		func(p *entryPort) Line { return Line{Path: path(p), Text: p.Kind + " " + fmt.Sprint(p.Dims)} },
		func(x, y *entryPort) []Line {
			var out []Line
			put := func(what, from, to string) {
				if from != to {
					out = append(out, Line{Mark: "~", Path: path(x), Text: fmt.Sprintf("%s%s → %s", what, from, to)})
				}
			}
			put("kind ", x.Kind, y.Kind)
			put("dims ", fmt.Sprint(x.Dims), fmt.Sprint(y.Dims))
			put("stored as ", stored(x.Port), stored(y.Port))
			return append(out, rows(path(x), x.Rows, y.Rows)...)
		})
}

func stored(p *explain.Port) string {
	var out []string
	for _, w := range p.Weights {
		if s := explain.StorageText(w.Facts); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, " + ")
}

// rows compares classes over the common refinement of both ports' ranges; ranges that differ alike are one line.
func rows(path string, a, b []explain.Choice) []Line {
	var starts []int
	for _, c := range append(slices.Clone(a), b...) {
		starts = append(starts, c.Rows.First)
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	var out []Line
	var ranges []explain.Rows
	for i, first := range starts {
		r := explain.Rows{First: first}
		if i+1 < len(starts) {
			r.Last = starts[i+1] - 1
		}
		x, y := at(a, first), at(b, first)
		if x == nil || y == nil || class(x) == class(y) {
			continue
		}
		l := Line{Mark: "~", Path: path, Text: class(x) + " → " + class(y), Place: y.Line}
		if y.Line == "" {
			l.Place = x.Line
		}
		if n := len(out) - 1; n >= 0 && out[n] == l && ranges[n].Last == first-1 {
			ranges[n].Last = r.Last
			continue
		}
		out, ranges = append(out, l), append(ranges, r)
	}
	for i := range out {
		out[i].Text = "rows " + ranges[i].String() + ": " + out[i].Text
	}
	return out
}

func at(list []explain.Choice, rows int) *explain.Choice {
	for i := range list {
		if r := list[i].Rows; rows >= r.First && (r.Last == 0 || rows <= r.Last) {
			return &list[i]
		}
	}
	return nil
}

func class(c *explain.Choice) string {
	s := c.Class
	if c.Exact {
		s = "exact " + s
	}
	if c.Adapted != "" {
		s += " (adapted: " + c.Adapted + ")"
	}
	if c.Unused {
		s += " (not run)"
	}
	return s
}
