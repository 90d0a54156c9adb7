package regex

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/text/ucd"
)

// Budget bounds the work of one or more searches. A step is one instruction or one code point of a loop.
type Budget struct{ Steps int64 }

// ErrBudget says that a search took more steps than its budget.
var ErrBudget = errors.New("the pattern needs too many steps for this text")

// maxStack bounds the places that a search may come back to (16 bytes each).
const maxStack = 16 << 20

type machine struct {
	prog   []inst
	text   string
	stack  []frame
	marks  []int32
	steps  int64
	target int // where a lookbehind must end, -1 outside of one
	err    error
}

// frame is a place to come back to. at holds the kind in its top two bits, the instruction (or mark) below them.
type frame struct {
	at  uint32
	pos int32
	aux uint64
}

const (
	resume  = 0 << 30 // go on at the instruction, at pos
	retry   = 1 << 30 // the loop: give one code point back, down to aux; if lazy take one more, up to aux
	arm     = 2 << 30 // the alternation: try the arms of the mask aux
	restore = 3 << 30 // set the mark to pos
	operand = 1<<30 - 1
)

func (m *machine) push(at uint32, pos int, aux uint64) {
	if len(m.stack) >= maxStack {
		m.err = ErrBudget
		return
	}
	m.stack = append(m.stack, frame{at, int32(pos), aux})
}

// run executes the program from pc at pos and returns the end of the match, or -1. Frames below the ones it pushes are
// not touched.
func (m *machine) run(pc int, pos int) int {
	base := len(m.stack)
	for {
		if m.steps--; m.steps < 0 || m.err != nil {
			if m.err == nil {
				m.err = ErrBudget
			}
			m.stack = m.stack[:base]
			return -1
		}
		in := &m.prog[pc]
		ok := false
		switch in.op {
		case opString:
			if ok = strings.HasPrefix(m.text[pos:], in.str); ok {
				pos += len(in.str)
			}
		case opClass:
			if n := in.cls.width(m.text, pos); n > 0 {
				pos, ok = pos+n, true
			}
		case opLoop:
			pos, ok = m.loop(in, pc, pos)
		case opAlt:
			b := 256
			if pos < len(m.text) {
				b = int(m.text[pos])
			}
			if mask := in.table[b]; mask != 0 {
				pc = m.choose(in, pc, pos, mask)
				continue
			}
		case opSplit:
			x, y := in.x, in.y
			if in.mode == lazy {
				x, y = y, x
			}
			m.push(resume|uint32(y), pos, 0)
			pc = int(x)
			continue
		case opJump:
			pc = int(in.x)
			continue
		case opMark:
			m.push(restore|uint32(in.x), int(m.marks[in.x]), 0)
			m.marks[in.x] = int32(pos)
			ok = true
		case opCheck:
			if int(m.marks[in.x]) == pos {
				pc = int(in.y)
				continue
			}
			ok = true
		case opLook, opBehind:
			if m.look(in, pc, pos) != in.neg {
				pc = int(in.x)
				continue
			}
		case opAtomic:
			if end := m.inner(pc+1, pos, -1); end >= 0 {
				pc, pos = int(in.x), end
				continue
			}
		case opAssert:
			ok = m.assert(in.kind, pos)
		case opMatch:
			if m.target < 0 || m.target == pos {
				m.stack = m.stack[:base]
				return pos
			}
		}
		if ok {
			pc++
			continue
		}
		if pc, pos = m.back(base); pc < 0 {
			return -1
		}
	}
}

// width returns the bytes of the code point at pos if it is in the class, or 0.
func (c *class) width(text string, pos int) int {
	if pos >= len(text) {
		return 0
	}
	if b := text[pos]; b < 0x80 {
		return int(c.ascii[b>>6] >> (b & 63) & 1)
	}
	r, n := utf8.DecodeRuneInString(text[pos:])
	if c.ask(r) {
		return n
	}
	return 0
}

