package py

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"
)

// Equal is Python's ==.
func Equal(a, b any) bool {
	if x, ok := Text(a); ok {
		y, ok := Text(b)
		return ok && x == y
	}
	if x, ok := Int(a); ok {
		if y, ok := Int(b); ok {
			return x == y
		}
	}
	if x, ok := a.(*big.Int); ok {
		if y, ok := b.(*big.Int); ok {
			return x.Cmp(y) == 0
		}
	}
	if x, ok := Float(a); ok {
		y, ok := Float(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case *Undefined:
		_, ok := b.(*Undefined)
		return ok
	case *List:
		b, ok := b.(*List)
		return ok && equalItems(a.Items, b.Items)
	case *Tuple:
		b, ok := b.(*Tuple)
		return ok && equalItems(a.Items, b.Items)
	case *Dict:
		b, ok := b.(*Dict)
		return ok && equalDicts(a, b)
	case *View:
		b, ok := b.(*View)
		return ok && (a == b || equalViews(a, b))
	case *Range:
		b, ok := b.(*Range)
		return ok && a.Len == b.Len && (a.Len == 0 || a.Start == b.Start && (a.Len == 1 || a.Step == b.Step))
	}
	return a == b
}

func equalItems(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalViews compares keys and items as sets; values are only equal to themselves.
func equalViews(a, b *View) bool {
	switch {
	case a.Kind != b.Kind || a.Dict.Len() != b.Dict.Len() || a.Kind == "values":
		return false
	case a.Kind == "items":
		return equalDicts(a.Dict, b.Dict)
	}
	for _, k := range a.Dict.keys {
		if _, ok := b.Dict.Get(k); !ok {
			return false
		}
	}
	return true
}

func equalDicts(a, b *Dict) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i, k := range a.keys {
		v, ok := b.Get(k)
		if !ok || !Equal(a.values[i], v) {
			return false
		}
	}
	return true
}

// Compare applies one of == != < <= > >= in notin.
func Compare(op string, a, b any) (bool, error) {
	switch op {
	case "==":
		return Equal(a, b), nil
	case "!=":
		return !Equal(a, b), nil
	case "in":
		return Contains(b, a)
	case "notin":
		in, err := Contains(b, a)
		return !in, err
	}
	order, err := Order(op, a, b)
	if err != nil {
		return false, err
	}
	switch op {
	case "<":
		return order == -1, nil
	case "<=":
		return order == -1 || order == 0, nil
	case ">":
		return order == 1, nil
	}
	return order == 1 || order == 0, nil
}

// unordered is the order of a NaN to anything.
const unordered = 2

// Order returns -1, 0 or 1; op is named in the error for values that have no order.
func Order(op string, a, b any) (int, error) {
	for _, v := range []any{a, b} {
		if u, ok := v.(*Undefined); ok {
			return 0, u.fail()
		}
	}
	if x, ok := Text(a); ok {
		if y, ok := Text(b); ok {
			return strings.Compare(x, y), nil // UTF-8 sorts as its code points do
		}
	}
	if x, ok := Int(a); ok {
		if y, ok := Int(b); ok {
			return cmp.Compare(x, y), nil
		}
	}
	if x, ok := Float(a); ok {
		if y, ok := Float(b); ok {
			switch {
			case x < y:
				return -1, nil
			case x > y:
				return 1, nil
			case x == y:
				return 0, nil
			}
			return unordered, nil
		}
	}
	if x, ok := a.(*List); ok {
		if y, ok := b.(*List); ok {
			return orderItems(op, x.Items, y.Items)
		}
	}
	if x, ok := a.(*Tuple); ok {
		if y, ok := b.(*Tuple); ok {
			return orderItems(op, x.Items, y.Items)
		}
	}
	return 0, fmt.Errorf("'%s' not supported between instances of '%s' and '%s'", op, TypeName(a), TypeName(b))
}

func orderItems(op string, a, b []any) (int, error) {
	for i := range min(len(a), len(b)) {
		if !Equal(a[i], b[i]) {
			return Order(op, a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b)), nil
}

// Contains is Python's "item in container".
func Contains(container, item any) (bool, error) {
	if s, ok := Text(container); ok {
		sub, ok := Text(item)
		if !ok {
			return false, fmt.Errorf("'in <string>' requires string as left operand, not %s", TypeName(item))
		}
		return strings.Contains(s, sub), nil
	}
	switch c := container.(type) {
	case *Dict:
		h, err := hash(item)
		if err != nil {
			return false, err
		}
		_, ok := c.index[h]
		return ok, nil
	case *View:
		if c.Kind == "keys" {
			return Contains(c.Dict, item)
		}
	case *Iter, *List, *Tuple, *Range, *Undefined:
	default:
		return false, fmt.Errorf("argument of type '%s' is not iterable", TypeName(container))
	}
	items, err := Iterate(container)
	if err != nil {
		return false, err
	}
	for _, v := range items {
		if Equal(v, item) {
			return true, nil
		}
	}
	return false, nil
}
