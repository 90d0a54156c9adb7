package py

import (
	"fmt"
	"unicode/utf8"
)

// Slice are the bounds of a slice; nil is none given.
type Slice struct{ Start, Stop, Step any }

// Item is Python's v[key]. ok is false where Python raises a LookupError or TypeError, which a template turns into an
// undefined value.
func Item(v, key any) (item any, ok bool, err error) {
	if s, isSlice := key.(Slice); isSlice {
		item, err = slice(v, s)
		return item, err == nil, err
	}
	switch v := v.(type) {
	case *Dict:
		if _, err := hash(key); err != nil {
			return nil, false, nil
		}
		item, ok = v.Get(key)
		return item, ok, nil
	case *Undefined:
		return nil, false, v.fail()
	}
	i, isInt := Int(key)
	if !isInt {
		return nil, false, nil
	}
	n, hasLen := length(v)
	if !hasLen {
		return nil, false, nil
	}
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return nil, false, nil
	}
	switch v := v.(type) {
	case *List:
		return v.Items[i], true, nil
	case *Tuple:
		return v.Items[i], true, nil
	case *Range:
		return v.Start + i*v.Step, true, nil
	}
	if s, isText := Text(v); isText {
		return runeAt(s, i), true, nil
	}
	return nil, false, nil
}

// runeAt returns the code point number i, which exists.
func runeAt(s string, i int64) string {
	for at, r := range s {
		if i == 0 {
			return s[at : at+utf8.RuneLen(r)]
		}
		i--
	}
	return ""
}

func slice(v any, s Slice) (any, error) {
	if u, ok := v.(*Undefined); ok {
		return nil, u.fail()
	}
	n, ok := length(v)
	_, isDict := v.(*Dict)
	_, isView := v.(*View)
	if !ok || isDict || isView {
		return nil, fmt.Errorf("'%s' object is not subscriptable", TypeName(v))
	}
	step, err := bound(s.Step, 1)
	if err != nil {
		return nil, err
	}
	if step == 0 {
		return nil, fmt.Errorf("slice step cannot be zero")
	}
	first, last := int64(0), n
	if step < 0 {
		first, last = n-1, -1
	}
	start, err := bound(s.Start, first)
	if err != nil {
		return nil, err
	}
	stop, err := bound(s.Stop, last)
	if err != nil {
		return nil, err
	}
	clamp := func(i int64, given any) int64 {
		if given == nil {
			return i
		}
		if i < 0 {
			i += n
		}
		if step < 0 {
			return min(max(i, -1), n-1)
		}
		return min(max(i, 0), n)
	}
	start, stop = clamp(start, s.Start), clamp(stop, s.Stop)
	if r, ok := v.(*Range); ok {
		return NewRange(r.Start+start*r.Step, r.Start+stop*r.Step, r.Step*step)
	}
	if text, ok := Text(v); ok && step == 1 {
		return sliceText(text, start, stop), nil
	}
	items, err := Iterate(v)
	if err != nil {
		return nil, err
	}
	var out []any
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		out = append(out, items[i])
		if step > n || step < -n {
			break
		}
	}
	switch v.(type) {
	case *List:
		return &List{out}, nil
	case *Tuple:
		return &Tuple{Items: out}, nil
	}
	b := &builder{}
	for _, c := range out {
		b.add(c.(string))
	}
	return b.String(), b.err
}

func sliceText(s string, start, stop int64) string {
	if start >= stop {
		return ""
	}
	from, to, i := len(s), len(s), int64(0)
	for at := range s {
		if i == start {
			from = at
		}
		if i == stop {
			to = at
			break
		}
		i++
	}
	return s[from:to]
}

func bound(v any, missing int64) (int64, error) {
	if v == nil {
		return missing, nil
	}
	if n, ok := Int(v); ok {
		return n, nil
	}
	if u, ok := v.(*Undefined); ok {
		return 0, u.fail()
	}
	return 0, fmt.Errorf("slice indices must be integers or None or have an __index__ method")
}
