package regex

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxNesting = 200
	maxRepeat  = 1000 // of {n,m}
	maxBehind  = 255  // code points of a lookbehind
)

type parser struct {
	pattern string
	pos     int
	depth   int
	flags   flags
	err     *Error // the first
}

type flags struct{ ignoreCase, dotAll, extended bool }

func parse(pattern string) (node, error) {
	if !utf8.ValidString(pattern) {
		return nil, &Error{pattern, 0, "not valid UTF-8"}
	}
	p := &parser{pattern: pattern}
	n := p.choice()
	if p.err == nil && p.pos < len(pattern) {
		p.fail("unmatched )")
	}
	if p.err != nil {
		return nil, p.err
	}
	return n, nil
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &Error{p.pattern, p.pos, fmt.Sprintf(format, args...)}
	}
}

func (p *parser) rest() string { return p.pattern[p.pos:] }

func (p *parser) accept(s string) bool {
	if strings.HasPrefix(p.rest(), s) {
		p.pos += len(s)
		return true
	}
	return false
}

// next consumes one code point; at the end it fails.
func (p *parser) next() rune {
	if p.pos >= len(p.pattern) {
		p.fail("the pattern ends too early")
		return 0
	}
	r, n := utf8.DecodeRuneInString(p.rest())
	p.pos += n
	return r
}

// choice parses alternatives up to a ')' or the end. Flags set inside hold to the end of the enclosing group.
func (p *parser) choice() node {
	if p.depth++; p.depth > maxNesting {
		p.fail("groups are nested deeper than %d", maxNesting)
	}
	defer func(f flags) { p.flags = f; p.depth-- }(p.flags)
	alternatives := choice{p.sequence()}
	for p.err == nil && p.accept("|") {
		alternatives = append(alternatives, p.sequence())
	}
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return alternatives
}

func (p *parser) sequence() node {
	var items sequence
	for p.err == nil && p.pos < len(p.pattern) && p.pattern[p.pos] != '|' && p.pattern[p.pos] != ')' {
		if n := p.quantified(); n != nil {
			items = append(items, n)
		}
	}
	if len(items) == 1 {
		return items[0]
	}
	return items
}

// quantified parses an atom and the quantifiers after it; nil for what matches nothing itself (a comment, a flag).
func (p *parser) quantified() node {
	n := p.atom()
	for n != nil && p.err == nil {
		start := p.pos
		low, high, counted, ok := p.quantifier()
		if !ok {
			break
		}
		q := &repeat{sub: n, min: low, max: high}
		switch {
		case p.accept("?"):
			if counted && low == high {
				p.fail("{n}? is read differently by different engines; write {n} or {n,m}?")
			}
			q.mode = lazy
		case !counted && p.accept("+"):
			q.mode = possessive
		}
		if _, ok := n.(assertion); ok {
			p.pos = start
			p.fail("a quantifier on an anchor")
		}
		n = q
	}
	return n
}

