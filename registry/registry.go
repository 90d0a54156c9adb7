// Package registry says what operators, classes, port kinds and states are, and holds the table of them. It is the
// only door: the composer, the engine, the documentation and the schema all read it. The table is filled by explicit
// calls; nothing registers itself.
package registry

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Registry is a table of operators and classes.
type Registry struct {
	operators map[string]*Operator
	classes   map[string]*Class
	byName    []*Class // the same, by name
	states    map[string]*StateKind
}

// New is an empty registry.
func New() *Registry {
	return &Registry{operators: map[string]*Operator{}, classes: map[string]*Class{}, states: map[string]*StateKind{}}
}

// AddOperator registers an operator; a name twice or a signature without sense is an error.
func (r *Registry) AddOperator(o *Operator) error {
	if r.operators[o.Name] != nil {
		return fmt.Errorf("operator %s is registered twice", o.Name)
	}
	if err := o.check(); err != nil {
		return fmt.Errorf("operator %s: %w", o.Name, err)
	}
	r.operators[o.Name] = o
	return nil
}

// AddClass registers a projection class.
func (r *Registry) AddClass(c *Class) error {
	if r.classes[c.Name] != nil {
		return fmt.Errorf("class %s is registered twice", c.Name)
	}
	if err := c.check(); err != nil {
		return fmt.Errorf("class %s: %w", c.Name, err)
	}
	r.classes[c.Name] = c
	at, _ := slices.BinarySearchFunc(r.byName, c.Name, func(c *Class, name string) int { return strings.Compare(c.Name, name) })
	r.byName = slices.Insert(r.byName, at, c)
	return nil
}

// AddState registers a kind of state.
func (r *Registry) AddState(s *StateKind) error {
	if r.states[s.Name] != nil {
		return fmt.Errorf("state %s is registered twice", s.Name)
	}
	r.states[s.Name] = s
	return nil
}

// Operator finds an operator, or nil.
func (r *Registry) Operator(name string) *Operator { return r.operators[name] }

// Class finds a class, or nil.
func (r *Registry) Class(name string) *Class { return r.classes[name] }

// State finds a kind of state, or nil.
func (r *Registry) State(name string) *StateKind { return r.states[name] }

// Operators lists the operators by name.
func (r *Registry) Operators() []*Operator { return sorted(r.operators) }

// Classes lists the classes by name. The list is not to be changed.
func (r *Registry) Classes() []*Class { return r.byName }

// States lists the kinds of state by name.
func (r *Registry) States() []*StateKind { return sorted(r.states) }

func keys[T any](m map[string]T) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func sorted[T any](m map[string]*T) []*T {
	out := make([]*T, 0, len(m))
	for _, k := range keys(m) {
		out = append(out, m[k])
	}
	return out
}
