package dataflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/plan"
)

// givers are the nodes that may have given a value: the last of them that is there does.
type givers struct {
	refs       []Ref
	base       int           // so many stood before those under conditions
	cover      map[turn]bool // with a plan: when one of those under conditions is there
	conditions []string      // without one: their conditions
}

// give says what has a name from here on. What is not always there leaves the earlier givers, unless those under
// conditions are there by turns and one of them always is.
func (w *body) give(name string, ref Ref, always bool, call *syntax.Call, turns map[turn]bool) {
	if always {
		w.values[name] = &givers{refs: []Ref{ref}}
		return
	}
	v := &givers{cover: map[turn]bool{}}
	if old := w.values[name]; old != nil {
		*v = *old
		v.cover = maps.Clone(old.cover)
		if v.cover == nil {
			v.cover, v.base = map[turn]bool{}, len(v.refs)
		}
	} else {
		v.refs = w.lookup(name)
		v.base = len(v.refs)
	}
	v.refs = append(slices.Clone(v.refs), ref)
	maps.Copy(v.cover, turns)
	complete := w.index != nil && len(v.cover) >= len(w.all)
	if w.index == nil {
		complete = slices.Contains(v.conditions, opposite(call))
		v.conditions = append(slices.Clone(v.conditions), conditions(call))
	}
	if complete {
		v.refs, v.base = v.refs[v.base:], 0
	}
	w.values[name] = v
}

// opposite is the condition under which exactly the others are there.
func opposite(call *syntax.Call) string {
	switch {
	case call.When != nil && call.Unless == nil:
		return "unless " + call.When.Node.Value
	case call.Unless != nil && call.When == nil:
		return "when " + call.Unless.Node.Value
	}
	return ""
}

func conditions(call *syntax.Call) string {
	var out []string
	if call.When != nil {
		out = append(out, "when "+call.When.Node.Value)
	}
	if call.Unless != nil {
		out = append(out, "unless "+call.Unless.Node.Value)
	}
	return strings.Join(out, ", ")
}

// presence tells whether a node is there whenever the body is, and says on it when it is.
func (w *body) presence(node *Node, call *syntax.Call, turns map[turn]bool) bool {
	text := conditions(call)
	if w.index == nil {
		node.Share = text
		return text == ""
	}
	if text != "" {
		node.Facts = append(node.Facts, Fact{"there", text})
	}
	if len(turns) >= len(w.all) {
		return true
	}
	if have, all := paths(turns), paths(w.all); have < all {
		node.Share = fmt.Sprintf("%d of %d", have, all)
	} else {
		node.Share = text
	}
	return false
}

// turnsOf are the times that calls are there, by the paths of this body.
func (w *body) turnsOf(calls []*plan.Call) map[turn]bool {
	if w.index == nil {
		return nil
	}
	return w.index.turns(calls, len(w.path))
}

// gathering is a call at a place.
type gathering struct {
	call  *syntax.Call
	entry string
	path  string
}

// gather finds the plan's calls of all that a body holds.
func (w *body) gather(decl *syntax.Body, path []string) []*plan.Call {
	if w.index == nil {
		return nil
	}
	var out []*plan.Call
	for i := range decl.Nodes {
		if call := decl.Nodes[i].Call; call != nil {
			out = append(out, w.gatherCall(call, w.below(path, call), 0)...)
		}
	}
	return out
}

func (w *body) gatherCall(call *syntax.Call, path []string, depth int) []*plan.Call {
	if w.index == nil || depth > maxDepth {
		return nil
	}
	key := gathering{call, w.entry, strings.Join(path, ".")}
	if out, ok := w.gathered[key]; ok {
		return out
	}
	decl := call.Anonymous
	if decl == nil {
		if doc := w.docs.blocks[call.Callee.Text]; doc != nil && w.reg.Operator(call.Callee.Text) == nil {
			decl = &doc.Body
		}
	}
	out := w.index.find(w.entry, call.Range, path)
	if decl != nil && len(out) == 0 {
		for i := range decl.Nodes {
			if inner := decl.Nodes[i].Call; inner != nil {
				out = append(out, w.gatherCall(inner, w.below(path, inner), depth+1)...)
			}
		}
	}
	w.gathered[key] = out
	return out
}

// below is a path with a call's `at`.
func (w *body) below(path []string, call *syntax.Call) []string {
	if call.Path == nil {
		return path
	}
	return append(slices.Clip(slices.Clone(path)), pathOf(call.Path.Text)...)
}
