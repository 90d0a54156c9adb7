package syntax

// expression reads one with a condition: a if b else c.
func (p *parser) expression() Node {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.current().line, "expressions are nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	line := p.current().line
	n := p.or()
	for p.err == nil && p.skipName("if") {
		c := &Cond{Line: Line(line), Then: n, Test: p.or()}
		if p.skipName("else") {
			c.Else = p.expression()
		}
		n = c
		line = p.current().line
	}
	return n
}

func (p *parser) or() Node {
	n := p.and()
	for p.err == nil && p.isName("or") {
		line := p.next().line
		n = &Logic{Line(line), "or", n, p.and()}
	}
	return n
}

func (p *parser) and() Node {
	n := p.not()
	for p.err == nil && p.isName("and") {
		line := p.next().line
		n = &Logic{Line(line), "and", n, p.not()}
	}
	return n
}

func (p *parser) not() Node {
	if !p.isName("not") {
		return p.compare()
	}
	if p.depth++; p.depth > maxNesting {
		p.fail(p.current().line, "expressions are nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	line := p.next().line
	return &Not{Line(line), p.not()}
}

func (p *parser) compare() Node {
	line := p.current().line
	n := p.sum()
	c := &Compare{Line: Line(line), Expr: n}
	for p.err == nil {
		t := p.current()
		op := ""
		switch {
		case t.kind == tOp && (t.text == "==" || t.text == "!=" || t.text == "<" || t.text == "<=" || t.text == ">" || t.text == ">="):
			op = t.text
			p.next()
		case p.skipName("in"):
			op = "in"
		case p.isName("not") && p.look().kind == tName && p.look().text == "in":
			op = "notin"
			p.next()
			p.next()
		}
		if op == "" {
			break
		}
		c.Ops = append(c.Ops, op)
		c.Operands = append(c.Operands, p.sum())
	}
	if len(c.Ops) == 0 {
		return n
	}
	return c
}

func (p *parser) sum() Node {
	n := p.concat()
	for p.err == nil && (p.isOp("+") || p.isOp("-")) {
		op := p.next()
		n = &Binary{Line(op.line), op.text, n, p.concat()}
	}
	return n
}

func (p *parser) concat() Node {
	line := p.current().line
	items := []Node{p.product()}
	for p.err == nil && p.skipOp("~") {
		items = append(items, p.product())
	}
	if len(items) == 1 {
		return items[0]
	}
	return &Concat{Line(line), items}
}

func (p *parser) product() Node {
	n := p.power()
	for p.err == nil && (p.isOp("*") || p.isOp("/") || p.isOp("//") || p.isOp("%")) {
		op := p.next()
		n = &Binary{Line(op.line), op.text, n, p.power()}
	}
	return n
}

func (p *parser) power() Node {
	n := p.unary(true)
	for p.err == nil && p.isOp("**") {
		op := p.next()
		n = &Binary{Line(op.line), op.text, n, p.unary(true)}
	}
	return n
}

func (p *parser) unary(filters bool) Node {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.current().line, "expressions are nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	var n Node
	if p.isOp("-") || p.isOp("+") {
		op := p.next()
		n = &Unary{Line(op.line), op.text, p.unary(false)}
	} else {
		n = p.primary()
	}
	n = p.postfix(n)
	if !filters {
		return n
	}
	for p.err == nil {
		switch {
		case p.isOp("|"):
			n = p.filters(n, false)
		case p.isName("is"):
			n = p.test(n)
		case p.isOp("("):
			n = p.call(n)
		default:
			return n
		}
	}
	return n
}

func (p *parser) primary() Node {
	t := p.current()
	line := Line(t.line)
	switch t.kind {
	case tName:
		p.next()
		switch t.text {
		case "true", "True":
			return &Const{line, true}
		case "false", "False":
			return &Const{line, false}
		case "none", "None":
			return &Const{line, nil}
		}
		return &Name{line, t.text}
	case tString:
		text := ""
		for p.current().kind == tString {
			text += p.next().text
		}
		return &Const{line, text}
	case tInt, tFloat:
		p.next()
		return &Const{line, t.num}
	case tOp:
		switch t.text {
		case "(":
			p.next()
			var n Node = &Tuple{Line: line}
			if !p.isOp(")") {
				n = p.tuple(true)
			}
			p.expect(tOp, ")")
			return n
		case "[":
			p.next()
			return &List{line, p.items("]")}
		case "{":
			return p.dict()
		}
	}
	p.fail(t.line, "unexpected '%s'", t.describe())
	return nil
}

// items reads expressions up to a closing bracket.
func (p *parser) items(end string) []Node {
	var items []Node
	for p.err == nil && !p.isOp(end) {
		if len(items) > 0 {
			p.expect(tOp, ",")
			if p.isOp(end) {
				break
			}
		}
		items = append(items, p.expression())
	}
	p.expect(tOp, end)
	return items
}

func (p *parser) dict() Node {
	n := &Dict{Line: Line(p.next().line)}
	for p.err == nil && !p.isOp("}") {
		if len(n.Keys) > 0 {
			p.expect(tOp, ",")
			if p.isOp("}") {
				break
			}
		}
		n.Keys = append(n.Keys, p.expression())
		p.expect(tOp, ":")
		n.Values = append(n.Values, p.expression())
	}
	p.expect(tOp, "}")
	return n
}

// tuple reads an expression, or several with commas between them. Without cond, a condition behind it is not part of it.
func (p *parser) tuple(cond bool, ends ...string) Node {
	line := p.current().line
	one := func() Node {
		if cond {
			return p.expression()
		}
		return p.or()
	}
	atEnd := func() bool {
		t := p.current()
		if t.kind == tVarEnd || t.kind == tBlockEnd || p.isOp(")") || t.kind == tEOF {
			return true
		}
		for _, e := range ends {
			if p.isName(e) {
				return true
			}
		}
		return false
	}
	if atEnd() {
		p.fail(line, "Expected an expression, got '%s'", p.current().describe())
		return nil
	}
	first := one()
	if !p.isOp(",") {
		return first
	}
	items := []Node{first}
	for p.err == nil && p.skipOp(",") {
		if atEnd() {
			break
		}
		items = append(items, one())
	}
	return &Tuple{Line(line), items}
}
