package expr

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/parser"
)

// plainTree reads the expressions that most places hold: names, numbers, words, fields, operators, calls and lists. It gives
// the tree that CEL's parser gives, a hundred times sooner. What else there is (other macros than exists and all, escapes, maps
// that are not empty, and what is wrong) it leaves to that parser: false.
func plainTree(src string) (*ast.AST, bool) {
	if strings.ContainsFunc(src, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil, false // offsets count characters
	}
	p := &plainParser{src: src, factory: ast.NewExprFactory(), info: ast.NewSourceInfo(common.NewStringSource(src, ""))}
	p.next()
	x := p.ternary()
	if p.failed || p.kind != endToken {
		return nil, false
	}
	return ast.NewAST(x, p.info), true
}

type tokenKind uint8

const (
	endToken tokenKind = iota
	nameToken
	intToken
	floatToken
	textToken
	signToken // an operator or bracket
)

// plainParser is a parser by precedence. Once failed it gives trees without meaning, which nobody reads.
type plainParser struct {
	src     string
	factory ast.ExprFactory
	info    *ast.SourceInfo
	ids     int64
	depth   int
	failed  bool

	kind  tokenKind
	text  string // of the token; of a text: without its quotes
	start int    // where it begins
	end   int
}

// maxNesting is far below what CEL's parser allows.
const maxNesting = 50

func (p *plainParser) fail() ast.Expr {
	p.failed, p.kind = true, endToken
	return p.factory.NewUnspecifiedExpr(0)
}

