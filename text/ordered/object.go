package ordered

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
)

// Object is a JSON object that remembers the order of its keys. The zero value is an empty object.
type Object struct {
	keys   []string
	values map[string]any
}

// NewObject returns an object of alternating keys and values: NewObject("type", "object", "minimum", int64(1)).
// It panics if a key is no string or has no value, which only a mistake in the calling code can cause.
func NewObject(pairs ...any) *Object {
	if len(pairs)%2 != 0 {
		panic("ordered.NewObject: a key without a value")
	}
	o := &Object{}
	for i := 0; i < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// Len is the number of keys.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Keys returns a copy of the keys in order.
func (o *Object) Keys() []string {
	if o == nil {
		return nil
	}
	return slices.Clone(o.keys)
}

// Get returns the value at key.
func (o *Object) Get(key string) (any, bool) {
	if o == nil {
		return nil, false
	}
	v, ok := o.values[key]
	return v, ok
}

// Set puts value at key: at the end if the key is new, in its place if not, as Python's dict does.
func (o *Object) Set(key string, value any) {
	if o.values == nil {
		o.values = make(map[string]any)
	}
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// Delete removes key.
func (o *Object) Delete(key string) {
	if o == nil {
		return
	}
	if _, ok := o.values[key]; !ok {
		return
	}
	delete(o.values, key)
	o.keys = slices.Delete(o.keys, slices.Index(o.keys, key), slices.Index(o.keys, key)+1)
}

// All ranges over the entries in order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if o == nil {
			return
		}
		for _, k := range o.keys {
			if !yield(k, o.values[k]) {
				return
			}
		}
	}
}

// Text returns the string at key; ok is false if the key is absent or null, and another kind is an error.
func (o *Object) Text(key string) (text string, ok bool, err error) {
	v, _ := o.Get(key)
	if v == nil {
		return "", false, nil
	}
	if text, ok = v.(string); !ok {
		return "", false, fmt.Errorf("%q must be a string, not %s", key, Kind(v))
	}
	return text, true, nil
}

// Bool returns the boolean at key, or missing if the key is absent or null.
func (o *Object) Bool(key string, missing bool) (bool, error) {
	v, _ := o.Get(key)
	if v == nil {
		return missing, nil
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("%q must be a boolean, not %s", key, Kind(v))
	}
	return b, nil
}

// Int returns the integer at key, or missing if the key is absent or null.
func (o *Object) Int(key string, missing int64) (int64, error) {
	v, _ := o.Get(key)
	if v == nil {
		return missing, nil
	}
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("%q must be an integer, not %s", key, Kind(v))
	}
	return n, nil
}

// Array returns the array at key, nil if the key is absent or null.
func (o *Object) Array(key string) ([]any, error) {
	v, _ := o.Get(key)
	if v == nil {
		return nil, nil
	}
	a, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%q must be an array, not %s", key, Kind(v))
	}
	return a, nil
}

// Object returns the object at key, nil if the key is absent or null.
func (o *Object) Object(key string) (*Object, error) {
	v, _ := o.Get(key)
	if v == nil {
		return nil, nil
	}
	sub, ok := v.(*Object)
	if !ok {
		return nil, fmt.Errorf("%q must be an object, not %s", key, Kind(v))
	}
	return sub, nil
}

// MarshalJSON writes the object with its keys in order.
func (o *Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := write(&b, o); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object, keeping the order of its keys.
func (o *Object) UnmarshalJSON(data []byte) error {
	v, err := Parse(data)
	if err != nil {
		return err
	}
	read, ok := v.(*Object)
	if !ok {
		return fmt.Errorf("expected a JSON object, found %s", Kind(v))
	}
	*o = *read
	return nil
}
