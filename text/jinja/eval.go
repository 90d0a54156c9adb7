package jinja

import (
	"fmt"

	"github.com/graphrun/graphrun/text/jinja/py"
	"github.com/graphrun/graphrun/text/jinja/syntax"
)

// eval computes an expression.
func (r *run) eval(n syntax.Node, s *scope) (any, error) {
	err := r.spend(1)
	var v any
	if err == nil {
		if v, err = r.expr(n, s); err == nil {
			err = py.Failed(v)
		}
	}
	if err != nil {
		return nil, located(err, n.At())
	}
	return v, nil
}

func (r *run) expr(n syntax.Node, s *scope) (any, error) {
	switch n := n.(type) {
	case *syntax.Const:
		return n.Value, nil
	case *syntax.Name:
		return r.name(n.Name, s), nil
	case *syntax.GetAttr:
		obj, err := r.eval(n.Expr, s)
		if err != nil {
			return nil, err
		}
		return py.GetAttr(obj, n.Name), nil
	case *syntax.GetItem:
		obj, err := r.eval(n.Expr, s)
		if err != nil {
			return nil, err
		}
		key, err := r.key(n.Key, s)
		if err != nil {
			return nil, err
		}
		return py.GetItem(obj, key), nil
	case *syntax.Call:
		return r.call(n, s, nil)
	case *syntax.Filter:
		v, err := r.eval(n.Expr, s)
		if err != nil {
			return nil, err
		}
		a, err := r.args(n.Args, s)
		if err != nil {
			return nil, err
		}
		return r.filter(n.Name, v, a)
	case *syntax.Test:
		v, err := r.eval(n.Expr, s)
		if err != nil {
			return nil, err
		}
		a, err := r.args(n.Args, s)
		if err != nil {
			return nil, err
		}
		return r.test(n.Name, v, a)
	case *syntax.Not:
		v, err := r.eval(n.Expr, s)
		return !py.Truth(v), err
	case *syntax.Logic:
		left, err := r.eval(n.Left, s)
		if err != nil || py.Truth(left) == (n.Op == "or") {
			return left, err
		}
		return r.eval(n.Right, s)
	case *syntax.Cond:
		test, err := r.eval(n.Test, s)
		if err != nil {
			return nil, err
		}
		if py.Truth(test) {
			return r.eval(n.Then, s)
		}
		if n.Else != nil {
			return r.eval(n.Else, s)
		}
		return &py.Undefined{Message: fmt.Sprintf("the inline if-expression on line %d evaluated to false and no else section was defined.", n.At())}, nil
	case *syntax.Compare:
		return r.compare(n, s)
	case *syntax.Binary:
		return r.binary(n, s)
	case *syntax.Unary:
		v, err := r.eval(n.Expr, s)
		if err != nil {
			return nil, err
		}
		if n.Op == "-" {
			return py.Negate(v)
		}
		return py.Positive(v)
	case *syntax.Concat:
		return r.concat(n, s)
	case *syntax.List:
		items, err := r.all(n.Items, s)
		return &py.List{Items: items}, err
	case *syntax.Tuple:
		items, err := r.all(n.Items, s)
		return &py.Tuple{Items: items}, err
	case *syntax.Dict:
		return r.dict(n, s)
	}
	return nil, fmt.Errorf("cannot evaluate %T", n)
}

func (r *run) name(name string, s *scope) any {
	if v, ok := s.get(name); ok {
		return v
	}
	if v := r.global(name); v != nil {
		return v
	}
	return py.Missing(name)
}

