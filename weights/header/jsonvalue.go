package header

import (
	"errors"
	"math"
	"strconv"
)

// Number takes a number: an int64 where it has neither fraction nor exponent and fits, else a float64.
func (j *jsonReader) Number() (any, error) {
	c := j.peek()
	at := j.place()
	var text []byte
	for j.fill() {
		c := j.buf[j.pos]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && (c|0x20) != 'e' {
			break
		}
		if text = append(text, c); len(text) > 400 {
			return nil, j.errorAt(at, "a number of more than 400 characters")
		}
		j.pos++
	}
	if len(text) == 0 {
		return nil, j.errorAt(at, "expected a number, found %s", j.found(c))
	}
	if j.python && len(text) == 1 && text[0] == '-' && j.fill() && j.buf[j.pos] == 'I' {
		return math.Inf(-1), j.word("Infinity")
	}
	whole, ok := numberForm(text)
	if !ok {
		return nil, j.errorAt(at, "%s is no JSON number", clip(string(text)))
	}
	if whole {
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range is an infinity, as in Python
		return nil, j.errorAt(at, "%s is no JSON number", clip(string(text)))
	}
	return f, nil
}

// numberForm checks JSON's grammar of numbers.
func numberForm(s []byte) (whole, ok bool) {
	i := 0
	digits := func() int {
		from := i
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		return i - from
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	zero := i < len(s) && s[i] == '0'
	if n := digits(); n == 0 || zero && n > 1 {
		return false, false
	}
	whole = i == len(s)
	if i < len(s) && s[i] == '.' {
		if i++; digits() == 0 {
			return false, false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if digits() == 0 {
			return false, false
		}
	}
	return whole, i == len(s)
}

// Count takes an integer from 0 to 2^62.
func (j *jsonReader) Count() (int64, error) {
	j.peek()
	// Most are short and lie in the window.
	if n, i := int64(0), j.pos; i+19 < j.end && j.buf[i] != '0' {
		for ; '0' <= j.buf[i] && j.buf[i] <= '9' && i < j.pos+18; i++ {
			n = 10*n + int64(j.buf[i]-'0')
		}
		if c := j.buf[i]; i > j.pos && (c == ',' || c == ']') {
			j.pos = i
			return n, nil
		}
	}
	at := j.place()
	v, err := j.Number()
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok || n < 0 || n > 1<<62 {
		return 0, j.errorAt(at, "%v is no size: expected an integer from 0 up", v)
	}
	return n, nil
}

func (j *jsonReader) word(w string) error {
	at := j.place()
	for i := range len(w) {
		if j.next() != w[i] {
			return j.errorAt(at, "expected %s", w)
		}
	}
	return nil
}

// Skip takes any value and forgets it.
func (j *jsonReader) Skip() error {
	switch c := j.peek(); c {
	case '{':
		return j.Object(func(string, Place) error { return j.Skip() })
	case '[':
		return j.Array(j.Skip)
	case '"':
		_, err := j.text(math.MaxInt, false)
		return err
	default:
		_, err := j.scalar(c)
		return err
	}
}

func (j *jsonReader) scalar(c byte) (any, error) {
	switch {
	case c == 't':
		return true, j.word("true")
	case c == 'f':
		return false, j.word("false")
	case c == 'n':
		return nil, j.word("null")
	case c == 'N' && j.python:
		return math.NaN(), j.word("NaN")
	case c == 'I' && j.python:
		return math.Inf(1), j.word("Infinity")
	case c == '-' || '0' <= c && c <= '9':
		return j.Number()
	}
	return nil, j.errorf("expected a value, found %s", j.found(c))
}

// valueCost is what one value is charged beside its text: about what it takes in a map or list.
const valueCost = 64

// Value takes any value: nil, bool, int64, float64, string, []any or map[string]any. seen is told of each member's
// place, by its path of keys.
func (j *jsonReader) Value(path []string, seen func(path []string, at Place)) (any, error) {
	c := j.peek()
	if j.budget -= valueCost; j.budget < 0 {
		return nil, j.errorf("too many values")
	}
	switch c {
	case '{':
		m := map[string]any{}
		first := map[string]Place{}
		err := j.Object(func(key string, at Place) error {
			if before, twice := first[key]; twice {
				return j.errorAt(at, "key %s was given before, at %d:%d", clip(key), before.Line, before.Column)
			}
			first[key] = at
			j.budget -= int64(len(key))
			here := append(path[:len(path):len(path)], key)
			if seen != nil {
				seen(here, at)
			}
			v, err := j.Value(here, seen)
			m[key] = v
			return err
		})
		return untag(m), err
	case '[':
		list := []any{}
		err := j.Array(func() error {
			v, err := j.Value(path, nil)
			list = append(list, v)
			return err
		})
		return list, err
	case '"':
		s, err := j.String(int(min(j.budget, math.MaxInt32)))
		j.budget -= int64(len(s))
		return s, err
	}
	return j.scalar(c)
}

// untag undoes transformers' way of writing a float that JSON lacks: {"__float__": "Infinity"}.
func untag(m map[string]any) any {
	if tag, ok := m["__float__"].(string); ok && len(m) == 1 {
		switch tag {
		case "Infinity":
			return math.Inf(1)
		case "-Infinity":
			return math.Inf(-1)
		case "NaN":
			return math.NaN()
		}
	}
	return m
}
