package ordered

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// Number is an integer too large for an int64, in the digits it was written with.
type Number string

// Kind names the JSON kind of a parsed value, for error messages.
func Kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64, float64, Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	case *Object:
		return "an object"
	}
	return fmt.Sprintf("a Go %T", v)
}

// FromGo turns a plain Go value into the kinds of Parse: integers to int64, maps to objects with sorted keys (a Go map
// has no order of its own), anything that marshals to JSON through its JSON text. An error names what cannot be turned.
func FromGo(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, Number, *Object:
		return v, nil
	case int:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case json.Number:
		return number(string(v))
	case json.RawMessage:
		return Parse(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			conv, err := FromGo(item)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			out[i] = conv
		}
		return out, nil
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		o := &Object{}
		for _, k := range keys {
			conv, err := FromGo(v[k])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			o.Set(k, conv)
		}
		return o, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("a value of type %s has no JSON form: %w", reflect.TypeOf(v), err)
	}
	return Parse(data)
}

func write(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case *Object:
		b.WriteByte('{')
		first := true
		for k, item := range v.All() {
			if !first {
				b.WriteByte(',')
			}
			first = false
			if err := write(b, k); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := write(b, item); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case Number:
		b.WriteString(string(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%v has no JSON form", v)
		}
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0" // it is to be read as a float again
		}
		b.WriteString(text)
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b.Write(data)
	}
	return nil
}

// number parses the text of a JSON number.
func number(s string) (any, error) {
	integer := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == '.' || c == 'e' || c == 'E' {
			integer = false
			break
		}
	}
	if integer {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
		return Number(s), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) { // 1e999 is infinity in Python too
		return nil, fmt.Errorf("%q is not a number", s)
	}
	return f, nil
}
