package pattern

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxLength is the longest pattern that Compile accepts, in bytes.
const MaxLength = 4096

// Error is a mistake in a pattern or a rename target.
type Error struct {
	Pattern string // the whole text
	Column  int    // where in it, in characters from 1
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("pattern %q, column %d: %s", e.Pattern, e.Column, e.Message)
}

type kind uint8

const (
	text    kind = iota
	star         // *
	any          // **
	capture      // {e}
	choice       // {a,b}
)

type token struct {
	kind    kind
	text    string   // of text: itself; of capture: its name
	choices []string // of choice
	at      int      // byte offset in the pattern
}

// scan cuts a pattern or a target into tokens; neighbouring texts are one token.
func scan(s string) ([]token, error) {
	fail := func(at int, format string, args ...interface{}) error {
		return &Error{Pattern: s, Column: utf8.RuneCountInString(s[:at]) + 1, Message: fmt.Sprintf(format, args...)}
	}
	if len(s) > MaxLength {
		return nil, &Error{Pattern: s[:32] + "…", Column: MaxLength + 1, Message: fmt.Sprintf("a pattern has at most %d bytes, this one has %d", MaxLength, len(s))}
	}
	if !utf8.ValidString(s) {
		return nil, fail(0, "not UTF-8")
	}
	if s == "" {
		return nil, fail(0, "empty; `**` matches every name")
	}
	var out []token
	for i := 0; i < len(s); {
		switch s[i] {
		case '*':
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], "*"))
			if n > 2 {
				return nil, fail(i+2, "%d stars in a row; `*` is text within a segment, `**` whole segments", n)
			}
			out = append(out, token{kind: star + kind(n-1), at: i})
			i += n
		case '{':
			end := strings.IndexAny(s[i+1:], "{}")
			if end < 0 || s[i+1+end] == '{' {
				return nil, fail(i, "this `{` is never closed")
			}
			body := s[i+1 : i+1+end]
			t := token{kind: capture, text: body, at: i}
			if strings.Contains(body, ",") {
				t = token{kind: choice, choices: strings.Split(body, ","), at: i}
				if w := strings.IndexByte(body, '*'); w >= 0 {
					return nil, fail(i+1+w, "alternatives are plain texts; a `*` cannot stand in them")
				}
			} else if !identifier(body) {
				return nil, fail(i+1, "%q names no capture: write a name as in {e}, or alternatives as in {a,b}", body)
			}
			out = append(out, t)
			i += end + 2
		case '}':
			return nil, fail(i, "this `}` has no `{`")
		default:
			end := strings.IndexAny(s[i:], "*{}")
			if end < 0 {
				end = len(s) - i
			}
			out = append(out, token{kind: text, text: s[i : i+end], at: i})
			i += end
		}
	}
	return out, nil
}

func identifier(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
