package engine

import (
	"slices"

	"github.com/graphrun/graphrun/mlx"
)

// pieceRows is from how many rows on a forward on the CPU is computed in pieces. MLX hands its CPU work on a hundred calls
// ahead, and gives each its memory then: whole layers' values of a long prompt would be there at once.
const pieceRows = 128

// piece is where a piece of a program ends: behind a call that writes a state, about once in a layer.
type piece struct {
	last int     // index into program.calls
	live []int32 // slots that are read later
}

const never = -1

// readsOf is, by slot, the last call that reads it.
func readsOf(p *program) []int {
	read := slices.Repeat([]int{never}, p.slots)
	for i := range p.calls {
		for _, f := range p.calls[i].fill {
			read[f.slot] = i
		}
	}
	for _, r := range p.results {
		read[r.slot] = len(p.calls)
	}
	return read
}

// piecesOf cuts a program.
func piecesOf(p *program) []piece {
	read, written := p.reads, slices.Repeat([]int{len(p.calls)}, p.slots)
	for i := range p.inputs {
		written[p.inputs[i].Slot] = never
	}
	for i := range p.calls {
		for _, s := range p.calls[i].out {
			written[s] = min(written[s], i)
		}
	}
	var out []piece
	for i := range p.calls {
		if p.calls[i].at.State < 0 {
			continue
		}
		c := piece{last: i}
		for s := range read {
			if written[s] <= i && read[s] > i {
				c.live = append(c.live, int32(s))
			}
		}
		out = append(out, c)
	}
	return out
}

// compute evaluates what is read after a piece, and lets go of all else.
func (s *Session) compute(c *piece, slots []mlx.Array) error {
	live := s.live[:0]
	for _, slot := range c.live {
		live = append(live, slots[slot])
	}
	s.live = live
	clear(s.forward.Memo) // its arrays are the scope's
	s.scope.ReleaseTo(0, live...)
	return mlx.Eval(live...)
}
