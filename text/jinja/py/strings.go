package py

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graphrun/graphrun/text/ucd"
)

// Space is Python's str.isspace for one code point.
func Space(r rune) bool { return ucd.Space(r) || r >= 0x1C && r <= 0x1F }

// textMethod returns the method name of the string s.
func textMethod(s, name string, markup bool) (any, bool) {
	f := textMethodOf(name)
	if f == nil {
		return nil, false
	}
	return &Func{Name: name, Call: func(a Args) (any, error) {
		v, err := f(s, a)
		if text, isText := v.(string); isText {
			if len(text) > MaxSize {
				return nil, errSize
			}
			if markup {
				return Markup(text), err
			}
		}
		return v, err
	}}, true
}

// Strip removes white space, or the characters of chars, from the sides named by side: l, r or both.
func Strip(s string, chars any, side string) (string, error) {
	cut := Space
	if chars != nil {
		set, ok := Text(chars)
		if !ok {
			return "", fmt.Errorf("strip arg must be None or str, not %s", TypeName(chars))
		}
		cut = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	if side != "r" {
		s = strings.TrimLeftFunc(s, cut)
	}
	if side != "l" {
		s = strings.TrimRightFunc(s, cut)
	}
	return s, nil
}

// Replace is str.replace; count is negative for all.
func Replace(s, from, to string, count int64) (string, error) {
	n := strings.Count(s, from)
	if count >= 0 {
		n = int(min(int64(n), count))
	}
	if grown := len(to) - len(from); grown > 0 && n > MaxSize/grown {
		return "", errSize
	}
	return strings.Replace(s, from, to, n), nil
}

// Join puts sep between items, which must be strings.
func Join(sep string, items []any) (string, error) {
	b := &builder{}
	for i, item := range items {
		s, ok := Text(item)
		if !ok {
			return "", fmt.Errorf("sequence item %d: expected str instance, %s found", i, TypeName(item))
		}
		if i > 0 {
			b.add(sep)
		}
		b.add(s)
	}
	return b.String(), b.err
}

// Upper is str.upper.
func Upper(s string) string {
	s = strings.ToUpper(s)
	if strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 && upperSpecial[r] != "" }) {
		var b strings.Builder
		for _, r := range s {
			if up := upperSpecial[r]; up != "" {
				b.WriteString(up)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
	return s
}

// upperSpecial are the characters that several capitals stand for (Unicode's SpecialCasing.txt, without Greek iotas).
var upperSpecial = map[rune]string{
	'ß': "SS", 'ŉ': "ʼN", 'ǰ': "J̌", 'ΐ': "Ϊ́", 'ΰ': "Ϋ́", 'և': "ԵՒ", 'ẖ': "H̱", 'ẗ': "T̈", 'ẘ': "W̊", 'ẙ': "Y̊", 'ẚ': "Aʾ",
	'ﬀ': "FF", 'ﬁ': "FI", 'ﬂ': "FL", 'ﬃ': "FFI", 'ﬄ': "FFL", 'ﬅ': "ST", 'ﬆ': "ST",
}

// Lower is str.lower, with the final form of sigma.
func Lower(s string) string {
	out := make([]byte, 0, len(s))
	for i, r := range s {
		if r == 'Σ' && finalSigma(s, i) {
			r = 'ς'
		}
		out = ucd.AppendLower(out, r)
	}
	return string(out)
}

// finalSigma reports whether the sigma at i ends a word: a letter before it, none behind.
func finalSigma(s string, i int) bool {
	skip := func(r rune) bool {
		return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || r == '\''
	}
	before := strings.TrimRightFunc(s[:i], skip)
	after := strings.TrimLeftFunc(s[i+len("Σ"):], skip)
	b, _ := utf8.DecodeLastRuneInString(before)
	a, _ := utf8.DecodeRuneInString(after)
	return before != "" && isCased(b) && !(after != "" && isCased(a))
}

func isCased(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }

// Capitalize is str.capitalize.
func Capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return titleRune(r) + Lower(s[n:])
}

func titleRune(r rune) string {
	if up := upperSpecial[r]; up != "" {
		_, n := utf8.DecodeRuneInString(up)
		return up[:n] + Lower(up[n:])
	}
	return string(unicode.ToTitle(r))
}

// title is str.title: a capital where a word of cased letters begins.
func title(s string) string {
	out := make([]byte, 0, len(s))
	inside := false
	for _, r := range s {
		if inside {
			out = ucd.AppendLower(out, r)
		} else {
			out = append(out, titleRune(r)...)
		}
		inside = isCased(r)
	}
	return string(out)
}

func splitLines(s string, keep bool) []any {
	var out []any
	for s != "" {
		end := strings.IndexFunc(s, func(r rune) bool {
			return r >= '\n' && r <= '\r' || r >= 0x1C && r <= 0x1E || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if end < 0 {
			return append(out, s)
		}
		_, n := utf8.DecodeRuneInString(s[end:])
		if strings.HasPrefix(s[end:], "\r\n") {
			n = 2
		}
		if keep {
			out = append(out, s[:end+n])
		} else {
			out = append(out, s[:end])
		}
		s = s[end+n:]
	}
	return out
}

// splitSpace splits at runs of white space, at most limit times (negative: without limit); from the right if asked.
func splitSpace(s string, limit int64, right bool) []any {
	var out []any
	s, _ = Strip(s, nil, "")
	for s != "" {
		if limit == 0 {
			out = append(out, s)
			break
		}
		limit--
		if right {
			at := strings.LastIndexFunc(s, Space)
			word := s
			if at >= 0 {
				_, n := utf8.DecodeRuneInString(s[at:])
				word, s = s[at+n:], strings.TrimRightFunc(s[:at], Space)
			} else {
				s = ""
			}
			out = append(out, word)
			continue
		}
		at := strings.IndexFunc(s, Space)
		if at < 0 {
			out = append(out, s)
			break
		}
		out = append(out, s[:at])
		s = strings.TrimLeftFunc(s[at:], Space)
	}
	if right {
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	return out
}

func splitAt(s, sep string, limit int64, right bool) []any {
	n := -1
	if limit >= 0 {
		n = int(min(limit, MaxSize)) + 1
	}
	var parts []string
	if !right || n < 0 {
		parts = strings.SplitN(s, sep, n)
	} else {
		for len(parts)+1 < n {
			at := strings.LastIndex(s, sep)
			if at < 0 {
				break
			}
			parts = append(parts, s[at+len(sep):])
			s = s[:at]
		}
		parts = append(parts, s)
		for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
			parts[i], parts[j] = parts[j], parts[i]
		}
	}
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out
}
