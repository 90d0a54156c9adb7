package expr

import (
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
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

// Engine compiles and evaluates. It is not for concurrent use.
type Engine struct {
	base     *cel.Env
	parsed   map[string]*parsed
	compiled map[string]*compiled
	find     Finder
}

// New makes an engine; find answers tensors('glob').
func New(find Finder) (*Engine, error) {
	e := &Engine{parsed: map[string]*parsed{}, compiled: map[string]*compiled{}, find: find}
	base, err := e.environment()
	if err != nil {
		return nil, fmt.Errorf("expressions: %w", err)
	}
	e.base = base
	return e, nil
}

// Compiled is how many programs were made: each distinct expression, with the types of its names, counts once.
func (e *Engine) Compiled() int { return len(e.compiled) }

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
	ast   *cel.Ast
	names []use
	given []use // NAME of given.NAME
	err   *Error
}

type use struct {
	name   string
	offset int
}

type compiled struct {
	program cel.Program
	result  *Type
	err     *Error
}

var word = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parse reads an expression once.
func (e *Engine) parse(src string) *parsed {
	if p := e.parsed[src]; p != nil {
		return p
	}
	p := &parsed{}
	e.parsed[src] = p
	if strings.TrimSpace(src) == "" {
		p.err = &Error{Code: "expression-syntax", Message: "the expression is empty"}
		return p
	}
	if word.MatchString(src) && !keyword[src] {
		p.names = []use{{src, 0}}
		return p
	}
	tree, issues := e.base.Parse(src)
	if issues.Err() != nil {
		p.err = syntaxError(src, issues)
		return p
	}
	p.ast = tree
	p.collect(src)
	return p
}

var keyword = map[string]bool{"true": true, "false": true, "null": true, "in": true}

// tree makes sure that a bare name has a tree too.
func (e *Engine) tree(src string, p *parsed) *cel.Ast {
	if p.ast == nil && p.err == nil {
		p.ast, _ = e.base.Parse(src)
	}
	return p.ast
}

// collect finds the free names: identifiers that no macro binds.
func (p *parsed) collect(src string) {
	native := p.ast.NativeRep()
	info := native.SourceInfo()
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
	walk(native.Expr())
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
		e.Help = diag.DidYouMean(u.name, g.GivenNames())
	}
	return e
}

// Check gives the static type.
func (e *Engine) Check(src string, s Scope) (*Type, *Error) {
	c := e.compile(src, s)
	return c.result, c.err
}

// bareName tells whether the expression is one name.
func (p *parsed) bareName(src string) bool { return len(p.names) == 1 && p.names[0].name == src }

var equality = regexp.MustCompile(`^\s*([A-Za-z_]\w*)\s*(==|!=)\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*$`)

// Eval gives the value.
func (e *Engine) Eval(src string, s Scope) (Value, *Error) {
	if n, err := strconv.ParseInt(src, 10, 64); err == nil {
		return Value{Int, types.Int(n)}, nil
	}
	p := e.parse(src)
	if p.err != nil {
		return Value{}, p.err
	}
	if p.bareName(src) {
		if _, ok := s.TypeOf(src); !ok {
			return Value{}, unknownName(p.names[0], s)
		}
		v, err := s.ValueOf(src)
		if err != nil {
			return Value{}, &Error{Code: "no-value", Message: err.Error(), Length: len(src)}
		}
		return v, nil
	}
	if m := equality.FindStringSubmatch(src); m != nil {
		if t, ok := s.TypeOf(m[1]); ok && t == String {
			if v, err := s.ValueOf(m[1]); err == nil {
				text, _ := v.Text()
				return Of((text == m[3]+m[4]) == (m[2] == "==")), nil
			}
		}
	}
	c := e.compile(src, s)
	if c.err != nil {
		return Value{}, c.err
	}
	vars := map[string]any{}
	for _, u := range p.names {
		if u.name == Given {
			v, err := givenValue(p, s)
			if err != nil {
				return Value{}, err
			}
			vars[Given] = v.Val
			continue
		}
		v, err := s.ValueOf(u.name)
		if err != nil {
			return Value{}, &Error{Code: "no-value", Offset: u.offset, Length: len(u.name), Message: err.Error()}
		}
		vars[u.name] = v.Val
	}
	out, _, err := c.program.Eval(vars)
	if err != nil {
		return Value{}, evalError(src, err, p, vars)
	}
	return Value{c.result, out}, nil
}

func unknownName(u use, s Scope) *Error {
	return &Error{Code: "unknown-name", Offset: u.offset, Length: len([]rune(u.name)),
		Message: fmt.Sprintf("%s is not a name here", u.name), Help: diag.DidYouMean(u.name, s.Names())}
}

func (e *Engine) compile(src string, s Scope) *compiled {
	p := e.parse(src)
	if p.err != nil {
		return &compiled{err: p.err}
	}
	var key strings.Builder
	key.WriteString(src)
	vars := make([]cel.EnvOption, 0, len(p.names))
	for _, u := range p.names {
		t, ok := s.TypeOf(u.name)
		if !ok {
			return &compiled{err: unknownName(u, s)}
		}
		if t == Dyn {
			t = cel.DynType
		}
		fmt.Fprintf(&key, "\x00%s:%s", u.name, t)
		vars = append(vars, cel.Variable(u.name, t))
	}
	if c := e.compiled[key.String()]; c != nil {
		return c
	}
	c := e.build(src, p, vars)
	e.compiled[key.String()] = c
	return c
}

