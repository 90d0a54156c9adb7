package syntax

func (p *parser) postfix(n Node) Node {
	for p.err == nil {
		switch {
		case p.isOp("."):
			line := Line(p.next().line)
			switch t := p.next(); t.kind {
			case tName:
				n = &GetAttr{line, n, t.text}
			case tInt:
				n = &GetItem{line, n, &Const{line, t.num}}
			default:
				p.fail(t.line, "expected name or number")
			}
		case p.isOp("["):
			n = p.subscript(n)
		case p.isOp("("):
			n = p.call(n)
		default:
			return n
		}
	}
	return n
}

func (p *parser) subscript(n Node) Node {
	line := Line(p.next().line)
	var keys []Node
	for p.err == nil && !p.isOp("]") {
		if len(keys) > 0 {
			p.expect(tOp, ",")
		}
		keys = append(keys, p.subscribed())
	}
	p.expect(tOp, "]")
	if len(keys) == 1 {
		return &GetItem{line, n, keys[0]}
	}
	return &GetItem{line, n, &Tuple{line, keys}}
}

// subscribed reads a key or a slice.
func (p *parser) subscribed() Node {
	s := &Slice{Line: Line(p.current().line)}
	if !p.isOp(":") {
		key := p.expression()
		if !p.isOp(":") {
			return key
		}
		s.Start = key
	}
	p.expect(tOp, ":")
	end := func() bool { return p.isOp(":") || p.isOp("]") || p.isOp(",") }
	if !end() {
		s.Stop = p.expression()
	}
	if p.skipOp(":") && !end() {
		s.Step = p.expression()
	}
	return s
}

func (p *parser) call(n Node) Node {
	line := p.current().line
	return &Call{Line(line), n, p.args()}
}

func (p *parser) args() Args {
	var a Args
	line := p.expect(tOp, "(").line
	ensure := func(ok bool) {
		if !ok {
			p.fail(line, "invalid syntax for function call expression")
		}
	}
	for first := true; p.err == nil && !p.isOp(")"); first = false {
		if !first {
			p.expect(tOp, ",")
			if p.isOp(")") {
				break
			}
		}
		switch {
		case p.isOp("*"):
			ensure(a.Star == nil && a.StarMap == nil)
			p.next()
			a.Star = p.expression()
		case p.isOp("**"):
			ensure(a.StarMap == nil)
			p.next()
			a.StarMap = p.expression()
		case p.current().kind == tName && p.look().kind == tOp && p.look().text == "=":
			ensure(a.StarMap == nil)
			name := p.next().text
			p.next()
			a.Kw = append(a.Kw, Keyword{name, p.expression()})
		default:
			ensure(a.Star == nil && a.StarMap == nil && len(a.Kw) == 0)
			a.Pos = append(a.Pos, p.expression())
		}
	}
	p.expect(tOp, ")")
	return a
}

// filters reads "| name(…)" as often as it stands there. With inline, the first has no "|".
func (p *parser) filters(n Node, inline bool) Node {
	for p.err == nil && (inline || p.isOp("|")) {
		if !inline {
			p.next()
		}
		inline = false
		name, line := p.dotted()
		f := &Filter{Line: line, Expr: n, Name: name}
		if p.isOp("(") {
			f.Args = p.args()
		}
		n = f
	}
	return n
}

func (p *parser) dotted() (string, Line) {
	t := p.expect(tName, "")
	name := t.text
	for p.err == nil && p.skipOp(".") {
		name += "." + p.expect(tName, "").text
	}
	return name, Line(t.line)
}

func (p *parser) test(n Node) Node {
	line := Line(p.next().line)
	negated := p.skipName("not")
	name, _ := p.dotted()
	t := &Test{Line: line, Expr: n, Name: name}
	switch c := p.current(); {
	case p.isOp("("):
		t.Args = p.args()
	case c.kind == tName && (c.text == "else" || c.text == "or" || c.text == "and"):
	case c.kind == tName && c.text == "is":
		p.fail(c.line, "You cannot chain multiple tests with is")
	case c.kind == tName || c.kind == tString || c.kind == tInt || c.kind == tFloat || p.isOp("[") || p.isOp("{"):
		t.Pos = []Node{p.postfix(p.primary())}
	}
	if negated {
		return &Not{line, t}
	}
	return t
}
