package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// ErrBusy is returned where a session is used while it serves another caller.
var ErrBusy = errors.New("the session is in use by another call")

// Session is a run of sequences of equal length through an engine's plan: its states and the positions they have
// taken. Sessions of one engine share the weights and take turns, a step each.
type Session struct {
	engine *Engine
	mu     sync.Mutex // held by the caller it serves

	// What follows is touched on the engine's thread only.
	scope   *mlx.Scope
	states  []registry.StateValue
	forward registry.Call
	slots   []mlx.Array
	results []mlx.Array
	live    []mlx.Array // between the pieces of a forward
	// Recorded steps, see chain.go: what stands recorded, which program the last steps of one position ran and how many
	// there were, where the states stand, whether the last forward ran recorded, and an output of each of its chains until
	// they are handed to MLX.
	tape    *tape
	stepped *program
	steps   int
	places  []native.Place

	replayed bool
	ran      []mlx.Array
	batch    int   // sequences; 0: none yet
	taken    []int // positions of each sequence, by the tables' counters
	broken   error
	// adapters are the active ones, in order, and tables the programs that run under them.
	adapters []string
	tables   []*table
	freed    bool
	tap      func(c *plan.Call, results []mlx.Array) error // of Trace; nil otherwise

	// pending are tokens that Generate gave out but no forward has taken yet: they go before the next prompt.
	pending []int32
}

// NewSession makes a session with empty states. The caller closes it; the engine's Close does too.
func (e *Engine) NewSession() (*Session, error) {
	s := &Session{engine: e}
	err := e.do(func() error {
		s.scope = mlx.NewScope(e.stream)
		s.forward = registry.Call{Scope: s.scope, Memo: map[any]any{}}
		for i := range e.plan.States {
			decl := &e.plan.States[i]
			kind := e.registry.State(decl.Kind)
			if kind == nil || kind.New == nil {
				return at(decl.Path, decl.At, fmt.Errorf("this engine has no kind of state %q", decl.Kind))
			}
			v, err := kind.New(*decl)
			if err != nil {
				return at(decl.Path, decl.At, err)
			}
			s.states = append(s.states, v)
		}
		s.forward.States = s.states
		s.tables = e.tables
		s.taken = make([]int, len(e.entries))
		e.sessions[s] = struct{}{}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Positions is the number of positions that each sequence has taken in the text entry, and in entries that share its
// states.
func (s *Session) Positions() int {
	n := 0
	_ = s.engine.do(func() error {
		for _, t := range s.tables {
			if t.name == textEntry {
				n = s.taken[t.counter]
			}
		}
		return nil
	})
	return n
}

// Reset forgets everything: the next forward starts a new text, perhaps of another number of sequences.
func (s *Session) Reset() error {
	return s.alone(func() error {
		return s.engine.do(func() error { s.reset(); return nil })
	})
}

func (s *Session) reset() {
	s.dropTape()
	s.forget()
	for _, st := range s.states {
		st.Reset()
	}
	clear(s.taken)
	s.batch, s.broken, s.pending = 0, nil, nil
}

// Close frees the states. It waits for the call that the session serves. It may be called twice.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.engine.do(func() error {
		s.free()
		delete(s.engine.sessions, s)
		return nil
	})
}

func (s *Session) free() {
	if s.freed {
		return
	}
	s.freed = true
	s.scope.Free()
	s.dropTape()
	s.forget()
	for _, st := range s.states {
		st.Free()
	}
	s.states, s.slots = nil, nil
}

// alone runs f unless the session serves somebody else.
func (s *Session) alone(f func() error) error {
	if !s.mu.TryLock() {
		return ErrBusy
	}
	defer s.mu.Unlock()
	return f()
}

// prepare picks the program for a forward and counts its positions. On the engine's thread.
func (s *Session) prepare(t *table, b, n int) (*program, error) {
	switch limit := s.engine.options.Context; {
	case s.freed:
		return nil, ErrClosed
	case s.broken != nil:
		return nil, fmt.Errorf("the session failed before and must be reset: %w", s.broken)
	case s.batch != 0 && s.batch != b:
		return nil, fmt.Errorf("the session holds %d sequences, %d are given; reset it first", s.batch, b)
	case limit > 0 && s.taken[t.counter]+n > limit:
		return nil, fmt.Errorf("%d positions are taken and %d more given, the context is %d", s.taken[t.counter], n, limit)
	}
	return t.choose(b, n, s.taken[t.counter]+n)
}

// step runs a table's program and counts the positions. Its results are lazy and belong to the session's scope.
func (s *Session) step(t *table, inputs []mlx.Array, b, n int) ([]mlx.Array, *program, error) {
	p, err := s.prepare(t, b, n)
	if err != nil {
		s.scope.Free()
		return nil, nil, err
	}
	out, err := s.run(p, inputs, sizes{b, n, s.taken[t.counter] + n})
	if err != nil {
		s.broken = err // some states may have been written and others not
		return nil, nil, err
	}
	s.batch = b
	s.taken[t.counter] += n
	return out, p, nil
}

// stateArrays are what a forward leaves for the next.
func (s *Session) stateArrays(to []mlx.Array) []mlx.Array {
	for _, st := range s.states {
		for _, a := range st.Arrays() {
			if a.Valid() {
				to = append(to, a)
			}
		}
	}
	return to
}

// evaluate computes arrays and breaks the session where that fails.
func (s *Session) evaluate(t *table, n int, arrays []mlx.Array) error {
	err := mlx.Eval(arrays...)
	s.forget()
	if err != nil {
		s.broken = fmt.Errorf("entry %s, %d new tokens, %d positions: %w", t.name, n, s.taken[t.counter], err)
		s.scope.Free()
		return s.broken
	}
	return nil
}

// Forward takes the inputs of an entry and gives the asked outputs by name. Without outputs it only writes the states,
// as for the chunks of a prompt.
func (s *Session) Forward(ctx context.Context, in Inputs, outputs ...string) (map[string]Tensor, error) {
	var out map[string]Tensor
	err := s.alone(func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.engine.do(func() (err error) {
			out, err = s.forwardNow(in, outputs)
			return err
		})
	})
	return out, err
}

func (s *Session) forwardNow(in Inputs, outputs []string) (map[string]Tensor, error) {
	t, b, n, err := lookup(s.tables, in, outputs)
	if err != nil {
		return nil, err
	}
	inputs, err := in.arrays(s.scope, t, sizes{b, n, s.taken[t.counter] + n})
	if err != nil {
		s.scope.Free()
		return nil, err
	}
	results, p, err := s.step(t, inputs, b, n)
	if err != nil {
		return nil, err
	}
	asked := make(map[string]Tensor, len(outputs))
	var eval []mlx.Array
	for i, r := range p.results {
		for _, name := range outputs {
			if r.name == name {
				eval = append(eval, results[i])
			}
		}
	}
	if err := s.evaluate(t, n, s.left(eval)); err != nil {
		return nil, err
	}
	defer s.scope.Free()
	for i, r := range p.results {
		for _, name := range outputs {
			if r.name != name {
				continue
			}
			if asked[name], err = tensorOf(results[i]); err != nil {
				return nil, fmt.Errorf("output %s: %w", name, err)
			}
		}
	}
	return asked, nil
}