func (r *run) all(nodes []syntax.Node, s *scope) ([]any, error) {
	items := make([]any, len(nodes))
	for i, n := range nodes {
		var err error
		if items[i], err = r.eval(n, s); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// key evaluates what stands in brackets: a slice or an expression.
func (r *run) key(n syntax.Node, s *scope) (any, error) {
	sl, ok := n.(*syntax.Slice)
	if !ok {
		return r.eval(n, s)
	}
	var bounds [3]any
	for i, b := range []syntax.Node{sl.Start, sl.Stop, sl.Step} {
		if b == nil {
			continue
		}
		var err error
		if bounds[i], err = r.eval(b, s); err != nil {
			return nil, err
		}
	}
	return py.Slice{Start: bounds[0], Stop: bounds[1], Step: bounds[2]}, nil
}

func (r *run) compare(n *syntax.Compare, s *scope) (any, error) {
	left, err := r.eval(n.Expr, s)
	if err != nil {
		return nil, err
	}
	for i, op := range n.Ops {
		right, err := r.eval(n.Operands[i], s)
		if err != nil {
			return nil, err
		}
		if err := r.spend(size(left)/64 + size(right)/64); err != nil {
			return nil, err
		}
		if ok, err := py.Compare(op, left, right); err != nil || !ok {
			return false, err
		}
		left = right
	}
	return true, nil
}

func (r *run) binary(n *syntax.Binary, s *scope) (any, error) {
	left, err := r.eval(n.Left, s)
	if err != nil {
		return nil, err
	}
	right, err := r.eval(n.Right, s)
	if err != nil {
		return nil, err
	}
	v, err := py.Binary(n.Op, left, right)
	if err == nil {
		err = r.spend(size(v) / 64)
	}
	return v, err
}

func (r *run) concat(n *syntax.Concat, s *scope) (any, error) {
	items, err := r.all(n.Items, s)
	if err != nil {
		return nil, err
	}
	for i, item := range items {
		if items[i], err = py.Printed(item); err != nil {
			return nil, err
		}
	}
	text, err := py.Join("", items)
	if err == nil {
		err = r.spend(int64(len(text)) / 64)
	}
	return text, err
}

func (r *run) dict(n *syntax.Dict, s *scope) (any, error) {
	d := py.NewDict(len(n.Keys))
	for i := range n.Keys {
		k, err := r.eval(n.Keys[i], s)
		if err != nil {
			return nil, err
		}
		v, err := r.eval(n.Values[i], s)
		if err != nil {
			return nil, err
		}
		if err := d.Set(k, v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// size is the weight of a value, for the budget.
func size(v any) int64 {
	switch v := v.(type) {
	case string:
		return int64(len(v))
	case py.Markup:
		return int64(len(v))
	case *py.List:
		return int64(len(v.Items)) * 64
	case *py.Tuple:
		return int64(len(v.Items)) * 64
	}
	return 0
}

func (r *run) args(n syntax.Args, s *scope) (py.Args, error) {
	var a py.Args
	var err error
	if a.Pos, err = r.all(n.Pos, s); err != nil {
		return a, err
	}
	for _, kw := range n.Kw {
		v, err := r.eval(kw.Value, s)
		if err != nil {
			return a, err
		}
		a.Kw = append(a.Kw, py.Kw{Name: kw.Name, Value: v})
	}
	if n.Star != nil {
		v, err := r.eval(n.Star, s)
		if err != nil {
			return a, err
		}
		items, err := py.Iterate(v)
		if err != nil {
			return a, err
		}
		a.Pos = append(a.Pos, items...)
	}
	if n.StarMap != nil {
		v, err := r.eval(n.StarMap, s)
		if err != nil {
			return a, err
		}
		d, ok := v.(*py.Dict)
		if !ok {
			return a, fmt.Errorf("argument after ** must be a mapping, not %s", py.TypeName(v))
		}
		for _, k := range d.Keys() {
			name, ok := py.Text(k)
			if !ok {
				return a, fmt.Errorf("keywords must be strings")
			}
			item, _ := d.Get(k)
			a.Kw = append(a.Kw, py.Kw{Name: name, Value: item})
		}
	}
	return a, nil
}

// call calls a function, a macro or a recursive loop; caller is the body of a call block, nil outside of one.
func (r *run) call(n *syntax.Call, s *scope, caller any) (any, error) {
	fn, err := r.eval(n.Fn, s)
	if err != nil {
		return nil, err
	}
	a, err := r.args(n.Args, s)
	if err != nil {
		return nil, err
	}
	if caller != nil {
		a.Kw = append(a.Kw, py.Kw{Name: "caller", Value: caller})
	}
	var v any
	switch f := fn.(type) {
	case *py.Func:
		v, err = f.Call(a)
	case *loop:
		v, err = f.recurse(a)
	case *cycler:
		return nil, fmt.Errorf("'Cycler' object is not callable")
	case *py.Undefined:
		return nil, fmt.Errorf("%s", f.Message)
	default:
		return nil, fmt.Errorf("'%s' object is not callable", py.TypeName(fn))
	}
	if err == nil {
		err = r.spend(size(v) / 64)
	}
	return v, err
}
