package regex

import (
	"fmt"
	"math"
	"math/bits"
	"sync"
	"unicode/utf8"
)

// Regexp is a compiled pattern. It is safe for use by several goroutines.
type Regexp struct {
	pattern  string
	prog     []inst
	marks    int
	first    byteSet
	nullable bool
	machines sync.Pool
}

// Compile reads a pattern in Oniguruma's syntax. An error is an *Error.
func Compile(pattern string) (*Regexp, error) {
	n, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	c := &compiler{}
	c.node(n)
	if c.full {
		return nil, &Error{pattern, 0, fmt.Sprintf("the pattern needs more than %d instructions", maxProgram)}
	}
	re := &Regexp{pattern: pattern, prog: c.finish(), marks: int(c.marks)}
	re.first, re.nullable = first(n)
	return re, nil
}

func (re *Regexp) String() string { return re.pattern }

// Each calls match for every match in text from left to right, with its byte offsets, as Oniguruma's iterator finds
// them: matches do not overlap, and an empty one is dropped right behind another. It stops with ErrBudget when the
// budget is used up. text must be valid UTF-8.
func (re *Regexp) Each(text string, budget *Budget, match func(start, end int)) error {
	if len(text) > math.MaxInt32 {
		return fmt.Errorf("a text of %d bytes is too long", len(text))
	}
	m, _ := re.machines.Get().(*machine)
	if m == nil {
		m = &machine{prog: re.prog, marks: make([]int32, re.marks)}
	}
	m.text, m.steps, m.err, m.target = text, budget.Steps, nil, -1
	from, lastEnd := 0, -1
	for from <= len(text) && m.err == nil {
		start, end := re.search(m, from)
		if start < 0 {
			break
		}
		if start == end && end == lastEnd {
			from += width(text, from)
			continue
		}
		from, lastEnd = end, end
		match(start, end)
	}
	err := m.err
	budget.Steps = max(m.steps, 0)
	m.text, m.stack = "", m.stack[:0]
	if cap(m.stack) > 1<<16 {
		m.stack = nil // do not keep the memory of an unusual text
	}
	re.machines.Put(m)
	return err
}

// search returns the leftmost match that starts at from or later, or -1.
func (re *Regexp) search(m *machine, from int) (start, end int) {
	for pos := from; pos <= len(m.text); pos += width(m.text, pos) {
		if !re.nullable && (pos == len(m.text) || !re.first.has(m.text[pos])) {
			m.steps--
			continue
		}
		if end := m.run(0, pos); end >= 0 {
			return pos, end
		}
		if m.err != nil {
			break
		}
	}
	return -1, -1
}

// width is the length of the code point at pos, 1 at the end.
func width(text string, pos int) int {
	if pos >= len(text) || text[pos] < 0x80 {
		return 1
	}
	_, n := utf8.DecodeRuneInString(text[pos:])
	return n
}

func lowest(mask uint64) int { return bits.TrailingZeros64(mask) }
