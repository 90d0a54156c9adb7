package compose

import (
	"slices"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// fuse says which calls of a program run as one: the members of a group that a class fills, and a norm before or a sum after
// a port whose class computes them too; and operators with those around them. The calls themselves stay as the graph has them.
func (c *composer) fuse(p *plan.Program) {
	f := &fuser{c: c, p: p, readers: map[int][]int{}, writer: map[int]int{}}
	for i := range p.Calls {
		for _, in := range p.Calls[i].In {
			if in.Kind == plan.FromSlot {
				f.readers[in.Index] = append(f.readers[in.Index], i)
			}
		}
		for _, s := range p.Calls[i].Out {
			f.writer[s] = i
		}
	}
	for _, r := range p.Results {
		f.readers[r.Slot] = append(f.readers[r.Slot], len(p.Calls)) // whoever asks for it
	}
	taken := map[int]bool{} // by a fused call before
	for i := range p.Calls {
		call := &p.Calls[i]
		if call.Port < 0 || taken[i] {
			continue
		}
		u := plan.Fused{Place: i, Before: -1, Members: []int{i}, After: -1, Instance: call.Instance, Core: -1}
		if members, instance := f.group(i); members != nil {
			u.Members, u.Instance = members, instance
			for _, m := range members {
				taken[m] = true
			}
		}
		class := c.reg.Class(c.plan.Instances[u.Instance].Class)
		u.Before = f.before(class, u.Members)
		if len(u.Members) == 1 {
			if after := f.after(class, i); after >= 0 && !taken[after] {
				u.After, u.Place, taken[after] = after, after, true
			}
		}
		if len(u.Members) > 1 || u.Before >= 0 || u.After >= 0 {
			p.Fused = append(p.Fused, u)
		}
		for _, k := range u.Calls() {
			taken[k] = true
		}
	}
	for i := range p.Calls {
		if u, ok := f.around(i, taken); ok {
			p.Fused = append(p.Fused, u)
		}
	}
}

// around is an operator with those that stand around it, where it takes some in.
func (f *fuser) around(core int, taken map[int]bool) (plan.Fused, bool) {
	c, calls := f.c, f.p.Calls
	call := &calls[core]
	op := c.reg.Operator(call.Operator)
	if op == nil || op.Joint == nil || !slices.Contains(c.fused, op.Name) || !slices.Contains(c.plan.Native, op.Name) || call.Group > 0 {
		return plan.Fused{}, false
	}
	j, members := op.Joint.Around(calls, core, func(k int) bool {
		other := &calls[k]
		o := c.reg.Operator(other.Operator)
		if o == nil || taken[k] || other.Group > 0 || len(other.Out) != 1 || o.Native != nil && !slices.Contains(c.plan.Native, o.Name) {
			return false
		}
		read := other.Out[0]
		if k > core {
			read = call.Out[0]
		}
		return len(f.readers[read]) == 1 && (k < core || f.readers[read][0] == k)
	})
	place := members[len(members)-1]
	if call.State >= 0 {
		j.State, j.Alone = &c.plan.States[call.State], true
		for k := range calls {
			if !slices.Contains(members, k) && uses(&calls[k], call.State) {
				j.Alone = false
				if k > core && k < place {
					return plan.Fused{}, false // it would come before what it waits for
				}
			}
		}
	}
	return plan.Fused{Place: place, Before: -1, Members: members, After: -1, Instance: -1, Core: core}, len(members) > 1 && op.Joint.Accept(j)
}

// uses tells whether a call has anything to do with a state.
func uses(c *plan.Call, state int) bool {
	return c.State == state || slices.ContainsFunc(c.In, func(in plan.Operand) bool { return in.Kind == plan.FromState && in.Index == state })
}

type fuser struct {
	c       *composer
	p       *plan.Program
	readers map[int][]int // of a slot
	writer  map[int]int   // of a slot
}

// group is the group of which a call is the first member, where a class fills it and every member is called on the same
// value, once.
func (f *fuser) group(first int) (members []int, instance int) {
	c, call := f.c, &f.p.Calls[first]
	index := c.groupOf(call.Port)
	if index < 0 {
		return nil, -1
	}
	port := &c.plan.Ports[index]
	instance = port.At(f.p.First).Instance
	if class := c.reg.Class(c.plan.Instances[instance].Class); class == nil || class.Parts != nil {
		return nil, -1 // each by itself
	}
	members = make([]int, len(port.Members))
	for i, m := range port.Members {
		members[i] = -1
		for k := first; k < len(f.p.Calls); k++ {
			if other := &f.p.Calls[k]; other.Port == m && sameSlot(other.In[0], call.In[0]) {
				if members[i] >= 0 {
					return nil, -1
				}
				members[i] = k
			}
		}
		if members[i] < 0 {
			return nil, -1
		}
	}
	return members, instance
}

func sameSlot(a, b plan.Operand) bool {
	return a.Kind == plan.FromSlot && b.Kind == plan.FromSlot && a.Index == b.Index
}

func (f *fuser) takes(list []string, operator string) bool {
	return slices.Contains(list, operator) && slices.Contains(f.c.fused, operator)
}

// before is the norm whose result these calls alone read; -1: none.
func (f *fuser) before(class *registry.Class, members []int) int {
	in := f.p.Calls[members[0]].In[0]
	at, ok := f.writer[in.Index]
	if class == nil || in.Kind != plan.FromSlot || !ok {
		return -1
	}
	call := &f.p.Calls[at]
	if !f.takes(class.Before, call.Operator) || call.Group > 0 || call.In[0].Kind != plan.FromSlot {
		return -1
	}
	if readers := slices.Sorted(slices.Values(f.readers[in.Index])); !slices.Equal(readers, slices.Sorted(slices.Values(members))) {
		return -1
	}
	return at
}

// after is the operator that alone reads a call's result, beside another value of the same type; -1: none.
func (f *fuser) after(class *registry.Class, member int) int {
	out := f.p.Calls[member].Out[0]
	if class == nil || len(f.readers[out]) != 1 || f.readers[out][0] == len(f.p.Calls) {
		return -1
	}
	at := f.readers[out][0]
	call := &f.p.Calls[at]
	if !f.takes(class.After, call.Operator) || call.Group > 0 || len(call.In) != 2 {
		return -1
	}
	other := call.In[0]
	if other.Kind == plan.FromSlot && other.Index == out {
		other = call.In[1]
	}
	t := f.p.Calls[member].Types[0]
	if other.Kind != plan.FromSlot || other.Type.Dtype != t.Dtype || !other.Type.Shape.Equal(t.Shape) {
		return -1
	}
	return at
}
