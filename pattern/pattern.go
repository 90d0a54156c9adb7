package pattern

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Pattern is a compiled pattern; it is safe for use by many goroutines.
type Pattern struct {
	source         string
	tokens         []token
	re             *regexp.Regexp // nil where the pattern is a plain name
	groups         []group        // of re, in order
	prefix, suffix string
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
		p.prefix, p.suffix = s, s
		return p, nil
	}
	if err := p.compile(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Pattern) compile() error {
	seen := map[string]bool{}
	var b strings.Builder
	b.WriteString(`\A(?s:`)
	dot := false // the text just written ends in a dot that is still owed
	swallow := false
	for i, t := range p.tokens {
		body := t.text
		if t.kind == text {
			if swallow { // a `**` before this took the dot with it
				body = body[1:]
			}
			swallow = false
			if dot = strings.HasSuffix(body, "."); dot {
				body = body[:len(body)-1]
			}
			b.WriteString(regexp.QuoteMeta(body))
			// A dot before `**` belongs to it unless the dot after it does.
			if next := i + 1; dot && (next == len(p.tokens) || p.tokens[next].kind != any || p.dotAfter(next)) {
				b.WriteString(`\.`)
				dot = false
			}
			continue
		}
		switch t.kind {
		case any:
			switch {
			case p.dotAfter(i):
				b.WriteString(`(?:(.+)\.)?`)
				swallow = true
			case dot:
				b.WriteString(`(?:\.(.+))?`)
			default:
				b.WriteString(`(.*)`)
			}
		case star:
			b.WriteString(`([^.]*)`)
		case capture:
			if seen[t.text] {
				return &Error{Pattern: p.source, Column: utf8.RuneCountInString(p.source[:t.at]) + 1, Message: "{" + t.text + "} is captured twice"}
			}
			seen[t.text] = true
			b.WriteString(`([^.]+)`)
		case choice:
			b.WriteString(`(?:`)
			for j, c := range t.choices {
				if j > 0 {
					b.WriteByte('|')
				}
				b.WriteString(regexp.QuoteMeta(c))
			}
			b.WriteByte(')')
		}
		if t.kind != choice {
			p.groups = append(p.groups, group{t.kind, t.text})
		}
		dot = false
	}
	b.WriteString(`)\z`)
	re, err := regexp.Compile(b.String())
	if err != nil { // the texts are quoted, so only its size can be wrong
		return &Error{Pattern: p.source, Column: 1, Message: err.Error()}
	}
	p.re = re
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
	if t := p.tokens[len(p.tokens)-1]; t.kind == text {
		p.suffix = t.text
		if n := len(p.tokens); n > 1 && p.tokens[n-2].kind == any {
			p.suffix = strings.TrimPrefix(p.suffix, ".")
		}
	}
}

// String gives the pattern as it was written.
func (p *Pattern) String() string { return p.source }

// Literal tells whether the pattern is a plain name, which it then gives.
func (p *Pattern) Literal() (string, bool) { return p.source, p.re == nil }

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

// Match tells whether name matches, and what the wildcards stood for.
func (p *Pattern) Match(name string) (Captures, bool) {
	if p.re == nil {
		return Captures{Name: name, source: p.source}, name == p.source
	}
	if !strings.HasPrefix(name, p.prefix) || !strings.HasSuffix(name, p.suffix) {
		return Captures{}, false
	}
	at := p.re.FindStringSubmatchIndex(name)
	if at == nil {
		return Captures{}, false
	}
	c := Captures{Name: name, source: p.source}
	for i, g := range p.groups {
		s := ""
		if from := at[2*i+2]; from >= 0 {
			s = name[from:at[2*i+3]]
		}
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
func (p *Pattern) Matches(name string) bool {
	if p.re == nil {
		return name == p.source
	}
	return strings.HasPrefix(name, p.prefix) && strings.HasSuffix(name, p.suffix) && p.re.MatchString(name)
}