// id numbers a node that stands at an offset.
func (p *plainParser) id(offset int) int64 {
	p.ids++
	p.info.SetOffsetRange(p.ids, ast.OffsetRange{Start: int32(offset), Stop: int32(offset)})
	return p.ids
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// next reads a token.
func (p *plainParser) next() {
	for p.end < len(p.src) && (p.src[p.end] == ' ' || p.src[p.end] == '\n' || p.src[p.end] == '\t' || p.src[p.end] == '\r') {
		p.end++
	}
	p.start = p.end
	if p.failed || p.end == len(p.src) {
		p.kind, p.text = endToken, ""
		return
	}
	switch c := p.src[p.end]; {
	case isLetter(c):
		for p.end < len(p.src) && (isLetter(p.src[p.end]) || isDigit(p.src[p.end])) {
			p.end++
		}
		p.kind = nameToken
		if p.end < len(p.src) && (p.src[p.end] == '\'' || p.src[p.end] == '"') { // r'raw', b'bytes'
			p.fail()
		}
	case isDigit(c):
		p.number()
	case c == '\'' || c == '"':
		body, _, closed := strings.Cut(p.src[p.end+1:], string(c))
		p.end += len(body) + 2
		if !closed || strings.ContainsAny(body, "\\\r\n") || body == "" && p.end < len(p.src) && p.src[p.end] == c {
			p.fail()
			return
		}
		p.kind, p.text = textToken, body
		return
	default:
		p.kind = signToken
		p.end++
		if p.end < len(p.src) {
			switch two := p.src[p.start : p.end+1]; two {
			case "==", "!=", "<=", ">=", "&&", "||":
				p.end++
			case "//":
				p.fail()
			}
		}
		if !strings.Contains("+-*/%<>!?:.,()[]{}", p.src[p.start:p.start+1]) && p.end-p.start != 2 {
			p.fail()
		}
	}
	p.text = p.src[p.start:p.end]
}

// number reads 12, 1.5, 1e-6; other forms are CEL's.
func (p *plainParser) number() {
	digits := func() bool {
		from := p.end
		for p.end < len(p.src) && isDigit(p.src[p.end]) {
			p.end++
		}
		return p.end > from
	}
	p.kind = intToken
	digits()
	if p.end+1 < len(p.src) && p.src[p.end] == '.' && isDigit(p.src[p.end+1]) {
		p.kind = floatToken
		p.end++
		digits()
	}
	if p.end < len(p.src) && (p.src[p.end] == 'e' || p.src[p.end] == 'E') {
		p.kind = floatToken
		p.end++
		if p.end < len(p.src) && (p.src[p.end] == '+' || p.src[p.end] == '-') {
			p.end++
		}
		if !digits() {
			p.fail()
		}
	}
	if p.end < len(p.src) && isLetter(p.src[p.end]) {
		p.fail()
	}
}

func (p *plainParser) is(sign string) bool { return p.kind == signToken && p.text == sign }

// take goes past a sign if it is there.
func (p *plainParser) take(sign string) bool {
	if !p.is(sign) {
		return false
	}
	p.next()
	return true
}

func (p *plainParser) want(sign string) {
	if !p.take(sign) {
		p.fail()
	}
}

func (p *plainParser) ternary() ast.Expr {
	if p.depth++; p.depth > maxNesting {
		return p.fail()
	}
	defer func() { p.depth-- }()
	x := p.logical(operators.LogicalOr)
	if !p.is("?") {
		return x
	}
	id := p.id(p.start)
	p.next()
	yes := p.logical(operators.LogicalOr)
	p.want(":")
	return p.factory.NewCall(id, operators.Conditional, x, yes, p.ternary())
}

// logical reads a chain of || or &&, whose tree CEL balances.
func (p *plainParser) logical(operator string) ast.Expr {
	sign := "||"
	term := func() ast.Expr { return p.logical(operators.LogicalAnd) }
	if operator == operators.LogicalAnd {
		sign, term = "&&", func() ast.Expr { return p.binary(0) }
	}
	terms := []ast.Expr{term()}
	var ids []int64
	for p.is(sign) {
		at := p.start
		p.next()
		terms = append(terms, term())
		ids = append(ids, p.id(at))
	}
	return p.balanced(operator, terms, ids)
}

func (p *plainParser) balanced(operator string, terms []ast.Expr, ids []int64) ast.Expr {
	if len(ids) == 0 {
		return terms[0]
	}
	mid := len(ids) / 2
	return p.factory.NewCall(ids[mid], operator, p.balanced(operator, terms[:mid+1], ids[:mid]), p.balanced(operator, terms[mid+1:], ids[mid+1:]))
}

// levels are the binary operators, those that bind least first; on one level the left ones go first.
var levels = [][]string{{"==", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-"}, {"*", "/", "%"}}

func (p *plainParser) binary(level int) ast.Expr {
	if level == len(levels) {
		return p.unary()
	}
	x := p.binary(level + 1)
	for {
		found := ""
		for _, sign := range levels[level] {
			if p.is(sign) || sign == "in" && p.kind == nameToken && p.text == sign {
				found = sign
			}
		}
		if found == "" {
			return x
		}
		id := p.id(p.start)
		p.next()
		name, _ := operators.Find(found)
		x = p.factory.NewCall(id, name, x, p.binary(level+1))
	}
}

func (p *plainParser) unary() ast.Expr {
	operator := operators.Negate
	switch {
	case p.is("!"):
		operator = operators.LogicalNot
	case !p.is("-"):
		return p.postfix(p.primary())
	}
	at := p.start
	p.next()
	switch {
	case p.is("!") || p.is("-"):
		return p.fail() // !!x
	case operator == operators.Negate && (p.kind == intToken || p.kind == floatToken):
		return p.postfix(p.literal(at, "-"))
	}
	id := p.id(at)
	return p.factory.NewCall(id, operator, p.postfix(p.primary()))
}

func (p *plainParser) postfix(x ast.Expr) ast.Expr {
	for {
		at := p.start
		switch {
		case p.take("."):
			name := p.text
			if p.kind != nameToken || keyword[name] {
				return p.fail()
			}
			p.next()
			if !p.is("(") {
				x = p.factory.NewSelect(p.id(at), x, name)
				continue
			}
			at = p.start
			p.next()
			if name == "exists" || name == "all" {
				x = p.quantifier(name, at, x, p.list(")"))
				continue
			}
			if macros[name] {
				return p.fail()
			}
			x = p.factory.NewMemberCall(p.id(at), name, x, p.list(")")...)
		case p.take("["):
			id := p.id(at)
			index := p.ternary()
			p.want("]")
			x = p.factory.NewCall(id, operators.Index, x, index)
		default:
			return x
		}
	}
}

// quantifier is what CEL's parser makes of list.exists(name, condition) and of list.all: a loop over the list that holds the
// answer so far, here under that parser's name for it. What it adds stands where the call's bracket is.
func (p *plainParser) quantifier(name string, at int, over ast.Expr, args []ast.Expr) ast.Expr {
	if len(args) != 2 || args[0].Kind() != ast.IdentKind || args[0].AsIdent() == parser.AccumulatorName {
		return p.fail()
	}
	call := func(function string, args ...ast.Expr) ast.Expr {
		return p.factory.NewCall(p.id(at), function, args...)
	}
	soFar := func() ast.Expr { return p.factory.NewIdent(p.id(at), parser.HiddenAccumulatorName) }
	join, goesOn := operators.LogicalAnd, soFar()
	if name == "exists" {
		join, goesOn = operators.LogicalOr, call(operators.LogicalNot, goesOn)
	}
	return p.factory.NewComprehension(p.id(at), over, args[0].AsIdent(), parser.HiddenAccumulatorName, p.factory.NewLiteral(p.id(at), types.Bool(name == "all")),
		call(operators.NotStrictlyFalse, goesOn), call(join, soFar(), args[1]), soFar())
}

// macros are the names of calls that CEL's parser rewrites.
var macros = map[string]bool{"has": true, "all": true, "exists": true, "exists_one": true, "existsOne": true, "map": true, "filter": true, "sortBy": true}

// list reads expressions up to a bracket.
func (p *plainParser) list(closing string) []ast.Expr {
	out := []ast.Expr{}
	for !p.failed && !p.take(closing) {
		if len(out) > 0 {
			p.want(",")
		}
		out = append(out, p.ternary())
	}
	return out
}

func (p *plainParser) primary() ast.Expr {
	at, text := p.start, p.text
	switch p.kind {
	case intToken, floatToken:
		return p.literal(at, "")
	case textToken:
		p.next()
		return p.factory.NewLiteral(p.id(at), types.String(text))
	case nameToken:
		return p.name(at, text)
	case signToken:
		switch text {
		case "(":
			p.next()
			x := p.ternary()
			p.want(")")
			return x
		case "[":
			p.next()
			return p.factory.NewList(p.id(at), p.list("]"), nil)
		case "{":
			p.next()
			p.want("}")
			return p.factory.NewMap(p.id(at), nil)
		}
	}
	return p.fail()
}

func (p *plainParser) literal(at int, sign string) ast.Expr {
	var v ref.Val
	if p.kind == intToken {
		n, err := strconv.ParseInt(sign+p.text, 10, 64)
		if err != nil {
			return p.fail()
		}
		v = types.Int(n)
	} else {
		f, err := strconv.ParseFloat(sign+p.text, 64)
		if err != nil {
			return p.fail()
		}
		v = types.Double(f)
	}
	p.next()
	return p.factory.NewLiteral(p.id(at), v)
}

// name reads a name, a call, true or false.
func (p *plainParser) name(at int, text string) ast.Expr {
	p.next()
	switch {
	case text == "true" || text == "false":
		return p.factory.NewLiteral(p.id(at), types.Bool(text == "true"))
	case keyword[text] || reserved[text]:
		return p.fail()
	case !p.is("("):
		if p.is("{") { // a message
			return p.fail()
		}
		return p.factory.NewIdent(p.id(at), text)
	case macros[text]:
		return p.fail()
	}
	id := p.id(p.start)
	p.next()
	return p.factory.NewCall(id, text, p.list(")")...)
}

// reserved are the words that CEL keeps for itself.
var reserved = map[string]bool{"as": true, "break": true, "const": true, "continue": true, "else": true, "for": true, "function": true, "if": true, "import": true,
	"let": true, "loop": true, "package": true, "namespace": true, "return": true, "var": true, "void": true, "while": true}
