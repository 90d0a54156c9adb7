package compose

import (
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
)

// groupOf is the group that a block's calls belong to: its caller's, else one of its own where it is marked compiled.
// All of a group's inputs stand before it, since a call's inputs are expanded before its body.
func (x *expansion) groupOf(p place, call *syntax.Call, doc *syntax.Document, prefix string) int {
	if p.group != 0 || doc.Compiled == nil {
		return p.group
	}
	x.groups = append(x.groups, plan.Group{Block: doc.Name.Text, Shapeless: doc.Compiled.Text == "shapeless", Path: prefix, At: call.Range})
	return len(x.groups)
}

// compilable reports what a call inside a compiled block cannot have. A compiled function is traced and then used again: it
// has arrays in and out and nothing else, and its numbers are those of the trace.
func (x *expansion) compilable(p place, call *syntax.Call, what string, state bool, args plan.Args) bool {
	if p.group == 0 {
		return true
	}
	g := &x.groups[p.group-1]
	refuse := func(format string, a ...any) *diag.Diagnostic {
		return x.c.list.Errorf("compiled-block", call.Callee.At, format, a...).In(p.prefix).Because(g.At, "the compiled block %s is called here", g.Block)
	}
	if state {
		refuse("%s is called inside a compiled block, which has no ports and no states", what).Helped("call it where %s is called and pass its result, or leave `compiled` out of %s", g.Block, g.Block)
		return false
	}
	frozen := []string{"S"}
	if g.Shapeless {
		frozen = []string{"B", "T", "S"}
	}
	for _, a := range args {
		for _, d := range a.Value.Dims {
			for _, t := range d.Terms {
				if containsString(frozen, t.Symbol) {
					d := refuse("%s of %s is %s, and a compiled function keeps the %s of its first call", a.Name, what, a.Value.Dims, t.Symbol)
					if t.Symbol != "S" {
						d.Helped("write `compiled: by_shape`: then it is traced for each shape")
					} else {
						d.Helped("make the value outside %s and pass it, or leave `compiled` out", g.Block)
					}
					return false
				}
			}
		}
	}
	return true
}

// together puts the calls of each group one after another, at the place of the first.
func together(calls []*plan.Call) []*plan.Call {
	out := make([]*plan.Call, 0, len(calls))
	done := map[int]bool{0: true}
	for i, c := range calls {
		switch {
		case c.Group == 0:
			out = append(out, c)
		case !done[c.Group]:
			done[c.Group] = true
			for _, other := range calls[i:] {
				if other.Group == c.Group {
					out = append(out, other)
				}
			}
		}
	}
	return out
}
