package engine

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
)

// run executes a program for B sequences of T new tokens. The results are lazy and belong to the session's scope, which
// owns nothing else afterwards: a forward's graph (on the CPU that of a piece, where there are many rows) is built before any
// of it is computed, so intermediates cost their handles only, and letting go of all handles in one call before the
// evaluation lets MLX free and reuse every buffer at its last use, as the plan's lifetimes say.
func (s *Session) run(p *program, inputs []mlx.Array, z sizes) ([]mlx.Array, error) {
	for _, st := range s.states {
		st.Begin()
	}
	s.forget()
	runs := s.again(p, z)
	recording := s.record(p)
	clear(s.forward.Memo)
	s.forward.B, s.forward.T, s.forward.S = z.b, z.t, z.s
	if len(s.slots) < p.slots {
		s.slots = make([]mlx.Array, p.slots)
	}
	slots := s.slots
	for i := range p.inputs {
		slots[p.inputs[i].Slot] = inputs[i]
	}
	for _, k := range p.fixed {
		slots[k.slot] = k.value
		if s.tap != nil {
			if err := s.tap(k.call, []mlx.Array{k.value}); err != nil {
				s.scope.Free()
				return nil, err
			}
		}
	}
	if err := s.interpret(p, slots, runs, recording); err != nil {
		s.scope.Free()
		return nil, err
	}
	if recording != nil {
		s.finish(recording, p)
	}
	out := s.results[:0]
	for _, r := range p.results {
		out = append(out, slots[r.slot])
	}
	s.results = out
	s.scope.ReleaseTo(0, out...)
	return out, nil
}

// interpret is the loop over the calls, of which recorded runs stand for some. It takes no decision: errors aside, every run
// of a program does the same.
func (s *Session) interpret(p *program, slots []mlx.Array, runs []run, recording *recording) (err error) {
	var c *call
	defer func() {
		// One deferred call per forward; an operator's panic is that operator's error.
		if r := recover(); r != nil {
			if err = s.forward.ResetErr(); err == nil { // else the panic only followed from it
				err = fmt.Errorf("internal error: %v", r)
			}
			err = at(c.at.Path, c.at.At, fmt.Errorf("%s: %w", s.engine.calls(c), err))
		}
	}()
	forward := &s.forward
	var pieces []piece
	if s.engine.workers != nil && forward.B*forward.T >= pieceRows {
		pieces = p.pieces
	}
	for i := 0; i < len(p.calls); i++ {
		c = &p.calls[i]
		if len(runs) > 0 && runs[0].first == i {
			if err := s.replay(&runs[0], slots); err != nil {
				return at(c.at.Path, c.at.At, fmt.Errorf("%d calls from %s on, recorded: %w", runs[0].last-i+1, s.engine.calls(c), err))
			}
			i, runs = runs[0].last, runs[1:]
			continue
		}
		for _, f := range c.fill {
			c.in[f.at] = slots[f.slot]
		}
		out := c.run(forward, c.in)
		if forward.Err() != nil {
			return at(c.at.Path, c.at.At, fmt.Errorf("%s: %w", s.engine.calls(c), forward.ResetErr()))
		}
		if len(out) < len(c.out) {
			return at(c.at.Path, c.at.At, fmt.Errorf("%s gave %d results, the plan has %d", s.engine.calls(c), len(out), len(c.out)))
		}
		for j, slot := range c.out {
			slots[slot] = out[j]
		}
		if recording != nil {
			recording.saw(i, c.in, out[:len(c.out)])
		}
		if s.tap != nil {
			if err := s.tell(p, c, out[:len(c.out)]); err != nil {
				return at(c.at.Path, c.at.At, err)
			}
		}
		if len(pieces) > 0 && pieces[0].last == i {
			if err := s.compute(&pieces[0], slots); err != nil {
				return at(c.at.Path, c.at.At, err)
			}
			pieces = pieces[1:]
		}
	}
	return nil
}

// tell gives the tap what a call results in; of calls that run as one, what they leave.
func (s *Session) tell(p *program, c *call, out []mlx.Array) error {
	if c.unit == nil {
		return s.tap(c.at, out)
	}
	for i, src := range c.results(p.source) {
		if err := s.tap(src, out[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// calls names what a call runs: an operator or a class.
func (e *Engine) calls(c *call) string {
	if c.at.Operator != "" {
		return c.at.Operator
	}
	if c.unit != nil {
		return e.plan.Instances[c.unit.Instance].Class
	}
	return e.plan.Instances[c.at.Instance].Class
}
