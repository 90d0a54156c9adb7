package jinja

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/text/jinja/py"
)

// global returns a function that every template has, nil if there is none of the name.
func (r *run) global(name string) any {
	switch name {
	case "range":
		return &py.Func{Name: name, Call: makeRange}
	case "dict":
		return &py.Func{Name: name, Call: makeDict, Attr: func(attr string) (any, bool) {
			if attr != "fromkeys" {
				return nil, false
			}
			return &py.Func{Name: attr, Call: fromKeys}, true
		}}
	case "namespace":
		return &py.Func{Name: name, Call: makeNamespace}
	case "cycler":
		return &py.Func{Name: name, Call: makeCycler}
	case "joiner":
		return &py.Func{Name: name, Call: makeJoiner}
	case "raise_exception":
		return &py.Func{Name: name, Call: raise}
	case "strftime_now":
		return &py.Func{Name: name, Call: func(a py.Args) (any, error) {
			v, _, err := py.Bind(name, a, "format")
			if err != nil {
				return nil, err
			}
			format, ok := py.Text(v[0])
			if !ok {
				return nil, fmt.Errorf("strftime() argument 1 must be str, not %s", py.TypeName(v[0]))
			}
			return strftime(r.now(), format)
		}}
	}
	return nil
}

// raise is raise_exception: the message is the template's own.
func raise(a py.Args) (any, error) {
	v, _, err := py.Bind("raise_exception", a, "message")
	if err != nil {
		return nil, err
	}
	return nil, &Error{Message: py.Str(v[0]), Raised: true}
}

func makeRange(a py.Args) (any, error) {
	if len(a.Kw) > 0 || len(a.Pos) == 0 || len(a.Pos) > 3 {
		return nil, fmt.Errorf("range expected 1 to 3 arguments, got %d", len(a.Pos))
	}
	bounds := []int64{0, 0, 1}
	for i, v := range a.Pos {
		n, ok := py.Int(v)
		if !ok {
			return nil, fmt.Errorf("'%s' object cannot be interpreted as an integer", py.TypeName(v))
		}
		bounds[i] = n
	}
	if len(a.Pos) == 1 {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	return py.NewRange(bounds[0], bounds[1], bounds[2])
}

func makeDict(a py.Args) (any, error) {
	if len(a.Pos) > 1 {
		return nil, fmt.Errorf("dict expected at most 1 argument, got %d", len(a.Pos))
	}
	d := py.NewDict(len(a.Kw))
	if len(a.Pos) == 1 {
		if err := fill(d, a.Pos[0]); err != nil {
			return nil, err
		}
	}
	for _, kw := range a.Kw {
		if err := d.Set(kw.Name, kw.Value); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// fill copies a dict, or pairs of keys and values, into d.
func fill(d *py.Dict, from any) error {
	if m, ok := from.(*py.Dict); ok {
		for _, k := range m.Keys() {
			v, _ := m.Get(k)
			if err := d.Set(k, v); err != nil {
				return err
			}
		}
		return nil
	}
	items, err := py.Iterate(from)
	if err != nil {
		return err
	}
	for i, item := range items {
		pair, err := py.Iterate(item)
		if err != nil {
			return fmt.Errorf("cannot convert dictionary update sequence element #%d to a sequence", i)
		}
		if len(pair) != 2 {
			return fmt.Errorf("dictionary update sequence element #%d has length %d; 2 is required", i, len(pair))
		}
		if err := d.Set(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

func fromKeys(a py.Args) (any, error) {
	v, _, err := py.Bind("fromkeys", a, "iterable", "value?")
	if err != nil {
		return nil, err
	}
	keys, err := py.Iterate(v[0])
	if err != nil {
		return nil, err
	}
	d := py.NewDict(len(keys))
	for _, k := range keys {
		if err := d.Set(k, v[1]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// namespace is an object whose attributes a template may set.
type namespace struct{ attrs *py.Dict }

func (*namespace) TypeName() string { return "Namespace" }

func (n *namespace) Repr() string { return "<Namespace " + py.Repr(n.attrs) + ">" }

func (n *namespace) Attr(name string) (any, bool) { return n.attrs.Get(name) }

func (n *namespace) set(name string, v any) error {
	if strings.HasPrefix(name, "_") {
		return fmt.Errorf("Chat templates cannot store underscore-prefixed attributes on a namespace, but got '%s'. Please rename the attribute.", name)
	}
	return n.attrs.Set(name, v)
}

func makeNamespace(a py.Args) (any, error) {
	v, err := makeDict(a)
	if err != nil {
		return nil, err
	}
	n := &namespace{py.NewDict(4)}
	d := v.(*py.Dict)
	for _, k := range d.Keys() {
		name, ok := py.Text(k)
		if !ok {
			continue // no attribute can have such a name
		}
		item, _ := d.Get(k)
		if err := n.set(name, item); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// cycler gives its items in turn.
type cycler struct {
	items []any
	pos   int
}

func (*cycler) TypeName() string { return "Cycler" }

func (*cycler) Repr() string { return "<Cycler>" }

func (c *cycler) Attr(name string) (any, bool) {
	switch name {
	case "current":
		return c.items[c.pos], true
	case "next":
		return &py.Func{Name: name, Call: func(py.Args) (any, error) {
			v := c.items[c.pos]
			c.pos = (c.pos + 1) % len(c.items)
			return v, nil
		}}, true
	case "reset":
		return &py.Func{Name: name, Call: func(py.Args) (any, error) {
			c.pos = 0
			return nil, nil
		}}, true
	}
	return nil, false
}

func makeCycler(a py.Args) (any, error) {
	if len(a.Pos) == 0 || len(a.Kw) > 0 {
		return nil, errors.New("at least one item has to be provided")
	}
	return &cycler{items: a.Pos}, nil
}

// makeJoiner returns a function that gives nothing the first time and the separator then.
func makeJoiner(a py.Args) (any, error) {
	v, given, err := py.Bind("joiner", a, "sep?")
	if err != nil {
		return nil, err
	}
	var sep any = ", "
	if given[0] {
		sep = v[0]
	}
	used := false
	return &py.Func{Name: "joiner", Call: func(py.Args) (any, error) {
		if !used {
			used = true
			return "", nil
		}
		return sep, nil
	}}, nil
}
