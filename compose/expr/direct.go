package expr

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// direct is an expression as a tree of Go calls over the values of its names. Where each call's overload follows from the
// static types of its arguments, it is made in place of a program: it calls the very functions that the program would,
// without its bookkeeping of cost, which such an expression cannot run up. A mistake, or what is not so plain (other macros
// than exists and all, strings and lists that are made), is CEL's.
type direct func(vars []ref.Val) ref.Val

// directly compiles what it can; a nil direct means that CEL must.
type directly struct {
	e     *Engine
	names []use
	types []*Type // of the names
	item  string  // the name of a list's items, inside a loop: the value behind those of the names
	of    *Type   // of these
}

func (d *directly) expr(x ast.Expr) (direct, *Type) {
	switch x.Kind() {
	case ast.LiteralKind:
		v := x.AsLiteral()
		return constant(v), v.Type().(*Type)
	case ast.IdentKind:
		if x.AsIdent() == d.item {
			at := len(d.names)
			return func(vars []ref.Val) ref.Val { return vars[at] }, d.of
		}
		for i, u := range d.names {
			if u.name == x.AsIdent() && d.types[i] != Dyn {
				return func(vars []ref.Val) ref.Val { return vars[i] }, d.types[i]
			}
		}
	case ast.SelectKind:
		return d.field(x.AsSelect())
	case ast.ListKind:
		return d.literals(x.AsList())
	case ast.MapKind:
		if x.AsMap().Size() == 0 {
			return constant(types.NewRefValMap(types.DefaultTypeAdapter, nil)), Dict
		}
	case ast.CallKind:
		return d.call(x.AsCall())
	case ast.ComprehensionKind:
		return d.quantifier(x.AsComprehension())
	}
	return nil, nil
}

func constant(v ref.Val) direct { return func([]ref.Val) ref.Val { return v } }

// field reads a field of a record, or a name of `given`.
func (d *directly) field(s ast.SelectExpr) (direct, *Type) {
	operand, t := d.expr(s.Operand())
	if operand == nil || s.IsTestOnly() {
		return nil, nil
	}
	result := fieldsOf(t.TypeName())[s.FieldName()]
	if t.IsExactType(GivenType) {
		result = Bool
	}
	if result == nil {
		return nil, nil
	}
	name := types.String(s.FieldName())
	return func(vars []ref.Val) ref.Val {
		v := operand(vars)
		if r, ok := v.(traits.Indexer); ok {
			return r.Get(name)
		}
		return v // an error
	}, result
}

// quantifier is exists or all over a list whose items have a type: the loops whose step is || or &&. One inside another takes
// as many steps as both lists have items, which CEL counts.
func (d *directly) quantifier(c ast.ComprehensionExpr) (direct, *Type) {
	if c.LoopStep().Kind() != ast.CallKind || d.item != "" {
		return nil, nil
	}
	step := c.LoopStep().AsCall()
	exists := step.FunctionName() == operators.LogicalOr
	list, t := d.expr(c.IterRange())
	if list == nil || t.Kind() != types.ListKind || t.Parameters()[0] == Dyn || !exists && step.FunctionName() != operators.LogicalAnd {
		return nil, nil
	}
	inner := *d
	inner.item, inner.of = c.IterVar(), t.Parameters()[0]
	holds, is := inner.expr(step.Args()[1])
	if holds == nil || is != Bool {
		return nil, nil
	}
	decided := types.Bool(exists)
	return func(vars []ref.Val) ref.Val {
		v := list(vars)
		items, ok := v.(traits.Lister)
		if !ok {
			return v // an error
		}
		inside := append(slices.Clone(vars), nil)
		var out ref.Val = !decided
		for it := items.Iterator(); out != decided && it.HasNext() == types.True; {
			inside[len(vars)] = it.Next()
			out = either(out, holds(inside), decided)
		}
		return out
	}, Bool
}

// literals is a list of words or of numbers that are written out.
func (d *directly) literals(l ast.ListExpr) (direct, *Type) {
	var of *Type
	items := make([]ref.Val, 0, l.Size())
	for _, x := range l.Elements() {
		if x.Kind() != ast.LiteralKind || of != nil && x.AsLiteral().Type() != ref.Type(of) {
			return nil, nil
		}
		of = x.AsLiteral().Type().(*Type)
		items = append(items, x.AsLiteral())
	}
	if of == nil {
		return nil, nil
	}
	return constant(types.NewRefValList(types.DefaultTypeAdapter, items)), List(of)
}

func isScalar(t *Type) bool { return t == Int || t == Float || t == Bool || t == String }

