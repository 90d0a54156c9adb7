//go:build cgo && mlx

package engine

import "github.com/graphrun/graphrun/mlx"

// StateBytes is what a session's states hold once the step that is ahead is done, for the leak test.
func (s *Session) StateBytes() int {
	n := 0
	_ = s.engine.do(func() error {
		if err := mlx.Synchronize(s.engine.stream); err != nil {
			return err
		}
		for _, a := range s.stateArrays(nil) {
			n += a.Nbytes()
		}
		return nil
	})
	return n
}

// Compiled are options with which blocks that are marked compiled are so on the CPU too.
func Compiled(o Options) Options {
	o.compile = true
	return o
}

// CompiledFunctions is how many functions an engine compiled for blocks that are marked so.
func (e *Engine) CompiledFunctions() int {
	n := 0
	_ = e.do(func() error {
		for key := range e.memo {
			if _, ok := key.(groupKey); ok {
				n++
			}
		}
		return nil
	})
	return n
}

// Pieces is the most that a program is computed in.
func (e *Engine) Pieces() int {
	n := 0
	for _, t := range e.tables {
		for _, c := range t.choices {
			n = max(n, len(c.program.pieces))
		}
	}
	return n
}

// DropPieces computes every forward in one.
func (e *Engine) DropPieces() {
	for _, t := range e.tables {
		for _, c := range t.choices {
			c.program.pieces = nil
		}
	}
}

// CallByCall records no step, also under adapters that are chosen later.
func (e *Engine) CallByCall() {
	for _, t := range e.tables {
		for _, c := range t.choices {
			c.program.plain = true
		}
	}
}

// Recorded is how many chains a session's last step ran as, and how many primitives they are.
func (s *Session) Recorded() (chains, primitives int) {
	_ = s.engine.do(func() error { chains, primitives = s.recorded(); return nil })
	return chains, primitives
}
