package syntax

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

var (
	floatForm = regexp.MustCompile(`^(\d+_)*\d+((\.(\d+_)*\d+)?[eE][+\-]?(\d+_)*\d+|\.(\d+_)*\d+)`)
	intForm   = regexp.MustCompile(`^(0[bB](_?[0-1])+|0[oO](_?[0-7])+|0[xX](_?[\da-fA-F])+|[1-9](_?\d)*|0(_?0)*)`)
)

// number reads an integer or a float.
func (l *lexer) number() error {
	rest := l.rest()
	t := token{kind: tFloat, line: l.line}
	text := ""
	afterDot := l.pos > 0 && l.src[l.pos-1] == '.'
	if !afterDot {
		text = floatForm.FindString(rest)
	}
	if text != "" {
		f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if err != nil && f == 0 {
			return l.errorf("%q is not a number", text)
		}
		t.num = f
	} else {
		t.kind = tInt
		text = intForm.FindString(rest)
		n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64)
		if err != nil {
			return l.errorf("the integer %s does not fit 64 bits", text)
		}
		t.num = n
	}
	l.tokens = append(l.tokens, t)
	l.advance(len(text))
	return nil
}

// str reads a string literal.
func (l *lexer) str(quote byte) error {
	rest := l.rest()
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case quote:
			text, err := unescape(rest[1:i])
			if err != nil {
				return l.errorf("%v", err)
			}
			l.emit(tString, text)
			l.advance(i + 1)
			return nil
		}
	}
	return l.errorf("unexpected char %q", quote)
}

// unescape resolves Python's escapes. An unknown one stays as it is.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if at := strings.IndexByte(`\'"abfnrtv`, s[i]); at >= 0 {
			b.WriteByte("\\'\"\a\b\f\n\r\t\v"[at])
			continue
		}
		switch c := s[i]; {
		case c == '\n':
		case c == 'x' || c == 'u' || c == 'U':
			width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			r, ok := hexRune(s[i+1:], width)
			if !ok {
				return "", fmt.Errorf(`truncated \%c escape`, c)
			}
			i += width
			if low, ok := lowSurrogate(s[i+1:]); ok && utf16.IsSurrogate(r) {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			b.WriteRune(r)
		case c >= '0' && c <= '7':
			n := 1
			for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
				n++
			}
			v, _ := strconv.ParseUint(s[i:i+n], 8, 32)
			b.WriteRune(rune(v))
			i += n - 1
		case c == 'N':
			return "", fmt.Errorf(`\N{…} escapes are not supported`)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

func hexRune(s string, width int) (rune, bool) {
	if len(s) < width {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:width], 16, 32)
	return rune(n), err == nil && n <= utf8.MaxRune
}

func lowSurrogate(s string) (rune, bool) {
	if !strings.HasPrefix(s, `\u`) {
		return 0, false
	}
	return hexRune(s[2:], 4)
}
