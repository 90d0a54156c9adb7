package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/adapter"
	"github.com/graphrun/graphrun/weights/view"
)

// mounted is an adapter whose factors are open.
type mounted struct {
	name    string
	factors map[int]*factor // by the weight they belong to
	bytes   int64
}

// factor is the pair of one weight.
type factor struct {
	a, b   mlx.Array // [inputs, rank], [rank, outputs]
	scale  float64
	wide   [2]mlx.Array              // a and b in float32, where a class asks for them
	scalar map[dtype.Dtype]mlx.Array // the scale, in the products' dtypes
}

// Mount opens an adapter's factors under a name; sessions choose it by that. Its scale is multiplied by strength: 1 is as it
// was trained. It is mounted whole or, after an error, not at all.
func (e *Engine) Mount(ctx context.Context, name string, a *adapter.Adapter, loader Loader, strength float64) error {
	switch {
	case name == "" || strings.ContainsAny(name, "+,"):
		return fmt.Errorf("%q is no name of an adapter: it is not empty and holds neither + nor a comma, which join names", name)
	case strength-strength != 0:
		return fmt.Errorf("adapter %s: its strength, %v, is no finite number", name, strength)
	}
	return e.do(func() error {
		if e.adapter(name) != nil {
			return fmt.Errorf("an adapter %s is mounted already", name)
		}
		total := e.estimate.Total
		for _, m := range e.mounted {
			total = plus(total, m.bytes)
		}
		taken := plus(a.Bytes(), e.widenedBytes(a))
		if budget := e.options.MemoryBudget; budget > 0 && plus(total, taken) > budget {
			return fmt.Errorf("adapter %s takes %s beside the %s that are taken; the budget is %s", name, Bytes(taken), Bytes(total), Bytes(budget))
		}
		m, err := e.openAdapter(ctx, name, a, loader, strength)
		if err != nil {
			return fmt.Errorf("adapter %s: %w", name, err)
		}
		e.mounted = append(e.mounted, m)
		return nil
	})
}

func (e *Engine) openAdapter(ctx context.Context, name string, a *adapter.Adapter, loader Loader, strength float64) (*mounted, error) {
	m := &mounted{name: name, factors: map[int]*factor{}, bytes: plus(a.Bytes(), e.widenedBytes(a))}
	var recipes []*view.Recipe
	for _, f := range a.Factors {
		if f.Weight < 0 || f.Weight >= len(e.plan.Weights) || e.plan.Weights[f.Weight].Path != f.Path {
			return nil, fmt.Errorf("it was read for another plan: this one has no weight %d, %s", f.Weight, f.Path)
		}
		recipes = append(recipes, f.A, f.B)
	}
	arrays, err := loader.Load(ctx, e.scope, recipes, weights.Options{ReadAhead: true})
	if scope := e.scope.ResetErr(); err == nil {
		err = scope
	}
	if err == nil && len(arrays) != len(recipes) {
		err = fmt.Errorf("%d arrays were opened for %d factors", len(arrays), len(recipes))
	}
	if err == nil {
		err = mlx.Eval(arrays...)
	}
	if err != nil {
		e.scope.Free()
		return nil, err
	}
	for i, f := range a.Factors {
		m.factors[f.Weight] = &factor{a: arrays[2*i], b: arrays[2*i+1], scale: f.Scale * strength, scalar: map[dtype.Dtype]mlx.Array{}}
	}
	e.scope.Keep(arrays...)
	e.scope.Free()
	return m, nil
}

// Unmount lets an adapter go that no session has chosen.
func (e *Engine) Unmount(name string) error {
	return e.do(func() error {
		i := slices.IndexFunc(e.mounted, func(m *mounted) bool { return m.name == name })
		if i < 0 {
			return e.noAdapter(name)
		}
		for s := range e.sessions {
			if slices.Contains(s.adapters, name) {
				return fmt.Errorf("a session uses the adapter %s", name)
			}
		}
		for key, set := range e.sets {
			if slices.Contains(set.list, e.mounted[i]) {
				set.end()
				delete(e.sets, key)
			}
		}
		e.mounted[i].free()
		e.mounted = slices.Delete(e.mounted, i, i+1)
		return nil
	})
}

func (m *mounted) free() {
	for _, f := range m.factors {
		mlx.FreeAll(f.a, f.b, f.wide[0], f.wide[1])
		for _, s := range f.scalar {
			s.Free()
		}
	}
	m.factors = nil
}

// Adapters are the names of those that are mounted, in the order in which they were.
func (e *Engine) Adapters() []string {
	var out []string
	_ = e.do(func() error {
		for _, m := range e.mounted {
			out = append(out, m.name)
		}
		return nil
	})
	return out
}

func (e *Engine) adapter(name string) *mounted {
	for _, m := range e.mounted {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (e *Engine) noAdapter(name string) error {
	var have []string
	for _, m := range e.mounted {
		have = append(have, m.name)
	}
	if have == nil {
		return fmt.Errorf("there is no adapter %s: none is mounted", name)
	}
	return fmt.Errorf("there is no adapter %s; mounted: %s", name, strings.Join(have, ", "))
}

// ErrWritten is returned where a session would change its adapters though its states were written under others.
var ErrWritten = errors.New("the session's states were written under other adapters; reset it first")

// Adapt chooses the mounted adapters that this session's forwards run with, none for the model alone. Their sums are added
// in this order. The first time that a list is chosen, the programs' touched ports are bound for it; no file is read again.
func (s *Session) Adapt(names ...string) error {
	return s.alone(func() error {
		return s.engine.do(func() error {
			if slices.Equal(names, s.adapters) {
				return nil
			}
			if s.batch != 0 || len(s.pending) > 0 {
				return ErrWritten
			}
			set, err := s.engine.set(names)
			if err != nil {
				return err
			}
			s.adapters, s.tables = slices.Clone(names), s.engine.tables
			if set != nil {
				s.tables = set.tables
			}
			return nil
		})
	})
}

// active is an ordered list of adapters with the programs that run under it.
type active struct {
	list   []*mounted
	tables []*table
	runs   map[adaptedPort]registry.Run

	cleanups []func() // of its own instances
}

func (a *active) end() {
	for _, f := range a.cleanups {
		f()
	}
	a.cleanups = nil
}

// set is the programs of a list; nil for none.
func (e *Engine) set(names []string) (*active, error) {
	if len(names) == 0 {
		return nil, nil
	}
	set := &active{runs: map[adaptedPort]registry.Run{}}
	for i, name := range names {
		m := e.adapter(name)
		switch {
		case m == nil:
			return nil, e.noAdapter(name)
		case slices.Contains(names[:i], name):
			return nil, fmt.Errorf("the adapter %s is named twice", name)
		}
		set.list = append(set.list, m)
	}
	key := strings.Join(names, "+")
	if have := e.sets[key]; have != nil {
		return have, nil
	}
	for _, t := range e.tables {
		u := *t
		u.choices = slices.Clone(t.choices)
		for i := range u.choices {
			p, err := e.adaptedProgram(set, u.choices[i].program)
			if err != nil {
				return nil, err
			}
			u.choices[i].program = p
		}
		set.tables = append(set.tables, &u)
	}
	e.sets[key] = set
	return set, nil
}

// factors are a weight's, in the list's order.
func (a *active) factors(weight int) []*factor {
	var out []*factor
	for _, m := range a.list {
		if f := m.factors[weight]; f != nil {
			out = append(out, f)
		}
	}
	return out
}

func (a *active) touches(weights []int) bool {
	return slices.ContainsFunc(weights, func(w int) bool { return a.factors(w) != nil })
}
