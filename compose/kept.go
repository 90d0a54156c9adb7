package compose

import (
	"maps"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/plan"
)

// A state write that one program of an entry needs is in all of them: an indexer's keys are written while the context is
// still too short for a selection. Where no output of a program needs the line that writes, it is found here.

// deferred is a call that nothing has needed yet: one with a state, or one whose body may hold such calls.
type deferred struct {
	state string // its path; "": the call opens a body
	run   func() []*value
}

// remember keeps a call that may have to be expanded for its state.
func (x *expansion) remember(p place, call *syntax.Call, run func() []*value) {
	switch {
	case len(x.keeps) == 0:
	case x.opens(p, call):
		x.later = append(x.later, deferred{run: run})
	case call.State != nil:
		if s := p.state(call.State.Text); s != nil {
			x.later = append(x.later, deferred{s.path, run})
		}
	}
}

// keep expands the calls with the states that it has to write, opening bodies as long as one is missing. A call whose own condition is false
// is not there and stays so.
func (x *expansion) keep() {
	missing := maps.Clone(x.keeps)
	for _, c := range x.calls {
		if c.State >= 0 {
			delete(missing, x.c.plan.States[c.State].Path)
		}
	}
	for i := 0; i < len(x.later) && len(missing) > 0; i++ {
		d := x.later[i]
		if d.state != "" && !missing[d.state] {
			continue
		}
		values := d.run()
		if d.state == "" {
			continue
		}
		for _, v := range values {
			v.force()
		}
		delete(missing, d.state)
	}
}

// keptStates are those that a live call of some program has, and whether every program that was expanded has them all.
func (c *composer) keptStates(done []*expanded) (kept map[string]bool, all bool) {
	kept = map[string]bool{}
	for _, e := range done {
		for _, call := range e.live(e.results, nil) {
			if call.State >= 0 {
				kept[c.plan.States[call.State].Path] = true
			}
		}
	}
	for _, e := range done {
		has := map[string]bool{}
		for i := range e.x.calls {
			if s := e.x.calls[i].State; s >= 0 {
				has[c.plan.States[s].Path] = true
			}
		}
		for path := range kept {
			if !has[path] {
				return kept, false
			}
		}
	}
	return kept, true
}

// keptWrites tells of a call whether it is in every program of its entry.
func (c *composer) keptWrites(done []*expanded) func(*plan.Call) bool {
	kept, _ := c.keptStates(done)
	return func(call *plan.Call) bool { return call.State >= 0 && kept[c.plan.States[call.State].Path] }
}
