package compose

import (
	"slices"
	"sort"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
)

// groups checks a body's groups: each names linear ports of the body, and a port is in one group.
func (s *checker) groups(d *syntax.Body) {
	named := map[string]*syntax.Port{}
	var names []string
	for i := range d.Ports {
		named[d.Ports[i].Name.Text] = &d.Ports[i]
		if d.Ports[i].Kind.Text == "linear" {
			names = append(names, d.Ports[i].Name.Text)
		}
	}
	in := map[string]diag.Range{}
	for _, g := range d.Groups {
		if p := named[g.Name.Text]; p != nil {
			s.c.list.Errorf("name-clash", g.Name.At, "the group %s has the name of a port", g.Name.Text).Because(p.Name.At, "the port").Helped("give it another name")
		}
		if len(g.Members) == 1 {
			s.c.list.Errorf("bad-group", g.Members[0].At, "the group %s has one member; a group is of two or more", g.Name.Text).Helped("add a port that reads the same value, or remove the group")
		}
		for _, m := range g.Members {
			switch p := named[m.Text]; {
			case p == nil:
				s.c.list.Errorf("bad-group", m.At, "there is no port %s beside the group %s", m.Text, g.Name.Text).Among(m.Text, names, "linear ports of this body")
			case p.Kind.Text != "linear":
				s.c.list.Errorf("bad-group", m.At, "%s is of kind %s; the members of a group are linear ports", m.Text, p.Kind.Text).Because(p.Kind.At, "declared here").
					Helped("%s", diag.Listed(m.Text, names, "linear ports of this body"))
			case !in[m.Text].IsZero():
				s.c.list.Errorf("bad-group", m.At, "%s is in a group already", m.Text).Because(in[m.Text], "first here").Helped("a port is in one group: name it in one of the two")
			default:
				in[m.Text] = m.At
			}
		}
	}
}

// groupDecl is a group of one body at one place of the graph.
type groupDecl struct {
	spec    *syntax.Group
	path    string
	members []*portDecl
	calls   []memberCall
}

// memberCall is a call of a member: on the value of a slot.
type memberCall struct {
	of   *portDecl
	slot int
	at   diag.Range
}

func (x *expansion) declareGroups(p place, groups []syntax.Group) {
	for i := range groups {
		g := &groupDecl{spec: &groups[i], path: join(p.prefix, groups[i].Name.Text)}
		for _, m := range groups[i].Members {
			d := p.ports[m.Text]
			d.group = g
			g.members = append(g.members, d)
		}
	}
}

// noteMember remembers the call of a port that is in a group.
func (x *expansion) noteMember(d *portDecl, in plan.Operand, at diag.Range) {
	g := d.group
	if g == nil {
		return
	}
	if len(g.calls) == 0 {
		x.grouped = append(x.grouped, g)
	}
	g.calls = append(g.calls, memberCall{d, in.Index, at})
	if key := (portKey{x.c.entry, g.path}); x.c.grouped[key] == nil {
		x.c.noteGroup(key, g)
	}
}

func (c *composer) noteGroup(key portKey, g *groupDecl) {
	c.grouped[key] = g
	c.groupOrder = append(c.groupOrder, key)
}

// groupAgain notes the group of a layer that is copied.
func (c *composer) groupAgain(g *groupDecl, y *copying) {
	key := portKey{c.entry, y.path(g.path)}
	if c.grouped[key] != nil { // another member's call was copied before
		return
	}
	out := &groupDecl{spec: g.spec, path: key.path, members: make([]*portDecl, len(g.members))}
	for i, m := range g.members {
		e := *m
		e.path = y.path(m.path)
		out.members[i] = &e
	}
	c.noteGroup(key, out)
}

// sameInputs holds the members of each group to be called on the same values.
func (x *expansion) sameInputs() bool {
	good := true
	for _, g := range x.grouped {
		first := g.calls[0]
		for _, call := range g.calls[1:] {
			if call.of != first.of && !slices.Equal(g.slots(call.of), g.slots(first.of)) {
				x.c.list.Errorf("group-input", call.at, "%s and %s are a group, which reads one value; here they are called on two", first.of.spec.Name.Text, call.of.spec.Name.Text).
					Because(first.at, "%s is called here", first.of.spec.Name.Text).Because(g.spec.Name.At, "the group %s", g.spec.Name.Text).
					Helped("call both on one value, or take one of them out of the group")
				good = false
				break
			}
		}
	}
	return good
}

func (g *groupDecl) slots(d *portDecl) []int {
	var out []int
	for _, call := range g.calls {
		if call.of == d {
			out = append(out, call.slot)
		}
	}
	sort.Ints(out)
	return slices.Compact(out)
}

// groupPorts adds the groups' ports to the plan, behind all others: each of the members that are there, where these are two
// or more. The exact class is that of each member.
func (c *composer) groupPorts() bool {
	for _, key := range c.groupOrder {
		g := c.grouped[key]
		p := plan.Port{Entry: key.entry, Path: g.path, Kind: "group", Place: g.spec.Name.At}
		var parts []plan.RolePart
		var odd *diag.Range
		for _, d := range g.members {
			r := c.ports[portKey{key.entry, d.path}]
			if r == nil {
				continue
			}
			member := &c.plan.Ports[r.index]
			if p.Dims == nil {
				p.Dims = []int{r.in, 0}
			}
			p.Dims[1] += r.out
			p.Members = append(p.Members, r.index)
			p.Weights = append(p.Weights, member.Weights...)
			p.Roles = append(p.Roles, d.spec.Name.Text)
			parts = append(parts, plan.RolePart{Role: d.spec.Name.Text, Instance: member.Rows[0].Instance})
			if odd == nil {
				odd = c.notes[r.index].odd
			}
		}
		if len(parts) < 2 {
			continue
		}
		form := c.reg.ExactClass("group", "parts")
		if form == nil {
			c.list.Errorf("no-class", g.spec.Name.At, "no exact class fills a port of kind group").In(g.path)
			return false
		}
		index := c.addWhole(p, c.intern(plan.Instance{Class: form.Name, Kind: "group", Path: g.path, Parts: parts, At: g.spec.Name.At}))
		c.notes[index].odd = odd
		for _, m := range p.Members {
			c.notes[m].group = 1 + index
		}
	}
	return true
}

// groupOf is the port of the group that a port is in, -1 where it is in none.
func (c *composer) groupOf(port int) int { return c.notes[port].group - 1 }

// addWhole adds a port of an entry that is not the one being expanded.
func (c *composer) addWhole(p plan.Port, instance int) int {
	entry := c.entry
	c.entry = p.Entry
	defer func() { c.entry = entry }()
	return c.pushPort(p, instance)
}

// yielded leaves a group to its members where a later line than the group's binds one of them.
func (c *composer) yielded(group []segment, members [][]segment) []segment {
	for _, segments := range members {
		var starts []int
		for _, m := range segments {
			starts = append(starts, m.first)
		}
		group = cutAt(group, starts)
		for i := range group {
			for _, m := range segments {
				if m.first <= group[i].first && group[i].last <= m.last && m.line != nil && group[i].line != nil && m.line.order > group[i].line.order {
					group[i].line = nil
				}
			}
		}
	}
	return group
}
