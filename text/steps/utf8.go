package steps

import (
	"unicode/utf8"

	"github.com/graphrun/graphrun/text/bpe"
)

// byteLevel turns byte stand-ins into bytes and emits the characters that are complete. Bytes that can never become one
// give a U+FFFD for each maximal part of a character, as Rust's and Python's replacement does.
type byteLevel struct{ pending []byte }

func (b *byteLevel) push(token string, emit func(string)) {
	b.pending = bpe.AppendBytes(b.pending, token)
	b.drain(emit, false)
}

func (b *byteLevel) flush(emit func(string)) { b.drain(emit, true) }

func (b *byteLevel) drain(emit func(string), last bool) {
	if utf8.Valid(b.pending) {
		if len(b.pending) > 0 {
			emit(string(b.pending))
			b.pending = b.pending[:0]
		}
		return
	}
	var out []byte
	rest := b.pending
	for len(rest) > 0 {
		n, state := part(rest)
		if state == incomplete && !last {
			break
		}
		if state == whole {
			out = append(out, rest[:n]...)
		} else {
			out = append(out, "\uFFFD"...)
		}
		rest = rest[n:]
	}
	b.pending = append(b.pending[:0], rest...)
	if len(out) > 0 {
		emit(string(out))
	}
}

type state int

const (
	whole state = iota
	incomplete
	invalid
)

// part returns the length of the character at the start of b, or of the longest part of one, and which of them it is.
// The ranges are those of table 3-7 of the Unicode Standard.
func part(b []byte) (int, state) {
	lead := b[0]
	size, lo, hi := 0, byte(0x80), byte(0xBF)
	switch {
	case lead < 0x80:
		return 1, whole
	case lead >= 0xC2 && lead <= 0xDF:
		size = 2
	case lead >= 0xE0 && lead <= 0xEF:
		size = 3
		if lead == 0xE0 {
			lo = 0xA0
		} else if lead == 0xED {
			hi = 0x9F
		}
	case lead >= 0xF0 && lead <= 0xF4:
		size = 4
		if lead == 0xF0 {
			lo = 0x90
		} else if lead == 0xF4 {
			hi = 0x8F
		}
	default:
		return 1, invalid
	}
	for n := 1; n < size; n++ {
		if n == len(b) {
			return n, incomplete
		}
		if b[n] < lo || b[n] > hi {
			return n, invalid
		}
		lo, hi = 0x80, 0xBF
	}
	return size, whole
}

// ToValid replaces invalid UTF-8 in text as a decoder of bytes does.
func ToValid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var out []byte
	for rest := []byte(text); len(rest) > 0; {
		n, state := part(rest)
		if state == whole {
			out = append(out, rest[:n]...)
		} else {
			out = append(out, "\uFFFD"...)
		}
		rest = rest[n:]
	}
	return string(out)
}
