package py

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// percent is the % operator of strings.
func percent(format string, arg any) (any, error) {
	args := []any{arg}
	if t, ok := arg.(*Tuple); ok {
		args = t.Items
	}
	mapping, _ := arg.(*Dict)
	lenient := false // what has items counts as a mapping: it need not be used
	switch arg.(type) {
	case *List, *Range, *Undefined:
		lenient = true
	}
	b := &builder{}
	used := 0
	next := func() (any, error) {
		if used >= len(args) {
			return nil, errors.New("not enough arguments for format string")
		}
		used++
		return args[used-1], nil
	}
	for {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			b.add(format)
			break
		}
		b.add(format[:at])
		format = format[at+1:]
		if strings.HasPrefix(format, "(") && mapping != nil {
			name, rest, ok := strings.Cut(format[1:], ")")
			if !ok {
				return nil, errors.New("incomplete format key")
			}
			v, ok := mapping.Get(name)
			if !ok {
				return nil, fmt.Errorf("%s", Repr(name))
			}
			format = rest
			args, used = []any{v}, 0
		}
		spec, rest, err := percentSpec(format, next)
		if err != nil {
			return nil, err
		}
		format = rest
		if spec.kind == '%' {
			b.add("%")
			continue
		}
		v, err := next()
		if err != nil {
			return nil, err
		}
		text, err := spec.percent(v)
		if err != nil {
			return nil, err
		}
		b.add(text)
	}
	if used < len(args) && mapping == nil && !lenient {
		return nil, errors.New("not all arguments converted during string formatting")
	}
	return b.String(), b.err
}

// percentSpec parses what follows a '%'.
func percentSpec(s string, next func() (any, error)) (spec, string, error) {
	sp := spec{fill: ' ', align: '>', precision: -1}
	for s != "" && strings.IndexByte("#0- +", s[0]) >= 0 {
		switch s[0] {
		case '#':
			sp.alternate = true
		case '0':
			sp.fill, sp.align = '0', '='
		case '-':
			sp.align = '<'
		default:
			sp.sign = s[0]
		}
		s = s[1:]
	}
	if sp.align == '<' {
		sp.fill = ' '
	}
	number := func() (int, error) {
		if strings.HasPrefix(s, "*") {
			s = s[1:]
			v, err := next()
			n, ok := Int(v)
			if err == nil && (!ok || n < 0) {
				err = errors.New("* wants int")
			}
			return int(min(n, MaxSize+1)), err
		}
		end := 0
		for end < len(s) && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		n := 0
		if end > 0 {
			var err error
			if n, err = strconv.Atoi(s[:end]); err != nil {
				n = MaxSize + 1
			}
		}
		s = s[end:]
		return n, nil
	}
	var err error
	if sp.width, err = number(); err != nil {
		return sp, s, err
	}
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		if sp.precision, err = number(); err != nil {
			return sp, s, err
		}
	}
	s = strings.TrimLeft(s, "hlL")
	if s == "" {
		return sp, s, errors.New("incomplete format")
	}
	kind, n := utf8.DecodeRuneInString(s)
	sp.kind = kind
	return sp, s[n:], sp.check()
}

func (sp spec) percent(v any) (string, error) {
	if sp.kind == 's' || sp.kind == 'r' || sp.kind == 'a' || sp.kind == 'c' {
		if sp.fill == '0' {
			sp.fill, sp.align = ' ', '>'
		}
	}
	switch sp.kind {
	case 's':
		if u, ok := v.(*Undefined); ok {
			v = Str(u)
		}
		s, err := Printed(v)
		if err != nil {
			return "", err
		}
		return sp.text(s), nil
	case 'r', 'a':
		return sp.text(Repr(v)), nil
	case 'c':
		if n, ok := Int(v); ok && n >= 0 && n <= utf8.MaxRune {
			return sp.text(string(rune(n))), nil
		}
		if s, ok := Text(v); ok && runeCount(s) == 1 {
			return sp.text(s), nil
		}
		return "", errors.New("%c requires int or char")
	case 'd', 'i', 'u':
		if f, ok := v.(float64); ok {
			v = int64(f)
		}
		sp.kind = 'd'
	case 'o', 'x', 'X', 'e', 'E', 'f', 'F', 'g', 'G':
	default:
		return "", fmt.Errorf("unsupported format character '%c' (0x%x)", sp.kind, sp.kind)
	}
	if _, ok := Float(v); !ok {
		return "", fmt.Errorf("%%%c format: a real number is required, not %s", sp.kind, TypeName(v))
	}
	return sp.number(v)
}
