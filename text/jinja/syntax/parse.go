package syntax

import (
	"fmt"
	"slices"
	"strings"
)

// maxNesting bounds how deep statements and expressions may be nested.
const maxNesting = 200

// Parse reads a template. An error is an *Error.
func Parse(source string) ([]Node, error) {
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	body := p.body()
	if p.err != nil {
		return nil, p.err
	}
	return body, nil
}

// parser goes over the tokens. After the first error it stands at the end, and nothing it makes is used.
type parser struct {
	tokens []token
	pos    int
	depth  int
	loops  int      // loops around, within the macro
	open   []string // tags around
	err    *Error
}

func (p *parser) current() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tEOF {
		p.pos++
	}
	return t
}

func (p *parser) look() token { return p.tokens[min(p.pos+1, len(p.tokens)-1)] }

func (p *parser) fail(line int, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{line, fmt.Sprintf(format, args...)}
		p.pos = len(p.tokens) - 1
	}
}

func (p *parser) is(k kind, text string) bool {
	t := p.current()
	return t.kind == k && (text == "" || t.text == text)
}

func (p *parser) isOp(text string) bool   { return p.is(tOp, text) }
func (p *parser) isName(text string) bool { return p.is(tName, text) }

func (p *parser) skip(k kind, text string) bool {
	if p.is(k, text) {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipOp(text string) bool   { return p.skip(tOp, text) }
func (p *parser) skipName(text string) bool { return p.skip(tName, text) }

func (p *parser) expect(k kind, text string) token {
	t := p.current()
	if !p.is(k, text) {
		want := text
		if want == "" {
			want = token{kind: k, text: "name"}.describe()
		}
		if t.kind == tEOF {
			p.fail(t.line, "unexpected end of template, expected '%s'.", want)
		} else {
			p.fail(t.line, "expected token '%s', got '%s'", want, t.describe())
		}
		return token{kind: k, line: t.line}
	}
	return p.next()
}

// body reads up to one of the end tags, whose name is then current, or to the end of the template if there are none.
func (p *parser) body(ends ...string) []Node {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.current().line, "tags are nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	var nodes []Node
	for p.err == nil {
		t := p.current()
		switch t.kind {
		case tData:
			nodes = append(nodes, &Data{Line(t.line), t.text})
			p.next()
		case tVarBegin:
			p.next()
			nodes = append(nodes, &Output{Line(t.line), p.tuple(true)})
			p.expect(tVarEnd, "")
		case tBlockBegin:
			p.next()
			if p.current().kind == tName && slices.Contains(ends, p.current().text) {
				return nodes
			}
			if n := p.statement(ends); n != nil {
				nodes = append(nodes, n)
			}
			p.expect(tBlockEnd, "")
		default: // the end
			if len(ends) > 0 {
				p.unclosed("Unexpected end of template.", ends)
			}
			return nodes
		}
	}
	return nodes
}

func (p *parser) unclosed(message string, ends []string) {
	if len(ends) > 0 {
		message += fmt.Sprintf(" Jinja was looking for the following tags: '%s'.", strings.Join(ends, "' or '"))
	}
	if len(p.open) > 0 {
		message += fmt.Sprintf(" The innermost block that needs to be closed is '%s'.", p.open[len(p.open)-1])
	}
	p.fail(p.current().line, "%s", message)
}

// block reads the end of a tag and the body behind it.
func (p *parser) block(ends ...string) []Node {
	p.skipOp(":")
	p.expect(tBlockEnd, "")
	return p.body(ends...)
}

// closed is block with an end tag of which nothing more is needed.
func (p *parser) closed(end string) []Node {
	body := p.block(end)
	p.next()
	return body
}

func (p *parser) statement(ends []string) Node {
	t := p.current()
	if t.kind != tName {
		p.fail(t.line, "tag name expected")
		return nil
	}
	p.open = append(p.open, t.text)
	defer func() { p.open = p.open[:len(p.open)-1] }()
	line := Line(t.line)
	switch t.text {
	case "if":
		return p.ifTag()
	case "for":
		return p.forTag()
	case "set":
		return p.setTag()
	case "macro":
		return p.macroTag()
	case "call":
		return p.callTag()
	case "filter":
		p.next()
		filter := p.filters(nil, true)
		return &FilterBlock{line, filter, p.closed("endfilter")}
	case "with":
		return p.withTag()
	case "print":
		p.next()
		return p.printTag(line)
	case "autoescape":
		p.next()
		if c, ok := p.expression().(*Const); !ok || c.Value != false {
			p.fail(t.line, "escaping is not supported; chat templates are not HTML")
		}
		return &Scope{line, false, p.closed("endautoescape")}
	case "block":
		p.next()
		p.expect(tName, "")
		p.skipName("scoped")
		n := &Scope{line, true, p.closed("endblock")}
		if p.current().kind == tName {
			p.next() // the block's name again
		}
		return n
	case "generation":
		p.next()
		return &Scope{line, false, p.closed("endgeneration")}
	case "break", "continue":
		p.next()
		if p.loops == 0 {
			p.fail(t.line, "'%s' outside of a loop", t.text)
		}
		if t.text == "break" {
			return &Break{line}
		}
		return &Continue{line}
	case "include", "import", "from", "extends":
		p.fail(t.line, "'%s' needs other templates, and a chat template has none", t.text)
		return nil
	}
	p.open = p.open[:len(p.open)-1]
	p.unclosed(fmt.Sprintf("Encountered unknown tag '%s'.", t.text), ends)
	p.open = append(p.open, "")
	return nil
}
