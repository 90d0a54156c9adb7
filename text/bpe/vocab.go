package bpe

import (
	"fmt"
	"math"
)

// Vocab maps tokens to ids and back. Ids need not be dense.
type Vocab struct {
	ids    map[string]int32
	tokens []string
	known  []bool
}

// maxSpread bounds how far ids may lie beyond the number of tokens, so that a hostile id cannot ask for memory.
const maxSpread = 1 << 22

// NewVocab returns an empty vocabulary with room for n tokens.
func NewVocab(n int) *Vocab {
	return &Vocab{ids: make(map[string]int32, n), tokens: make([]string, 0, n), known: make([]bool, 0, n)}
}

// Add gives token the id. A token added twice keeps the later id; an id given twice keeps the later token.
func (v *Vocab) Add(token string, id int32) error {
	if id < 0 || int(id) > len(v.ids)+maxSpread {
		return fmt.Errorf("token %q has the id %d, out of range", token, id)
	}
	v.ids[token] = id
	for int(id) >= len(v.tokens) {
		v.tokens = append(v.tokens, "")
		v.known = append(v.known, false)
	}
	v.tokens[id], v.known[id] = token, true
	return nil
}

// ID returns the id of token.
func (v *Vocab) ID(token string) (int32, bool) {
	id, ok := v.ids[token]
	return id, ok
}

// Token returns the token of id.
func (v *Vocab) Token(id int32) (string, bool) {
	if id < 0 || int(id) >= len(v.tokens) || !v.known[id] {
		return "", false
	}
	return v.tokens[id], true
}

// Len is the number of different tokens.
func (v *Vocab) Len() int { return len(v.ids) }

// End is one more than the highest id.
func (v *Vocab) End() int { return len(v.tokens) }

// pairs maps a pair of ids to the rank and the id of its merge: open addressing over a power of two.
type pairs struct {
	keys  []uint64
	vals  []merge
	shift uint
}

type merge struct{ rank, id int32 }

const noKey = math.MaxUint64

func newPairs(n int) *pairs {
	bits := uint(4)
	for 1<<bits < n*2 {
		bits++
	}
	p := &pairs{keys: make([]uint64, 1<<bits), vals: make([]merge, 1<<bits), shift: 64 - bits}
	for i := range p.keys {
		p.keys[i] = noKey
	}
	return p
}

func key(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

func (p *pairs) slot(k uint64) int {
	i := int(k * 0x9E3779B97F4A7C15 >> p.shift)
	for p.keys[i] != k && p.keys[i] != noKey {
		i = (i + 1) & (len(p.keys) - 1)
	}
	return i
}

// set stores a merge; the later of two for one pair holds.
func (p *pairs) set(a, b int32, m merge) {
	i := p.slot(key(a, b))
	p.keys[i], p.vals[i] = key(a, b), m
}

func (p *pairs) get(a, b int32) (merge, bool) {
	k := key(a, b)
	i := p.slot(k)
	return p.vals[i], p.keys[i] == k
}
