package py

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// spec is a format specification: fill, align, sign, alternate form, width, grouping, precision, kind.
type spec struct {
	fill      rune
	align     byte // < > = ^, 0 for the kind's own
	sign      byte // + - or space, 0 for -
	alternate bool
	width     int
	group     byte // , or _, 0 for none
	precision int  // -1 for none
	kind      rune // 0 for none
}

func (sp spec) check() error {
	if sp.width > MaxSize || sp.precision > 1<<16 {
		return errors.New("too many digits or columns in a format")
	}
	return nil
}

// parseSpec reads [[fill]align][sign][#][0][width][grouping][.precision][type].
func parseSpec(s string) (spec, error) {
	sp := spec{fill: ' ', precision: -1}
	isAlign := func(b byte) bool { return strings.IndexByte("<>=^", b) >= 0 }
	if r, n := utf8.DecodeRuneInString(s); s != "" && len(s) > n && isAlign(s[n]) {
		sp.fill, sp.align, s = r, s[n], s[n+1:]
	} else if s != "" && isAlign(s[0]) {
		sp.align, s = s[0], s[1:]
	}
	take := func(set string) byte {
		if s != "" && strings.IndexByte(set, s[0]) >= 0 {
			b := s[0]
			s = s[1:]
			return b
		}
		return 0
	}
	sp.sign = take("+- ")
	sp.alternate = take("#") != 0
	if take("0") != 0 && sp.align == 0 {
		sp.fill, sp.align = '0', '='
	}
	digits := func() int {
		n := 0
		for s != "" && s[0] >= '0' && s[0] <= '9' {
			n = min(n*10+int(s[0]-'0'), MaxSize+1)
			s = s[1:]
		}
		return n
	}
	sp.width = digits()
	sp.group = take(",_")
	if take(".") != 0 {
		sp.precision = digits()
	}
	if s != "" {
		r, n := utf8.DecodeRuneInString(s)
		sp.kind, s = r, s[n:]
	}
	if s != "" {
		return sp, errors.New("Invalid format specifier")
	}
	return sp, sp.check()
}

// Format is Python's format(v, spec).
func Format(v any, s string) (string, error) {
	if s == "" {
		return Printed(v)
	}
	sp, err := parseSpec(s)
	if err != nil {
		return "", err
	}
	if text, ok := Text(v); ok {
		if sp.kind != 0 && sp.kind != 's' {
			return "", fmt.Errorf("Unknown format code '%c' for object of type 'str'", sp.kind)
		}
		if sp.align == '=' {
			return "", errors.New("'=' alignment not allowed in string format specifier")
		}
		if sp.align == 0 {
			sp.align = '<'
		}
		return sp.text(text), nil
	}
	if _, ok := Float(v); !ok {
		return "", fmt.Errorf("unsupported format string passed to %s.__format__", TypeName(v))
	}
	if b, ok := v.(bool); ok && sp.kind == 0 {
		if sp.align == 0 {
			sp.align = '<'
		}
		return sp.text(Str(b)), nil
	}
	if sp.align == 0 {
		sp.align = '>'
	}
	return sp.number(v)
}

// text pads a string, cut to the precision.
func (sp spec) text(s string) string {
	if sp.precision >= 0 {
		s = sliceText(s, 0, int64(sp.precision))
	}
	return sp.pad("", s)
}

func (sp spec) pad(sign, body string) string {
	missing := sp.width - utf8.RuneCountInString(sign) - utf8.RuneCountInString(body)
	if missing <= 0 {
		return sign + body
	}
	fill := func(n int) string { return strings.Repeat(string(sp.fill), n) }
	switch sp.align {
	case '<':
		return sign + body + fill(missing)
	case '^':
		return fill(missing/2) + sign + body + fill(missing-missing/2)
	case '=':
		return sign + fill(missing) + body
	}
	return fill(missing) + sign + body
}

// number formats an integer or a float.
func (sp spec) number(v any) (string, error) {
	n, isInt := Int(v)
	f, _ := Float(v)
	kind := sp.kind
	var body string
	negative := f < 0 || math.Signbit(f) && !isInt
	switch {
	case isInt && strings.ContainsRune("\x00dnboxXc", kind):
		if sp.precision >= 0 && kind != 'd' {
			return "", errors.New("Precision not allowed in integer format specifier")
		}
		base, prefix := 10, ""
		switch kind {
		case 'b':
			base, prefix = 2, "0b"
		case 'o':
			base, prefix = 8, "0o"
		case 'x', 'X':
			base, prefix = 16, "0"+string(kind)
		case 'c':
			return sp.text(string(rune(n))), nil
		}
		body = strconv.FormatUint(abs64(n), base)
		if kind == 'X' {
			body = strings.ToUpper(body)
		}
		body = strings.Repeat("0", max(sp.precision-len(body), 0)) + body
		if sp.alternate {
			body = prefix + body
		}
	case strings.ContainsRune("\x00eEfFgGn%", kind):
		body = sp.float(math.Abs(f))
	default:
		return "", fmt.Errorf("Unknown format code '%c' for object of type '%s'", kind, TypeName(v))
	}
	if sp.group != 0 {
		body = grouped(body, sp.group)
	}
	sign := ""
	switch {
	case negative:
		sign = "-"
	case sp.sign == '+' || sp.sign == ' ':
		sign = string(sp.sign)
	}
	return sp.pad(sign, body), nil
}

