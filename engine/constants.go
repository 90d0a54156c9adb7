package engine

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// constants finds the calls of a program that depend on no input, no state and none of B, T and S: they run once, when
// the engine opens.
type constants struct {
	slots map[int]bool
	taken map[int]bool // slots that an input or another call writes too
}

func newConstants(g *plan.Program) *constants {
	c := &constants{slots: map[int]bool{}, taken: map[int]bool{}}
	writers := map[int]int{}
	for _, in := range g.Inputs {
		writers[in.Slot]++
	}
	for i := range g.Calls {
		for _, s := range g.Calls[i].Out {
			writers[s]++
		}
	}
	for s, n := range writers {
		c.taken[s] = n > 1
	}
	return c
}

// is tells whether a call is constant, given that the calls before it were asked.
func (c *constants) is(call *plan.Call) bool {
	if call.State >= 0 || len(call.Out) == 0 || len(call.Types) != len(call.Out) {
		return false
	}
	for _, in := range call.In {
		switch in.Kind {
		case plan.FromSlot:
			if !c.slots[in.Index] {
				return false
			}
		case plan.FromState:
			return false
		}
	}
	for _, t := range call.Types {
		if _, known := t.Shape.Known(); !known {
			return false
		}
	}
	for _, a := range call.Args {
		if !fixed(a.Value) {
			return false
		}
	}
	for _, s := range call.Out {
		if c.taken[s] {
			return false
		}
	}
	for _, s := range call.Out {
		c.slots[s] = true
	}
	return true
}

// fixed tells whether no dim in a parameter hangs on the forward.
func fixed(v plan.Value) bool {
	known := func(s shape.Shape) bool { _, ok := s.Known(); return ok }
	if !known(v.Dims) {
		return false
	}
	for _, x := range v.List {
		if !fixed(x) {
			return false
		}
	}
	for _, x := range v.Map {
		if !fixed(x.Value) {
			return false
		}
	}
	return true
}

// runOnce runs a constant call and keeps its results for all forwards.
func (e *Engine) runOnce(p *program, c *call) error {
	for _, f := range c.fill {
		for _, k := range p.fixed {
			if k.slot == f.slot {
				c.in[f.at] = k.value
			}
		}
	}
	mark := len(e.constants)
	out := c.run(&registry.Call{Scope: e.scope, Memo: map[any]any{}}, c.in)
	err := e.scope.ResetErr()
	if err == nil && len(out) < len(c.out) {
		err = fmt.Errorf("gave %d results, the plan has %d", len(out), len(c.out))
	}
	if err == nil {
		for i, s := range c.out {
			// A clone, because an operator may give back its input.
			v := out[i].Clone()
			e.keep(v)
			p.fixed = append(p.fixed, fixedSlot{s, v, c.at})
		}
		err = mlx.Eval(e.constants[mark:]...)
	}
	e.scope.Free()
	return err
}
