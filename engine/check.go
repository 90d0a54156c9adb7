package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/plan"
)

// check holds a plan to what the interpreter relies on, once, so that a forward need not: every index is inside its
// table, every slot is written before it is read and not read after it is freed.
func check(p *plan.Plan) error {
	for i, w := range p.Weights {
		for _, t := range append([]int{w.Tensor, w.Scales, w.Biases, w.Bias}, w.More...) {
			if t < -1 || t >= len(p.Tensors) {
				return fmt.Errorf("weight %s (%d): no tensor %d", w.Path, i, t)
			}
		}
	}
	for i := range p.Instances {
		if err := checkInstance(p, i); err != nil {
			return at(p.Instances[i].Path, p.Instances[i].At, err)
		}
	}
	for i := range p.Programs {
		if err := checkProgram(p, &p.Programs[i]); err != nil {
			return fmt.Errorf("program %d of entry %s: %w", i, p.Programs[i].Entry, err)
		}
	}
	return nil
}

func checkInstance(p *plan.Plan, i int) error {
	inst := &p.Instances[i]
	for _, w := range inst.Weights {
		if w.Weight < 0 || w.Weight >= len(p.Weights) {
			return fmt.Errorf("class %s: no weight %d for %s", inst.Class, w.Weight, w.Role)
		}
	}
	for _, part := range inst.Parts {
		if part.Instance < 0 || part.Instance >= len(p.Instances) {
			return fmt.Errorf("class %s: no instance %d for its part %s", inst.Class, part.Instance, part.Role)
		}
	}
	return nil
}

func checkProgram(p *plan.Plan, g *plan.Program) error {
	// A slot is a few bytes of every forward; more slots than calls can write are no plan.
	outputs := len(g.Inputs)
	for i := range g.Calls {
		outputs += len(g.Calls[i].Out)
	}
	if g.Slots < 0 || g.Slots > outputs {
		return fmt.Errorf("%d slots for %d values", g.Slots, outputs)
	}
	live := make([]bool, g.Slots)
	write := func(slot int) error {
		if slot < 0 || slot >= len(live) {
			return fmt.Errorf("no slot %d among %d", slot, len(live))
		}
		live[slot] = true
		return nil
	}
	read := func(slot int) error {
		if slot < 0 || slot >= len(live) || !live[slot] {
			return fmt.Errorf("slot %d has no value here", slot)
		}
		return nil
	}
	for _, in := range g.Inputs {
		if err := write(in.Slot); err != nil {
			return fmt.Errorf("input %s: %w", in.Name, err)
		}
	}
	done := map[int]bool{}
	for i := range g.Calls {
		c := &g.Calls[i]
		if err := checkCall(p, c, read, write); err != nil {
			return at(c.Path, c.At, err)
		}
		if err := checkGroup(g, i, done); err != nil {
			return at(c.Path, c.At, err)
		}
		for _, s := range c.Free {
			if err := read(s); err != nil {
				return at(c.Path, c.At, fmt.Errorf("free: %w", err))
			}
			live[s] = false
		}
	}
	for i := range g.Fused {
		if err := checkFused(p, g, &g.Fused[i]); err != nil {
			return err
		}
	}
	for _, out := range g.Results {
		if err := read(out.Slot); err != nil {
			return fmt.Errorf("result %s: %w", out.Name, err)
		}
	}
	return nil
}

// checkGroup holds the calls of a group to be operators one after another; done are the groups that have begun.
func checkGroup(g *plan.Program, i int, done map[int]bool) error {
	c := &g.Calls[i]
	switch {
	case c.Group == 0:
		return nil
	case c.Group < 0 || c.Group > len(g.Groups):
		return fmt.Errorf("no group %d among %d", c.Group, len(g.Groups))
	case c.Operator == "" || c.State >= 0:
		return fmt.Errorf("a call of a compiled block has no port and no state")
	case done[c.Group] && g.Calls[i-1].Group != c.Group:
		return fmt.Errorf("the calls of the compiled block %s do not follow on one another", g.Groups[c.Group-1].Block)
	}
	done[c.Group] = true
	return nil
}

