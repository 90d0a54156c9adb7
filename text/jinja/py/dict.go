package py

import (
	"fmt"
	"math"
	"math/big"
)

// Dict is a Python dict: keys in order of insertion.
type Dict struct {
	keys   []any
	values []any
	index  map[any]int
}

// NewDict returns an empty dict with room for n entries.
func NewDict(n int) *Dict {
	return &Dict{keys: make([]any, 0, n), values: make([]any, 0, n), index: make(map[any]int, n)}
}

// Len is the number of entries.
func (d *Dict) Len() int { return len(d.keys) }

// Get returns the value at key.
func (d *Dict) Get(key any) (any, bool) {
	h, err := hash(key)
	if err != nil {
		return nil, false
	}
	i, ok := d.index[h]
	if !ok {
		return nil, false
	}
	return d.values[i], true
}

// Keys returns the keys in order; they must not be changed.
func (d *Dict) Keys() []any { return d.keys }

// Set puts value at key while a dict is being made.
func (d *Dict) Set(key, value any) error {
	if _, err := hash(key); err != nil {
		return err
	}
	d.set(key, value)
	return nil
}

func (d *Dict) set(key, value any) {
	h, _ := hash(key)
	if i, ok := d.index[h]; ok {
		d.values[i] = value
		return
	}
	d.index[h] = len(d.keys)
	d.keys = append(d.keys, key)
	d.values = append(d.values, value)
}

// tupleKey is the hash of a tuple: its repr tells apart what is not equal.
type tupleKey string

// hash returns a comparable value that is equal for equal keys: 1, 1.0 and True are one key.
func hash(key any) (any, error) {
	switch k := key.(type) {
	case nil, string:
		return k, nil
	case Markup:
		return string(k), nil
	case bool, int64:
		n, _ := Int(k)
		return n, nil
	case float64:
		if k == math.Trunc(k) && math.Abs(k) < 1<<62 {
			return int64(k), nil
		}
		return k, nil
	case *big.Int:
		return tupleKey(k.String()), nil
	case *Tuple:
		s := "("
		for _, item := range k.Items {
			h, err := hash(item)
			if err != nil {
				return nil, err
			}
			s += fmt.Sprintf("%T%v,", h, h)
		}
		return tupleKey(s), nil
	case *Undefined:
		return nil, k.fail()
	}
	switch key.(type) {
	case *List, *Dict, *View:
		return nil, fmt.Errorf("unhashable type: '%s'", TypeName(key))
	}
	return key, nil // by identity
}
