package pattern

import (
	"strings"
	"unicode/utf8"
)

type stepKind uint8

const (
	literal     stepKind = iota // a text
	oneOf                       // one of several texts
	within                      // *: any text without a dot
	segment                     // {e}: the same, not empty
	allText                     // **: any text
	segmentsDot                 // **. : a text and a dot, or nothing
	dotSegments                 // .** : a dot and a text, or nothing
)

// step is what one token, with the dot it takes along, stands for.
type step struct {
	kind    stepKind
	text    string
	choices []string
	group   int // what it captures, -1: nothing
}

// matcher walks one name. Each step tries the longest text first, and a later one's failure makes it try the next. No
// step is tried twice at a place, and none tries an end again that a try just before found to lead nowhere.
type matcher struct {
	steps  []step
	name   string
	groups []span   // filled where captures are wanted
	failed []uint64 // a bit for each step and place
	tried  []span   // of each step: the ends that were tried last, all in vain

	failedRoom [8]uint64
	triedRoom  [8]span
}

type span struct{ from, to int }

// Match tells whether name matches, and what the wildcards stood for.
func (p *Pattern) Match(name string) (Captures, bool) {
	spans := make([]span, len(p.groups))
	if !p.match(name, spans) {
		return Captures{}, false
	}
	c := Captures{Name: name, source: p.source}
	for i, g := range p.groups {
		s := name[spans[i].from:spans[i].to]
		switch g.kind {
		case star:
			c.Stars = append(c.Stars, s)
		case any:
			c.Segments = append(c.Segments, s)
		default:
			if c.Named == nil {
				c.Named = map[string]string{}
			}
			c.Named[g.name] = s
		}
	}
	return c, true
}

// Matches tells whether name matches.
func (p *Pattern) Matches(name string) bool { return p.match(name, nil) }

func (p *Pattern) match(name string, groups []span) bool {
	if p.steps == nil {
		return name == p.source
	}
	if !strings.HasPrefix(name, p.prefix) || !p.ends(name) {
		return false
	}
	m := matcher{steps: p.steps, name: name, groups: groups}
	m.failed, m.tried = m.failedRoom[:], m.triedRoom[:]
	if bits := len(p.steps) * (len(name) + 1); bits > 64*len(m.failed) {
		m.failed = make([]uint64, bits/64+1)
	}
	if len(p.steps) > len(m.tried) {
		m.tried = make([]span, len(p.steps))
	}
	return m.from(0, 0)
}

// MayEnd tells whether a name that ends so may match; tail is a whole number of its segments.
func (p *Pattern) MayEnd(tail string) bool {
	if p.steps == nil {
		return strings.HasSuffix(p.source, tail)
	}
	for _, s := range p.suffixes {
		if strings.HasSuffix(tail, s) || strings.HasSuffix(s, tail) {
			return true
		}
	}
	return false
}

func (p *Pattern) ends(name string) bool {
	for _, s := range p.suffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// from tells whether the steps from k on match the name from byte at on.
func (m *matcher) from(k, at int) bool {
	if k == len(m.steps) {
		return at == len(m.name)
	}
	bit := k*(len(m.name)+1) + at
	if m.failed[bit/64]&(1<<(bit%64)) != 0 {
		return false
	}
	if m.step(k, at) {
		return true
	}
	m.failed[bit/64] |= 1 << (bit % 64)
	return false
}

func (m *matcher) step(k, at int) bool {
	s, rest := &m.steps[k], m.name[at:]
	switch s.kind {
	case literal:
		return strings.HasPrefix(rest, s.text) && m.from(k+1, at+len(s.text))
	case oneOf:
		for _, c := range s.choices {
			if strings.HasPrefix(rest, c) && m.from(k+1, at+len(c)) {
				return true
			}
		}
		return false
	case within, segment:
		end := strings.IndexByte(rest, '.')
		if end < 0 {
			end = len(rest)
		}
		least := at
		if s.kind == segment {
			least++
		}
		return m.longest(k, at, at+end, least, 0)
	case allText:
		return m.longest(k, at, len(m.name), at, 0)
	case dotSegments:
		if strings.HasPrefix(rest, ".") && m.longest(k, at+1, len(m.name), at+2, 0) {
			return true
		}
	case segmentsDot:
		for end := strings.LastIndexByte(rest, '.'); end > 0; end = strings.LastIndexByte(rest[:end], '.') {
			if m.longest(k, at, at+end, at+end, 1) {
				return true
			}
		}
	}
	m.capture(k, at, at)
	return m.from(k+1, at)
}

// longest tries the texts from a place to end, then to each character before it down to least; the rest of the name goes
// on skip bytes behind.
func (m *matcher) longest(k, at, end, least, skip int) bool {
	vain, first := m.tried[k], end
	for end >= least {
		if end >= vain.from && end < vain.to {
			end = max(vain.from, least)
		} else if m.from(k+1, end+skip) {
			m.capture(k, at, end)
			return true
		}
		_, n := utf8.DecodeLastRuneInString(m.name[at:end])
		if n == 0 {
			break
		}
		end -= n
	}
	if least <= first {
		m.tried[k] = span{least, first + 1}
	}
	return false
}

func (m *matcher) capture(k, from, to int) {
	if g := m.steps[k].group; g >= 0 && m.groups != nil {
		m.groups[g] = span{from, to}
	}
}
