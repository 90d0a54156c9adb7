package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/shape"
)

// Kind is what a Value holds.
type Kind uint8

const (
	Nothing Kind = iota
	Int
	Float
	Bool
	String
	List
	Map
	Dims
	Dtype
)

// Value is a decided parameter.
type Value struct {
	Kind  Kind
	Int   int64
	Float float64
	Bool  bool
	Str   string
	List  []Value
	Map   []Entry // in the order of the source
	Dims  shape.Shape
	Dtype dtype.Dtype
}

// Entry is a key of a map value.
type Entry struct {
	Key   string
	Value Value
}

// Get finds a key of a map value.
func (v Value) Get(key string) (Value, bool) {
	for _, e := range v.Map {
		if e.Key == key {
			return e.Value, true
		}
	}
	return Value{}, false
}

// Number reads an int or a float as a float.
func (v Value) Number() (float64, bool) {
	switch v.Kind {
	case Int:
		return float64(v.Int), true
	case Float:
		return v.Float, true
	}
	return 0, false
}

// Text prints the value as a person would write it.
func (v Value) Text() string {
	switch v.Kind {
	case Int:
		return strconv.FormatInt(v.Int, 10)
	case Float:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case Bool:
		return strconv.FormatBool(v.Bool)
	case String:
		return v.Str
	case Dtype:
		return v.Dtype.String()
	case Dims:
		return v.Dims.String()
	case Nothing:
		return "null"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// MarshalJSON writes plain JSON; what JSON's numbers cannot hold (inf, nan) is a string.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.Kind {
	case Nothing:
		return []byte("null"), nil
	case Int:
		return json.Marshal(v.Int)
	case Float:
		if math.IsInf(v.Float, 0) || math.IsNaN(v.Float) {
			return json.Marshal(strconv.FormatFloat(v.Float, 'g', -1, 64))
		}
		return json.Marshal(v.Float)
	case Bool:
		return json.Marshal(v.Bool)
	case String:
		return json.Marshal(v.Str)
	case Dtype:
		return json.Marshal(v.Dtype)
	case Dims:
		return json.Marshal(v.Dims)
	case List:
		if v.List == nil {
			return []byte("[]"), nil
		}
		return json.Marshal(v.List)
	case Map:
		return marshalPairs(len(v.Map), func(i int) (string, any) { return v.Map[i].Key, v.Map[i].Value })
	}
	return nil, fmt.Errorf("plan value of kind %d", v.Kind)
}

func marshalPairs(n int, at func(i int) (string, any)) ([]byte, error) {
	out := []byte{'{'}
	for i := range n {
		key, value := at(i)
		k, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, k...), ':'), v...)
	}
	return append(out, '}'), nil
}

// Arg is a named parameter of a call.
type Arg struct {
	Name  string
	Value Value
}

// Args are the parameters of a call, each name once. The getters give the zero value for what was not given and has
// no default: a constructor that needs a parameter declares it without one, and the composer sees that it is there.
type Args []Arg

// Lookup finds a parameter.
func (a Args) Lookup(name string) (Value, bool) {
	for _, x := range a {
		if x.Name == name {
			return x.Value, true
		}
	}
	return Value{}, false
}

// Has tells whether a parameter was given or has a default.
func (a Args) Has(name string) bool { _, ok := a.Lookup(name); return ok }

// Int reads an int parameter.
func (a Args) Int(name string) int { v, _ := a.Lookup(name); return int(v.Int) }

// Float reads a float (or int) parameter.
func (a Args) Float(name string) float64 {
	v, _ := a.Lookup(name)
	f, _ := v.Number()
	return f
}

// Bool reads a bool parameter.
func (a Args) Bool(name string) bool { v, _ := a.Lookup(name); return v.Bool }

// String reads a string parameter.
func (a Args) String(name string) string { v, _ := a.Lookup(name); return v.Str }

// Ints reads a list of ints.
func (a Args) Ints(name string) []int {
	v, _ := a.Lookup(name)
	out := make([]int, len(v.List))
	for i, x := range v.List {
		out[i] = int(x.Int)
	}
	return out
}

// Dims reads a list of dims.
func (a Args) Dims(name string) shape.Shape { v, _ := a.Lookup(name); return v.Dims }

// Dtype reads a dtype parameter.
func (a Args) Dtype(name string) dtype.Dtype { v, _ := a.Lookup(name); return v.Dtype }

// Map reads a map parameter.
func (a Args) Map(name string) Value { v, _ := a.Lookup(name); return v }

// MarshalJSON writes an object in the order of the parameters.
func (a Args) MarshalJSON() ([]byte, error) {
	return marshalPairs(len(a), func(i int) (string, any) { return a[i].Name, a[i].Value })
}
