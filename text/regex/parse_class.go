package regex

import "strings"

// class parses a bracketed class after its '['.
func (p *parser) class() node {
	c := p.classBody()
	if p.err != nil {
		return nil
	}
	return c
}

// classBody parses up to and with the closing ']'. Intersections bind weakest: [a-z&&[^b]] is [a-z] without b.
func (p *parser) classBody() *class {
	start := p.pos - 1
	if p.depth++; p.depth > maxNesting {
		p.fail("classes are nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	neg := p.accept("^")
	current, operands := &class{}, []*class(nil)
	for first := true; p.err == nil; first = false {
		if p.pos >= len(p.pattern) {
			p.pos = start
			p.fail("the class is not closed")
			break
		}
		if !first && p.accept("]") {
			break
		}
		if p.accept("&&") {
			operands = append(operands, p.finish(current))
			current = &class{}
			continue
		}
		p.classItem(current)
	}
	whole := p.finish(current)
	if len(operands) > 0 {
		operands = append(operands, whole)
		whole = &class{subs: operands[:1], and: operands[1:]}
	}
	whole.neg = neg
	return whole.seal()
}

func (p *parser) finish(c *class) *class {
	if p.flags.ignoreCase {
		c.fold()
	}
	return c.seal()
}

// classItem parses one code point, range, escape or nested class into c.
func (p *parser) classItem(c *class) {
	if strings.HasPrefix(p.rest(), "[:") {
		if name, _, ok := strings.Cut(p.rest()[2:], ":]"); ok {
			p.posix(c, name)
			return
		}
	}
	if p.accept("[") {
		c.subs = append(c.subs, p.classBody())
		return
	}
	if p.accept(`\`) {
		sub := p.classEscape()
		if p.err != nil {
			return
		}
		if sub != nil {
			if strings.HasPrefix(p.rest(), "-") && !strings.HasPrefix(p.rest(), "-]") {
				p.fail("a range cannot start with a class")
			}
			c.add(sub)
			return
		}
		p.pos--
	}
	lo := p.classChar()
	hi := lo
	if rest := p.rest(); strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "-]") && !strings.HasPrefix(rest, "-&&") {
		p.pos++
		if strings.HasPrefix(p.rest(), "[") {
			p.fail("a range cannot end with a class")
			return
		}
		hi = p.classChar()
		if lo > hi {
			p.fail("the range %c-%c is empty", lo, hi)
		}
	}
	c.ranges = append(c.ranges, span{lo, hi})
}

func (p *parser) classChar() rune {
	r := p.next()
	if r != '\\' {
		return r
	}
	if p.accept("b") {
		return '\b'
	}
	return p.charEscape()
}

// add unites c with another class.
func (c *class) add(o *class) {
	if o.neg || len(o.and) > 0 {
		c.subs = append(c.subs, o)
		return
	}
	c.mask |= o.mask
	c.space = c.space || o.space
	c.ranges = append(c.ranges, o.ranges...)
	c.tables = append(c.tables, o.tables...)
	c.subs = append(c.subs, o.subs...)
}

func (p *parser) posix(c *class, name string) {
	positive, negate := strings.CutPrefix(name, "^")
	var sub *class
	switch positive {
	case "digit":
		sub = escapeClass('d')
	case "space":
		sub = escapeClass('s')
	case "word":
		sub = escapeClass('w')
	case "xdigit":
		sub = escapeClass('h')
	case "cntrl":
		sub, _ = property("Cc")
	case "ascii":
		sub = (&class{ranges: []span{{0, 0x7F}}}).seal()
	default:
		p.fail("the class [:%s:] is not supported; use a property such as \\p{L}", name)
		return
	}
	if negate {
		sub = negated(sub)
	}
	c.add(sub)
	p.pos += len(name) + 4
}
