package text

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/text/regex"
	"github.com/graphrun/graphrun/text/steps"
	"github.com/graphrun/graphrun/text/ucd"
)

// addedToken is a token that is found in the text before the model sees it.
type addedToken struct {
	content    string
	singleWord bool // only where no word character stands beside it
	lstrip     bool // takes the white space before it along
	rstrip     bool // and the white space behind it
	normalized bool // looked for, normalised itself, in the normalised text
	special    bool // a control token: left out when decoding without special tokens
}

// maxAdded bounds the length of an added token in bytes.
const maxAdded = 1 << 16

// added is the vocabulary of added tokens.
type added struct {
	ids        map[string]int32
	tokens     map[int32]addedToken
	shown      map[int32]string // what a decoder sees, where normalising changed the token
	special    map[string]bool
	plain      *matcher // looked for in the text as it is
	normalized *matcher // looked for in the normalised text
}

// vocabulary is what add needs of a model.
type vocabulary interface {
	ID(token string) (int32, bool)
	Len() int
}

// newAdded gives tokens their ids as Python does: the model's own id where it has the token, else the next free one
// behind the vocabulary; the ids in the file do not count.
func newAdded(tokens []addedToken, v vocabulary, n *steps.Normalizer) (*added, error) {
	a := &added{
		ids: map[string]int32{}, tokens: map[int32]addedToken{}, shown: map[int32]string{}, special: map[string]bool{},
	}
	next := int32(v.Len())
	for _, t := range tokens {
		if t.content == "" {
			continue
		}
		if len(t.content) > maxAdded {
			return nil, fmt.Errorf("the added token %q… is %d bytes long; the limit is %d", t.content[:20], len(t.content), maxAdded)
		}
		id, ok := a.ids[t.content]
		if ok && a.tokens[id] == t {
			continue
		}
		if !ok {
			if id, ok = v.ID(t.content); !ok {
				id = next
				next++
			}
		}
		if t.normalized {
			shown, _, err := n.Apply(t.content, &regex.Budget{Steps: 1 << 22})
			if err != nil {
				return nil, fmt.Errorf("the added token %q: %w", t.content, err)
			}
			if shown != t.content {
				a.shown[id] = shown
			}
		}
		a.ids[t.content], a.tokens[id] = id, t
		if t.special {
			a.special[t.content] = true
		}
	}
	a.plain, a.normalized = newMatcher(), newMatcher()
	for id, t := range a.tokens {
		if !t.normalized {
			a.plain.add(t.content, id)
		} else if shown, ok := a.shown[id]; ok {
			a.normalized.add(shown, id)
		} else {
			a.normalized.add(t.content, id)
		}
	}
	return a, nil
}

// text is what a decoder sees of an added token.
func (a *added) text(id int32) (string, bool) {
	t, ok := a.tokens[id]
	if !ok {
		return "", false
	}
	if shown, ok := a.shown[id]; ok {
		return shown, true
	}
	return t.content, true
}

// split calls between for the text between the tokens that m finds, with its offset, and token for each of them.
func (a *added) split(text string, m *matcher, between func(part string, offset int) error, token func(id int32)) error {
	from := 0 // what lies before is done with
	for pos := 0; ; {
		start, end, id := m.find(text, pos)
		if start < 0 {
			break
		}
		pos = end
		t := a.tokens[id]
		if t.singleWord && !alone(text, start, end) {
			continue
		}
		if t.lstrip {
			start = max(from, len(strings.TrimRightFunc(text[:start], ucd.Space)))
		}
		if t.rstrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], ucd.Space))
		}
		if from < start {
			if err := between(text[from:start], from); err != nil {
				return err
			}
		}
		token(id)
		from = end
	}
	if from < len(text) {
		return between(text[from:], from)
	}
	return nil
}

func alone(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return (start == 0 || !ucd.RustWord(before)) && (end == len(text) || !ucd.RustWord(after))
}

// matcher finds the leftmost of many strings, the longest where several start at one place.
type matcher struct {
	first [256]bool
	edges map[edge]int32 // of a trie over bytes; the root is 0
	ids   []int32        // of each node, -1 for none
}

type edge struct {
	node int32
	b    byte
}

func newMatcher() *matcher { return &matcher{edges: map[edge]int32{}, ids: []int32{-1}} }

func (m *matcher) add(s string, id int32) {
	if s == "" {
		return
	}
	m.first[s[0]] = true
	node := int32(0)
	for i := 0; i < len(s); i++ {
		next, ok := m.edges[edge{node, s[i]}]
		if !ok {
			next = int32(len(m.ids))
			m.ids = append(m.ids, -1)
			m.edges[edge{node, s[i]}] = next
		}
		node = next
	}
	m.ids[node] = id
}

// find returns the next match at or behind pos; start is -1 if there is none.
func (m *matcher) find(text string, pos int) (start, end int, id int32) {
	if len(m.ids) == 1 {
		return -1, -1, -1
	}
	for ; pos < len(text); pos++ {
		if !m.first[text[pos]] {
			continue
		}
		node, end, id := int32(0), -1, int32(-1)
		for i := pos; i < len(text); i++ {
			next, ok := m.edges[edge{node, text[i]}]
			if !ok {
				break
			}
			node = next
			if m.ids[node] >= 0 {
				end, id = i+1, m.ids[node]
			}
		}
		if end >= 0 {
			return pos, end, id
		}
	}
	return -1, -1, -1
}