// checkFused holds what runs as one to be an operator, ports on one value and an operator.
func checkFused(p *plan.Plan, g *plan.Program, u *plan.Fused) error {
	if u.Core >= 0 {
		return checkJoint(g, u)
	}
	if len(u.Members) == 0 || len(u.Members) > 1 && u.After >= 0 || u.Instance < 0 || u.Instance >= len(p.Instances) || !slices.Contains(u.Calls(), u.Place) {
		return fmt.Errorf("what runs as one in the place of call %d is not whole", u.Place)
	}
	for _, i := range u.Calls() {
		switch {
		case i < 0 || i >= len(g.Calls):
			return fmt.Errorf("call %d among %d runs as one with others", i, len(g.Calls))
		case slices.Contains(u.Members, i) != (g.Calls[i].Operator == ""):
			return at(g.Calls[i].Path, g.Calls[i].At, fmt.Errorf("a port stands where an operator runs as one with others, or the other way round"))
		case slices.Contains(u.Members, i) && (len(g.Calls[i].In) == 0 || len(g.Calls[i].Out) != 1), u.Before == i && len(g.Calls[i].Types) != 1:
			return at(g.Calls[i].Path, g.Calls[i].At, fmt.Errorf("what runs as one with others takes a value and gives one"))
		}
	}
	return nil
}

// checkJoint holds what an operator takes in to be operators.
func checkJoint(g *plan.Program, u *plan.Fused) error {
	if !slices.Contains(u.Members, u.Core) || !slices.Contains(u.Members, u.Place) || u.Before >= 0 || u.After >= 0 {
		return fmt.Errorf("what runs as one in the place of call %d is not whole", u.Place)
	}
	for _, i := range u.Members {
		switch {
		case i < 0 || i >= len(g.Calls):
			return fmt.Errorf("call %d among %d runs as one with others", i, len(g.Calls))
		case g.Calls[i].Operator == "" || len(g.Calls[i].In) == 0 || len(g.Calls[i].Out) != 1:
			return at(g.Calls[i].Path, g.Calls[i].At, fmt.Errorf("an operator that takes a value and gives one runs as one with others, nothing else"))
		}
	}
	return nil
}

func checkCall(p *plan.Plan, c *plan.Call, read, write func(int) error) error {
	switch {
	case c.Operator == "" && (c.Port < 0 || c.Port >= len(p.Ports)):
		return fmt.Errorf("no port %d", c.Port)
	case c.Operator == "" && (c.Instance < 0 || c.Instance >= len(p.Instances)):
		return fmt.Errorf("no instance %d", c.Instance)
	case c.State < -1 || c.State >= len(p.States):
		return fmt.Errorf("no state %d", c.State)
	}
	for i, in := range c.In {
		var err error
		switch in.Kind {
		case plan.FromNothing:
		case plan.FromSlot:
			err = read(in.Index)
		case plan.FromTensor:
			err = inside("tensor", in.Index, len(p.Tensors))
		case plan.FromState:
			err = inside("state", in.Index, len(p.States))
		case plan.FromScalar:
			if in.Scalar == nil {
				err = errors.New("a number without its value")
			} else if !number(*in.Scalar) {
				err = fmt.Errorf("%s is no number", in.Scalar.Text())
			}
		default:
			err = fmt.Errorf("operand kind %d", in.Kind)
		}
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	for _, s := range c.Out {
		if err := write(s); err != nil {
			return err
		}
	}
	return nil
}

func inside(what string, i, n int) error {
	if i < 0 || i >= n {
		return fmt.Errorf("no %s %d among %d", what, i, n)
	}
	return nil
}

// number tells whether a value is a number or boolean, or a list of these, as `constant` takes it.
func number(v plan.Value) bool {
	if v.Kind == plan.List {
		return !slices.ContainsFunc(v.List, func(x plan.Value) bool { return !number(x) })
	}
	return v.Kind == plan.Int || v.Kind == plan.Float || v.Kind == plan.Bool
}
