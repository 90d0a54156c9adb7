package native

import "github.com/graphrun/graphrun/mlx"

// Attention is causal attention over a cache to which it appends first. Scores, softmax and sums are float32.
type Attention struct {
	Workers *Workers
	Scale   float32 // of the scores
	State   int     // the number of the cache among the states that a chain is told of
	// Layout is how q, k and v lie: HeadsFirst, HeadsLast or, as projections give them, [B, T, n * D] for n heads.
	Layout [3]int
	Merged bool // the result is [B, T, heads * D]; else [B, heads, T, D]
	// What is done to each head of q and k before: a norm, then a rotation of the first 2 len(Rates) entries by the angles
	// position * rates, in pairs (i, i + len(Rates)) or neighbours. Each is rounded as if it stood alone.
	Q, K       HeadNorm
	Rates      []float32
	Neighbours bool
}

// Layouts with an axis of heads.
const (
	HeadsFirst = 0  // [B, heads, T, D]
	HeadsLast  = -1 // [B, T, heads, D]
)

// HeadNorm is an rms norm over a head's entries.
type HeadNorm struct {
	On   bool
	Gain mlx.Array // [D]; absent: 1
	Eps  float32
}

// Place is where the new rows stand.
type Place struct {
	Position int // of the first: what it is rotated by
	At       int // where it goes in the buffers
	Seen     int // how many rows of the buffers it sees, itself among them; the next sees one more
}

// Append writes k and v into the buffers keys and values [B, kv_heads, room, D] and gives the attention of q over them, and
// the buffers as they are then. It writes into their own memory: who still holds the arrays given, or a view of them, finds
// what was written there. So the buffers must be the caller's alone but for what lies before At, which does not change.
func (a *Attention) Append(s *mlx.Scope, q, k, v, keys, values mlx.Array, p Place) (y, newKeys, newValues mlx.Array) {
	if s.Err() != nil {
		return
	}
	return a.call(s, [5]mlx.Array{q, k, v, keys, values}, p)
}
