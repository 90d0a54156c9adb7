package schema

import (
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"
)

// Step goes from a node to one inside it: to the value of a key, or to an item of a list.
type Step struct {
	Key   string
	Index int
	List  bool
}

// At gives the schemas that hold for the node which the steps lead to, from the top of a file: those it refers to and
// those whose conditions hold, outer ones first. The node need not be there: what is asked are the schemas of its place.
func (s *Schema) At(root *yaml.Node, steps []Step) []*Schema {
	n := navigator{s}
	found, node := n.flat(s, root, nil, 0), root
	for _, step := range steps {
		var next []*Schema
		inner := inside(node, step)
		for _, f := range found {
			if c := f.child(step); c != nil {
				next = n.flat(c, inner, next, 0)
			}
		}
		found, node = next, inner
	}
	return found
}

type navigator struct{ root *Schema }

// maxDepth bounds references that refer to themselves without a step in between.
const maxDepth = 32

// flat adds what holds for a node to out.
func (n navigator) flat(s *Schema, node *yaml.Node, out []*Schema, depth int) []*Schema {
	if s == nil || depth > maxDepth || slices.Contains(out, s) {
		return out
	}
	out = append(out, s)
	if s.Ref != "" {
		out = n.flat(n.root.Defs.Get(s.Ref[len("#/$defs/"):]), node, out, depth+1)
	}
	for _, group := range [][]*Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, x := range group {
			out = n.flat(x, node, out, depth+1)
		}
	}
	if s.If != nil {
		if s.If.holds(node) {
			out = n.flat(s.Then, node, out, depth+1)
		} else {
			out = n.flat(s.Else, node, out, depth+1)
		}
	}
	return out
}

// child is the schema of a value or an item.
func (s *Schema) child(step Step) *Schema {
	if step.List {
		if step.Index < len(s.PrefixItems) {
			return s.PrefixItems[step.Index]
		}
		return s.Items
	}
	if p := s.Properties.Get(step.Key); p != nil {
		return p
	}
	more, _ := s.AdditionalProperties.(*Schema)
	return more
}

// holds answers the conditions that our schemas have: types, keys, words.
func (s *Schema) holds(node *yaml.Node) bool {
	if node == nil {
		return false
	}
	if len(s.Type) > 0 && !slices.Contains(s.Type, typeOf(node)) {
		return false
	}
	if s.Const != nil && node.Value != s.Const {
		return false
	}
	if s.Pattern != "" && node.Kind == yaml.ScalarNode {
		if is, err := regexp.MatchString(s.Pattern, node.Value); err != nil || !is {
			return false
		}
	}
	for _, k := range s.Required {
		if inside(node, Step{Key: k}) == nil {
			return false
		}
	}
	for _, p := range s.Properties {
		if v := inside(node, Step{Key: p.Name}); v != nil && !p.Schema.holds(v) {
			return false
		}
	}
	some := len(s.AnyOf) == 0
	for _, x := range s.AnyOf {
		some = some || x.holds(node)
	}
	return some
}

func typeOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "object"
	case yaml.SequenceNode:
		return "array"
	}
	switch n.ShortTag() {
	case "!!int":
		return "integer"
	case "!!float":
		return "number"
	case "!!bool":
		return "boolean"
	case "!!null":
		return "null"
	}
	return "string"
}

// inside takes a step, or gives nil.
func inside(n *yaml.Node, step Step) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n == nil:
		return nil
	case step.List && n.Kind == yaml.SequenceNode && step.Index < len(n.Content):
		return n.Content[step.Index]
	case !step.List && n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step.Key {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

// Text is a schema's description, its own or that of what it refers to.
func (s *Schema) Text(of *Schema) string {
	for depth := 0; of != nil && depth < maxDepth; depth++ {
		if of.Description != "" {
			return of.Description
		}
		if of.Ref == "" {
			return ""
		}
		of = s.Defs.Get(of.Ref[len("#/$defs/"):])
	}
	return ""
}
