package bpe

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Config is what a model is made of.
type Config struct {
	Vocab  *Vocab
	Merges []Pair // in order of rank
	// Scores, instead of Merges, ranks by the merged token, as SentencePiece does: any two neighbours whose
	// concatenation is a token may merge, the highest score first. Indexed by id.
	Scores []float32

	Unknown      string // the token for what no other token covers; "" for none: such characters vanish
	HasUnknown   bool
	FuseUnknown  bool   // neighbouring unknown characters become one token
	Prefix       string // continuing_subword_prefix: of every part of a word but the first
	Suffix       string // end_of_word_suffix: of the last part of a word
	ByteFallback bool   // what has no token becomes the tokens <0xNN> of its bytes, where all of these exist
	IgnoreMerges bool   // a word that is a token stays whole, whatever its merges say
}

// Pair is one merge, by the texts of its sides.
type Pair struct{ Left, Right string }

// Model encodes words. It is safe for use by several goroutines.
type Model struct {
	vocab      *Vocab
	pairs      *pairs
	config     Config
	unknown    int32
	bytes      [256]int32 // ids of <0xNN>, -1 where missing
	ascii      [128]int32 // ids of one-character tokens, -1 where missing
	byteLevel  [256]int32 // ids of the printable stand-ins of bytes, -1 where missing
	canBytes   bool       // every entry of byteLevel exists
	separable  bool       // no merge reaches over the beginning of a run of separators
	workspaces sync.Pool
}

// New checks a configuration and builds its model.
func New(c Config) (*Model, error) {
	m := &Model{vocab: c.Vocab, config: c, unknown: -1}
	m.config.Merges, m.config.Scores = nil, nil
	if c.HasUnknown {
		id, ok := c.Vocab.ID(c.Unknown)
		if !ok {
			// Only a text that needs it would fail; such files exist and work until then.
			id = -1
		}
		m.unknown = id
	}
	m.canBytes = true
	for b := range 256 {
		m.bytes[b] = m.id(fmt.Sprintf("<0x%02X>", b))
		m.byteLevel[b] = m.id(byteChars[b])
		m.canBytes = m.canBytes && m.byteLevel[b] >= 0
	}
	for b := range 128 {
		m.ascii[b] = m.id(string(rune(b)))
	}
	m.canBytes = m.canBytes && c.Prefix == "" && c.Suffix == ""
	if c.Scores != nil {
		m.fromScores(c.Scores)
	} else if err := m.fromMerges(c.Merges); err != nil {
		return nil, err
	}
	m.separable = m.canSeparate()
	return m, nil
}

// separator is the visible space of SentencePiece. Models that use it often get a whole text as one word.
const separator = "▁"

// canSeparate reports whether a word may be cut in front of every run of separators with the same result, so that the
// parts are short and can be cached: no merged token has a separator behind another character.
func (m *Model) canSeparate() bool {
	c := &m.config
	if m.id(separator) < 0 || c.Prefix != "" || c.Suffix != "" || c.IgnoreMerges {
		return false
	}
	for i, k := range m.pairs.keys {
		if k == noKey {
			continue
		}
		token, _ := m.vocab.Token(m.pairs.vals[i].id)
		if next := nextPart(token); next < len(token) {
			return false
		}
	}
	return true
}

// nextPart returns the length of the part of word up to the next run of separators behind its beginning.
func nextPart(word string) int {
	from := 0
	for strings.HasPrefix(word[from:], separator) {
		from += len(separator)
	}
	at := strings.Index(word[from:], separator)
	if at < 0 {
		return len(word)
	}
	return from + at
}

func (m *Model) id(token string) int32 {
	if id, ok := m.vocab.ID(token); ok {
		return id
	}
	return -1
}

