package registry

import (
	"slices"

	"github.com/graphrun/graphrun/plan"
)

// Joint says which calls around one of an operator run as one with it where a variant's `fuse` names the operator.
type Joint struct {
	// Before is, by input, what may stand before it, the nearest first; each may be left out.
	Before [][]string
	// After is the operator that may stand after it.
	After string
	// Accept tells whether Build serves what was found.
	Accept func(j *Joined) bool
	// Build makes the function that runs. Its inputs are those of the operator, each from before what is taken in, then the
	// other operands of what is taken in, by input and from the nearest on; its result is the last call's.
	Build func(j *Joined, b *Build) (Run, error)
	// Numerics is the bound against the calls one by one.
	Numerics string
}

// Joined is a call of an operator with the calls that run as one with it.
type Joined struct {
	Call   *plan.Call
	Before [][]*plan.Call // by input, the nearest first
	After  *plan.Call     // nil: none
	State  *plan.State    // of the call; nil: none
	// Alone tells that no other call of the program reads what the call's state holds or writes to it.
	Alone bool

	// Single makes the function of one of the calls by itself. Only at Build.
	Single func(c *plan.Call) (Run, error)
}

// Around finds what stands around a call and is to be taken in, and the indices of all of it, in order.
func (j *Joint) Around(calls []plan.Call, core int, takes func(call int) bool) (*Joined, []int) {
	call := &calls[core]
	out := &Joined{Call: call, Before: make([][]*plan.Call, len(j.Before))}
	members := []int{core}
	for i, names := range j.Before {
		if i >= len(call.In) {
			break
		}
		value := call.In[i]
		for at := core; value.Kind == plan.FromSlot; {
			at = writer(calls[:at], value.Index)
			if at < 0 || len(calls[at].In) == 0 || !takes(at) {
				break
			}
			n := slices.Index(names, calls[at].Operator)
			if n < 0 {
				break
			}
			names = names[n+1:]
			out.Before[i] = append(out.Before[i], &calls[at])
			members = append(members, at)
			value = calls[at].In[0]
		}
	}
	for k := core + 1; k < len(calls) && j.After != ""; k++ {
		if c := &calls[k]; c.Operator == j.After && len(c.In) == 1 && c.In[0].Kind == plan.FromSlot && c.In[0].Index == call.Out[0] && takes(k) {
			out.After = c
			members = append(members, k)
			break
		}
	}
	slices.Sort(members)
	return out, members
}

// writer is the last of the calls that gives a slot; -1: none.
func writer(calls []plan.Call, slot int) int {
	for i := len(calls) - 1; i >= 0; i-- {
		if slices.Contains(calls[i].Out, slot) {
			return i
		}
	}
	return -1
}

// Operands are what the function that Build makes is given.
func (j *Joined) Operands() []plan.Operand {
	in := append([]plan.Operand(nil), j.Call.In...)
	var rest []plan.Operand
	for i, chain := range j.Before {
		for k, c := range chain {
			if k == len(chain)-1 {
				in[i] = c.In[0]
			}
			rest = append(rest, c.In[1:]...)
		}
	}
	return append(in, rest...)
}