// quantifier parses ?, *, +, {n}, {n,}, {,m} or {n,m}. A brace that is none of these is a literal.
func (p *parser) quantifier() (low, high int, counted, ok bool) {
	switch {
	case p.accept("?"):
		return 0, 1, false, true
	case p.accept("*"):
		return 0, -1, false, true
	case p.accept("+"):
		return 1, -1, false, true
	case !strings.HasPrefix(p.rest(), "{"):
		return 0, 0, false, false
	}
	body, _, closed := strings.Cut(p.rest()[1:], "}")
	first, second, comma := strings.Cut(body, ",")
	number := func(s string, missing int) int {
		if s == "" {
			return missing
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || s[0] == '+' {
			return -2
		}
		return n
	}
	low = number(first, 0)
	high = number(second, -1)
	if !comma {
		high = low
	}
	if !closed || low < 0 || high < -1 || body == "" || body == "," {
		return 0, 0, false, false
	}
	if low > maxRepeat || high > maxRepeat {
		p.fail("more than %d repetitions", maxRepeat)
	}
	if high >= 0 && low > high {
		p.fail("{%s}: the first number is the greater", body)
	}
	p.pos += len(body) + 2
	return low, high, true, true
}

func (p *parser) atom() node {
	start := p.pos
	switch r := p.next(); r {
	case '(':
		return p.group()
	case '[':
		return p.class()
	case '.':
		if p.flags.dotAll {
			return (&class{ranges: []span{{0, lastRune}}}).seal()
		}
		return negated(single('\n', false))
	case '^', '$':
		return assertion(r)
	case '*', '+', '?':
		p.pos = start
		p.fail("a quantifier without anything to repeat")
		return nil
	case '\\':
		return p.escape()
	case ' ', '\t', '\n', '\r', '\f', '\v':
		if p.flags.extended {
			return nil
		}
		return p.literal(r)
	case '#':
		if p.flags.extended {
			line, _, _ := strings.Cut(p.rest(), "\n")
			p.pos += len(line)
			return nil
		}
		return p.literal(r)
	default:
		return p.literal(r)
	}
}

func (p *parser) literal(r rune) node {
	if p.flags.ignoreCase {
		if c := single(r, true); len(c.ranges) > 1 || c.ranges[0].lo != c.ranges[0].hi {
			return c
		}
	}
	return literal(string(r))
}

// group parses what follows an opening parenthesis.
func (p *parser) group() node {
	start := p.pos - 1
	var wrap func(node) node
	plain := func(n node) node { return n }
	switch {
	case !p.accept("?"):
		wrap = plain // a capture, which nobody can ask for
	case p.accept(":"):
		wrap = plain
	case p.accept("="):
		wrap = func(n node) node { return &look{sub: n} }
	case p.accept("!"):
		wrap = func(n node) node { return &look{sub: n, neg: true} }
	case p.accept("<="):
		wrap = func(n node) node { return p.behind(&look{sub: n, behind: true}, start) }
	case p.accept("<!"):
		wrap = func(n node) node { return p.behind(&look{sub: n, behind: true, neg: true}, start) }
	case p.accept(">"):
		wrap = func(n node) node { return &atomic{n} }
	case p.accept("#"):
		comment, _, closed := strings.Cut(p.rest(), ")")
		if !closed {
			p.fail("the comment is not closed")
		}
		p.pos += min(len(comment)+1, len(p.rest()))
		return nil
	case p.accept("<"):
		name, _, closed := strings.Cut(p.rest(), ">")
		if !closed || name == "" {
			p.fail("a group's name is not closed")
			return nil
		}
		p.pos += len(name) + 1
		wrap = plain
	default:
		return p.flagGroup(start)
	}
	n := p.choice()
	p.close(start)
	if p.err != nil {
		return nil
	}
	return wrap(n)
}

func (p *parser) close(start int) {
	if p.err == nil && !p.accept(")") {
		p.pos = start
		p.fail("the group is not closed")
	}
}

func (p *parser) behind(l *look, start int) node {
	l.shortest, l.far = lengths(l.sub)
	if l.far < 0 || l.far > maxBehind {
		p.pos = start
		p.fail("a lookbehind must have a length of at most %d", maxBehind)
	}
	return l
}

// flagGroup parses (?imx-imx) and (?imx-imx:…).
func (p *parser) flagGroup(start int) node {
	f, on := p.flags, true
	for p.err == nil {
		switch r := p.next(); r {
		case 'i':
			f.ignoreCase = on
		case 'm':
			f.dotAll = on
		case 'x':
			f.extended = on
		case '-':
			on = false
		case ')':
			// The rest of the enclosing group is a group of its own: a|b(?i)c|d reads a|b(?i:c|d).
			p.flags = f
			return p.choice()
		case ':':
			outer := p.flags
			p.flags = f
			n := p.choice()
			p.flags = outer
			p.close(start)
			return n
		default:
			p.pos = start
			p.fail("a group that starts with (?%c is not supported", r)
		}
	}
	return nil
}