func (d *directly) call(c ast.CallExpr) (direct, *Type) {
	parts := c.Args()
	if c.IsMemberFunction() {
		parts = append([]ast.Expr{c.Target()}, parts...)
	}
	args, of := make([]direct, len(parts)), make([]*Type, len(parts))
	for i, x := range parts {
		if args[i], of[i] = d.expr(x); args[i] == nil {
			return nil, nil
		}
	}
	switch c.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr:
		if of[0] == Bool && of[1] == Bool {
			return logical(args[0], args[1], types.Bool(c.FunctionName() == operators.LogicalOr)), Bool
		}
	case operators.Conditional:
		if of[0] == Bool && of[1].IsExactType(of[2]) {
			return choice(args[0], args[1], args[2]), of[1]
		}
	case operators.Equals, operators.NotEquals:
		if of[0] == of[1] && isScalar(of[0]) {
			want := types.Bool(c.FunctionName() == operators.Equals)
			return strict(args, func(v []ref.Val) ref.Val { return types.Bool(v[0].Equal(v[1]) == want) }), Bool
		}
	case operators.In:
		if isScalar(of[0]) && of[1].IsExactType(List(of[0])) {
			return strict(args, func(v []ref.Val) ref.Val { return v[1].(traits.Container).Contains(v[0]) }), Bool
		}
	case operators.Index:
		if of[0].Kind() == types.ListKind && of[1] == Int && of[0].Parameters()[0] != Dyn {
			return strict(args, item), of[0].Parameters()[0]
		}
	case overloads.Size:
		if of[0].Kind() == types.ListKind || of[0] == String {
			return strict(args, func(v []ref.Val) ref.Val { return v[0].(traits.Sizer).Size() }), Int
		}
	default:
		return d.overload(c, args, of)
	}
	return nil, nil
}

func item(v []ref.Val) ref.Val {
	list, i := v[0].(traits.Lister), v[1].(types.Int)
	if n, ok := list.Size().(types.Int); ok && (i < 0 || i >= n) {
		return types.NewErr("index out of bounds: %d", i)
	}
	return list.Get(i)
}

// overload calls a function whose arguments' types are those of one of its overloads. Text and lists that a function makes
// can grow, so that such calls are left to CEL, which counts their cost; what an accessor reads of a config cannot, nor can
// the tensors of a checkpoint.
func (d *directly) overload(c ast.CallExpr, args []direct, of []*Type) (direct, *Type) {
	f := d.e.calls[c.FunctionName()]
	if f == nil {
		return nil, nil
	}
	for _, o := range f.OverloadDecls() {
		want := o.ArgTypes()
		if o.IsMemberFunction() != c.IsMemberFunction() || len(want) != len(of) {
			continue
		}
		same := true
		for i := range want {
			same = same && want[i].IsExactType(of[i])
		}
		if !same {
			continue
		}
		result := o.ResultType()
		if result != Int && result != Float && result != Bool && !of[0].IsExactType(Dict) && !result.IsExactType(tensorList) {
			return nil, nil
		}
		bindings, err := f.Bindings()
		if err != nil {
			return nil, nil
		}
		for _, b := range bindings { // the overload's own, or one for all
			if run := binding(b, len(args)); run != nil && (b.Operator == o.ID() || f.HasSingletonBinding()) {
				if b.NonStrict {
					return func(vars []ref.Val) ref.Val { return run(values(args, vars)) }, result
				}
				return strict(args, run), result
			}
		}
		return nil, nil
	}
	return nil, nil
}

func binding(o *functions.Overload, args int) func([]ref.Val) ref.Val {
	switch {
	case args == 1 && o.Unary != nil:
		return func(v []ref.Val) ref.Val { return o.Unary(v[0]) }
	case args == 2 && o.Binary != nil:
		return func(v []ref.Val) ref.Val { return o.Binary(v[0], v[1]) }
	case o.Function != nil:
		return func(v []ref.Val) ref.Val { return o.Function(v...) }
	}
	return nil
}

func values(args []direct, vars []ref.Val) []ref.Val {
	out := make([]ref.Val, len(args))
	for i, a := range args {
		out[i] = a(vars)
	}
	return out
}

// strict calls a function unless one of its arguments is an error, which it then gives.
func strict(args []direct, run func([]ref.Val) ref.Val) direct {
	return func(vars []ref.Val) ref.Val {
		v := values(args, vars)
		for _, x := range v {
			if types.IsUnknownOrError(x) {
				return x
			}
		}
		return run(v)
	}
}

// logical is && or ||: where one side decides, the other may be an error. decided is the value that decides.
func logical(left, right direct, decided types.Bool) direct {
	return func(vars []ref.Val) ref.Val {
		l := left(vars)
		if l == decided {
			return decided
		}
		return either(l, right(vars), decided)
	}
}

// either is the value that decides, else an error, else its opposite.
func either(l, r ref.Val, decided types.Bool) ref.Val {
	switch {
	case r == decided:
		return decided
	case types.IsUnknownOrError(l):
		return l
	case types.IsUnknownOrError(r):
		return r
	}
	return !decided
}

func choice(condition, yes, no direct) direct {
	return func(vars []ref.Val) ref.Val {
		switch c := condition(vars); c {
		case types.True:
			return yes(vars)
		case types.False:
			return no(vars)
		default:
			return c
		}
	}
}
