package py

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// JSON are the options of json.dumps.
type JSON struct {
	ASCII    bool
	Indent   string // of one level; "" for a single line
	Indented bool
	Item     string // between items
	Key      string // behind a key
	Sorted   bool
}

// Dump is Python's json.dumps.
func (o JSON) Dump(v any) (string, error) {
	b := &builder{}
	err := o.value(b, v, 0)
	if err == nil {
		err = b.err
	}
	return b.String(), err
}

func (o JSON) value(b *builder, v any, depth int) error {
	if b.err != nil {
		return b.err
	}
	if depth > maxNesting {
		return fmt.Errorf("values nested deeper than %d", maxNesting)
	}
	switch v := v.(type) {
	case nil:
		b.add("null")
	case bool:
		b.add(strconv.FormatBool(v))
	case int64:
		b.add(strconv.FormatInt(v, 10))
	case *big.Int:
		b.add(v.String())
	case float64:
		b.add(jsonFloat(v))
	case string:
		o.quote(b, v)
	case Markup:
		o.quote(b, string(v))
	case *List:
		return o.array(b, v.Items, depth)
	case *Tuple:
		return o.array(b, v.Items, depth)
	case *Dict:
		return o.object(b, v, depth)
	default:
		return fmt.Errorf("Object of type %s is not JSON serializable", TypeName(v))
	}
	return nil
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return FloatRepr(f)
}

func (o JSON) line(b *builder, depth int) {
	if o.Indented {
		b.add("\n")
		for range depth {
			b.add(o.Indent)
		}
	}
}

func (o JSON) array(b *builder, items []any, depth int) error {
	if len(items) == 0 {
		b.add("[]")
		return nil
	}
	b.add("[")
	for i, item := range items {
		if i > 0 {
			b.add(o.Item)
		}
		o.line(b, depth+1)
		if err := o.value(b, item, depth+1); err != nil {
			return err
		}
	}
	o.line(b, depth)
	b.add("]")
	return nil
}

func (o JSON) object(b *builder, d *Dict, depth int) error {
	if d.Len() == 0 {
		b.add("{}")
		return nil
	}
	keys := d.keys
	if o.Sorted {
		var failed error
		keys = slices.Clone(keys)
		slices.SortStableFunc(keys, func(x, y any) int {
			n, err := Order("<", x, y)
			if err != nil {
				failed = err
			}
			return n
		})
		if failed != nil {
			return failed
		}
	}
	b.add("{")
	for i, k := range keys {
		if i > 0 {
			b.add(o.Item)
		}
		o.line(b, depth+1)
		name, err := jsonKey(k)
		if err != nil {
			return err
		}
		o.quote(b, name)
		b.add(o.Key)
		v, _ := d.Get(k)
		if err := o.value(b, v, depth+1); err != nil {
			return err
		}
	}
	o.line(b, depth)
	b.add("}")
	return nil
}

func jsonKey(k any) (string, error) {
	if s, ok := Text(k); ok {
		return s, nil
	}
	switch k := k.(type) {
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(k), nil
	case int64:
		return strconv.FormatInt(k, 10), nil
	case float64:
		return jsonFloat(k), nil
	}
	return "", fmt.Errorf("keys must be str, int, float, bool or None, not %s", TypeName(k))
}

func (o JSON) quote(b *builder, s string) {
	b.add(`"`)
	from := 0
	for i, r := range s {
		if r >= ' ' && r != '"' && r != '\\' && (r < 0x7F || !o.ASCII) {
			continue
		}
		b.add(s[from:i])
		from = i + len(string(r))
		switch at := strings.IndexRune("\"\\\n\r\t\f\b", r); {
		case at >= 0:
			b.add(`\` + `"\nrtfb`[at:at+1])
		case r < 0x10000:
			b.add(fmt.Sprintf(`\u%04x`, r))
		default:
			r -= 0x10000
			b.add(fmt.Sprintf(`\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF))
		}
	}
	b.add(s[from:])
	b.add(`"`)
}
