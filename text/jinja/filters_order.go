package jinja

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/text/jinja/py"
)

// attribute follows a dotted path of keys, attributes and indices, as the filters with an attribute do.
func attribute(v, path any) (any, error) {
	if n, ok := py.Int(path); ok {
		out := py.GetItem(v, n)
		return out, py.Failed(out)
	}
	text, _ := py.Text(path)
	for part := range strings.SplitSeq(text, ".") {
		var key any = part
		if n, err := strconv.ParseInt(part, 10, 64); err == nil && n >= 0 {
			key = n
		}
		if u, ok := v.(*py.Undefined); ok {
			return nil, errors.New(u.Message)
		}
		v = py.GetItem(v, key)
		if err := py.Failed(v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// keyed returns what items are compared by: an attribute or themselves, without regard to case unless asked.
func keyed(item, attr any, sensitive bool) (any, error) {
	if attr != nil {
		var err error
		if item, err = attribute(item, attr); err != nil {
			return nil, err
		}
	}
	if s, ok := py.Text(item); ok && !sensitive {
		return py.Lower(s), nil
	}
	return item, nil
}

type keyedItem struct{ key, item any }

func withKeys(v, attr any, sensitive bool) ([]keyedItem, error) {
	items, err := py.Iterate(v)
	if err != nil {
		return nil, err
	}
	out := make([]keyedItem, len(items))
	for i, item := range items {
		key, err := keyed(item, attr, sensitive)
		if err != nil {
			return nil, err
		}
		out[i] = keyedItem{key, item}
	}
	return out, nil
}

// withKeyLists is withKeys for sort, whose attribute may name several, with commas between them.
func withKeyLists(v, attr any, sensitive bool) ([]keyedItem, error) {
	items, err := py.Iterate(v)
	if err != nil {
		return nil, err
	}
	paths := []any{attr}
	if s, ok := py.Text(attr); ok {
		paths = nil
		for p := range strings.SplitSeq(s, ",") {
			paths = append(paths, p)
		}
	}
	out := make([]keyedItem, len(items))
	for i, item := range items {
		keys := make([]any, len(paths))
		for k, p := range paths {
			if keys[k], err = keyed(item, p, sensitive); err != nil {
				return nil, err
			}
		}
		out[i] = keyedItem{&py.List{Items: keys}, item}
	}
	return out, nil
}

// sortItems sorts stably; items that have no order among them are an error.
func sortItems(items []keyedItem, reverse bool) error {
	var failed error
	if reverse {
		slices.Reverse(items) // stable from the other end, as Python's reverse is
	}
	slices.SortStableFunc(items, func(a, b keyedItem) int {
		if failed != nil {
			return 0
		}
		n, err := py.Order("<", a.key, b.key)
		if err != nil {
			failed = err
		}
		return n
	})
	if reverse {
		slices.Reverse(items)
	}
	return failed
}

func values(items []keyedItem) []any {
	out := make([]any, len(items))
	for i, it := range items {
		out[i] = it.item
	}
	return out
}

func filterSort(r *run, v any, a py.Args) (any, error) {
	p, _, err := py.Bind("sort", a, "reverse?", "case_sensitive?", "attribute?")
	if err != nil {
		return nil, err
	}
	items, err := withKeyLists(v, p[2], py.Truth(p[1]))
	if err != nil {
		return nil, err
	}
	if err := r.spend(int64(len(items)) * 16); err != nil {
		return nil, err
	}
	err = sortItems(items, py.Truth(p[0]))
	return &py.List{Items: values(items)}, err
}

func filterDictSort(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("dictsort", a, "case_sensitive?", "by?", "reverse?")
	if err != nil {
		return nil, err
	}
	d, ok := v.(*py.Dict)
	if !ok {
		return nil, errors.New("dictsort needs a mapping")
	}
	by := int64(0)
	if given[1] {
		switch name, _ := py.Text(p[1]); name {
		case "key":
		case "value":
			by = 1
		default:
			return nil, errors.New(`You can only sort by either "key" or "value"`)
		}
	}
	items, err := withKeys(&py.View{Kind: "items", Dict: d}, by, py.Truth(p[0]))
	if err != nil {
		return nil, err
	}
	err = sortItems(items, py.Truth(p[2]))
	return &py.List{Items: values(items)}, err
}

func filterUnique(_ *run, v any, a py.Args) (any, error) {
	p, _, err := py.Bind("unique", a, "case_sensitive?", "attribute?")
	if err != nil {
		return nil, err
	}
	return lazy(func() ([]any, error) {
		items, err := withKeys(v, p[1], py.Truth(p[0]))
		if err != nil {
			return nil, err
		}
		seen := py.NewDict(len(items))
		var out []any
		for _, it := range items {
			if _, ok := seen.Get(it.key); ok {
				continue
			}
			if err := seen.Set(it.key, true); err != nil {
				return nil, err
			}
			out = append(out, it.item)
		}
		return out, nil
	})
}

// extreme returns the least (-1) or greatest (1) item.
func extreme(sign int) filterFunc {
	return func(_ *run, v any, a py.Args) (any, error) {
		p, _, err := py.Bind("min or max", a, "case_sensitive?", "attribute?")
		if err != nil {
			return nil, err
		}
		items, err := withKeys(v, p[1], py.Truth(p[0]))
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return &py.Undefined{Message: "No aggregated item, sequence was empty."}, nil
		}
		best := items[0]
		for _, it := range items[1:] {
			n, err := py.Order("<", it.key, best.key)
			if err != nil {
				return nil, err
			}
			if n == sign {
				best = it
			}
		}
		return best.item, nil
	}
}

func filterGroupBy(_ *run, v any, a py.Args) (any, error) {
	p, given, err := py.Bind("groupby", a, "attribute", "default?", "case_sensitive?")
	if err != nil {
		return nil, err
	}
	list, err := py.Iterate(v)
	if err != nil {
		return nil, err
	}
	sensitive := py.Truth(p[2])
	items := make([]keyedItem, len(list))
	for i, item := range list {
		key, err := attribute(item, p[0])
		if err != nil {
			return nil, err
		}
		if _, undefined := key.(*py.Undefined); undefined && given[1] {
			key = p[1]
		}
		folded, _ := keyed(key, nil, sensitive)
		items[i] = keyedItem{folded, &py.Tuple{Items: []any{key, item}}}
	}
	if err := sortItems(items, false); err != nil {
		return nil, err
	}
	var groups []any
	for i := 0; i < len(items); {
		first := items[i].item.(*py.Tuple).Items[0]
		var members []any
		j := i
		for ; j < len(items) && py.Equal(items[j].key, items[i].key); j++ {
			members = append(members, items[j].item.(*py.Tuple).Items[1])
		}
		groups = append(groups, &py.Tuple{Items: []any{first, &py.List{Items: members}}, Names: []string{"grouper", "list"}})
		i = j
	}
	return &py.List{Items: groups}, nil
}
