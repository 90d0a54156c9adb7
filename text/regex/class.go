package regex

import (
	"slices"
	"sort"
	"unicode"

	"github.com/graphrun/graphrun/text/ucd"
)

// class is a set of code points. Membership below 0x80 is a bit test; above, the parts are asked one by one.
type class struct {
	ascii  [2]uint64 // the final answer, negation and intersections included
	ranges []span
	mask   ucd.Mask
	tables []*ucd.Table
	space  bool
	subs   []*class // nested classes and negated escapes such as \S: unions too
	and    []*class // operands of &&: every one must contain the code point
	neg    bool
}

type span struct{ lo, hi rune }

func (c *class) ask(r rune) bool {
	return c.union(r) != c.neg
}

func (c *class) union(r rune) bool {
	in := c.mask != 0 && c.mask.Has(r) || c.space && ucd.Space(r)
	if !in && len(c.ranges) > 0 {
		// The last range that does not begin behind r.
		i := sort.Search(len(c.ranges), func(i int) bool { return c.ranges[i].lo > r })
		in = i > 0 && r <= c.ranges[i-1].hi
	}
	for i := 0; !in && i < len(c.tables); i++ {
		in = c.tables[i].Contains(r)
	}
	for i := 0; !in && i < len(c.subs); i++ {
		in = c.subs[i].ask(r)
	}
	for i := 0; in && i < len(c.and); i++ {
		in = c.and[i].ask(r)
	}
	return in
}

// seal sorts and joins the ranges and computes the bits of the lower half. The class must not change afterwards, but for
// further ranges and another seal.
func (c *class) seal() *class {
	sorted := slices.Clone(c.ranges) // a negated copy may share them
	slices.SortFunc(sorted, func(a, b span) int { return int(a.lo - b.lo) })
	c.ranges = sorted[:0]
	for _, s := range sorted {
		if last := len(c.ranges) - 1; last >= 0 && s.lo <= c.ranges[last].hi+1 {
			c.ranges[last].hi = max(c.ranges[last].hi, s.hi)
			continue
		}
		c.ranges = append(c.ranges, s)
	}
	c.ascii = [2]uint64{}
	for r := rune(0); r < 0x80; r++ {
		if c.ask(r) {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return c
}

// beyondASCII reports whether the class may contain code points from 0x80 up.
func (c *class) beyondASCII() bool {
	if c.neg || c.mask != 0 || c.space || len(c.tables)+len(c.subs) > 0 {
		return true
	}
	for _, s := range c.ranges {
		if s.hi >= 0x80 {
			return true
		}
	}
	return false
}

const (
	cased      = ucd.Mask(1<<1 | 1<<2 | 1<<3) // Lu, Ll, Lt
	foldLimit  = 0x1E944                      // no code point from here up has another case
	lastRune   = 0x10FFFF
	decimalBit = ucd.Mask(1 << 9) // Nd
)

// fold adds the other cases of what a bracketed class contains, by simple case folding: s, S and ſ are one. Outside of
// brackets a property is not folded: (?i:\p{Lu}) is \p{Lu}.
func (c *class) fold() {
	if c.mask&cased != 0 {
		c.mask |= cased
	}
	for _, s := range c.ranges[:len(c.ranges):len(c.ranges)] {
		for r := s.lo; r <= min(s.hi, foldLimit); r++ {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				if f < s.lo || f > s.hi {
					c.ranges = append(c.ranges, span{f, f})
				}
			}
		}
	}
}

func single(r rune, ignoreCase bool) *class {
	c := &class{ranges: []span{{r, r}}}
	if ignoreCase {
		c.fold()
	}
	return c.seal()
}

func negated(c *class) *class {
	n := *c
	n.neg = !n.neg
	return n.seal()
}

// escapeClass returns the class of \d, \s, \w, \h and their negations; nil for another letter.
func escapeClass(letter rune) *class {
	var c *class
	switch unicode.ToLower(letter) {
	case 'd':
		c = &class{mask: decimalBit}
	case 's':
		c = &class{space: true}
	case 'w':
		c = &class{tables: []*ucd.Table{ucd.Words()}}
	case 'h':
		c = &class{ranges: []span{{'0', '9'}, {'a', 'f'}, {'A', 'F'}}}
	default:
		return nil
	}
	c.neg = unicode.IsUpper(letter)
	return c.seal()
}

// property returns the class of \p{name}.
func property(name string) (*class, bool) {
	if m, ok := ucd.CategoryMask(name); ok {
		return (&class{mask: m}).seal(), true
	}
	if t, ok := ucd.Script(name); ok {
		return (&class{tables: []*ucd.Table{t}}).seal(), true
	}
	switch name {
	case "Any", "any":
		return (&class{ranges: []span{{0, lastRune}}}).seal(), true
	case "Space", "space", "White_Space":
		return (&class{space: true}).seal(), true
	case "Word", "word":
		return escapeClass('w'), true
	case "Digit", "digit":
		return escapeClass('d'), true
	}
	return nil, false
}
