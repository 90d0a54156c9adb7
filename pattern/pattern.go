package pattern

import (
	"strings"
	"unicode/utf8"
)

// Pattern is a compiled pattern; it is safe for use by many goroutines.
type Pattern struct {
	source   string
	tokens   []token
	steps    []step  // none where the pattern is a plain name
	groups   []group // what the steps capture, in order
	prefix   string
	suffixes []string // every match ends with one of them
}

type group struct {
	kind kind
	name string
}

// Captures is what the wildcards of a pattern stood for in one name.
type Captures struct {
	Name     string            // the whole name
	Stars    []string          // of each `*`, in order
	Segments []string          // of each `**`, in order; "" for no segment
	Named    map[string]string // of each {e}; nil where there are none
	source   string            // the pattern
}

// Compile reads a pattern. Its error is an *Error with the column.
func Compile(s string) (*Pattern, error) {
	tokens, err := scan(s)
	if err != nil {
		return nil, err
	}
	p := &Pattern{source: s, tokens: tokens}
	if len(tokens) == 1 && tokens[0].kind == text {
		p.prefix = s
		return p, nil
	}
	if err := p.compile(); err != nil {
		return nil, err
	}
	return p, nil
}

// compile makes steps of the tokens. A `**` takes one of the dots beside it along, since it may stand for nothing.
func (p *Pattern) compile() error {
	seen := map[string]bool{}
	add := func(t token, kind stepKind) {
		s := step{kind: kind, text: t.text, choices: t.choices, group: -1}
		if kind != literal && kind != oneOf {
			s.group = len(p.groups)
			p.groups = append(p.groups, group{t.kind, t.text})
		}
		p.steps = append(p.steps, s)
	}
	dot, swallow := false, false // the text just added left its last dot to a `**`; a `**` took the next text's first dot
	for i, t := range p.tokens {
		switch t.kind {
		case text:
			if swallow {
				t.text = t.text[1:]
			}
			next := i + 1
			dot = strings.HasSuffix(t.text, ".") && next < len(p.tokens) && p.tokens[next].kind == any && !p.dotAfter(next)
			if dot {
				t.text = t.text[:len(t.text)-1]
			}
			add(t, literal)
			swallow = false
			continue
		case any:
			switch swallow = p.dotAfter(i); {
			case swallow:
				add(t, segmentsDot)
			case dot:
				add(t, dotSegments)
			default:
				add(t, allText)
			}
		case star:
			add(t, within)
		case capture:
			if seen[t.text] {
				return &Error{Pattern: p.source, Column: utf8.RuneCountInString(p.source[:t.at]) + 1, Message: "{" + t.text + "} is captured twice"}
			}
			seen[t.text] = true
			add(t, segment)
		case choice:
			add(t, oneOf)
		}
		dot = false
	}
	p.literals()
	return nil
}

// dotAfter tells whether a text that begins with a dot follows token i.
func (p *Pattern) dotAfter(i int) bool {
	return i+1 < len(p.tokens) && p.tokens[i+1].kind == text && p.tokens[i+1].text[0] == '.'
}

// literals finds the texts that every match begins and ends with. The dots beside a `**` are not among them, since a
// `**` that stands for nothing takes one along.
func (p *Pattern) literals() {
	if t := p.tokens[0]; t.kind == text {
		p.prefix = t.text
		if len(p.tokens) > 1 && p.tokens[1].kind == any {
			p.prefix = strings.TrimSuffix(p.prefix, ".")
		}
	}
	switch t := p.tokens[len(p.tokens)-1]; t.kind {
	case text:
		p.suffixes = []string{t.text}
		if n := len(p.tokens); n > 1 && p.tokens[n-2].kind == any {
			p.suffixes[0] = strings.TrimPrefix(t.text, ".")
		}
	case choice:
		p.suffixes = t.choices
	default:
		p.suffixes = []string{""}
	}
}

// String gives the pattern as it was written.
func (p *Pattern) String() string { return p.source }

// Literal tells whether the pattern is a plain name, which it then gives.
func (p *Pattern) Literal() (string, bool) { return p.source, p.steps == nil }

// Prefix is the text that every match begins with.
func (p *Pattern) Prefix() string { return p.prefix }

// Names lists the pattern's named captures, in order.
func (p *Pattern) Names() []string {
	var out []string
	for _, g := range p.groups {
		if g.kind == capture {
			out = append(out, g.name)
		}
	}
	return out
}
