package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a mistake in a template.
type Error struct {
	Line    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

type kind int

const (
	tEOF kind = iota
	tData
	tBlockBegin
	tBlockEnd
	tVarBegin
	tVarEnd
	tName
	tString
	tInt
	tFloat
	tOp
)

type token struct {
	kind kind
	text string // of names, operators, strings (unescaped) and data
	num  any    // of numbers
	line int
}

func (t token) describe() string {
	switch t.kind {
	case tEOF:
		return "end of template"
	case tData:
		return "template data / text"
	case tBlockBegin:
		return "begin of statement block"
	case tBlockEnd:
		return "end of statement block"
	case tVarBegin:
		return "begin of print statement"
	case tVarEnd:
		return "end of print statement"
	case tString:
		return "string"
	case tInt:
		return "integer"
	case tFloat:
		return "float"
	}
	return t.text
}

type lexer struct {
	src          string
	pos, line    int
	lineStarting bool // the token before ended with a line break
	tokens       []token
}

// lex splits a template into tokens; the last one is tEOF.
func lex(src string) ([]token, error) {
	src = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src)
	src = strings.TrimSuffix(src, "\n")
	l := &lexer{src: src, line: 1, lineStarting: true}
	for l.pos < len(src) {
		if err := l.root(); err != nil {
			return nil, err
		}
	}
	return append(l.tokens, token{kind: tEOF, line: l.line}), nil
}

func (l *lexer) errorf(format string, args ...any) error {
	return &Error{l.line, fmt.Sprintf(format, args...)}
}

func (l *lexer) rest() string { return l.src[l.pos:] }

func (l *lexer) emit(k kind, text string) {
	l.tokens = append(l.tokens, token{kind: k, text: text, line: l.line})
}

// advance moves on by n bytes and counts lines.
func (l *lexer) advance(n int) {
	part := l.src[l.pos : l.pos+n]
	l.line += strings.Count(part, "\n")
	l.lineStarting = strings.HasSuffix(part, "\n")
	l.pos += n
}

// root reads text up to a tag, and the tag.
func (l *lexer) root() error {
	rest := l.rest()
	at := 0
	for {
		i := strings.IndexByte(rest[at:], '{')
		if i < 0 || at+i+1 >= len(rest) {
			l.emit(tData, rest)
			l.advance(len(rest))
			return nil
		}
		at += i
		if c := rest[at+1]; c == '{' || c == '%' || c == '#' {
			break
		}
		at++
	}
	sign := byte(0)
	if at+2 < len(rest) && (rest[at+2] == '-' || rest[at+2] == '+') {
		sign = rest[at+2]
	}
	l.data(rest[:at], sign, rest[at+1] == '{')
	opening := 2
	if sign != 0 {
		opening++
	}
	switch rest[at+1] {
	case '#':
		l.advance(opening)
		return l.comment()
	case '{':
		l.emit(tVarBegin, "")
		l.advance(opening)
		return l.tag(tVarEnd)
	}
	if n := rawBegin(rest[at+opening:]); n > 0 {
		l.advance(opening + n)
		return l.raw()
	}
	l.emit(tBlockBegin, "")
	l.advance(opening)
	return l.tag(tBlockEnd)
}

// data emits the text before a tag, stripped as the tag's sign asks: "-" strips all white space, and the indentation of
// a block tag that is first on its line goes unless the sign is "+".
func (l *lexer) data(text string, sign byte, variable bool) {
	kept := text
	switch {
	case sign == '-':
		kept = strings.TrimRightFunc(text, isSpace)
	case sign != '+' && !variable:
		start := strings.LastIndexByte(text, '\n') + 1
		if (start > 0 || l.lineStarting) && start < len(text) && strings.TrimFunc(text[start:], isSpace) == "" {
			kept = text[:start]
		}
	}
	if kept != "" {
		l.emit(tData, kept)
	}
	l.advance(len(text))
}

func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }

func spaces(s string) int { return len(s) - len(strings.TrimLeftFunc(s, isSpace)) }

