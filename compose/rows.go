package compose

import (
	"fmt"
	"math"
	"sort"
	"strconv"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
)

// endless is the last row of a range without an end.
const endless = math.MaxInt

// span is a range of row counts with what a table says of it.
type span struct {
	first, last int
	entry       int // index into the table
	at          diag.Range
}

// bound evaluates a bound of a row table: a number, or an int let of the variant.
func (v *variant) bound(c *composer, w syntax.Word) (int, bool) {
	n, err := strconv.Atoi(w.Text)
	if err != nil {
		val, ok := v.scope[w.Text]
		if !ok {
			d := c.list.Errorf("unknown-name", w.At, "%s is no int let of the variant", w.Text)
			d.Among(w.Text, letNames(v.doc.Variant.Let), "lets")
			return 0, false
		}
		i, isInt := val.Int()
		if !isInt {
			otherType(c.list.Errorf("parameter-type", w.At, "a row count is an int; %s is %s", w.Text, val.Show()), "int", expr.TypeName(val.Type))
			return 0, false
		}
		n = int(i)
	}
	if n < 1 {
		c.list.Errorf("bad-rows", w.At, "a row count is 1 or more; this is %d", n).Helped("rows are sequences times new tokens: one sequence's next token is 1, as in `1..8`")
		return 0, false
	}
	return n, true
}

func letNames(lets []syntax.Let) []string {
	out := make([]string, len(lets))
	for i, l := range lets {
		out[i] = l.Name.Text
	}
	return out
}

// spans evaluates a table's keys: they may not overlap; `else` is what no other key names.
func (v *variant) spans(c *composer, rows []syntax.Row) ([]span, bool) {
	var out []span
	rest, good := -1, true
	for i, r := range rows {
		switch {
		case r.All:
			return []span{{1, endless, i, r.At}}, true
		case r.Else && rest >= 0:
			c.list.Errorf("bad-rows", r.At, "a table has one else").Because(rows[rest].At, "the first").Helped("name the row counts of one of them, as in `9..`")
			good = false
			continue
		case r.Else:
			rest = i
			continue
		}
		first, ok := v.bound(c, r.First)
		last := endless
		if ok && !r.Open {
			last, ok = v.bound(c, r.Last)
		}
		if !ok {
			good = false
			continue
		}
		if last < first {
			c.list.Errorf("bad-rows", r.At, "the range %d..%d is reversed", first, last).Helped("write `%d..%d`", last, first)
			good = false
			continue
		}
		for _, o := range out {
			if first <= o.last && o.first <= last {
				c.list.Errorf("rows-overlap", r.At, "these rows overlap those of another key of the table").Because(o.at, "%s", spanText(o.first, o.last)).Helped("%s", apart(first, last, o))
				good = false
			}
		}
		out = append(out, span{first, last, i, r.At})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].first < out[j].first })
	if rest >= 0 {
		at, next := rows[rest].At, 1
		var gaps []span
		for _, s := range out {
			if s.first > next {
				gaps = append(gaps, span{next, s.first - 1, rest, at})
			}
			if s.last == endless {
				next = endless
				break
			}
			next = s.last + 1
		}
		if next != endless {
			gaps = append(gaps, span{next, endless, rest, at})
		}
		out = append(out, gaps...)
	}
	return out, good
}

// apart says how a range and one that was there before would not overlap.
func apart(first, last int, o span) string {
	switch {
	case last > o.last:
		return fmt.Sprintf("write `%s`, which begins after it", spanText(o.last+1, last))
	case first < o.first:
		return fmt.Sprintf("write `%s`, which ends before it", spanText(first, o.first-1))
	}
	return "remove one; a further line of bind may decide anew for some of another's rows"
}

func spanText(first, last int) string {
	switch {
	case last == endless || last == 0:
		return strconv.Itoa(first) + ".."
	case first == last:
		return strconv.Itoa(first)
	}
	return strconv.Itoa(first) + ".." + strconv.Itoa(last)
}

// segment is a range of a port's rows with the line that decides it; nil: the exact class.
type segment struct {
	first, last int
	line        *boundLine
	entry       int
}

// overlay puts a line's spans over a port's segments: later lines win per row count.
func overlay(segments []segment, line *boundLine) []segment {
	for _, s := range line.spans {
		var out []segment
		for _, g := range segments {
			if g.last < s.first || g.first > s.last {
				out = append(out, g)
				continue
			}
			if g.first < s.first {
				out = append(out, segment{g.first, s.first - 1, g.line, g.entry})
			}
			out = append(out, segment{max(g.first, s.first), min(g.last, s.last), line, s.entry})
			if g.last > s.last {
				out = append(out, segment{s.last + 1, g.last, g.line, g.entry})
			}
		}
		segments = out
	}
	return segments
}

// cutAt splits segments where others begin or end, so that each lies within one of theirs.
func cutAt(segments []segment, starts []int) []segment {
	var out []segment
	for _, g := range segments {
		from := g.first
		for _, s := range starts {
			if s > from && s <= g.last {
				out = append(out, segment{from, s - 1, g.line, g.entry})
				from = s
			}
		}
		out = append(out, segment{from, g.last, g.line, g.entry})
	}
	return out
}
