package compose

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
)

// probe is there while an entry that may be off is expanded: a tensor that the checkpoint lacks is imagined, so that the
// expansion goes on and finds all of them, and noted.
type probe struct{ lacks []string }

// optionalEntry expands an entry that has a condition. It is offered where the condition holds and the checkpoint has
// every tensor that it uses. One that is off leaves nothing in the plan, and the audit does not ask for its tensors.
func (c *composer) optionalEntry(doc *syntax.Document, entry *syntax.Entry) ([]*expanded, bool) {
	holds, ok := c.offered(doc, entry)
	if !ok || !holds && c.recipes == nil {
		return nil, ok
	}
	before, list := c.save(), c.list
	c.list, c.probe = &diag.List{}, &probe{}
	done, ok := c.expandEntries(doc, entry)
	found, lacks := c.list, c.probe.lacks
	c.list, c.probe = list, nil
	if holds && len(lacks) == 0 {
		for _, d := range found.Sorted() {
			c.list.Put(d)
		}
		return done, ok
	}
	var own []string // tensors that it alone uses
	for _, name := range sortedKeys(c.tensorIndex) {
		if _, used := before.tensorIndex[name]; !used && c.has(name) {
			own = append(own, name)
			c.offTensors[name] = true
		}
	}
	c.restore(before)
	c.noteOff(entry, holds, own, lacks)
	return nil, true
}

// offered tells whether the condition of an entry holds.
func (c *composer) offered(doc *syntax.Document, entry *syntax.Entry) (on, ok bool) {
	p, ok := c.root(&expansion{c: c}, doc)
	if !ok {
		return false, false
	}
	return p.truth(entry.Requires)
}

// noteOff says that an entry is not offered though some of its tensors are there.
func (c *composer) noteOff(entry *syntax.Entry, holds bool, own, lacks []string) {
	switch {
	case len(own) == 0:
	case holds:
		c.list.Add(diag.Note, "entry-off", entry.Name.At, "the entry %s is not offered: the checkpoint has %s, not %s", entry.Name.Text, shorten(own, 3), shorten(lacks, 3)).
			Because(entry.Requires.At(), "its condition holds")
	default:
		c.list.Add(diag.Note, "entry-off", entry.Name.At, "the entry %s is not offered, and nothing else uses %s", entry.Name.Text, shorten(own, 3)).
			Because(entry.Requires.At(), "its condition is false")
	}
}

// snapshot is the plan and what is known of it before an expansion.
type snapshot struct {
	plan plan.Plan
	tables
}

func (c *composer) save() *snapshot {
	p := *c.plan
	p.Tensors, p.States = slices.Clone(p.Tensors), slices.Clone(p.States) // an expansion changes these in place
	k := c.tables
	k.tensorIndex, k.weights, k.ports, k.states = maps.Clone(k.tensorIndex), maps.Clone(k.weights), maps.Clone(k.ports), maps.Clone(k.states)
	k.instances, k.notes = maps.Clone(k.instances), slices.Clone(k.notes)
	return &snapshot{p, k}
}

func (c *composer) restore(s *snapshot) { *c.plan, c.tables = s.plan, s.tables }
