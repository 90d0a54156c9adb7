package header

import (
	"fmt"
	"io"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// Place is a position in a text file, from 1; columns count bytes.
type Place struct{ Line, Column int }

// SyntaxError is a mistake in a JSON text.
type SyntaxError struct {
	Place
	Message string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

const jsonDepth = 64

// jsonReader pulls values out of a JSON text without holding it: memory is the window plus what the caller keeps.
type jsonReader struct {
	src       io.Reader
	buf       []byte
	pos, end  int
	base      int64 // offset in the text of buf[0]
	line      int
	lineStart int64
	depth     int
	python    bool  // NaN, Infinity and -Infinity are numbers, as Python writes them
	budget    int64 // bytes of strings and values that Value may still make
	eof       bool
	scratch   []byte
	words     map[string]string
	failed    error // of src, other than its end
}

func newJSON(src io.Reader) *jsonReader {
	return &jsonReader{src: src, buf: make([]byte, 0, 32<<10), line: 1, budget: math.MaxInt64}
}

// fill makes room and reads on; false at the end of the text.
func (j *jsonReader) fill() bool {
	if j.pos < j.end {
		return true
	}
	if j.eof {
		return false
	}
	j.base += int64(j.end)
	j.buf = j.buf[:cap(j.buf)]
	for tries := 0; ; tries++ {
		n, err := j.src.Read(j.buf)
		j.pos, j.end = 0, n
		if err != nil {
			j.eof = true
			if err != io.EOF {
				j.failed = err
			}
		}
		if n > 0 || j.eof || tries > 100 {
			j.eof = j.eof || n == 0
			return n > 0
		}
	}
}

func (j *jsonReader) place() Place {
	return Place{j.line, int(j.base + int64(j.pos) - j.lineStart + 1)}
}

func (j *jsonReader) errorf(format string, args ...any) error {
	return j.errorAt(j.place(), format, args...)
}

func (j *jsonReader) errorAt(p Place, format string, args ...any) error {
	if j.failed != nil {
		return j.failed
	}
	return &SyntaxError{p, fmt.Sprintf(format, args...)}
}

// peek gives the next byte that is no white space, without taking it; 0 at the end.
func (j *jsonReader) peek() byte {
	if j.pos < j.end && j.buf[j.pos] > ' ' {
		return j.buf[j.pos]
	}
	for j.fill() {
		for ; j.pos < j.end; j.pos++ {
			switch c := j.buf[j.pos]; c {
			case ' ', '\t', '\r':
			case '\n':
				j.line++
				j.lineStart = j.base + int64(j.pos) + 1
			default:
				return c
			}
		}
	}
	return 0
}

// next takes one byte; 0 at the end.
func (j *jsonReader) next() byte {
	if !j.fill() {
		return 0
	}
	c := j.buf[j.pos]
	j.pos++
	return c
}

func (j *jsonReader) found(c byte) string {
	switch {
	case c == 0 && !j.fill():
		return "the end of the text"
	case c < 0x20 || c >= 0x7f:
		return fmt.Sprintf("byte 0x%02x", c)
	}
	return fmt.Sprintf("%q", string(rune(c)))
}

func (j *jsonReader) expect(c byte, what string) error {
	if got := j.peek(); got != c {
		return j.errorf("expected %s, found %s", what, j.found(got))
	}
	j.pos++
	return nil
}

func (j *jsonReader) enter() error {
	if j.depth++; j.depth > jsonDepth {
		return j.errorf("nested deeper than %d levels", jsonDepth)
	}
	return nil
}

// Object calls f at each member's value, which f must take. Looking for duplicates is the caller's.
func (j *jsonReader) Object(f func(key string, at Place) error) error {
	if err := j.expect('{', "an object"); err != nil {
		return err
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer func() { j.depth-- }()
	if j.peek() == '}' {
		j.pos++
		return nil
	}
	for {
		j.peek()
		at := j.place()
		key, err := j.Word(4096)
		if err != nil {
			return err
		}
		if err := j.expect(':', "`:` after a key"); err != nil {
			return err
		}
		if err := f(key, at); err != nil {
			return err
		}
		if more, err := j.more('}'); !more {
			return err
		}
	}
}

// Array calls f at each element, which f must take.
func (j *jsonReader) Array(f func() error) error {
	if err := j.expect('[', "a list"); err != nil {
		return err
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer func() { j.depth-- }()
	if j.peek() == ']' {
		j.pos++
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		if more, err := j.more(']'); !more {
			return err
		}
	}
}

func (j *jsonReader) more(closing byte) (bool, error) {
	c := j.peek()
	switch c {
	case ',':
		j.pos++
		if j.peek() == closing {
			return false, j.errorf("a comma before `%c`", closing)
		}
		return true, nil
	case closing:
		j.pos++
		return false, nil
	}
	return false, j.errorf("expected `,` or `%c`, found %s", closing, j.found(c))
}

// End fails where something other than white space follows.
func (j *jsonReader) End() error {
	if c := j.peek(); c != 0 || j.pos < j.end {
		return j.errorf("%s after the end of the value", j.found(c))
	}
	return j.failed
}

// String takes a string of at most most bytes.
func (j *jsonReader) String(most int) (string, error) {
	b, err := j.text(most, true)
	return string(b), err
}

// Word takes a string that is likely one of a few short ones, which are then one string in memory.
func (j *jsonReader) Word(most int) (string, error) {
	const short, few = 16, 64
	b, err := j.text(most, true)
	if err != nil || len(b) > short {
		return string(b), err
	}
	if s, ok := j.words[string(b)]; ok {
		return s, nil
	}
	s := string(b)
	if j.words == nil {
		j.words = map[string]string{}
	}
	if len(j.words) < few {
		j.words[s] = s
	}
	return s, nil
}

// text takes a string; what it gives is good until the next call. Unless keep, it only looks at it.
func (j *jsonReader) text(most int, keep bool) ([]byte, error) {
	if err := j.expect('"', "a string"); err != nil {
		return nil, err
	}
	start := j.place()
	out, size := j.scratch[:0], 0
	add := func(b []byte) bool {
		if size += len(b); keep {
			out = append(out, b...)
		}
		return size <= most
	}
	for j.fill() {
		window := j.buf[j.pos:j.end]
		n := plain(window)
		ends := n < len(window) && window[n] == '"'
		if ends && size == 0 && n <= most { // the whole string lies in the window
			if j.pos += n + 1; keep && !utf8.Valid(window[:n]) {
				return nil, j.errorAt(start, "a string that is not UTF-8")
			}
			return window[:n], nil
		}
		j.pos += n
		if !add(window[:n]) {
			return nil, j.errorAt(start, "a string of more than %d bytes", most)
		}
		if n == len(window) {
			continue
		}
		switch c := j.next(); c {
		case '"':
			if keep && !utf8.Valid(out) {
				return nil, j.errorAt(start, "a string that is not UTF-8")
			}
			if cap(out) <= 1<<16 {
				j.scratch = out
			}
			return out, nil
		case '\\':
			var b [utf8.UTFMax * 2]byte
			e, err := j.escape(b[:0])
			if err != nil {
				return nil, err
			}
			if !add(e) {
				return nil, j.errorAt(start, "a string of more than %d bytes", most)
			}
		default:
			j.pos--
			return nil, j.errorf("a control character (byte 0x%02x) in a string", c)
		}
	}
	return nil, j.errorAt(start, "a string that never ends")
}

// plain counts the bytes before the first quote, backslash or control character.
func plain(b []byte) int {
	for i, c := range b {
		if c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return len(b)
}

func (j *jsonReader) escape(b []byte) ([]byte, error) {
	switch c := j.next(); c {
	case '"', '\\', '/':
		return append(b, c), nil
	case 'b':
		return append(b, '\b'), nil
	case 'f':
		return append(b, '\f'), nil
	case 'n':
		return append(b, '\n'), nil
	case 'r':
		return append(b, '\r'), nil
	case 't':
		return append(b, '\t'), nil
	case 'u':
		r, err := j.hex()
		if err != nil {
			return nil, err
		}
		// A pair may straddle the window, so the second half is taken byte by byte and put out by itself if it is none.
		for utf16.IsSurrogate(r) && r < 0xdc00 && j.fill() && j.buf[j.pos] == '\\' {
			j.pos++
			if j.fill() && j.buf[j.pos] != 'u' {
				rest, err := j.escape(nil)
				return append(utf8.AppendRune(b, utf8.RuneError), rest...), err
			}
			j.pos++
			low, err := j.hex()
			if err != nil {
				return nil, err
			}
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return utf8.AppendRune(b, full), nil
			}
			b, r = utf8.AppendRune(b, utf8.RuneError), low
		}
		return utf8.AppendRune(b, r), nil
	}
	j.pos = max(0, j.pos-1)
	return nil, j.errorf("an escape that JSON does not have")
}

func (j *jsonReader) hex() (rune, error) {
	var r rune
	for range 4 {
		c := j.next()
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, j.errorf(`\u without four hexadecimal digits`)
		}
		r = r<<4 | rune(c)
	}
	return r, nil
}
