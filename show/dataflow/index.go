package dataflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
)

// index finds a plan's calls by the line that made them.
type index struct {
	p     *plan.Plan
	lines map[string]map[place][]*plan.Call // by entry
	under map[*plan.Call][]int              // the guards of an entry under which a call is there
}

type place struct {
	file      string
	line, col int
}

func placeOf(r diag.Range) place { return place{r.File, r.Line, r.Col} }

// newIndex takes of each line and path the calls of the first program that has it: the programs of other rows differ in
// classes alone, those of other guards also in what is there.
func newIndex(p *plan.Plan) *index {
	if p == nil {
		return nil
	}
	x := &index{p: p, lines: map[string]map[place][]*plan.Call{}, under: map[*plan.Call][]int{}}
	type key struct {
		entry string
		at    place
		path  string
	}
	type first struct {
		program int
		calls   []*plan.Call
	}
	found := map[key]*first{}
	guards := map[string]int{}
	for i := range p.Programs {
		g := &p.Programs[i]
		if x.lines[g.Entry] == nil {
			x.lines[g.Entry] = map[place][]*plan.Call{}
		}
		text := g.Entry + fmt.Sprint(g.Guards)
		if _, ok := guards[text]; !ok {
			guards[text] = len(guards)
		}
		group := guards[text]
		for k := range g.Calls {
			c := &g.Calls[k]
			at := placeOf(c.At)
			id := key{g.Entry, at, c.Path}
			f := found[id]
			if f == nil {
				f = &first{program: i}
				found[id] = f
			}
			if f.program == i {
				f.calls = append(f.calls, c)
				x.lines[g.Entry][at] = append(x.lines[g.Entry][at], c)
			}
			for _, c := range f.calls {
				if !slices.Contains(x.under[c], group) {
					x.under[c] = append(x.under[c], group)
				}
			}
		}
	}
	return x
}

// turn is one time that a body is there: under some guards, at some path.
type turn struct {
	group int
	path  string
}

// turns are the times that calls are there, by the first n segments of their paths.
func (x *index) turns(calls []*plan.Call, n int) map[turn]bool {
	out := map[turn]bool{}
	for _, c := range calls {
		s := split(c.Path)
		if len(s) < n {
			continue
		}
		for _, group := range x.under[c] {
			out[turn{group, strings.Join(s[:n], ".")}] = true
		}
	}
	return out
}

// paths counts the distinct paths of turns.
func paths(turns map[turn]bool) int {
	seen := map[string]bool{}
	for t := range turns {
		seen[t.path] = true
	}
	return len(seen)
}

// find gives the calls of a line below a path whose segments may be *. An operator has that path itself, a port lies
// below it.
func (x *index) find(entry string, at diag.Range, path []string) []*plan.Call {
	var out []*plan.Call
	for _, c := range x.lines[entry][placeOf(at)] {
		segments := split(c.Path)
		if c.Port < 0 && len(segments) != len(path) || len(segments) < len(path) {
			continue
		}
		if matches(path, segments) {
			out = append(out, c)
		}
	}
	return out
}

func matches(path, segments []string) bool {
	for i, s := range path {
		switch {
		case s == segments[i] || s == "*":
		case !strings.Contains(s, "*"):
			return false
		default:
			before, after, _ := strings.Cut(s, "*")
			if !strings.HasPrefix(segments[i], before) || !strings.HasSuffix(segments[i], after[strings.LastIndexByte(after, '*')+1:]) {
				return false
			}
		}
	}
	return true
}

func split(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

// heads are the distinct beginnings of n segments of the calls' paths.
func heads(calls []*plan.Call, n int) []string {
	var out []string
	for _, c := range calls {
		s := split(c.Path)
		if len(s) >= n {
			out = append(out, strings.Join(s[:n], "."))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pathOf writes a template with * for its expressions, as segments.
func pathOf(template string) []string {
	var b strings.Builder
	for i := 0; i < len(template); i++ {
		switch c := template[i]; {
		case (c == '{' || c == '}') && i+1 < len(template) && template[i+1] == c:
			b.WriteByte(c)
			i++
		case c == '{':
			end := strings.IndexByte(template[i:], '}')
			if end < 0 {
				return split(b.String())
			}
			b.WriteByte('*')
			i += end
		default:
			b.WriteByte(c)
		}
	}
	return split(b.String())
}

// distinct lists texts once each, the rest of a long list as a count.
func distinct(texts []string, most int) []string {
	var out []string
	for _, t := range texts {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if len(out) > most {
		more := len(out) - most
		out = append(out[:most:most], "… and "+strconv.Itoa(more)+" more")
	}
	return out
}
