package jinja

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/text/jinja/py"
)

func filterFirst(_ *run, v any, _ py.Args) (any, error) {
	if it, ok := v.(*py.Iter); ok {
		item, ok, err := it.Next()
		if !ok {
			item = &py.Undefined{Message: "No first item, sequence was empty."}
		}
		return item, err
	}
	items, err := py.Iterate(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &py.Undefined{Message: "No first item, sequence was empty."}, nil
	}
	return items[0], nil
}

func filterLast(_ *run, v any, _ py.Args) (any, error) {
	if it, ok := v.(*py.Iter); ok {
		return nil, fmt.Errorf("'%s' object is not reversible", it.Kind)
	}
	items, err := py.Iterate(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &py.Undefined{Message: "No last item, sequence was empty."}, nil
	}
	return items[len(items)-1], nil
}

func filterList(_ *run, v any, _ py.Args) (any, error) {
	items, err := py.Iterate(v)
	return &py.List{Items: items}, err
}

func filterItems(_ *run, v any, _ py.Args) (any, error) {
	return lazy(func() ([]any, error) {
		switch d := v.(type) {
		case *py.Undefined:
			return nil, nil
		case *py.Dict:
			return py.Iterate(&py.View{Kind: "items", Dict: d})
		}
		return nil, errors.New("Can only get item pairs from a mapping.")
	})
}

// lazy returns a generator: what make does, errors included, happens when the first item is asked for.
func lazy(make func() ([]any, error)) (any, error) { return py.NewIter("generator", make), nil }

func filterReverse(_ *run, v any, _ py.Args) (any, error) {
	items, err := py.Iterate(v)
	if err != nil {
		return nil, errors.New("argument must be iterable")
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if _, ok := py.Text(v); ok {
		return py.Join("", items)
	}
	kind := "reversed"
	switch v.(type) {
	case *py.Iter:
		return &py.List{Items: items}, nil
	case *py.List:
		kind = "list_reverseiterator"
	}
	return py.NewIter(kind, func() ([]any, error) { return items, nil }), nil
}

func filterJoin(_ *run, v any, a py.Args) (any, error) {
	p, _, err := py.Bind("join", a, "d?", "attribute?")
	if err != nil {
		return nil, err
	}
	items, err := py.Iterate(v)
	if err != nil {
		return nil, err
	}
	texts := make([]any, len(items))
	for i, item := range items {
		if p[1] != nil {
			if item, err = attribute(item, p[1]); err != nil {
				return nil, err
			}
		}
		if texts[i], err = py.Printed(item); err != nil {
			return nil, err
		}
	}
	sep := ""
	if p[0] != nil {
		sep = py.Str(p[0])
	}
	return py.Join(sep, texts)
}

func filterBatch(_ *run, v any, a py.Args) (any, error) {
	p, _, err := py.Bind("batch", a, "linecount", "fill_with?")
	if err != nil {
		return nil, err
	}
	return lazy(func() ([]any, error) {
		items, err := py.Iterate(v)
		if err != nil {
			return nil, err
		}
		n, ok := py.Int(p[0])
		if !ok || n < 1 || n > py.MaxSize/16 {
			return nil, errors.New("the size of a batch must be a positive integer of a sensible size")
		}
		var out []any
		for len(items) > 0 {
			size := min(int(n), len(items))
			batch := slices.Clone(items[:size])
			items = items[size:]
			for p[1] != nil && len(batch) < int(n) {
				batch = append(batch, p[1])
			}
			out = append(out, &py.List{Items: batch})
		}
		return out, nil
	})
}

func filterSlice(r *run, v any, a py.Args) (any, error) {
	p, _, err := py.Bind("slice", a, "slices", "fill_with?")
	if err != nil {
		return nil, err
	}
	return lazy(func() ([]any, error) {
		items, err := py.Iterate(v)
		if err != nil {
			return nil, err
		}
		n, ok := py.Int(p[0])
		if !ok || n < 1 || n > 100000 {
			return nil, errors.New("the number of slices must lie between 1 and 100000")
		}
		per, extra := len(items)/int(n), len(items)%int(n)
		var out []any
		for i := range int(n) {
			size := per
			if i < extra {
				size++
			}
			part := slices.Clone(items[:size])
			items = items[size:]
			if p[1] != nil && i >= extra {
				part = append(part, p[1])
			}
			out = append(out, &py.List{Items: part})
		}
		return out, r.spend(n)
	})
}

// filterMap maps items to an attribute, or through a filter.
func filterMap(r *run, v any, a py.Args) (any, error) {
	f, err := mapper(r, a)
	if err != nil {
		return nil, err
	}
	return lazy(func() ([]any, error) {
		if !py.Truth(v) { // None is as good as an empty list
			return nil, nil
		}
		items, err := py.Iterate(v)
		if err != nil {
			return nil, err
		}
		out := make([]any, len(items))
		for i, item := range items {
			if out[i], err = f(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

func mapper(r *run, a py.Args) (func(item any) (any, error), error) {
	if len(a.Pos) > 0 {
		name, _ := py.Text(a.Pos[0])
		rest := py.Args{Pos: a.Pos[1:], Kw: a.Kw}
		return func(item any) (any, error) { return r.filter(name, item, rest) }, nil
	}
	p, given, err := py.Bind("map", a, "attribute", "default?")
	if err != nil {
		return nil, err
	}
	return func(item any) (any, error) {
		out, err := attribute(item, p[0])
		if _, undefined := out.(*py.Undefined); undefined && given[1] {
			return p[1], err
		}
		return out, err
	}, nil
}

// choose keeps or drops the items, or the items with an attribute, for which a test holds.
func choose(keep, byAttribute bool) filterFunc {
	return func(r *run, v any, a py.Args) (any, error) {
		return lazy(func() ([]any, error) {
			var of any
			if byAttribute {
				if len(a.Pos) == 0 {
					return nil, errors.New("Missing parameter for attribute name")
				}
				of = a.Pos[0]
				a.Pos = a.Pos[1:]
			}
			if !py.Truth(v) { // None is as good as an empty list
				return nil, nil
			}
			items, err := py.Iterate(v)
			if err != nil {
				return nil, err
			}
			var out []any
			for _, item := range items {
				holds, err := r.holds(item, of, byAttribute, a)
				if err != nil {
					return nil, err
				}
				if holds == keep {
					out = append(out, item)
				}
			}
			return out, r.spend(int64(len(items)))
		})
	}
}

// holds applies the test that a names, or plain truth, to an item or an attribute of it.
func (r *run) holds(item, of any, byAttribute bool, a py.Args) (bool, error) {
	var err error
	if byAttribute {
		if item, err = attribute(item, of); err != nil {
			return false, err
		}
	}
	if len(a.Pos) == 0 {
		return py.Truth(item), nil
	}
	name, _ := py.Text(a.Pos[0])
	return r.test(name, item, py.Args{Pos: a.Pos[1:], Kw: a.Kw})
}
