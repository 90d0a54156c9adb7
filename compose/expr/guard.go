package expr

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"

	"github.com/graphrun/graphrun/shape"
)

// symbols are what is not known when a file is composed.
var symbols = map[string]bool{"B": true, "T": true, "S": true}

// Symbolic tells whether an expression speaks of B, T or S.
func (e *Engine) Symbolic(src string) (name string, offset int, ok bool) {
	for _, u := range e.parse(src).names {
		if symbols[u.name] {
			return u.name, u.offset, true
		}
	}
	return "", 0, false
}

// Dim evaluates an expression in a dim's place: an integer or a linear form of B, T and S.
func (e *Engine) Dim(src string, s Scope) (shape.Dim, *Error) {
	p := e.parse(src)
	if p.err != nil {
		return shape.Dim{}, p.err
	}
	if p.bareName() && symbols[src] {
		return shape.Sym(src), nil
	}
	if _, _, ok := e.Symbolic(src); !ok {
		return e.intDim(src, s)
	}
	w := &walker{e: e, src: src, scope: s, info: p.tree.SourceInfo()}
	d := w.dim(p.tree.Expr())
	return d, w.err
}

func (e *Engine) intDim(src string, s Scope) (shape.Dim, *Error) {
	v, err := e.Eval(src, s)
	if err != nil {
		return shape.Dim{}, err
	}
	n, ok := v.Int()
	if !ok {
		return shape.Dim{}, &Error{Code: "expression-type", Length: len([]rune(src)), Message: fmt.Sprintf("a dim is an int; this is %s (%s)", TypeName(v.Type), v.Show())}
	}
	return shape.Int(int(n)), nil
}

type walker struct {
	e     *Engine
	src   string
	scope Scope
	info  *ast.SourceInfo
	err   *Error
}

// fail keeps the first error; what it gives may be added to.
func (w *walker) fail(x ast.Expr, format string, args ...any) *Error {
	r, _ := w.info.GetOffsetRange(x.ID())
	e := &Error{Code: "symbolic", Offset: int(r.Start), Message: fmt.Sprintf(format, args...)}
	if w.err == nil {
		w.err = e
	}
	return e
}

// text writes a subtree back as an expression.
func (w *walker) text(x ast.Expr) string {
	s, err := parser.Unparse(x, w.info)
	if err != nil {
		w.fail(x, "%v", err)
	}
	return s
}

func hasSymbol(x ast.Expr) bool {
	found := false
	ast.PreOrderVisit(x, ast.NewExprVisitor(func(x ast.Expr) {
		found = found || x.Kind() == ast.IdentKind && symbols[x.AsIdent()]
	}))
	return found
}

// plain evaluates a subtree without B, T, S.
func (w *walker) plain(x ast.Expr) Value {
	v, err := w.e.Eval(w.text(x), w.scope)
	if err != nil && w.err == nil {
		r, _ := w.info.GetOffsetRange(x.ID())
		w.err = &Error{Code: err.Code, Offset: int(r.Start), Message: err.Message, Help: err.Help}
	}
	return v
}

func (w *walker) dim(x ast.Expr) shape.Dim {
	if !hasSymbol(x) {
		n, ok := w.plain(x).Int()
		if !ok {
			w.fail(x, "a dim is an int")
		}
		return shape.Int(int(n))
	}
	switch x.Kind() {
	case ast.IdentKind:
		return shape.Sym(x.AsIdent())
	case ast.CallKind:
		c := x.AsCall()
		if len(c.Args()) == 2 {
			l, r := c.Args()[0], c.Args()[1]
			switch c.FunctionName() {
			case "_+_":
				return w.dim(l).Add(w.dim(r))
			case "_-_":
				return w.dim(l).Sub(w.dim(r))
			case "_*_":
				a, b := w.dim(l), w.dim(r)
				if n, ok := a.Known(); ok {
					return b.Mul(n)
				}
				if n, ok := b.Known(); ok {
					return a.Mul(n)
				}
			}
		}
	}
	w.fail(x, "a dim is a linear form of B, T and S: sums, differences and products with an int").Help = "write it as in `T + 1` or `2 * T`; an axis whose length hangs on the data is left to the operator: `'...'` stands for any axes"
	return shape.Dim{}
}

