package py

import (
	"fmt"
	"math"
	"math/big"

	"github.com/graphrun/graphrun/text/ordered"
)

// MaxSize bounds one string in bytes, and one list in items.
const MaxSize = 64 << 20

// Markup is a string that counts as escaped: what is added to it is escaped first.
type Markup string

// List is a Python list.
type List struct{ Items []any }

// Tuple is a Python tuple. Names, where set, are the attributes of a named one.
type Tuple struct {
	Items []any
	Names []string
}

// Range is a Python range of Len numbers.
type Range struct{ Start, Stop, Step, Len int64 }

// View is what dict.keys, dict.values and dict.items return.
type View struct {
	Kind string // keys, values, items
	Dict *Dict
}

// Iter is an iterator: it gives each item once and has neither a length nor a place to index.
type Iter struct {
	Kind  string // what Python calls its type: generator, list_reverseiterator
	make  func() ([]any, error)
	items []any
	next  int
}

// NewIter returns an iterator over the items that make returns when the first of them is asked for: errors come then.
func NewIter(kind string, make func() ([]any, error)) *Iter { return &Iter{Kind: kind, make: make} }

// Next returns the next item.
func (it *Iter) Next() (item any, ok bool, err error) {
	if it.make != nil {
		it.items, err = it.make()
		it.make = nil
	}
	if err != nil || it.next >= len(it.items) {
		return nil, false, err
	}
	it.next++
	return it.items[it.next-1], true, nil
}

// Undefined is the value of a name, key or attribute that is not there. It prints as nothing and is false; almost
// anything else done to it is an error that says what is missing.
type Undefined struct {
	Message string // in full
}

// Missing returns the undefined value of a variable.
func Missing(name string) *Undefined {
	return &Undefined{fmt.Sprintf("'%s' is undefined", name)}
}

// MissingIn returns the undefined value of a key or attribute of obj.
func MissingIn(obj any, name any) *Undefined {
	if o, ok := obj.(Object); ok {
		return &Undefined{fmt.Sprintf("'%s' has no attribute %s", o.TypeName(), Repr(name))}
	}
	what := TypeName(obj) + " object"
	switch obj := obj.(type) {
	case nil:
		what = "None"
	case *Undefined:
		return obj
	}
	if s, ok := Text(name); ok {
		return &Undefined{fmt.Sprintf("'%s' has no attribute %s", what, Repr(s))}
	}
	return &Undefined{fmt.Sprintf("%s has no element %s", what, Repr(name))}
}

func (u *Undefined) fail() error { return fmt.Errorf("%s", u.Message) }

// Object is a value with attributes of its own, such as a loop or a namespace.
type Object interface {
	TypeName() string
	Repr() string
	Attr(name string) (any, bool)
}

// Func is something that can be called.
type Func struct {
	Name string
	Call func(a Args) (any, error)
	Attr func(name string) (any, bool) // nil for none
}

// Args are the arguments of a call.
type Args struct {
	Pos []any
	Kw  []Kw
}

// Kw is an argument given by name.
type Kw struct {
	Name  string
	Value any
}

// Text returns the string that v is, marked up or not.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case Markup:
		return string(v), true
	}
	return "", false
}

// TypeName is Python's name of the type of v.
func TypeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case Markup:
		return "Markup"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *Range:
		return "range"
	case *View:
		return "dict_" + v.Kind
	case *Iter:
		return v.Kind
	case *Undefined:
		return "Undefined"
	case Object:
		return v.TypeName()
	case *Func:
		return "function"
	}
	return fmt.Sprintf("%T", v)
}

// From turns a value of package ordered into one of this package.
func From(v any) any {
	switch v := v.(type) {
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = From(item)
		}
		return &List{items}
	case *ordered.Object:
		d := NewDict(v.Len())
		for k, item := range v.All() {
			d.set(k, From(item))
		}
		return d
	case ordered.Number:
		if n, ok := new(big.Int).SetString(string(v), 10); ok {
			return n
		}
		return string(v)
	}
	return v
}

// Truth is Python's bool().
func Truth(v any) bool {
	switch v := v.(type) {
	case nil, *Undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case *big.Int:
		return v.Sign() != 0
	case float64:
		return v != 0
	}
	if n, ok := length(v); ok {
		return n > 0
	}
	return true
}

// length is Python's len() where v has one.
func length(v any) (int64, bool) {
	switch v := v.(type) {
	case string:
		return runeCount(v), true
	case Markup:
		return runeCount(string(v)), true
	case *List:
		return int64(len(v.Items)), true
	case *Tuple:
		return int64(len(v.Items)), true
	case *Dict:
		return int64(v.Len()), true
	case *Range:
		return v.Len, true
	case *View:
		return int64(v.Dict.Len()), true
	case *Undefined:
		return 0, true
	}
	return 0, false
}

// Len is Python's len().
func Len(v any) (int64, error) {
	n, ok := length(v)
	if !ok {
		return 0, fmt.Errorf("object of type '%s' has no len()", TypeName(v))
	}
	return n, nil
}

// Iterate returns the items that a loop over v visits.
func Iterate(v any) ([]any, error) {
	switch v := v.(type) {
	case *List:
		return v.Items, nil
	case *Tuple:
		return v.Items, nil
	case *Dict:
		return v.keys, nil
	case *View:
		return v.items(), nil
	case *Undefined:
		return nil, nil
	case *Range:
		items := make([]any, 0, v.Len)
		for i := int64(0); i < v.Len; i++ {
			items = append(items, v.Start+i*v.Step)
		}
		return items, nil
	case *Iter:
		first, ok, err := v.Next()
		if !ok {
			return nil, err
		}
		rest := append([]any{first}, v.items[v.next:]...)
		v.next = len(v.items)
		return rest, nil
	}
	if s, ok := Text(v); ok {
		items := make([]any, 0, len(s))
		for _, r := range s {
			items = append(items, string(r))
		}
		return items, nil
	}
	return nil, fmt.Errorf("'%s' object is not iterable", TypeName(v))
}

func (v *View) items() []any {
	switch v.Kind {
	case "keys":
		return v.Dict.keys
	case "values":
		return v.Dict.values
	}
	items := make([]any, len(v.Dict.keys))
	for i, k := range v.Dict.keys {
		items[i] = &Tuple{Items: []any{k, v.Dict.values[i]}}
	}
	return items
}

// NewRange is Python's range() with the sandbox's limit of 100,000 numbers.
func NewRange(start, stop, step int64) (*Range, error) {
	if step == 0 {
		return nil, fmt.Errorf("range() arg 3 must not be zero")
	}
	n := int64(0)
	if step > 0 && start < stop {
		n = int64((uint64(stop)-uint64(start)-1)/uint64(step)) + 1
	} else if step < 0 && start > stop {
		n = int64((uint64(start)-uint64(stop)-1)/(uint64(-(step+1))+1)) + 1
	}
	if n < 0 || n > 100000 {
		return nil, fmt.Errorf("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).")
	}
	return &Range{start, stop, step, n}, nil
}

// Int returns v as an integer where it is one: booleans are.
func Int(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// Float returns v as a float where it is a number.
func Float(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, !math.IsInf(f, 0)
	}
	n, ok := Int(v)
	return float64(n), ok
}