// rawBegin returns the length of "raw %}" in s, 0 if s is something else.
func rawBegin(s string) int {
	n := spaces(s)
	if !strings.HasPrefix(s[n:], "raw") {
		return 0
	}
	n += 3
	n += spaces(s[n:])
	switch {
	case strings.HasPrefix(s[n:], "%}"):
		return n + 2
	case strings.HasPrefix(s[n:], "-%}"):
		return n + 3 + spaces(s[n+3:])
	}
	return 0
}

// raw reads text up to an endraw tag.
func (l *lexer) raw() error {
	rest := l.rest()
	for at := 0; ; at += 2 {
		i := strings.Index(rest[at:], "{%")
		if i < 0 {
			return l.errorf("Missing end of raw directive")
		}
		at += i
		n := at + 2
		sign := byte(0)
		if n < len(rest) && (rest[n] == '-' || rest[n] == '+') {
			sign = rest[n]
			n++
		}
		n += spaces(rest[n:])
		if !strings.HasPrefix(rest[n:], "endraw") {
			continue
		}
		n += len("endraw")
		n += spaces(rest[n:])
		end := closing(rest[n:], "%}", true)
		if end == 0 {
			continue
		}
		l.data(rest[:at], sign, false)
		l.advance(n + end - at)
		return nil
	}
}

func (l *lexer) comment() error {
	rest := l.rest()
	at := strings.Index(rest, "#}")
	if at < 0 {
		return l.errorf("Missing end of comment tag")
	}
	if at > 0 && (rest[at-1] == '-' || rest[at-1] == '+') {
		at--
	}
	l.advance(at + closing(rest[at:], "#}", true))
	return nil
}

// closing returns the length of the end of a tag at the start of s with the white space that goes with it, 0 if there is
// none: "-" takes all that follows, a block takes one line break unless its sign is "+".
func closing(s, end string, block bool) int {
	switch {
	case strings.HasPrefix(s, "-"+end):
		n := 1 + len(end)
		return n + spaces(s[n:])
	case block && strings.HasPrefix(s, "+"+end):
		return 1 + len(end)
	case strings.HasPrefix(s, end):
		if block && strings.HasPrefix(s[len(end):], "\n") {
			return len(end) + 1
		}
		return len(end)
	}
	return 0
}

var operators = []string{
	"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";",
}

// tag reads the inside of a tag up to and with its end.
func (l *lexer) tag(end kind) error {
	mark := "%}"
	if end == tVarEnd {
		mark = "}}"
	}
	var open []byte
	for l.pos < len(l.src) {
		rest := l.rest()
		if len(open) == 0 {
			if n := closing(rest, mark, end == tBlockEnd); n > 0 {
				l.emit(end, "")
				l.advance(n)
				return nil
			}
		}
		r, _ := utf8.DecodeRuneInString(rest)
		switch {
		case isSpace(r):
			l.advance(spaces(rest))
		case r >= '0' && r <= '9':
			if err := l.number(); err != nil {
				return err
			}
		case r == '_' || unicode.IsLetter(r):
			n := strings.IndexFunc(rest, func(r rune) bool {
				return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
			})
			if n < 0 {
				n = len(rest)
			}
			l.emit(tName, rest[:n])
			l.advance(n)
		case r == '\'' || r == '"':
			if err := l.str(byte(r)); err != nil {
				return err
			}
		default:
			op := operatorAt(rest)
			if op == "" {
				return l.errorf("unexpected char %q", r)
			}
			var err error
			if open, err = l.balance(open, op); err != nil {
				return err
			}
			l.emit(tOp, op)
			l.advance(len(op))
		}
	}
	return nil // the parser says what is missing
}

func operatorAt(s string) string {
	for _, op := range operators {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

func (l *lexer) balance(open []byte, op string) ([]byte, error) {
	switch op {
	case "{":
		return append(open, '}'), nil
	case "(":
		return append(open, ')'), nil
	case "[":
		return append(open, ']'), nil
	case "}", ")", "]":
		if len(open) == 0 {
			return nil, l.errorf("unexpected '%s'", op)
		}
		if want := open[len(open)-1]; want != op[0] {
			return nil, l.errorf("unexpected '%s', expected '%c'", op, want)
		}
		return open[:len(open)-1], nil
	}
	return open, nil
}
