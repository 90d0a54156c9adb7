package regex

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/graphrun/graphrun/text/ucd"
)

var controls = map[rune]rune{'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'v': '\v', 'a': '\a', 'e': 0x1B}

// escape parses what follows a backslash outside a class.
func (p *parser) escape() node {
	start := p.pos - 1
	r := p.next()
	switch r {
	case 'A', 'z', 'Z', 'b', 'B':
		return assertion(r)
	case 'R':
		newline := (&class{ranges: []span{{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}}).seal()
		return &atomic{choice{literal("\r\n"), newline}}
	case 'N':
		return negated(single('\n', false))
	case 'O':
		return (&class{ranges: []span{{0, lastRune}}}).seal()
	}
	p.pos = start + 1
	if c := p.classEscape(); c != nil || p.err != nil {
		return c
	}
	return p.literal(p.charEscape())
}

// classEscape parses \d, \s, \w, \h, \p{…} and their negations; nil, with nothing consumed, if it is none of these.
func (p *parser) classEscape() *class {
	start := p.pos
	r := p.next()
	if c := escapeClass(r); c != nil {
		return c
	}
	if r != 'p' && r != 'P' {
		p.pos = start
		return nil
	}
	name, _, closed := strings.Cut(p.rest(), "}")
	if !strings.HasPrefix(name, "{") || !closed {
		p.pos = start
		p.fail(`\%c needs a property in braces, such as \p{L}`, r)
		return nil
	}
	negate := r == 'P'
	name = name[1:]
	if after, ok := strings.CutPrefix(name, "^"); ok {
		name, negate = after, !negate
	}
	c, ok := property(name)
	if !ok {
		p.fail(`unknown property \p{%s}; known are general categories (L, Lu, Letter, …) and scripts (%s, …)`,
			name, strings.Join(ucd.Scripts()[:4], ", "))
		return nil
	}
	p.pos += len(name) + strings.Index(p.rest(), name) + 1
	if negate {
		return negated(c)
	}
	return c
}

// charEscape parses the escape of a single code point.
func (p *parser) charEscape() rune {
	start := p.pos
	r := p.next()
	if c, ok := controls[r]; ok {
		return c
	}
	hex := func(digits string) rune {
		n, err := strconv.ParseUint(digits, 16, 32)
		if err != nil || n > lastRune || n >= 0xD800 && n < 0xE000 {
			p.pos = start
			p.fail("%q is not a code point", `\`+p.rest()[:min(8, len(p.rest()))])
		}
		return rune(n)
	}
	switch {
	case r == 'x' && p.accept("{"):
		digits, _, _ := strings.Cut(p.rest(), "}")
		p.pos += min(len(digits)+1, len(p.rest()))
		return hex(digits)
	case r == 'x' || r == 'u':
		width := 2
		if r == 'u' {
			width = 4
		}
		n := 0
		for n < width && n < len(p.rest()) && strings.IndexByte("0123456789abcdefABCDEF", p.rest()[n]) >= 0 {
			n++
		}
		if r == 'u' && n < width {
			n = 0
		}
		digits := p.rest()[:n]
		p.pos += n
		if r == 'x' && len(digits) > 0 {
			if v, _ := strconv.ParseUint(digits, 16, 8); v >= 0x80 {
				p.pos = start
				p.fail(`\x%s is a byte, not a code point; write \u00%s`, digits, digits)
			}
		}
		return hex(digits)
	case r == '0':
		n := 0
		for n < 2 && n < len(p.rest()) && p.rest()[n] >= '0' && p.rest()[n] <= '7' {
			n++
		}
		v, _ := strconv.ParseUint("0"+p.rest()[:n], 8, 8)
		p.pos += n
		return rune(v)
	case r >= '1' && r <= '9' || r == 'k':
		p.fail("backreferences are not supported")
	case r == 'g':
		p.fail("subroutine calls are not supported")
	case r < 0x80 && unicode.IsLetter(r):
		p.pos = start
		p.fail(`the escape \%c is not supported`, r)
	}
	return r
}
