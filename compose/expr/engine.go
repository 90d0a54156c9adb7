package expr

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/graphrun/graphrun/diag"
)

// Scope says what the names of an expression are. A name that is not there is an error of the expression.
type Scope interface {
	// TypeOf gives a name's static type.
	TypeOf(name string) (*Type, bool)
	// ValueOf gives a name's value, or why it has none.
	ValueOf(name string) (Value, error)
	// Names lists the names that may be used, for suggestions.
	Names() []string
}

// Given is the name under which an expression asks whether a name has a value: given.NAME.
const Given = "given"

// Givens is a scope that answers given.NAME. It is asked for the names of the expression alone, as an answer may need
// work of its own.
type Givens interface {
	// HasValue tells whether a name has a value; known is false for a name that can have none.
	HasValue(name string) (has, known bool)
	// GivenNames lists the names that may be asked, for suggestions.
	GivenNames() []string
}

// Witness is a scope that knows names which an expression cannot use, and why.
type Witness interface {
	// Known gives what a name is and what to write instead; no message where it is nothing.
	Known(name string) (message, help string)
}

// Engine compiles and evaluates. It is not for concurrent use.
type Engine struct {
	base   *cel.Env
	calls  map[string]*decls.FunctionDecl // the functions of base
	parsed map[string]*parsed
	count  int // of compiled expressions
	find   Finder
}

// New makes an engine; find answers tensors('glob').
func New(find Finder) (*Engine, error) {
	e := &Engine{parsed: map[string]*parsed{}, find: find}
	base, err := e.environment()
	if err != nil {
		return nil, fmt.Errorf("expressions: %w", err)
	}
	e.base, e.calls = base, base.Functions()
	return e, nil
}

// Compiled is how many expressions were compiled: each distinct one, with the types of its names, counts once.
func (e *Engine) Compiled() int { return e.count }

// Error is what is wrong with an expression: where in it, in characters, and the nearest right answer.
type Error struct {
	Code    string
	Offset  int
	Length  int // 0: one character; the whole expression where Offset is 0 and nothing is known
	Message string
	Help    string
}

func (e *Error) Error() string { return e.Message }

// parsed is an expression's tree and the free names in it.
type parsed struct {
	src      string
	tree     *ast.AST
	cel      *cel.Ast // nil until CEL is needed
	names    []use
	given    []use // NAME of given.NAME
	err      *Error
	compiled []*compiled // for the types that the names had
}

type use struct {
	name   string
	offset int
}

// compiled is an expression whose names have certain types.
type compiled struct {
	types   []*Type // of the names
	result  *Type
	err     *Error
	run     direct // nil: a program evaluates it, made when it is first asked
	env     *cel.Env
	checked *cel.Ast
	program cel.Program
}

// parse reads an expression once.
func (e *Engine) parse(src string) *parsed {
	if p := e.parsed[src]; p != nil {
		return p
	}
	p := &parsed{src: src}
	e.parsed[src] = p
	if strings.TrimSpace(src) == "" {
		p.err = &Error{Code: "expression-syntax", Message: "the expression is empty"}
		return p
	}
	var plain bool
	if p.tree, plain = plainTree(src); !plain {
		if p.err = e.comment(src); p.err != nil {
			return p
		}
		tree, issues := e.base.Parse(src)
		if issues.Err() != nil {
			p.err = e.syntaxError(src, issues)
			return p
		}
		p.cel, p.tree = tree, tree.NativeRep()
	}
	p.collect()
	return p
}

var keyword = map[string]bool{"true": true, "false": true, "null": true, "in": true}

// collect finds the free names: identifiers that no macro binds.
func (p *parsed) collect() {
	info := p.tree.SourceInfo()
	bound := map[string]int{}
	seen := map[string]bool{}
	var walk func(x ast.Expr)
	walk = func(x ast.Expr) {
		switch x.Kind() {
		case ast.IdentKind:
			name := x.AsIdent()
			if bound[name] == 0 && !strings.HasPrefix(name, "@") && !seen[name] {
				seen[name] = true
				start, _ := info.GetOffsetRange(x.ID())
				p.names = append(p.names, use{name, int(start.Start)})
			}
		case ast.SelectKind:
			if op := x.AsSelect().Operand(); op.Kind() == ast.IdentKind && op.AsIdent() == Given {
				// The select's own place is its dot.
				at, _ := info.GetOffsetRange(x.ID())
				p.given = append(p.given, use{x.AsSelect().FieldName(), int(at.Start) + 1})
			}
			walk(x.AsSelect().Operand())
		case ast.CallKind:
			c := x.AsCall()
			if c.IsMemberFunction() && !isNamespace(c.Target()) {
				walk(c.Target())
			}
			for _, a := range c.Args() {
				walk(a)
			}
		case ast.ListKind:
			for _, a := range x.AsList().Elements() {
				walk(a)
			}
		case ast.MapKind:
			for _, en := range x.AsMap().Entries() {
				walk(en.AsMapEntry().Key())
				walk(en.AsMapEntry().Value())
			}
		case ast.ComprehensionKind:
			c := x.AsComprehension()
			walk(c.IterRange())
			vars := []string{c.IterVar(), c.AccuVar()}
			if c.HasIterVar2() {
				vars = append(vars, c.IterVar2())
			}
			walk(c.AccuInit())
			for _, v := range vars {
				bound[v]++
			}
			walk(c.LoopCondition())
			walk(c.LoopStep())
			walk(c.Result())
			for _, v := range vars {
				bound[v]--
			}
		}
	}
	walk(p.tree.Expr())
}

