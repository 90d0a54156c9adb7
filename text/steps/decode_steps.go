package steps

import (
	"strings"
	"unicode/utf8"
)

// each changes tokens one by one.
type each func(string) string

func (f each) push(token string, emit func(string)) { emit(f(token)) }
func (each) flush(func(string))                     {}

// spaces puts a space between tokens: what happens where a file names no decoder.
type spaces struct{ later bool }

func (s *spaces) push(token string, emit func(string)) {
	if s.later {
		emit(" ")
	}
	s.later = true
	emit(token)
}

func (*spaces) flush(func(string)) {}

// buffered wraps a step that must see its token whole: behind a joining step the fragments are collected to the end.
func buffered(joined bool, inner decodeStep) decodeStep {
	if !joined {
		return inner
	}
	return &collector{inner: inner}
}

type collector struct {
	inner decodeStep
	all   strings.Builder
}

func (c *collector) push(fragment string, _ func(string)) { c.all.WriteString(fragment) }

func (c *collector) flush(emit func(string)) {
	c.inner.push(c.all.String(), emit)
	c.inner.flush(emit)
}

// byteFallback turns runs of <0xNN> tokens into the text of their bytes. A run that is not valid UTF-8 as a whole
// becomes one U+FFFD for each byte, so nothing of it is certain before it ends.
type byteFallback struct{ run []byte }

func (b *byteFallback) push(token string, emit func(string)) {
	if v, ok := byteToken(token); ok {
		b.run = append(b.run, v)
		return
	}
	b.flush(emit)
	emit(token)
}

func (b *byteFallback) flush(emit func(string)) {
	if len(b.run) == 0 {
		return
	}
	if utf8.Valid(b.run) {
		emit(string(b.run))
	} else {
		for range b.run {
			emit("\uFFFD")
		}
	}
	b.run = b.run[:0]
}

// byteToken reads a token of the form <0xNN>.
func byteToken(token string) (byte, bool) {
	if len(token) != 6 || token[:3] != "<0x" || token[5] != '>' {
		return 0, false
	}
	v := 0
	for _, c := range []byte(token[3:5]) {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | int(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | int(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return byte(v), true
}

// stripToken removes up to start leading and up to stop trailing occurrences of char.
func stripToken(token, char string, start, stop int) string {
	for ; start > 0 && strings.HasPrefix(token, char); start-- {
		token = token[len(char):]
	}
	for ; stop > 0 && strings.HasSuffix(token, char); stop-- {
		token = token[:len(token)-len(char)]
	}
	return token
}

// stripJoined is stripToken over the fragments of one token: what could still be stripped at the end is held back.
type stripJoined struct {
	char        string
	start, stop int
	begun       bool
	held        int // occurrences of char
}

func (s *stripJoined) push(fragment string, emit func(string)) {
	for !s.begun && fragment != "" {
		if s.start == 0 || !strings.HasPrefix(fragment, s.char) {
			s.begun = true
			break
		}
		fragment = fragment[len(s.char):]
		s.start--
	}
	if fragment == "" {
		return
	}
	body := strings.TrimRight(fragment, s.char)
	tail := (len(fragment) - len(body)) / len(s.char)
	if body != "" {
		emit(strings.Repeat(s.char, s.held) + body)
		s.held = 0
	}
	s.held += tail
	if extra := s.held - s.stop; extra > 0 {
		emit(strings.Repeat(s.char, extra))
		s.held = s.stop
	}
}

func (*stripJoined) flush(func(string)) {}

// unspace writes Metaspace's visible spaces as spaces.
type unspace struct {
	m             *metaspace
	joined, later bool
}

func (u *unspace) push(token string, emit func(string)) {
	emit(u.m.text(token, u.joined || !u.later))
	u.later = true
}

func (*unspace) flush(func(string)) {}

// wordEnd turns the suffix that marks a word's end into a space, and drops it in the last token of all.
type wordEnd struct {
	suffix, held string
	holding      bool
}

func (w *wordEnd) push(token string, emit func(string)) {
	if w.holding {
		emit(strings.ReplaceAll(w.held, w.suffix, " "))
	}
	w.held, w.holding = token, true
}

func (w *wordEnd) flush(emit func(string)) {
	if w.holding {
		emit(strings.ReplaceAll(w.held, w.suffix, ""))
	}
	w.holding = false
}