// Comparison is a guard's atom: a symbol compared with an integer.
type Comparison struct {
	Symbol   string
	Operator string
	Number   int
}

func (c Comparison) String() string { return fmt.Sprintf("%s %s %d", c.Symbol, c.Operator, c.Number) }

// Decide answers a comparison: known false means that nothing decides it yet.
type Decide func(c Comparison) (value, known bool)

// Undecided is the comparison that a condition hangs on.
type Undecided struct{ On Comparison }

// Condition evaluates a `when` or `unless`. Where it compares B, T or S with an int it asks decide; the first
// comparison that is open and matters comes back as Undecided.
func (e *Engine) Condition(src string, s Scope, decide Decide) (bool, *Undecided, *Error) {
	p := e.parse(src)
	if p.err != nil {
		return false, nil, p.err
	}
	if _, _, ok := e.Symbolic(src); !ok {
		v, err := e.Eval(src, s)
		if err != nil {
			return false, nil, err
		}
		b, ok := v.Bool()
		if !ok {
			return false, nil, &Error{Code: "expression-type", Length: len([]rune(src)), Message: fmt.Sprintf("a condition is true or false; this is %s (%s)", TypeName(v.Type), v.Show())}
		}
		return b, nil, nil
	}
	w := &walker{e: e, src: src, scope: s, info: p.tree.SourceInfo()}
	value, open := w.condition(p.tree.Expr(), decide)
	return value, open, w.err
}

var flipped = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func (w *walker) condition(x ast.Expr, decide Decide) (bool, *Undecided) {
	if !hasSymbol(x) {
		b, ok := w.plain(x).Bool()
		if !ok {
			w.fail(x, "a condition is true or false")
		}
		return b, nil
	}
	if x.Kind() == ast.CallKind {
		c := x.AsCall()
		args := c.Args()
		switch name := c.FunctionName(); name {
		case "!_":
			v, open := w.condition(args[0], decide)
			return !v, open
		case "_&&_", "_||_":
			// The side without symbols first: it may make the other not matter.
			l, r := args[0], args[1]
			if hasSymbol(l) && !hasSymbol(r) {
				l, r = r, l
			}
			v, open := w.condition(l, decide)
			if open != nil || w.err != nil || v == (name == "_||_") {
				return v, open
			}
			return w.condition(r, decide)
		default:
			if op := signs[name]; flipped[op] != "" && len(args) == 2 {
				return w.comparison(x, op, args[0], args[1], decide)
			}
		}
	}
	w.fail(x, "B, T and S are not known when a file is composed: a condition may compare one of them with an int, joined by && || !").Help = "write it as in `T > 1 && B == 1`"
	return false, nil
}

func (w *walker) comparison(x ast.Expr, op string, l, r ast.Expr, decide Decide) (bool, *Undecided) {
	if l.Kind() != ast.IdentKind || !symbols[l.AsIdent()] {
		l, r, op = r, l, flipped[op]
	}
	if l.Kind() != ast.IdentKind || !symbols[l.AsIdent()] || hasSymbol(r) {
		w.fail(x, "a guard compares B, T or S itself with an int").Help = "bring the number to the other side, as in `T > 8` for `T * 2 > 16`; what is known when composing may be computed there"
		return false, nil
	}
	n, ok := w.plain(r).Val.(types.Int)
	if !ok {
		w.fail(r, "a guard compares %s with an int", l.AsIdent()).Help = "write a number, or a parameter or let of type int"
		return false, nil
	}
	c := Comparison{l.AsIdent(), op, int(n)}
	v, known := decide(c)
	if !known && w.err == nil {
		return false, &Undecided{c}
	}
	return v, nil
}