func (m *machine) loop(in *inst, pc, pos int) (int, bool) {
	count := 0
	for ; count < int(in.min); count++ {
		n := in.cls.width(m.text, pos)
		if n == 0 {
			m.steps -= int64(count)
			return pos, false
		}
		pos += n
	}
	low := pos
	if in.mode != lazy {
		limit := int(in.max)
		if limit < 0 {
			limit = len(m.text)
		}
		ascii, text := in.cls.ascii, m.text
		for count < limit && pos < len(text) {
			n := 1
			if b := text[pos]; b < 0x80 {
				n = int(ascii[b>>6] >> (b & 63) & 1)
			} else {
				n = in.cls.width(text, pos)
			}
			if n == 0 {
				break
			}
			pos += n
			count++
		}
	}
	m.steps -= int64(count)
	switch {
	case in.mode == lazy:
		left := uint64(1<<63 - 1)
		if in.max >= 0 {
			left = uint64(in.max - in.min)
		}
		if left > 0 {
			m.push(retry|uint32(pc), pos, left)
		}
	case in.mode == greedy && pos > low && m.prog[pc+1].op != opMatch:
		m.push(retry|uint32(pc), pos, uint64(low))
	}
	return pos, true
}

// choose returns the instruction of the first arm in mask and remembers the others.
func (m *machine) choose(in *inst, pc, pos int, mask uint64) int {
	i := lowest(mask)
	if mask &= mask - 1; mask != 0 {
		m.push(arm|uint32(pc), pos, mask)
	}
	return int(in.arms[i])
}

// back takes up the latest place to come back to; pc is -1 if there is none above base.
func (m *machine) back(base int) (pc, pos int) {
	for len(m.stack) > base {
		f := &m.stack[len(m.stack)-1]
		at := int(f.at & operand)
		in := (*inst)(nil)
		switch f.at &^ operand {
		case resume:
			pos = int(f.pos)
			m.stack = m.stack[:len(m.stack)-1]
			return at, pos
		case restore:
			m.marks[at] = f.pos
			m.stack = m.stack[:len(m.stack)-1]
			continue
		case arm:
			in, pos = &m.prog[at], int(f.pos)
			i := lowest(f.aux)
			if f.aux &= f.aux - 1; f.aux == 0 {
				m.stack = m.stack[:len(m.stack)-1]
			}
			return int(in.arms[i]), pos
		}
		in = &m.prog[at]
		if in.mode == lazy {
			n := in.cls.width(m.text, int(f.pos))
			if n == 0 {
				m.stack = m.stack[:len(m.stack)-1]
				continue
			}
			f.pos += int32(n)
			pos = int(f.pos)
			if f.aux--; f.aux == 0 {
				m.stack = m.stack[:len(m.stack)-1]
			}
			return at + 1, pos
		}
		if pos = m.giveBack(in, f); pos >= 0 {
			return at + 1, pos
		}
	}
	return -1, 0
}

// giveBack shortens a greedy loop by one code point, or more while the continuation cannot start there. It returns -1
// when nothing is left to try.
func (m *machine) giveBack(in *inst, f *frame) int {
	low := int32(f.aux)
	for f.pos > low {
		f.pos--
		for !utf8.RuneStart(m.text[f.pos]) {
			f.pos--
		}
		m.steps--
		if in.follow != nil && !in.follow.has(m.text[f.pos]) {
			continue
		}
		pos := int(f.pos)
		if f.pos == low {
			m.stack = m.stack[:len(m.stack)-1]
		}
		return pos
	}
	m.stack = m.stack[:len(m.stack)-1]
	return -1
}

func (m *machine) inner(pc, pos, target int) int {
	outer := m.target
	m.target = target
	end := m.run(pc, pos)
	m.target = outer
	return end
}

func (m *machine) look(in *inst, pc, pos int) bool {
	if in.op == opLook {
		return m.inner(pc+1, pos, -1) >= 0
	}
	start := pos
	for n := int32(0); n <= in.max; n++ {
		if n >= in.min && m.inner(pc+1, start, pos) >= 0 {
			return true
		}
		if start == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(m.text[:start])
		start -= size
	}
	return false
}

func (m *machine) assert(kind assertion, pos int) bool {
	switch kind {
	case '^':
		return pos == 0 || m.text[pos-1] == '\n' && pos < len(m.text)
	case '$':
		return pos == len(m.text) || m.text[pos] == '\n'
	case 'A':
		return pos == 0
	case 'z':
		return pos == len(m.text)
	case 'Z':
		return pos == len(m.text) || m.text[pos:] == "\n"
	}
	before, after := false, false
	if pos > 0 {
		r, _ := utf8.DecodeLastRuneInString(m.text[:pos])
		before = ucd.Word(r)
	}
	if pos < len(m.text) {
		r, _ := utf8.DecodeRuneInString(m.text[pos:])
		after = ucd.Word(r)
	}
	return (before != after) == (kind == 'b')
}
