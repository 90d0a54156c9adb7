package pattern

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckTarget tells whether Fill can fill target from p's matches: it has no more stars of either kind than p, no
// captures that p lacks, and no alternatives. The pattern itself is a target that leaves names as they are.
func (p *Pattern) CheckTarget(target string) error {
	if target == p.source {
		return nil
	}
	tokens, err := scan(target)
	if err != nil {
		return err
	}
	left := map[kind]int{}
	named := map[string]bool{}
	for _, g := range p.groups {
		left[g.kind]++
		named[g.name] = true
	}
	fail := func(t token, format string, args ...interface{}) error {
		return &Error{Pattern: target, Column: utf8.RuneCountInString(target[:t.at]) + 1, Message: fmt.Sprintf(format, args...)}
	}
	for _, t := range tokens {
		switch t.kind {
		case star, any:
			if left[t.kind]--; left[t.kind] < 0 {
				return fail(t, "%q has no `%s` left that this one could take", p.source, strings.Repeat("*", int(t.kind)))
			}
		case capture:
			if !named[t.text] {
				return fail(t, "%q captures no {%s}", p.source, t.text)
			}
		case choice:
			return fail(t, "a target takes captures by name and stars in order; alternatives are not captured")
		}
	}
	return nil
}

// Fill gives the name that a target stands for: {e} is the capture of that name, each `*` and each `**` the text of
// the source's next one. A `**` that stood for no segment takes its dot along.
func Fill(target string, c Captures) (string, error) {
	if target == c.source {
		return c.Name, nil
	}
	tokens, err := scan(target)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	stars, segments := c.Stars, c.Segments
	for _, t := range tokens {
		var s string
		ok := true
		switch t.kind {
		case text:
			s = t.text
		case capture:
			s, ok = c.Named[t.text]
		case star:
			if ok = len(stars) > 0; ok {
				s, stars = stars[0], stars[1:]
			}
		case any:
			if ok = len(segments) > 0; ok {
				s, segments = segments[0], segments[1:]
			}
		case choice:
			ok = false
		}
		if !ok {
			return "", &Error{Pattern: target, Column: utf8.RuneCountInString(target[:t.at]) + 1, Message: fmt.Sprintf("nothing in %q fills this", c.source)}
		}
		b.WriteString(s)
	}
	name := b.String()
	for strings.Contains(name, "..") {
		name = strings.ReplaceAll(name, "..", ".")
	}
	return strings.Trim(name, "."), nil
}
