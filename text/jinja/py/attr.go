package py

import (
	"fmt"
	"strings"
)

// GetAttr is obj.name in a template: the attribute first, then the key.
func GetAttr(obj any, name string) any {
	if u, ok := obj.(*Undefined); ok {
		return &failing{u.Message}
	}
	if v, ok := attribute(obj, name); ok {
		return v
	}
	if v, ok, _ := Item(obj, name); ok {
		return v
	}
	return MissingIn(obj, name)
}

// GetItem is obj[key] in a template: the key first, then the attribute.
func GetItem(obj, key any) any {
	v, ok, err := Item(obj, key)
	if err != nil {
		return &failing{err.Error()}
	}
	if ok {
		return v
	}
	if name, isText := Text(key); isText {
		if v, ok := attribute(obj, name); ok {
			return v
		}
	}
	return MissingIn(obj, key)
}

// failing is the result of looking into an undefined value or of a bad slice: evaluation stops with the message.
type failing struct{ message string }

// Failed returns the error that looking something up ended in, if it did.
func Failed(v any) error {
	if f, ok := v.(*failing); ok {
		return fmt.Errorf("%s", f.message)
	}
	return nil
}

// attribute finds methods and attributes. Names with a leading underscore are never given out.
func attribute(obj any, name string) (any, bool) {
	var v any
	ok := false
	switch o := obj.(type) {
	case string:
		v, ok = textMethod(o, name, false)
	case Markup:
		v, ok = textMethod(string(o), name, true)
	case *List:
		v, ok = listMethod(o.Items, "list", name)
	case *Tuple:
		for i, n := range o.Names {
			if n == name {
				return o.Items[i], true
			}
		}
		v, ok = listMethod(o.Items, "tuple", name)
	case *Range:
		if name == "index" || name == "count" {
			items, _ := Iterate(o)
			v, ok = listMethod(items, "range", name)
		}
	case *Dict:
		v, ok = dictMethod(o, name)
	case *Func:
		if o.Attr != nil {
			v, ok = o.Attr(name)
		}
	case Object:
		v, ok = o.Attr(name)
	case int64:
		if name == "real" || name == "numerator" {
			return o, true
		}
	case float64:
		if name == "is_integer" {
			return method(name, 0, 0, func(Args) (any, error) { return o == float64(int64(o)), nil }), true
		}
	}
	if !ok && strings.HasPrefix(name, "__") {
		return unsafe(obj, name), true
	}
	return v, ok
}

// unsafe is what the sandbox gives for an attribute it does not give out.
func unsafe(obj any, name string) *Undefined {
	return &Undefined{fmt.Sprintf("access to attribute %s of '%s' object is unsafe.", Repr(name), TypeName(obj))}
}

// method wraps f, which takes from low to high arguments by position.
func method(name string, low, high int, f func(a Args) (any, error)) *Func {
	return &Func{Name: name, Call: func(a Args) (any, error) {
		if len(a.Kw) > 0 {
			return nil, fmt.Errorf("%s() takes no keyword arguments", name)
		}
		if n := len(a.Pos); n < low || n > high {
			if low == high {
				return nil, fmt.Errorf("%s() takes exactly %d arguments (%d given)", name, low, n)
			}
			return nil, fmt.Errorf("%s() takes from %d to %d arguments (%d given)", name, low, high, n)
		}
		return f(a)
	}}
}

func listMethod(items []any, kind, name string) (any, bool) {
	switch name {
	case "index":
		return method(name, 1, 3, func(a Args) (any, error) {
			for i, item := range items {
				if Equal(item, a.Pos[0]) {
					return int64(i), nil
				}
			}
			return nil, fmt.Errorf("%s is not in %s", Repr(a.Pos[0]), kind)
		}), true
	case "count":
		return method(name, 1, 1, func(a Args) (any, error) {
			n := int64(0)
			for _, item := range items {
				if Equal(item, a.Pos[0]) {
					n++
				}
			}
			return n, nil
		}), true
	}
	if kind == "tuple" {
		return nil, false
	}
	switch name {
	case "copy":
		return method(name, 0, 0, func(Args) (any, error) { return &List{items}, nil }), true
	case "append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove":
		return unsafe(&List{}, name), true
	}
	return nil, false
}

func dictMethod(d *Dict, name string) (any, bool) {
	switch name {
	case "get":
		return method(name, 1, 2, func(a Args) (any, error) {
			if _, err := hash(a.Pos[0]); err != nil {
				return nil, err
			}
			if v, ok := d.Get(a.Pos[0]); ok {
				return v, nil
			}
			if len(a.Pos) == 2 {
				return a.Pos[1], nil
			}
			return nil, nil
		}), true
	case "keys", "values", "items":
		return method(name, 0, 0, func(Args) (any, error) { return &View{name, d}, nil }), true
	case "copy":
		return method(name, 0, 0, func(Args) (any, error) { return d, nil }), true
	case "clear", "pop", "popitem", "setdefault", "update":
		return unsafe(d, name), true
	}
	return nil, false
}