// isNamespace tells that `lists` in `lists.range(n)` is part of the function's name.
func isNamespace(x ast.Expr) bool { return x.Kind() == ast.IdentKind && x.AsIdent() == "lists" }

// Names lists the free names of an expression.
func (e *Engine) Names(src string) []string {
	p := e.parse(src)
	out := make([]string, len(p.names))
	for i, u := range p.names {
		out[i] = u.name
	}
	return out
}

// GivenNames lists the NAMEs of given.NAME in an expression with their places in it.
func (e *Engine) GivenNames(src string) (names []string, offsets []int) {
	for _, u := range e.parse(src).given {
		names, offsets = append(names, u.name), append(offsets, u.offset)
	}
	return names, offsets
}

// givenValue answers given.NAME for the names that the expression asks.
func givenValue(p *parsed, s Scope) (Value, *Error) {
	g, ok := s.(Givens)
	answers := map[string]bool{}
	for _, u := range p.given {
		var has, known bool
		if ok {
			has, known = g.HasValue(u.name)
		}
		if !known {
			return Value{}, unknownGiven(u, g)
		}
		answers[u.name] = has
	}
	return Of(answers), nil
}

func unknownGiven(u use, g Givens) *Error {
	e := &Error{Code: "unknown-name", Offset: u.offset, Length: len([]rune(u.name)),
		Message: fmt.Sprintf("given.%s: %s is no input of this body, and no line of it gives %s", u.name, u.name, u.name)}
	if g != nil {
		e.Help = diag.Among(u.name, g.GivenNames(), "it may ask")
	}
	return e
}

// Check gives the static type.
func (e *Engine) Check(src string, s Scope) (*Type, *Error) {
	c := e.compile(e.parse(src), s)
	return c.result, c.err
}

// bareName tells whether the expression is one name.
func (p *parsed) bareName() bool { return p.err == nil && p.tree.Expr().Kind() == ast.IdentKind }

// Eval gives the value.
func (e *Engine) Eval(src string, s Scope) (Value, *Error) {
	p := e.parse(src)
	c := e.compile(p, s)
	if c.err != nil {
		return Value{}, c.err
	}
	vars := make([]ref.Val, len(p.names), 8)
	for i, u := range p.names {
		if u.name == Given && !p.bareName() {
			v, err := givenValue(p, s)
			if err != nil {
				return Value{}, err
			}
			vars[i] = v.Val
			continue
		}
		v, err := s.ValueOf(u.name)
		if err != nil {
			e := &Error{Code: "no-value", Offset: u.offset, Length: len([]rune(u.name)), Message: err.Error()}
			if symbols[u.name] {
				e.Help = "write it where it is known, as in the dim `[B, T, hidden]` or the guard `when: T > 1`"
			}
			return Value{}, e
		}
		if p.bareName() {
			return v, nil
		}
		vars[i] = v.Val
	}
	out, err := e.run(p, c, vars)
	if err != nil {
		return Value{}, evalError(p, err, vars)
	}
	return Value{c.result, out}, nil
}

func (e *Engine) run(p *parsed, c *compiled, vars []ref.Val) (ref.Val, error) {
	if c.run != nil {
		out := c.run(vars)
		if err, bad := out.(*types.Err); bad {
			return nil, err
		}
		return out, nil
	}
	if c.program == nil {
		var err error
		if c.program, err = c.env.Program(c.checked, cel.CostLimit(costLimit)); err != nil {
			return nil, err
		}
		c.env, c.checked = nil, nil
	}
	byName := make(map[string]any, len(vars))
	for i, u := range p.names {
		byName[u.name] = vars[i]
	}
	out, _, err := c.program.Eval(byName)
	return out, err
}

