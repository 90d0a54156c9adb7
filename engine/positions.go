package engine

import "github.com/graphrun/graphrun/plan"

// countPositions gives every table its counter of the positions that sequences have taken: entries that share a state
// share one, as a text entry and the same with media do; an entry of its own states, as a draft, counts by itself.
func (e *Engine) countPositions() {
	counter := make([]int, len(e.entries)) // of each entry
	for i := range counter {
		counter[i] = i
	}
	owner := map[int]int{} // state -> an entry that uses it
	join := func(state, entry int) {
		first, used := owner[state]
		if !used {
			owner[state] = entry
			return
		}
		from, to := counter[entry], counter[first]
		for i, c := range counter {
			if c == from {
				counter[i] = to
			}
		}
	}
	for _, t := range e.tables {
		for i := range t.choices {
			for _, c := range t.choices[i].program.source.Calls {
				if c.State >= 0 {
					join(c.State, t.entry)
				}
				for _, in := range c.In {
					if in.Kind == plan.FromState {
						join(in.Index, t.entry)
					}
				}
			}
		}
	}
	for _, t := range e.tables {
		t.counter = counter[t.entry]
	}
}