func (m *Model) fromMerges(merges []Pair) error {
	m.pairs = newPairs(len(merges))
	buf := make([]byte, 0, 64)
	// The token of a merge tends to follow the one of the merge before: that spares a third of the lookups.
	guess := int32(-1)
	for rank, p := range merges {
		left, ok := m.vocab.ID(p.Left)
		if !ok {
			return fmt.Errorf("merge %d (%q %q): %q is not in the vocabulary", rank, p.Left, p.Right, p.Left)
		}
		right, ok := m.vocab.ID(p.Right)
		if !ok {
			return fmt.Errorf("merge %d (%q %q): %q is not in the vocabulary", rank, p.Left, p.Right, p.Right)
		}
		if len(p.Right) < len(m.config.Prefix) {
			return fmt.Errorf("merge %d (%q %q): the right side is shorter than the prefix %q", rank, p.Left, p.Right, m.config.Prefix)
		}
		buf = append(append(buf[:0], p.Left...), p.Right[len(m.config.Prefix):]...)
		merged := guess + 1
		if t, known := m.vocab.Token(merged); !known || t != string(buf) {
			merged, ok = m.vocab.ids[string(buf)]
		}
		guess = merged
		if !ok {
			return fmt.Errorf("merge %d (%q %q): %q is not in the vocabulary", rank, p.Left, p.Right, buf)
		}
		m.pairs.set(left, right, merge{int32(rank), merged})
	}
	return nil
}

// maxScored is the longest token, in bytes, that merges of scores build; cutting a longer one everywhere takes too long.
const maxScored = 512

// fromScores makes the merge of every way to cut a token into two tokens. Tokens of one score share a rank, so that the
// leftmost of them merges first.
func (m *Model) fromScores(scores []float32) {
	order := make([]int32, 0, len(m.vocab.tokens))
	for id, token := range m.vocab.tokens {
		if m.vocab.known[id] && id < len(scores) && len(token) > 1 {
			order = append(order, int32(id))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	m.pairs = newPairs(len(order) * 4)
	count, rank := 0, int32(-1)
	for i, id := range order {
		if i == 0 || scores[id] != scores[order[i-1]] {
			rank++
		}
		token := m.vocab.tokens[id]
		if len(token) > maxScored {
			continue
		}
		for cut := 1; cut < len(token); cut++ {
			if !utf8.RuneStart(token[cut]) {
				continue
			}
			left, ok := m.vocab.ids[token[:cut]]
			if !ok {
				continue
			}
			right, ok := m.vocab.ids[token[cut:]]
			if !ok {
				continue
			}
			if count++; count*2 > len(m.pairs.keys) {
				m.pairs = m.pairs.grown()
			}
			m.pairs.set(left, right, merge{rank, id})
		}
	}
}

func (p *pairs) grown() *pairs {
	g := newPairs(len(p.keys) * 2)
	for i, k := range p.keys {
		if k != noKey {
			g.set(int32(k>>32), int32(uint32(k)), p.vals[i])
		}
	}
	return g
}

// Vocab returns the model's vocabulary.
func (m *Model) Vocab() *Vocab { return m.vocab }

// byteChars are the printable stand-ins that byte-level models use for the 256 bytes (GPT-2's table): printable Latin-1
// stands for itself, the rest follows from U+0100 on.
var byteChars = func() (table [256]string) {
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r = next
			next++
		}
		table[b] = string(r)
	}
	return table
}()

// charBytes is the inverse of byteChars for code points below 512; -1 for the others.
var charBytes = func() (table [512]int16) {
	for i := range table {
		table[i] = -1
	}
	for b, s := range byteChars {
		table[[]rune(s)[0]] = int16(b)
	}
	return table
}()

// ByteLevel returns the stand-ins of the bytes of text.
func ByteLevel(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/2)
	for i := 0; i < len(text); i++ {
		b.WriteString(byteChars[text[i]])
	}
	return b.String()
}

// AppendBytes appends the bytes that token stands for; a token with a character that stands for no byte is itself.
func AppendBytes(b []byte, token string) []byte {
	start := len(b)
	for _, r := range token {
		if r >= 512 || charBytes[r] < 0 {
			return append(b[:start], token...)
		}
		b = append(b, byte(charBytes[r]))
	}
	return b
}