// compile finds what an expression was compiled to for the types that its names have here, or compiles it.
func (e *Engine) compile(p *parsed, s Scope) *compiled {
	if p.err != nil {
		return &compiled{err: p.err}
	}
	of := make([]*Type, len(p.names), 8)
	for i, u := range p.names {
		t, ok := s.TypeOf(u.name)
		if !ok {
			return &compiled{err: unknownName(u, s)}
		}
		of[i] = t
	}
	for _, c := range p.compiled {
		if slices.EqualFunc(c.types, of, sameType) {
			return c
		}
	}
	c := e.build(p, of)
	c.types = slices.Clone(of)
	p.compiled = append(p.compiled, c)
	e.count++
	return c
}

func sameType(a, b *Type) bool { return a == b || a.IsExactType(b) }

func (e *Engine) build(p *parsed, of []*Type) *compiled {
	d := &directly{e: e, names: p.names, types: of}
	if run, result := d.expr(p.tree.Expr()); run != nil {
		return &compiled{run: run, result: result}
	}
	if p.bareName() { // of no static type
		return &compiled{result: of[0]}
	}
	if p.cel == nil {
		tree, issues := e.base.Parse(p.src)
		if issues.Err() != nil {
			return &compiled{err: e.syntaxError(p.src, issues)}
		}
		p.cel = tree
	}
	env := e.base
	if len(of) > 0 {
		vars := make([]cel.EnvOption, len(of))
		for i, u := range p.names {
			vars[i] = cel.Variable(u.name, of[i])
		}
		var err error
		if env, err = e.base.Extend(vars...); err != nil {
			return &compiled{err: &Error{Code: "expression-type", Message: err.Error()}}
		}
	}
	checked, issues := env.Check(p.cel)
	if issues.Err() != nil {
		return &compiled{err: e.typeError(p, of, issues)}
	}
	return &compiled{env: env, checked: checked, result: checked.OutputType()}
}

// offsetOf turns CEL's line and column (from 0) into an offset in characters.
func offsetOf(src string, line, col int) int {
	runes, at := []rune(src), 0
	for l := 1; l < line; l++ {
		for at < len(runes) && runes[at] != '\n' {
			at++
		}
		at++
	}
	return min(at+max(col, 0), len(runes))
}

func evalError(p *parsed, err error, vars []ref.Val) *Error {
	src := p.src
	out := &Error{Code: "expression-value", Length: len([]rune(src)), Message: strings.TrimPrefix(err.Error(), "no such overload: ")}
	var ce *configError
	if errors.As(err, &ce) {
		out.Code, out.Message, out.Help = "config-value", ce.message, ce.help
		for _, quote := range []string{"'", `"`} {
			if i := strings.Index(src, quote+ce.key+quote); i >= 0 {
				out.Offset, out.Length = len([]rune(src[:i])), len([]rune(ce.key))+2
				break
			}
		}
		return out
	}
	if strings.Contains(out.Message, "cost") && strings.Contains(out.Message, "exceed") {
		out.Code, out.Message = "expression-cost", "the expression takes more steps than one may; a list that it walks is too long"
		out.Help = "walk it once in a `let` and use that, or ask fewer tensors by a narrower pattern"
		return out
	}
	switch {
	case strings.Contains(out.Message, "is not a whole number"):
		out.Help = "one of the two numbers is wrong, or the fraction is meant: `1.0 * a / b`, of which `int(floor(x))` is the whole part"
	case strings.Contains(out.Message, "a row count is 1 or more"):
		out.Help = "rows are sequences times new tokens: one sequence's next token is at(1)"
	case strings.HasPrefix(out.Message, "memory("):
		out.Help = "as it will be used it is `plan.memory(request.context, request.batch)`"
	case strings.Contains(out.Message, "index out of bounds"):
		out.Help = "a list of n has the indices 0 to n - 1; `size(list)` is n"
	case strings.Contains(out.Message, "not known when a file is composed"):
		out.Help = "B, T and S stand in dims and in guards alone; a fixed dim is one that is no B, T or S"
	}
	if shown := showValues(p, vars); shown != "" {
		out.Message += " (with " + shown + ")"
	}
	return out
}

// showValues writes the values of the names that an expression used.
func showValues(p *parsed, vars []ref.Val) string {
	var parts []string
	for i, u := range p.names {
		switch vars[i].(type) {
		case types.Int, types.Double, types.Bool, types.String:
			parts = append(parts, u.name+" = "+Value{Val: vars[i]}.Show())
		}
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}
