package py

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

func pad(align byte) textFunc {
	return func(s string, a Args) (any, error) {
		if len(a.Pos) == 0 || len(a.Pos) > 2 || len(a.Kw) > 0 {
			return nil, errors.New("the method takes 1 or 2 arguments")
		}
		width, ok := Int(a.Pos[0])
		if !ok {
			return nil, fmt.Errorf("'%s' object cannot be interpreted as an integer", TypeName(a.Pos[0]))
		}
		fill := ' '
		if len(a.Pos) == 2 {
			text, _ := Text(a.Pos[1])
			if runeCount(text) != 1 {
				return nil, errors.New("The fill character must be exactly one character long")
			}
			fill, _ = utf8.DecodeRuneInString(text)
		}
		if align == '^' {
			return Center(s, width, fill)
		}
		if width > MaxSize {
			return nil, errSize
		}
		return spec{fill: fill, align: align, width: int(max(width, 0)), precision: -1}.text(s), nil
	}
}

// Center is str.center, which puts the odd blank on the left where the width is odd.
func Center(s string, width int64, fill rune) (any, error) {
	if width > MaxSize {
		return nil, errSize
	}
	missing := width - runeCount(s)
	if missing <= 0 {
		return s, nil
	}
	left := missing/2 + (missing & width & 1)
	return strings.Repeat(string(fill), int(left)) + s + strings.Repeat(string(fill), int(missing-left)), nil
}

func zeroFill(s string, a Args) (any, error) {
	if len(a.Pos) != 1 {
		return nil, errors.New("zfill() takes exactly one argument")
	}
	width, ok := Int(a.Pos[0])
	if !ok || width > MaxSize {
		return nil, errors.New("zfill() needs an integer of a sensible size")
	}
	sign := ""
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		sign, s = s[:1], s[1:]
	}
	return spec{fill: '0', align: '=', width: int(max(width, 0)), precision: -1}.pad(sign, s), nil
}

func expandTabs(s string, a Args) (any, error) {
	v, given, err := Bind("expandtabs", a, "tabsize?")
	if err != nil {
		return nil, err
	}
	size := int64(8)
	if given[0] {
		size, _ = Int(v[0])
	}
	if size > 1<<16 {
		return nil, errSize
	}
	b := &builder{}
	column := int64(0)
	for _, r := range s {
		switch {
		case r == '\t' && size > 0:
			n := size - column%size
			b.add(strings.Repeat(" ", int(n)))
			column += n
			continue
		case r == '\t':
			continue
		case r == '\n' || r == '\r':
			column = -1
		}
		b.add(string(r))
		column++
	}
	return b.String(), b.err
}
