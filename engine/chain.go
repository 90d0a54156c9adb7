package engine

import (
	"errors"
	"slices"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// tape is what a session recorded of a program's step of one position: the runs of calls that the CPU's own primitives alone
// compute, a native.Chain each. The calls between them run as ever. It holds while the states' buffers stay the same ones:
// once they grow, or another program runs, it is let go of, and a later step is recorded anew.
type tape struct {
	program *program
	runs    []run
	held    map[int]int // by the states that the runs write to: which arrays they had, see registry.InPlace
}

// run is calls that run as one.
type run struct {
	first, last int // indices into program.calls
	chain       *native.Chain
	in, out     []int32 // slots
	states      []int   // written to
}

// recording is a step of which a tape is made.
type recording struct {
	calls  []native.Ends // by call
	states []mlx.Array   // what the states held before
}

func (t *tape) free() {
	if t == nil {
		return
	}
	for i := range t.runs {
		t.runs[i].chain.Free()
	}
}

// dropTape lets go of what was recorded: the next steps run call by call.
func (s *Session) dropTape() {
	s.tape.free()
	s.tape, s.steps = nil, 0
}

// again gives the runs that stand for calls of this step, if it was recorded and nothing has changed. It also counts the
// steps, for record.
func (s *Session) again(p *program, z sizes) []run {
	if t := s.tape; t != nil && (t.program != p || !s.single(z) || !t.stands(s.states)) {
		s.dropTape()
	}
	if s.stepped != p || !s.single(z) {
		s.stepped, s.steps = p, 0
	}
	if s.single(z) {
		s.steps++
	}
	if s.replayed = s.tape != nil; !s.replayed {
		return nil
	}
	s.places = s.places[:0]
	for _, st := range s.states {
		s.places = append(s.places, native.Place{Position: st.Offset()})
	}
	return s.tape.runs
}

// single tells whether a forward is a step of one position of one text, which nobody looks into.
func (s *Session) single(z sizes) bool { return z.b == 1 && z.t == 1 && s.tap == nil }

// stands tells whether the states are those that the tape writes to, with room for one position more.
func (t *tape) stands(states []registry.StateValue) bool {
	for i, was := range t.held {
		if held, ok := states[i].(registry.InPlace).InPlace(); !ok || held != was {
			return false
		}
	}
	return true
}

// recorded is how many chains the last forward ran, and the primitives in them.
func (s *Session) recorded() (chains, primitives int) {
	if !s.replayed || s.tape == nil {
		return 0, 0
	}
	for i := range s.tape.runs {
		primitives += s.tape.runs[i].chain.Nodes()
	}
	return len(s.tape.runs), primitives
}

// replay runs a chain in place of calls.
func (s *Session) replay(r *run, slots []mlx.Array) error {
	for _, i := range r.states {
		s.places[i] = s.states[i].(registry.InPlace).Take()
	}
	var few [8]mlx.Array
	in := few[:0]
	for _, slot := range r.in {
		in = append(in, slots[slot])
	}
	out := r.chain.Run(s.scope, in, s.places)
	if err := s.scope.ResetErr(); err != nil {
		return err
	}
	for i, slot := range r.out {
		slots[slot] = out[i]
	}
	s.ran = append(s.ran, out[0].Clone())
	return nil
}

// left is what a forward leaves for the next and what it must have run for that: chains write to states that do not know.
func (s *Session) left(to []mlx.Array) []mlx.Array { return s.stateArrays(append(to, s.ran...)) }

// forget frees what left gave beside the states, once it is handed to MLX.
func (s *Session) forget() {
	mlx.FreeAll(s.ran...)
	s.ran = s.ran[:0]
}

// record begins a recording, where a step is worth one: the second of a program in a row, or the third where in the second a
// state gets new buffers.
func (s *Session) record(p *program) *recording {
	if s.engine.workers == nil || p.plain || s.tape != nil || s.steps < 2 || s.steps == 2 && !s.roomy(p) || s.steps > 3 {
		return nil
	}
	r := &recording{calls: make([]native.Ends, len(p.calls))}
	for _, a := range s.stateArrays(nil) {
		r.states = append(r.states, s.scope.Own(a.Clone()))
	}
	return r
}

// roomy tells whether no state of a program needs new buffers for a position more.
func (s *Session) roomy(p *program) bool {
	for i := range p.calls {
		if st := p.calls[i].at.State; st >= 0 {
			if v, ok := s.states[st].(registry.InPlace); ok {
				if _, ok := v.InPlace(); !ok {
					return false
				}
			}
		}
	}
	return true
}

func (r *recording) saw(i int, in, out []mlx.Array) {
	r.calls[i] = native.Ends{In: in, Out: slices.Clone(out)} // a call's inputs stay until it runs again
}

// finish makes the tape of a step whose graph is built and not evaluated yet.
func (s *Session) finish(r *recording, p *program) {
	e := s.engine
	known := slices.Concat(present(e.tensors), e.constants, r.states)
	kinds := native.Calls(known, r.calls)
	t := &tape{program: p, held: map[int]int{}}
	for i := 0; i < len(kinds); i++ {
		first := i
		for i < len(kinds) && s.recordable(p, i, kinds[i]) {
			i++
		}
		if first == i {
			continue
		}
		if run, ok := s.newRun(r, p, known, first, i-1); ok {
			t.runs = append(t.runs, run)
			for _, st := range run.states {
				t.held[st], _ = s.states[st].(registry.InPlace).InPlace()
			}
		}
	}
	if len(t.runs) == 0 {
		p.plain = true
		return
	}
	s.tape = t
}

// recordable tells whether a call may be part of a run: its primitives are the CPU's own, and what it does to a state is known.
func (s *Session) recordable(p *program, i, kind int) bool {
	state := p.calls[i].at.State
	if state < 0 || kind < 0 {
		return state < 0 && kind == native.Pure
	}
	if _, ok := s.states[state].(registry.InPlace); !ok || state != kind {
		return false
	}
	// Nobody else in the program reads what the chain writes: MLX would not know that it comes first.
	users := 0
	for _, c := range p.source.Calls {
		if c.State == state {
			users++
		}
	}
	return users == 1
}

// newRun records calls as a chain; false where that is not worth it, or cannot be.
func (s *Session) newRun(r *recording, p *program, known []mlx.Array, first, last int) (run, bool) {
	out := run{first: first, last: last}
	values := map[int32]mlx.Array{} // of the slots written
	var in, leave, also []mlx.Array
	for i := first; i <= last; i++ {
		c := &p.calls[i]
		for _, f := range c.fill {
			if _, inside := values[f.slot]; inside || slices.Contains(out.in, f.slot) || p.isFixed(f.slot) {
				continue
			}
			if !sized(p.source, int(f.slot)) {
				return out, false
			}
			out.in, in = append(out.in, f.slot), append(in, r.calls[i].In[f.at])
		}
		for k, slot := range c.out {
			values[slot] = r.calls[i].Out[k]
		}
		if c.at.State >= 0 {
			out.states = append(out.states, c.at.State)
			also = append(also, r.calls[i].Out...)
		}
	}
	for i := first; i <= last; i++ {
		for _, slot := range p.calls[i].out {
			if p.reads[slot] > last && !slices.Contains(out.out, slot) {
				out.out, leave = append(out.out, slot), append(leave, values[slot])
			}
		}
	}
	if slots := p.calls[last].out; len(leave) == 0 && len(slots) > 0 { // something is to be evaluated
		out.out, leave = append(out.out, slots[0]), append(leave, values[slots[0]])
	}
	if len(leave) == 0 {
		return out, false
	}
	for i := first; i <= last; i++ {
		c := &p.calls[i]
		r.calls[i].Name = at(c.at.Path, c.at.At, errors.New(s.engine.calls(c))).Error()
	}
	chain, err := native.NewChain(s.engine.workers, known, in, leave, also, r.calls[first:last+1])
	if err != nil {
		return out, false // not what Calls took it for: the calls go on one by one
	}
	if out.chain = chain; chain.Nodes() < 2 {
		chain.Free()
		return out, false
	}
	return out, true
}

func (p *program) isFixed(slot int32) bool {
	return slices.ContainsFunc(p.fixed, func(k fixedSlot) bool { return k.slot == slot })
}

// sized tells whether a value's size does not depend on the positions before.
func sized(g *plan.Program, slot int) bool {
	for _, c := range g.Calls {
		for _, in := range c.In {
			if in.Kind != plan.FromSlot || in.Index != slot {
				continue
			}
			for _, d := range in.Type.Shape {
				for _, term := range d.Terms {
					if term.Symbol != "B" && term.Symbol != "T" {
						return false
					}
				}
			}
			return true
		}
	}
	return false
}