func (sp spec) float(f float64) string {
	precision := sp.precision
	if precision < 0 {
		precision = 6
	}
	switch sp.kind {
	case 'f', 'F':
		return strconv.FormatFloat(f, 'f', precision, 64)
	case 'e', 'E':
		return strconv.FormatFloat(f, byte(sp.kind), precision, 64)
	case '%':
		return strconv.FormatFloat(f*100, 'f', precision, 64) + "%"
	case 0:
		if sp.precision < 0 {
			return FloatRepr(f)
		}
		s := general(f, precision, 'e')
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	}
	return general(f, precision, byte('e'+sp.kind-'g'))
}

// general is the format g: the shorter of e and f, without trailing zeros.
func general(f float64, precision int, e byte) string {
	precision = max(precision, 1)
	s := strconv.FormatFloat(f, 'e', precision-1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	x, _ := strconv.Atoi(exponent)
	if x >= -4 && x < precision {
		s = strconv.FormatFloat(f, 'f', precision-1-x, 64)
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + string(e) + exponent
}

// grouped puts a separator between thousands.
func grouped(s string, sep byte) string {
	whole := s
	if at := strings.IndexAny(s, ".e%"); at >= 0 {
		whole = s[:at]
	}
	var b strings.Builder
	for i := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(whole[i])
	}
	return b.String() + s[len(whole):]
}

// formatString is str.format. get resolves .attr and [key] behind a field's name.
func formatString(s string, a Args) (any, error) {
	b := &builder{}
	auto := int64(0)
	for s != "" {
		at := strings.IndexAny(s, "{}")
		if at < 0 {
			b.add(s)
			break
		}
		b.add(s[:at])
		if at+1 < len(s) && s[at+1] == s[at] {
			b.add(s[at : at+1])
			s = s[at+2:]
			continue
		}
		if s[at] == '}' {
			return nil, errors.New("Single '}' encountered in format string")
		}
		end := strings.IndexByte(s[at:], '}')
		if end < 0 {
			return nil, errors.New("expected '}' before end of string")
		}
		field := s[at+1 : at+end]
		s = s[at+end+1:]
		text, err := formatField(field, a, &auto)
		if err != nil {
			return nil, err
		}
		b.add(text)
	}
	return b.String(), b.err
}

func formatField(field string, a Args, auto *int64) (string, error) {
	field, sp, _ := strings.Cut(field, ":")
	field, conversion, converted := strings.Cut(field, "!")
	if strings.Contains(sp, "{") {
		return "", errors.New("nested format specifications are not supported")
	}
	end := strings.IndexAny(field, ".[")
	name := field
	if end >= 0 {
		name = field[:end]
	}
	v, err := formatArgument(name, a, auto)
	if err != nil {
		return "", err
	}
	for rest := field[len(name):]; rest != ""; {
		var key string
		if rest[0] == '[' {
			var ok bool
			if key, rest, ok = strings.Cut(rest[1:], "]"); !ok {
				return "", errors.New("Missing ']' in format string")
			}
			var index any = key
			if n, err := strconv.ParseInt(key, 10, 64); err == nil {
				index = n
			}
			v = GetItem(v, index)
			continue
		}
		rest = rest[1:]
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		key, rest = rest[:end], rest[end:]
		v = GetAttr(v, key)
	}
	if converted {
		switch conversion {
		case "r", "a":
			v = Repr(v)
		case "s":
			v = Str(v)
		default:
			return "", fmt.Errorf("Unknown conversion specifier %s", conversion)
		}
	}
	return Format(v, sp)
}

func formatArgument(name string, a Args, auto *int64) (any, error) {
	index := *auto
	if name != "" {
		n, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			for _, kw := range a.Kw {
				if kw.Name == name {
					return kw.Value, nil
				}
			}
			return nil, fmt.Errorf("%s", Repr(name))
		}
		index = n
	} else {
		*auto++
	}
	if index < 0 || index >= int64(len(a.Pos)) {
		return nil, fmt.Errorf("Replacement index %d out of range for positional args tuple", index)
	}
	return a.Pos[index], nil
}
