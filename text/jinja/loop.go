package jinja

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/text/jinja/py"
	"github.com/graphrun/graphrun/text/jinja/syntax"
)

// loop is the variable of that name in a for tag.
type loop struct {
	items   []any
	index   int
	depth   int
	changed []any // arguments of the last call of changed, nil before the first
	again   func(v any) (any, error)
}

func (l *loop) TypeName() string { return "LoopContext" }

func (l *loop) Repr() string { return fmt.Sprintf("<LoopContext %d/%d>", l.index+1, len(l.items)) }

func (l *loop) Attr(name string) (any, bool) {
	n := len(l.items)
	switch name {
	case "index":
		return int64(l.index + 1), true
	case "index0":
		return int64(l.index), true
	case "revindex":
		return int64(n - l.index), true
	case "revindex0":
		return int64(n - l.index - 1), true
	case "first":
		return l.index == 0, true
	case "last":
		return l.index == n-1, true
	case "length":
		return int64(n), true
	case "depth":
		return int64(l.depth + 1), true
	case "depth0":
		return int64(l.depth), true
	case "previtem":
		if l.index == 0 {
			return &py.Undefined{Message: "there is no previous item"}, true
		}
		return l.items[l.index-1], true
	case "nextitem":
		if l.index == n-1 {
			return &py.Undefined{Message: "there is no next item"}, true
		}
		return l.items[l.index+1], true
	case "cycle":
		return &py.Func{Name: name, Call: func(a py.Args) (any, error) {
			if len(a.Pos) == 0 {
				return nil, errors.New("no items for cycling given")
			}
			return a.Pos[l.index%len(a.Pos)], nil
		}}, true
	case "changed":
		return &py.Func{Name: name, Call: func(a py.Args) (any, error) {
			if l.changed != nil && py.Equal(&py.Tuple{Items: l.changed}, &py.Tuple{Items: a.Pos}) {
				return false, nil
			}
			l.changed = append([]any{}, a.Pos...)
			return true, nil
		}}, true
	}
	return nil, false
}

// recurse is loop(items) in a recursive for tag.
func (l *loop) recurse(a py.Args) (any, error) {
	if l.again == nil {
		return nil, errors.New("The loop must have the 'recursive' marker enabled.")
	}
	if len(a.Pos) != 1 || len(a.Kw) > 0 {
		return nil, errors.New("a loop is called with the items of the next level")
	}
	return l.again(a.Pos[0])
}

func (r *run) forTag(n *syntax.For, s *scope) error {
	v, err := r.eval(n.Iter, s)
	if err != nil {
		return err
	}
	return r.iterate(n, v, s, 0)
}

func (r *run) iterate(n *syntax.For, v any, s *scope, depth int) error {
	items, err := py.Iterate(v)
	if err != nil {
		return err
	}
	if n.Cond != nil {
		if items, err = r.chosen(n, items, s); err != nil {
			return err
		}
	}
	if len(items) == 0 {
		return r.exec(n.Else, s.child())
	}
	l := &loop{items: items, depth: depth}
	if n.Recursive {
		l.again = func(v any) (any, error) { return r.again(n, v, s, depth+1) }
	}
	for i, item := range items {
		if err := r.spend(1); err != nil {
			return err
		}
		inner := s.child()
		l.index = i
		inner.set("loop", l)
		if err := r.assign(n.Target, item, inner); err != nil {
			return err
		}
		err := r.exec(n.Body, inner)
		if errors.Is(err, errBreak) {
			break
		}
		if err != nil && !errors.Is(err, errContinue) {
			return err
		}
	}
	return nil
}

// chosen returns the items for which the condition of the for tag holds.
func (r *run) chosen(n *syntax.For, items []any, s *scope) ([]any, error) {
	var out []any
	for _, item := range items {
		inner := s.child()
		if err := r.assign(n.Target, item, inner); err != nil {
			return nil, err
		}
		ok, err := r.eval(n.Cond, inner)
		if err != nil {
			return nil, err
		}
		if py.Truth(ok) {
			out = append(out, item)
		}
	}
	return out, nil
}

func (r *run) again(n *syntax.For, v any, s *scope, depth int) (any, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, fmt.Errorf("maximum recursion depth of %d exceeded", maxDepth)
	}
	defer func() { r.depth-- }()
	return r.captured(func() error { return r.iterate(n, v, s, depth) })
}
