package compose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// kvScheme is how caches are stored: in the dtype of what is written, or affine.
type kvScheme struct {
	storage     string // "": plain
	bits, group int
}

var affineKV = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^affine(2|3|4|5|6|8)g(32|64|128)$`) })

// kvForms says how a cache may be stored.
const kvForms = "write affine4g64 or affine8g64 (2, 3, 4, 5, 6 or 8 bits in groups of 32, 64 or 128), or leave it out"

// parseKV reads request.kv: empty, or affineBgG for B bits in groups of G.
func parseKV(text string) (kvScheme, error) {
	if text == "" {
		return kvScheme{}, nil
	}
	m := affineKV().FindStringSubmatch(text)
	if m == nil {
		return kvScheme{}, fmt.Errorf("request.kv is '' (caches as they are written) or affineBgG, as affine4g64: B bits in groups of G; this is %q", text)
	}
	bits, _ := strconv.Atoi(m[1])
	group, _ := strconv.Atoi(m[2])
	return kvScheme{"affine", bits, group}, nil
}

// bindStates applies the variants' lines about states.
func (c *composer) bindStates() bool {
	good := true
	for _, v := range c.variants {
		for i := range v.doc.Variant.States {
			good = c.stateLine(v, &v.doc.Variant.States[i]) && good
		}
	}
	return good
}

func (c *composer) stateLine(v *variant, line *syntax.StateLine) bool {
	var patterns []*pattern.Pattern
	for _, w := range line.Patterns {
		p, ok := c.compilePattern(w)
		if !ok {
			return false
		}
		patterns = append(patterns, p)
	}
	spans, good := v.spans(c, rowsOf(line.Read))
	matched := false
	for i := range c.plan.States {
		s := &c.plan.States[i]
		if !matchesAny(patterns, s.Path) {
			continue
		}
		matched = true
		scope := v.scope.with(facts{"state": c.stateRecord(s)})
		if line.When != nil {
			holds, ok := c.truth(line.When, scope, "a condition")
			if !ok {
				return false
			}
			if !holds {
				continue
			}
		}
		if line.Rollback != nil {
			if kind := c.reg.State(s.Kind); !kind.CanRollBack(*s, line.Rollback.Text) {
				d := c.list.Errorf("no-rollback", line.Rollback.At, "the state %s, a %s, cannot take back tokens by %s", s.Path, s.Kind, line.Rollback.Text)
				if self := kind.RollbackOf(*s); self != "none" {
					d.Helped("without this line it does so by %s", self)
				}
				return false
			}
			s.Rollback = line.Rollback.Text
		}
		if line.Scheme != nil && !c.storeAs(s, line.Scheme) {
			return false
		}
		for _, span := range spans {
			if !c.readClass(v, s, line, span, scope) {
				return false // the other states would say the same
			}
		}
	}
	if !matched && !hasWord(v.doc.Variant.Of, "*") {
		var paths []string
		for i := range c.plan.States {
			paths = append(paths, generalised(c.plan.States[i].Path))
		}
		d := c.list.Errorf("state-no-match", line.Patterns[0].At, "no state matches %s", wordList(line.Patterns))
		d.Among(line.Patterns[0].Text, paths, "states")
		return false
	}
	return good
}

// storeAs has a cache keep its keys and values in another dtype: narrowed as they come in, widened where they are read.
func (c *composer) storeAs(s *plan.State, word *syntax.Word) bool {
	if s.Kind != "cache" {
		c.list.Errorf("state-scheme", word.At, "%s is stored as its kind, %s, says; a cache alone is stored otherwise", generalised(s.Path), s.Kind).
			Because(s.At, "declared here").Helped("leave it out by a condition: when: state.kind == 'cache'")
		return false
	}
	if c.opened[s.Path] != "" && word.Text != "plain" {
		c.list.Errorf("state-scheme", word.At, "%s takes the arrays of the cache %s as they are; they cannot be stored as %s", c.opened[s.Path], generalised(s.Path), word.Text).
			Because(s.At, "declared here").Helped("leave it out by a condition: when: '!state.opened'")
		return false
	}
	s.Scheme, s.Bits, s.Group = word.Text, 0, 0
	if word.Text == "plain" || word.Text == s.Dtype.String() {
		s.Scheme = ""
	}
	return true
}

func rowsOf(entries []syntax.RowEntry) []syntax.Row {
	rows := make([]syntax.Row, len(entries))
	for i := range entries {
		rows[i] = entries[i].Row
	}
	return rows
}

// stateRecord is a state as a line's condition sees it.
func (c *composer) stateRecord(s *plan.State) expr.Value {
	return expr.Record("state", map[string]any{"kind": s.Kind, "dtype": s.Dtype.String(), "opened": c.opened[s.Path] != "",
		"scheme": or(s.Scheme, "plain"), "bits": s.Bits, "group": s.Group})
}

// readClass binds the class of one span of rows to a state, in the variant's entries.
func (c *composer) readClass(v *variant, s *plan.State, line *syntax.StateLine, span span, scope facts) bool {
	choice, ok := c.chosen(&line.Read[span.entry].Class, scope)
	if !ok {
		return false
	}
	class, given, ok := c.namedClass(v, choice, scope)
	if !ok {
		return false
	}
	at := choice.Name.At
	if !class.Takes(registry.StateRead) {
		d := c.list.Errorf("class-kind", at, "%s fills ports of kind %s; what reads a state is another kind of class", class.Name, strings.Join(class.Kinds, ", "))
		d.Helped("classes that read states: %s", strings.Join(c.fitting(registry.StateRead), ", "))
		return false
	}
	if lo, hi := rowLimits(class); span.first < lo || span.last > hi {
		d := c.list.Errorf("class-rows", at, "%s takes rows %s; this table binds it to %s", class.Name, spanText(lo, hi), spanText(span.first, span.last)).In(s.Path)
		if max(span.first, lo) <= min(span.last, hi) {
			d.Helped("write `%s: %s`", spanText(max(span.first, lo), min(span.last, hi)), class.Name)
		}
		return false
	}
	if !c.suits(class, at) {
		return false
	}
	stored := plan.Facts{Storage: or(s.Scheme, "plain"), Dtype: s.Holds(), Bits: s.Bits, Group: s.Group, Mode: s.Scheme}
	if err := class.Accept(registry.StateRead, map[string]plan.Facts{"state": stored}); err != nil {
		c.list.Errorf("class-refuses", at, "%s does not read %s: %v", class.Name, generalised(s.Path), err).Because(s.At, "the state is declared here").
			Helped("read it so under a condition: when: state.scheme == 'affine' && state.bits == 4 && state.group == 64")
		return false
	}
	args, ok := c.classArgs(class, given, choice.Name, scope)
	if !ok {
		return false
	}
	for _, entry := range c.offeredEntries {
		if inEntries(v.doc.Variant.Entries, entry) {
			s.Reads = overlayRead(s.Reads, plan.StateRead{Entry: entry, First: span.first, Last: unending(span.last), Class: class.Name, Args: args, At: at})
		}
	}
	return true
}

// unending writes the last row of a range as plans have it: 0 where it has no end.
func unending(last int) int {
	if last == endless {
		return 0
	}
	return last
}

// overlayRead puts a read over those that were bound before: later lines win per row count.
func overlayRead(list []plan.StateRead, r plan.StateRead) []plan.StateRead {
	last := or(r.Last, endless)
	var out []plan.StateRead
	for _, o := range list {
		oLast := or(o.Last, endless)
		if o.Entry != r.Entry || oLast < r.First || o.First > last {
			out = append(out, o)
			continue
		}
		if o.First < r.First {
			before := o
			before.Last = r.First - 1
			out = append(out, before)
		}
		if oLast > last {
			o.First = last + 1
			out = append(out, o)
		}
	}
	out = append(out, r)
	slices.SortStableFunc(out, func(a, b plan.StateRead) int { return cmp.Or(strings.Compare(a.Entry, b.Entry), a.First-b.First) })
	return out
}
