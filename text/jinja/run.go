package jinja

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graphrun/graphrun/text/jinja/py"
	"github.com/graphrun/graphrun/text/jinja/syntax"
)

// run is one rendering.
type run struct {
	out   *strings.Builder
	root  *scope
	now   func() time.Time
	steps int64
	depth int // macros that are running
}

// scope holds variables; what it lacks its parent may have.
type scope struct {
	parent *scope
	names  []string
	values []any
}

func (s *scope) set(name string, v any) {
	for i, n := range s.names {
		if n == name {
			s.values[i] = v
			return
		}
	}
	s.names = append(s.names, name)
	s.values = append(s.values, v)
}

func (s *scope) get(name string) (any, bool) {
	for ; s != nil; s = s.parent {
		for i, n := range s.names {
			if n == name {
				return s.values[i], true
			}
		}
	}
	return nil, false
}

func (s *scope) child() *scope { return &scope{parent: s} }

var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
	errSteps    = errors.New("the template takes too many steps")
)

// maxDepth bounds macros that call each other.
const maxDepth = 200

// spend takes n steps from the budget.
func (r *run) spend(n int64) error {
	if r.steps -= n; r.steps < 0 {
		return errSteps
	}
	return nil
}

func (r *run) write(s string) error {
	if r.out.Len()+len(s) > py.MaxSize {
		return fmt.Errorf("the output is larger than %d MiB", py.MaxSize>>20)
	}
	r.out.WriteString(s)
	return r.spend(int64(len(s)) / 64)
}

// capture returns what body prints.
func (r *run) capture(body []syntax.Node, s *scope) (string, error) {
	return r.captured(func() error { return r.exec(body, s) })
}

// captured returns what f prints.
func (r *run) captured(f func() error) (string, error) {
	outer := r.out
	r.out = &strings.Builder{}
	err := f()
	text := r.out.String()
	r.out = outer
	return text, err
}

func (r *run) exec(body []syntax.Node, s *scope) error {
	for _, n := range body {
		if err := r.spend(1); err != nil {
			return located(err, n.At())
		}
		if err := r.statement(n, s); err != nil {
			return located(err, n.At())
		}
	}
	return nil
}

func (r *run) statement(n syntax.Node, s *scope) error {
	switch n := n.(type) {
	case *syntax.Data:
		return r.write(n.Text)
	case *syntax.Output:
		v, err := r.eval(n.Expr, s)
		if err != nil {
			return err
		}
		text, err := py.Printed(v)
		if err != nil {
			return err
		}
		return r.write(text)
	case *syntax.If:
		return r.ifTag(n, s)
	case *syntax.For:
		return r.forTag(n, s)
	case *syntax.Set:
		v, err := r.eval(n.Value, s)
		if err != nil {
			return err
		}
		return r.assign(n.Target, v, s)
	case *syntax.SetBlock:
		text, err := r.capture(n.Body, s.child())
		if err != nil {
			return err
		}
		v, err := r.blockFilter(n.Filter, text, s)
		if err != nil {
			return err
		}
		return r.assign(n.Target, v, s)
	case *syntax.FilterBlock:
		text, err := r.capture(n.Body, s.child())
		if err != nil {
			return err
		}
		v, err := r.blockFilter(n.Filter, text, s)
		if err != nil {
			return err
		}
		return r.write(py.Str(v))
	case *syntax.Macro:
		s.set(n.Name, r.macro(n.Name, n.Signature, n.Body, s))
		return nil
	case *syntax.CallBlock:
		return r.callBlock(n, s)
	case *syntax.With:
		inner := s.child()
		for i, target := range n.Targets {
			v, err := r.eval(n.Values[i], s)
			if err != nil {
				return err
			}
			if err := r.assign(target, v, inner); err != nil {
				return err
			}
		}
		return r.exec(n.Body, inner)
	case *syntax.Scope:
		if n.Root {
			s = r.root
		}
		return r.exec(n.Body, s.child())
	case *syntax.Break:
		return errBreak
	case *syntax.Continue:
		return errContinue
	}
	return fmt.Errorf("cannot run %T", n)
}

func (r *run) ifTag(n *syntax.If, s *scope) error {
	for _, b := range n.Branches {
		v, err := r.eval(b.Test, s)
		if err != nil {
			return err
		}
		if py.Truth(v) {
			return r.exec(b.Body, s)
		}
	}
	return r.exec(n.Else, s)
}

// blockFilter applies the filters of a block, innermost first, to what its body printed.
func (r *run) blockFilter(filter syntax.Node, text string, s *scope) (any, error) {
	f, ok := filter.(*syntax.Filter)
	if !ok {
		return text, nil
	}
	v, err := r.blockFilter(f.Expr, text, s)
	if err != nil {
		return nil, err
	}
	a, err := r.args(f.Args, s)
	if err != nil {
		return nil, err
	}
	return r.filter(f.Name, v, a)
}

// assign puts v into a name, an attribute of a namespace, or several of them.
func (r *run) assign(target syntax.Node, v any, s *scope) error {
	switch t := target.(type) {
	case *syntax.Name:
		s.set(t.Name, v)
	case *syntax.NSRef:
		obj, _ := s.get(t.Name)
		ns, ok := obj.(*namespace)
		if !ok {
			return errors.New("cannot assign attribute on non-namespace object")
		}
		return ns.set(t.Attr, v)
	case *syntax.Tuple:
		items, err := py.Iterate(v)
		if err != nil {
			return fmt.Errorf("cannot unpack non-iterable %s object", py.TypeName(v))
		}
		if len(items) > len(t.Items) {
			return fmt.Errorf("too many values to unpack (expected %d)", len(t.Items))
		}
		if len(items) < len(t.Items) {
			return fmt.Errorf("not enough values to unpack (expected %d, got %d)", len(t.Items), len(items))
		}
		for i, item := range t.Items {
			if err := r.assign(item, items[i], s); err != nil {
				return err
			}
		}
	}
	return nil
}
