package steps

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/text/ordered"
	"github.com/graphrun/graphrun/text/regex"
)

// metaspace writes spaces as a visible character, puts one before the text, and splits before each.
type metaspace struct {
	space  string // ▁ as a rule
	scheme string // always, first, never
	splits bool
}

func readMetaspace(o *ordered.Object) (*metaspace, error) {
	space, err := readChar(o, "replacement")
	if err != nil {
		return nil, err
	}
	scheme, ok, err := o.Text("prepend_scheme")
	if err != nil {
		return nil, err
	}
	if !ok {
		scheme = "always"
	}
	if scheme != "always" && scheme != "first" && scheme != "never" {
		return nil, fmt.Errorf("unknown prepend_scheme %q; known are always, first, never", scheme)
	}
	// The older way to say never.
	prefix, err := o.Bool("add_prefix_space", true)
	if err != nil {
		return nil, err
	}
	if !prefix {
		if ok && scheme != "never" {
			return nil, fmt.Errorf("add_prefix_space is false, but prepend_scheme is %q", scheme)
		}
		scheme = "never"
	}
	split, err := o.Bool("split", true)
	return &metaspace{space, scheme, split}, err
}

func (m *metaspace) split(p Piece, budget *regex.Budget, emit func(Piece) error) error {
	text := strings.ReplaceAll(p.Text, " ", m.space)
	if !strings.HasPrefix(text, m.space) && (m.scheme == "always" || m.scheme == "first" && p.First) {
		text = m.space + text
	}
	if !m.splits {
		return emit(Piece{Text: text, First: p.First})
	}
	return cut(text, &pattern{literal: m.space}, mergedNext, false, budget, func(start, end int) error {
		return emit(Piece{Text: text[start:end], First: p.First && start == 0})
	})
}

// text decodes a token: the visible character becomes a space again, except in the first token, where it was put before the text.
func (m *metaspace) text(token string, first bool) string {
	if first && m.scheme != "never" {
		return strings.ReplaceAll(token, m.space, "")
	}
	return strings.ReplaceAll(token, m.space, " ")
}