func (e *Engine) build(src string, p *parsed, vars []cel.EnvOption) *compiled {
	if p.bareName(src) {
		// Compiled only where the type alone is asked.
		env, err := e.base.Extend(vars...)
		if err != nil {
			return &compiled{err: &Error{Code: "expression-type", Message: err.Error()}}
		}
		checked, issues := env.Compile(src)
		if issues.Err() != nil {
			return &compiled{err: typeError(src, issues)}
		}
		return &compiled{result: checked.OutputType()}
	}
	env := e.base
	if len(vars) > 0 {
		var err error
		if env, err = e.base.Extend(vars...); err != nil {
			return &compiled{err: &Error{Code: "expression-type", Message: err.Error()}}
		}
	}
	checked, issues := env.Check(p.ast)
	if issues.Err() != nil {
		return &compiled{err: typeError(src, issues)}
	}
	program, err := env.Program(checked, cel.CostLimit(costLimit))
	if err != nil {
		return &compiled{err: &Error{Code: "expression-type", Message: err.Error()}}
	}
	return &compiled{program: program, result: checked.OutputType()}
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

func syntaxError(src string, issues *cel.Issues) *Error {
	first := issues.Errors()[0]
	message := first.Message
	if i := strings.Index(message, " expecting "); i > 0 {
		message = message[:i]
	}
	message = strings.TrimPrefix(message, "Syntax error: ")
	if strings.Contains(message, "<EOF>") {
		message = "the expression ends too early"
	}
	return &Error{Code: "expression-syntax", Offset: offsetOf(src, first.Location.Line(), first.Location.Column()), Message: message}
}

var overload = regexp.MustCompile(`found no matching overload for '([^']*)' applied to '(.*)'`)

var operators = map[string]string{"_==_": "==", "_!=_": "!=", "_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=",
	"_&&_": "&&", "_||_": "||", "!_": "!", "_?_:_": "? :", "@in": "in", "-_": "-", "_[_]": "[ ]"}

func typeError(src string, issues *cel.Issues) *Error {
	first := issues.Errors()[0]
	e := &Error{Code: "expression-type", Offset: offsetOf(src, first.Location.Line(), first.Location.Column()), Message: first.Message}
	if m := overload.FindStringSubmatch(first.Message); m != nil {
		name, args := m[1], strings.ReplaceAll(m[2], "double", "float")
		args = strings.ReplaceAll(args, "map(string, dyn)", "map")
		if op, ok := operators[name]; ok {
			name = op
		}
		e.Message = fmt.Sprintf("%s does not take %s", name, args)
		switch {
		case strings.Contains(args, "int") && strings.Contains(args, "float") && (name == "==" || name == "!=" || name == "in" || name == "? :"):
			e.Help = fmt.Sprintf("the two sides of %s want one type: write 0.0 for 0", name)
		case name == "+" && strings.Contains(args, "string"):
			e.Help = "a template puts values into text: '{name}'"
		}
	} else if strings.HasPrefix(first.Message, "undeclared reference to") {
		e.Code = "unknown-function"
		name := strings.Split(first.Message, "'")[1]
		e.Message = fmt.Sprintf("there is no function %s", name)
		e.Help = diag.DidYouMean(name, functions)
	} else if strings.HasPrefix(first.Message, "undefined field") {
		e.Code = "unknown-field"
		name := strings.Split(first.Message, "'")[1]
		e.Message = fmt.Sprintf("there is no field %s here", name)
		e.Help = diag.DidYouMean(name, []string{"shape", "dtype", "name"})
	}
	return e
}

// functions are the names a misspelt function may have meant.
var functions = []string{"int", "float", "bool", "string", "dict", "ints", "floats", "strings", "bools", "has", "is_null", "min", "max", "abs",
	"pow", "log", "sqrt", "floor", "ceil", "size", "tensors", "all", "exists", "exists_one", "filter", "map", "startsWith", "endsWith", "contains",
	"matches", "replace", "split", "join", "lowerAscii", "reverse", "range", "sort", "distinct", "flatten", "slice", "first", "last"}

func evalError(src string, err error, p *parsed, vars map[string]any) *Error {
	out := &Error{Code: "expression-value", Length: len([]rune(src)), Message: strings.TrimPrefix(err.Error(), "no such overload: ")}
	var ce *configError
	if errors.As(err, &ce) {
		out.Code, out.Message = "config-value", ce.message
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
		return out
	}
	if shown := showValues(p, vars); shown != "" {
		out.Message += " (with " + shown + ")"
	}
	return out
}

// showValues writes the values of the names that an expression used.
func showValues(p *parsed, vars map[string]any) string {
	var parts []string
	for _, u := range p.names {
		v, ok := vars[u.name].(ref.Val)
		if !ok {
			continue
		}
		switch v.(type) {
		case types.Int, types.Double, types.Bool, types.String:
			parts = append(parts, u.name+" = "+Value{Val: v}.Show())
		}
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}
