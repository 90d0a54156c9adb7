package ordered

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String consumes a string. Without escapes the result is a slice of the document, not a copy. A surrogate that is not
// one of a pair becomes U+FFFD.
func (r *Reader) String() (string, error) {
	if r.space() != '"' {
		return "", r.errorf("expected a string, found %s", r.found())
	}
	start := r.pos + 1
	for i := start; i < len(r.s); i++ {
		switch c := r.s[i]; {
		case c == '"':
			r.pos = i + 1
			return r.s[start:i], nil
		case c == '\\':
			return r.escaped(start, i)
		case c < 0x20:
			r.pos = i
			return "", r.errorf("the control character 0x%02X must be escaped in a string", c)
		}
	}
	return "", r.errorf("the string is not closed")
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped reads a string that starts at start and has its first backslash at i.
func (r *Reader) escaped(start, i int) (string, error) {
	var b strings.Builder
	b.WriteString(r.s[start:i])
	for i < len(r.s) {
		c := r.s[i]
		switch {
		case c == '"':
			r.pos = i + 1
			return b.String(), nil
		case c < 0x20:
			r.pos = i
			return "", r.errorf("the control character 0x%02X must be escaped in a string", c)
		case c != '\\':
			b.WriteByte(c)
			i++
		case i+1 < len(r.s) && r.s[i+1] == 'u':
			unit, ok := r.unit(i)
			if !ok {
				r.pos = i
				return "", r.errorf(`\u needs four hexadecimal digits`)
			}
			i += 6
			if utf16.IsSurrogate(unit) {
				low, ok := r.unit(i)
				if pair := utf16.DecodeRune(unit, low); ok && pair != utf8.RuneError {
					unit = pair
					i += 6
				} else {
					unit = utf8.RuneError
				}
			}
			b.WriteRune(unit)
		default:
			plain, ok := byte(0), false
			if i+1 < len(r.s) {
				plain, ok = escapes[r.s[i+1]]
			}
			if !ok {
				r.pos = i
				return "", r.errorf("unknown escape in a string")
			}
			b.WriteByte(plain)
			i += 2
		}
	}
	r.pos = start - 1
	return "", r.errorf("the string is not closed")
}

// unit reads a \uXXXX at i.
func (r *Reader) unit(i int) (rune, bool) {
	if i+6 > len(r.s) || r.s[i] != '\\' || r.s[i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(r.s[i+2:i+6], 16, 32)
	return rune(n), err == nil
}
