package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// unitsOf are what runs as one in a program, by each of the calls in it.
func (e *Engine) unitsOf(g *plan.Program) map[int]*plan.Fused {
	out := map[int]*plan.Fused{}
	if e.options.Apart {
		return out
	}
	for i := range g.Fused {
		if g.Fused[i].Core >= 0 && e.workers == nil {
			continue // by MLX's calls, as every native operator
		}
		for _, k := range g.Fused[i].Calls() {
			out[k] = &g.Fused[i]
		}
	}
	return out
}

// joined makes one call of what runs as one: its operands are the value that it begins with, the norm's others, and what is
// added.
func (e *Engine) joined(g *plan.Program, u *plan.Fused) (call, error) {
	if u.Core >= 0 {
		return e.joint(g, u)
	}
	first := &g.Calls[u.Members[0]]
	use, key := useOf(e.plan, first), bound{instance: u.Instance, transposed: transposed(first)}
	in := first.In
	var out []int
	for _, m := range u.Members {
		out = append(out, g.Calls[m].Out...)
	}
	if u.Before >= 0 {
		use.before = &g.Calls[u.Before]
		use.x = use.before.Types[0]
		in = use.before.In
		key.with = textOf(use.before)
	}
	if u.After >= 0 {
		use.after = &g.Calls[u.After]
		for _, o := range use.after.In {
			if o.Kind != plan.FromSlot || o.Index != out[0] {
				in = append(slices.Clip(in), o)
			}
		}
		out = use.after.Out
		key.with += " " + textOf(use.after)
	}
	c := e.operands(first, in, out)
	c.unit = u
	var err error
	c.run, err = e.instance(key, use, 0)
	return c, err
}

// joint makes one call of an operator and those around it.
func (e *Engine) joint(g *plan.Program, u *plan.Fused) (call, error) {
	core := &g.Calls[u.Core]
	op := e.registry.Operator(core.Operator)
	if op == nil || op.Joint == nil {
		return call{}, fmt.Errorf("this engine has no operator %s that takes in others", core.Operator)
	}
	j, _ := op.Joint.Around(g.Calls, u.Core, func(k int) bool { return slices.Contains(u.Members, k) })
	j.Single = e.operator
	if core.State >= 0 {
		j.State, j.Alone = &e.plan.States[core.State], true
	}
	c := e.operands(core, j.Operands(), g.Calls[u.Place].Out)
	c.unit = u
	b := e.buildOf(core)
	var err error
	c.run, err = e.made(core.Operator, func() (registry.Run, error) { return op.Joint.Build(j, b) })
	return c, err
}

// textOf tells operators with other parameters apart.
func textOf(c *plan.Call) string {
	args, err := json.Marshal(c.Args)
	if err != nil {
		return c.Operator + err.Error()
	}
	return c.Operator + string(args)
}

// results are the calls whose results a unit leaves, one each.
func (u *call) results(g *plan.Program) []*plan.Call {
	if u.unit.Core >= 0 {
		return []*plan.Call{&g.Calls[u.unit.Place]}
	}
	if u.unit.After >= 0 {
		return []*plan.Call{&g.Calls[u.unit.After]}
	}
	var out []*plan.Call
	for _, m := range u.unit.Members {
		out = append(out, &g.Calls[m])
	}
	return out
}
