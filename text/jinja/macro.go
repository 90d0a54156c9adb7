package jinja

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/text/jinja/py"
	"github.com/graphrun/graphrun/text/jinja/syntax"
)

// macro returns the function that a macro tag, or the body of a call block, defines. It sees the variables of the place
// where it is defined, as they are when it is called.
func (r *run) macro(name string, sig syntax.Signature, body []syntax.Node, s *scope) *py.Func {
	uses := syntax.Uses(body, "caller", "kwargs", "varargs")
	wants := func(special string) bool { return uses[special] && !slices.Contains(sig.Params, special) }
	f := &py.Func{Name: name}
	f.Call = func(a py.Args) (any, error) {
		if r.depth++; r.depth > maxDepth {
			return nil, fmt.Errorf("maximum recursion depth of %d exceeded", maxDepth)
		}
		defer func() { r.depth-- }()
		inner := s.child()
		if err := r.bind(name, sig, &a, inner); err != nil {
			return nil, err
		}
		if wants("caller") {
			caller, ok := take(&a, "caller")
			if !ok {
				caller = &py.Undefined{Message: "No caller defined"}
			}
			inner.set("caller", caller)
		}
		if wants("kwargs") {
			d := py.NewDict(len(a.Kw))
			for _, kw := range a.Kw {
				if err := d.Set(kw.Name, kw.Value); err != nil {
					return nil, err
				}
			}
			inner.set("kwargs", d)
		} else if len(a.Kw) > 0 {
			if a.Kw[0].Name == "caller" {
				return nil, fmt.Errorf("macro '%s' was invoked with two values for the special caller argument. This is most likely a bug.", name)
			}
			return nil, fmt.Errorf("macro '%s' takes no keyword argument '%s'", name, a.Kw[0].Name)
		}
		if wants("varargs") {
			inner.set("varargs", &py.Tuple{Items: a.Pos})
		} else if len(a.Pos) > 0 {
			return nil, fmt.Errorf("macro '%s' takes not more than %d argument(s)", name, len(sig.Params))
		}
		return r.capture(body, inner)
	}
	f.Attr = func(attr string) (any, bool) {
		switch attr {
		case "name":
			return name, true
		case "arguments":
			var names []any
			for _, p := range sig.Params {
				names = append(names, p)
			}
			return &py.Tuple{Items: names}, true
		case "caller":
			return wants("caller"), true
		case "catch_kwargs":
			return wants("kwargs"), true
		case "catch_varargs":
			return wants("varargs"), true
		}
		return nil, false
	}
	return f
}

// bind assigns the parameters and leaves the other arguments in a. A default may refer to the parameters before it.
func (r *run) bind(name string, sig syntax.Signature, a *py.Args, inner *scope) error {
	given := min(len(a.Pos), len(sig.Params))
	for i, p := range sig.Params {
		if i < given {
			inner.set(p, a.Pos[i])
			continue
		}
		if v, ok := take(a, p); ok {
			inner.set(p, v)
			continue
		}
		var v any = &py.Undefined{Message: fmt.Sprintf("parameter '%s' was not provided", p)}
		if d := i - (len(sig.Params) - len(sig.Defaults)); d >= 0 {
			var err error
			if v, err = r.eval(sig.Defaults[d], inner); err != nil {
				return err
			}
		}
		inner.set(p, v)
	}
	for _, kw := range a.Kw {
		if i := slices.Index(sig.Params, kw.Name); i >= 0 && i < given {
			return fmt.Errorf("macro '%s' got multiple values for argument '%s'", name, kw.Name)
		}
	}
	a.Pos = a.Pos[given:]
	return nil
}

// take removes an argument given by name.
func take(a *py.Args, name string) (any, bool) {
	for i, kw := range a.Kw {
		if kw.Name == name {
			a.Kw = slices.Delete(slices.Clone(a.Kw), i, i+1)
			return kw.Value, true
		}
	}
	return nil, false
}

func (r *run) callBlock(n *syntax.CallBlock, s *scope) error {
	caller := r.macro("caller", n.Signature, n.Body, s)
	v, err := r.call(n.Call, s, caller)
	if err != nil {
		return err
	}
	text, err := py.Printed(v)
	if err != nil {
		return err
	}
	return r.write(text)
}
