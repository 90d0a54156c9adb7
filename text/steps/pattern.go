package steps

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/text/ordered"
	"github.com/graphrun/graphrun/text/regex"
)

// pattern finds places in a text: a regular expression, a literal or a class of characters, of which each is a match.
type pattern struct {
	re      *regex.Regexp
	literal string
	class   func(rune) bool
}

// each calls f for every match from left to right.
func (p *pattern) each(text string, budget *regex.Budget, f func(start, end int)) error {
	switch {
	case p.re != nil:
		return p.re.Each(text, budget, f)
	case p.class != nil:
		for i, r := range text {
			if p.class(r) {
				f(i, i+utf8.RuneLen(r))
			}
		}
	default:
		for from := 0; ; {
			i := strings.Index(text[from:], p.literal)
			if i < 0 {
				break
			}
			f(from+i, from+i+len(p.literal))
			from += i + len(p.literal)
		}
	}
	return nil
}

// replace returns text with every match replaced.
func (p *pattern) replace(text, with string, budget *regex.Budget) (string, error) {
	if p.re == nil && p.class == nil {
		return strings.ReplaceAll(text, p.literal, with), nil
	}
	var b strings.Builder
	last := 0
	err := p.each(text, budget, func(start, end int) {
		b.WriteString(text[last:start])
		b.WriteString(with)
		last = end
	})
	if last == 0 && b.Len() == 0 {
		return text, err
	}
	b.WriteString(text[last:])
	return b.String(), err
}

// readPattern reads {"String": …} or {"Regex": …} at key.
func readPattern(o *ordered.Object, key string) (*pattern, error) {
	v, err := o.Object(key)
	if err != nil {
		return nil, err
	}
	if text, ok, err := v.Text("String"); err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	} else if ok {
		if text == "" {
			return nil, fmt.Errorf("%q is an empty string, which matches everywhere", key)
		}
		return &pattern{literal: text}, nil
	}
	source, ok, err := v.Text("Regex")
	if err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	}
	if !ok {
		return nil, fmt.Errorf(`%q must be {"String": …} or {"Regex": …}`, key)
	}
	re, err := regex.Compile(source)
	if err != nil {
		return nil, err
	}
	return &pattern{re: re}, nil
}

// readKind returns the object and its "type".
func readKind(v any, what string) (*ordered.Object, string, error) {
	o, ok := v.(*ordered.Object)
	if !ok {
		return nil, "", fmt.Errorf("the %s must be an object, not %s", what, ordered.Kind(v))
	}
	kind, ok, err := o.Text("type")
	if err == nil && !ok {
		err = fmt.Errorf(`the %s has no "type"`, what)
	}
	return o, kind, err
}

// maxSteps bounds the steps of one chain, nested sequences included.
const maxSteps = 256

// flatten reads a step or a "Sequence" of steps (under key) and calls each for every step that is no sequence.
func flatten(v any, what, key string, each func(o *ordered.Object, kind string) error) error {
	count := 0
	var walk func(v any) error
	walk = func(v any) error {
		o, kind, err := readKind(v, what)
		if err != nil {
			return err
		}
		if kind != "Sequence" {
			if count++; count > maxSteps {
				return fmt.Errorf("the %s has more than %d steps", what, maxSteps)
			}
			if err := each(o, kind); err != nil {
				return fmt.Errorf("the %s %s: %w", what, kind, err)
			}
			return nil
		}
		items, err := o.Array(key)
		if err != nil {
			return fmt.Errorf("the %s Sequence: %w", what, err)
		}
		for _, item := range items {
			if err := walk(item); err != nil {
				return err
			}
		}
		return nil
	}
	if v == nil {
		return nil
	}
	return walk(v)
}
