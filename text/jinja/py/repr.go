package py

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/graphrun/graphrun/text/ucd"
)

// Str is Python's str(): what a template prints.
func Str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case Markup:
		return string(v)
	case *Undefined:
		return ""
	}
	return Repr(v)
}

// Repr is Python's repr(). It is cut at MaxSize; use Printed where that must be an error.
func Repr(v any) string {
	b := &builder{}
	b.repr(v, 0)
	return b.String()
}

// Printed is Str, and an error for what is too large or too deep to print.
func Printed(v any) (string, error) {
	if s, ok := Text(v); ok {
		return s, nil
	}
	if _, ok := v.(*Undefined); ok {
		return "", nil
	}
	b := &builder{}
	b.repr(v, 0)
	return b.String(), b.err
}

// builder builds a string of at most MaxSize bytes.
type builder struct {
	strings.Builder
	err error
}

func (b *builder) add(s string) {
	if b.Len()+len(s) > MaxSize {
		b.err = errSize
	}
	if b.err == nil {
		b.WriteString(s)
	}
}

// maxNesting bounds how deep values may be nested where they are printed.
const maxNesting = 200

func (b *builder) repr(v any, depth int) {
	if depth > maxNesting {
		b.err = fmt.Errorf("values nested deeper than %d", maxNesting)
	}
	if b.err != nil {
		return
	}
	switch v := v.(type) {
	case nil:
		b.add("None")
	case bool:
		if v {
			b.add("True")
		} else {
			b.add("False")
		}
	case int64:
		b.add(strconv.FormatInt(v, 10))
	case *big.Int:
		b.add(v.String())
	case float64:
		b.add(FloatRepr(v))
	case string:
		b.quote(v)
	case Markup:
		b.add("Markup(")
		b.quote(string(v))
		b.add(")")
	case *List:
		b.sequence("[", v.Items, "]", depth)
	case *Tuple:
		if len(v.Items) == 1 {
			b.sequence("(", v.Items, ",)", depth)
		} else {
			b.sequence("(", v.Items, ")", depth)
		}
	case *Dict:
		b.add("{")
		for i, k := range v.keys {
			if i > 0 {
				b.add(", ")
			}
			b.repr(k, depth+1)
			b.add(": ")
			b.repr(v.values[i], depth+1)
		}
		b.add("}")
	case *View:
		b.add("dict_" + v.Kind + "(")
		b.sequence("[", v.items(), "]", depth)
		b.add(")")
	case *Range:
		if v.Step == 1 {
			b.add(fmt.Sprintf("range(%d, %d)", v.Start, v.Stop))
		} else {
			b.add(fmt.Sprintf("range(%d, %d, %d)", v.Start, v.Stop, v.Step))
		}
	case *Undefined:
		b.add("Undefined")
	case *Func:
		b.add("<function " + v.Name + ">")
	case Object:
		b.add(v.Repr())
	default:
		b.add("<" + TypeName(v) + " object>")
	}
}

func (b *builder) sequence(open string, items []any, closing string, depth int) {
	b.add(open)
	for i, item := range items {
		if i > 0 {
			b.add(", ")
		}
		b.repr(item, depth+1)
	}
	b.add(closing)
}

// FloatRepr is the shortest text that reads back as f, written as Python does.
func FloatRepr(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	e := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(e, "e")
	if n, _ := strconv.Atoi(exponent); n < -4 || n >= 16 {
		return e
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

var printable = sync.OnceValue(func() ucd.Mask {
	var m ucd.Mask
	for _, c := range []string{"L", "M", "N", "P", "S"} {
		set, _ := ucd.CategoryMask(c)
		m |= set
	}
	return m
})

// quote writes a string literal.
func (b *builder) quote(s string) {
	mark := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = `"`
	}
	b.add(mark)
	from := 0
	mask := ucd.Mask(0)
	for i, r := range s {
		if r >= ' ' && r < 0x7F && r != '\\' && r != rune(mark[0]) {
			continue
		}
		if r >= 0x7F && mask == 0 {
			mask = printable()
		}
		if r >= 0xA1 && mask.Has(r) {
			continue
		}
		b.add(s[from:i])
		from = i + utf8.RuneLen(r)
		switch {
		case r == '\\' || r == rune(mark[0]):
			b.add(`\` + string(r))
		case r == '\n':
			b.add(`\n`)
		case r == '\r':
			b.add(`\r`)
		case r == '\t':
			b.add(`\t`)
		case r < 0x100:
			b.add(fmt.Sprintf(`\x%02x`, r))
		case r < 0x10000:
			b.add(fmt.Sprintf(`\u%04x`, r))
		default:
			b.add(fmt.Sprintf(`\U%08x`, r))
		}
	}
	b.add(s[from:])
	b.add(mark)
}

// Escape escapes the characters that HTML gives a meaning, as markupsafe does.
func Escape(s string) string {
	return strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;").Replace(s)
}

func runeCount(s string) int64 { return int64(utf8.RuneCountInString(s)) }
