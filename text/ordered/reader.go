package ordered

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds nesting, so that a hostile document cannot exhaust the stack.
const maxDepth = 512

// Reader is a pull parser over one JSON document. Each method consumes the value at the reader's position and fails,
// with line and column, if it is of another kind. After an error the reader must not be used further.
type Reader struct {
	s     string
	pos   int
	depth int
}

// SyntaxError says what is wrong with a JSON document and where. Line and Column count from 1, columns in runes.
type SyntaxError struct {
	Line, Column int
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// NewReader returns a reader at the start of the document. A byte order mark is skipped; text that is not valid UTF-8 is
// an error.
func NewReader(data []byte) (*Reader, error) {
	r := &Reader{s: string(data)}
	r.s = strings.TrimPrefix(r.s, "\ufeff")
	if !utf8.ValidString(r.s) {
		for i, c := range r.s {
			if c == utf8.RuneError && !strings.HasPrefix(r.s[i:], "\ufffd") {
				r.pos = i
				return nil, r.errorf("byte 0x%02X is not valid UTF-8", r.s[i])
			}
		}
	}
	return r, nil
}

// Parse builds the tree of a whole document.
func Parse(data []byte) (any, error) {
	r, err := NewReader(data)
	if err != nil {
		return nil, err
	}
	v, err := r.Value()
	if err != nil {
		return nil, err
	}
	return v, r.End()
}

func (r *Reader) errorf(format string, args ...any) error {
	before := r.s[:min(r.pos, len(r.s))]
	line := 1 + strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{Line: line, Column: 1 + utf8.RuneCountInString(before[start:]), Message: fmt.Sprintf(format, args...)}
}

// space skips whitespace and returns the next byte, 0 at the end.
func (r *Reader) space() byte {
	for r.pos < len(r.s) {
		switch c := r.s[r.pos]; c {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

// found describes what stands at the reader's position.
func (r *Reader) found() string {
	switch c := r.space(); {
	case r.pos >= len(r.s):
		return "the end of the document"
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == '-' || c >= '0' && c <= '9':
		return "a number"
	default:
		_, n := utf8.DecodeRuneInString(r.s[r.pos:])
		return strconv.Quote(r.s[r.pos : r.pos+n])
	}
}

// End fails if anything but whitespace is left.
func (r *Reader) End() error {
	if r.space(); r.pos < len(r.s) {
		return r.errorf("expected the end of the document, found %s", r.found())
	}
	return nil
}

// Null consumes a null if there is one.
func (r *Reader) Null() bool {
	if r.space() == 'n' && strings.HasPrefix(r.s[r.pos:], "null") {
		r.pos += 4
		return true
	}
	return false
}

// Object calls member for each key; member must consume the value.
func (r *Reader) Object(member func(key string) error) error {
	if r.space() != '{' {
		return r.errorf("expected an object, found %s", r.found())
	}
	return r.sequence('}', func() error {
		key, err := r.String()
		if err != nil {
			return err
		}
		if r.space() != ':' {
			return r.errorf("expected ':' after the key %q, found %s", clip(key), r.found())
		}
		r.pos++
		return member(key)
	})
}

// Array calls item for each element; item must consume it.
func (r *Reader) Array(item func() error) error {
	if r.space() != '[' {
		return r.errorf("expected an array, found %s", r.found())
	}
	return r.sequence(']', item)
}

// sequence reads comma-separated elements up to the closing byte; the reader stands on the opening one.
func (r *Reader) sequence(closing byte, element func() error) error {
	if r.depth++; r.depth > maxDepth {
		return r.errorf("nested deeper than %d levels", maxDepth)
	}
	defer func() { r.depth-- }()
	r.pos++
	if r.space() == closing {
		r.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch r.space() {
		case ',':
			r.pos++
		case closing:
			r.pos++
			return nil
		default:
			return r.errorf("expected ',' or '%c', found %s", closing, r.found())
		}
	}
}

// Int consumes an integer of 32 bits.
func (r *Reader) Int() (int32, error) {
	r.space()
	start := r.pos
	text, err := r.numberText()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		r.pos = start
		return 0, r.errorf("expected a 32-bit integer, found %s", clip(text))
	}
	return int32(n), nil
}

func (r *Reader) numberText() (string, error) {
	r.space()
	start := r.pos
	digits := func() bool {
		from := r.pos
		for r.pos < len(r.s) && r.s[r.pos] >= '0' && r.s[r.pos] <= '9' {
			r.pos++
		}
		return r.pos > from
	}
	at := func(set string) bool {
		if r.pos < len(r.s) && strings.IndexByte(set, r.s[r.pos]) >= 0 {
			r.pos++
			return true
		}
		return false
	}
	at("-")
	lead := r.pos
	ok := digits() && (r.s[lead] != '0' || r.pos == lead+1)
	if ok && at(".") {
		ok = digits()
	}
	if ok && at("eE") {
		at("+-")
		ok = digits()
	}
	if !ok {
		r.pos = start
		return "", r.errorf("expected a number, found %s", r.found())
	}
	return r.s[start:r.pos], nil
}

// Value consumes any value and builds its tree.
func (r *Reader) Value() (any, error) {
	switch c := r.space(); {
	case c == '{':
		o := &Object{}
		err := r.Object(func(key string) error {
			v, err := r.Value()
			o.Set(key, v)
			return err
		})
		return o, err
	case c == '[':
		items := []any{}
		err := r.Array(func() error {
			v, err := r.Value()
			items = append(items, v)
			return err
		})
		return items, err
	case c == '"':
		return r.String()
	case c == '-' || c >= '0' && c <= '9':
		text, err := r.numberText()
		if err != nil {
			return nil, err
		}
		return number(text)
	case r.Null():
		return nil, nil
	case c == 't' && strings.HasPrefix(r.s[r.pos:], "true"):
		r.pos += 4
		return true, nil
	case c == 'f' && strings.HasPrefix(r.s[r.pos:], "false"):
		r.pos += 5
		return false, nil
	}
	return nil, r.errorf("expected a value, found %s", r.found())
}

func clip(s string) string {
	if len(s) <= 40 {
		return s
	}
	cut := 40
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// Next returns the first byte of the value that follows, 0 at the end of the document.
func (r *Reader) Next() byte { return r.space() }

// Skip consumes any value.
func (r *Reader) Skip() error {
	switch r.space() {
	case '{':
		return r.Object(func(string) error { return r.Skip() })
	case '[':
		return r.Array(r.Skip)
	}
	_, err := r.Value()
	return err
}
