package syntax

func (p *parser) ifTag() Node {
	n := &If{Line: Line(p.next().line)}
	for p.err == nil {
		test := p.tuple(false)
		n.Branches = append(n.Branches, Branch{test, p.block("elif", "else", "endif")})
		switch end := p.next(); end.text {
		case "elif":
			continue
		case "else":
			n.Else = p.closed("endif")
		}
		break
	}
	return n
}

func (p *parser) forTag() Node {
	n := &For{Line: Line(p.next().line)}
	n.Target = p.target("in")
	p.expect(tName, "in")
	n.Iter = p.tuple(false, "recursive")
	if p.skipName("if") {
		n.Cond = p.expression()
	}
	n.Recursive = p.skipName("recursive")
	p.loops++
	n.Body = p.block("endfor", "else")
	p.loops--
	if p.next().text == "else" {
		n.Else = p.closed("endfor")
	}
	return n
}

func (p *parser) setTag() Node {
	line := Line(p.next().line)
	target := p.target("")
	if p.skipOp("=") {
		return &Set{line, target, p.tuple(true)}
	}
	filter := p.filters(nil, false)
	return &SetBlock{line, target, filter, p.closed("endset")}
}

// apart parses a body that is a function of its own: a loop around it is not its loop.
func (p *parser) apart(end string) []Node {
	loops := p.loops
	p.loops = 0
	body := p.closed(end)
	p.loops = loops
	return body
}

func (p *parser) macroTag() Node {
	line := Line(p.next().line)
	name := p.expect(tName, "").text
	sig := p.signature()
	return &Macro{line, name, sig, p.apart("endmacro")}
}

func (p *parser) callTag() Node {
	line := p.next().line
	var sig Signature
	if p.isOp("(") {
		sig = p.signature()
	}
	call, ok := p.expression().(*Call)
	if !ok {
		p.fail(line, "expected call")
	}
	return &CallBlock{Line(line), sig, call, p.apart("endcall")}
}

func (p *parser) signature() Signature {
	var sig Signature
	p.expect(tOp, "(")
	for p.err == nil && !p.isOp(")") {
		if len(sig.Params) > 0 {
			p.expect(tOp, ",")
		}
		name := p.expect(tName, "")
		sig.Params = append(sig.Params, name.text)
		if p.skipOp("=") {
			sig.Defaults = append(sig.Defaults, p.expression())
		} else if len(sig.Defaults) > 0 {
			p.fail(name.line, "non-default argument follows default argument")
		}
	}
	p.expect(tOp, ")")
	return sig
}

// printTag prints expressions one behind the other.
func (p *parser) printTag(line Line) Node {
	n := &Scope{Line: line}
	for p.err == nil && p.current().kind != tBlockEnd {
		if len(n.Body) > 0 {
			p.expect(tOp, ",")
		}
		n.Body = append(n.Body, &Output{line, p.expression()})
	}
	return n
}

func (p *parser) withTag() Node {
	n := &With{Line: Line(p.next().line)}
	for p.err == nil && p.current().kind != tBlockEnd {
		if len(n.Targets) > 0 {
			p.expect(tOp, ",")
		}
		n.Targets = append(n.Targets, p.target(""))
		p.expect(tOp, "=")
		n.Values = append(n.Values, p.expression())
	}
	n.Body = p.closed("endwith")
	return n
}

// target reads what is assigned to: a name, an attribute of a namespace, or several of them. end is the name that ends
// a list with a comma behind its last element.
func (p *parser) target(end string) Node {
	line := p.current().line
	first := p.oneTarget()
	if !p.isOp(",") {
		return first
	}
	items := []Node{first}
	for p.err == nil && p.skipOp(",") {
		if end != "" && p.isName(end) || p.isOp("=") || p.current().kind == tBlockEnd || p.isOp(")") {
			break
		}
		items = append(items, p.oneTarget())
	}
	return &Tuple{Line(line), items}
}

var reserved = map[string]bool{"true": true, "false": true, "none": true, "True": true, "False": true, "None": true}

func (p *parser) oneTarget() Node {
	if p.skipOp("(") {
		n := p.target(")")
		p.expect(tOp, ")")
		return n
	}
	t := p.current()
	if t.kind != tName || reserved[t.text] {
		p.fail(t.line, "can't assign to '%s'", t.describe())
		return nil
	}
	p.next()
	if p.skipOp(".") {
		return &NSRef{Line(t.line), t.text, p.expect(tName, "").text}
	}
	return &Name{Line(t.line), t.text}
}
