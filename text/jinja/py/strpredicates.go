package py

import (
	"strings"
	"unicode"
)

func all(is func(rune) bool) textFunc {
	return func(s string, _ Args) (any, error) {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !is(r) }), nil
	}
}

func cases(want, other func(rune) bool) textFunc {
	return func(s string, _ Args) (any, error) {
		return strings.ContainsFunc(s, want) && !strings.ContainsFunc(s, func(r rune) bool { return other(r) || unicode.IsTitle(r) }), nil
	}
}

// isFraction tells ½ and other numbers from the digits among category No.
func isFraction(r rune) bool {
	return !(r == '²' || r == '³' || r == '¹' || r >= 0x2070 && r <= 0x2079 || r >= 0x2080 && r <= 0x2089 || r >= 0x2460 && r <= 0x2468)
}

func printableText(s string) bool {
	mask := printable()
	return !strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !mask.Has(r) })
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
