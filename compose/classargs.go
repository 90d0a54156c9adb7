package compose

import (
	"errors"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

func (c *composer) classArgs(class *registry.Class, given []syntax.Arg, name syntax.Word, scope facts) (plan.Args, bool) {
	var out plan.Args
	good := true
	for _, a := range given {
		known := false
		for _, p := range class.Params {
			known = known || p.Name == a.Name.Text
		}
		if !known {
			d := c.list.Errorf("unknown-parameter", a.Name.At, "%s has no parameter %s", class.Name, a.Name.Text)
			noParameter(d, a.Name.Text, paramNames(class.Params))
			good = false
		}
	}
	for _, p := range class.Params {
		arg := argNamed(given, p.Name)
		switch {
		case arg != nil:
			v, ok := c.classArg(p, arg, class.Name, scope)
			if ok && len(p.OneOf) > 0 && !containsString(p.OneOf, v.Text()) {
				d := c.list.Errorf("bad-word", argRange(*arg), "%s's %s is %s, not %s", class.Name, p.Name, strings.Join(p.OneOf, " or "), v.Text())
				d.Among(v.Text(), p.OneOf, "one of")
				ok = false
			}
			good = good && ok
			out = append(out, plan.Arg{Name: p.Name, Value: v})
		case p.Default != nil:
			out = append(out, plan.Arg{Name: p.Name, Value: *p.Default})
		case !p.Optional:
			missingParameter(c.list.Errorf("missing-parameter", name.At, "%s needs its parameter %s", class.Name, p.Name), p)
			good = false
		}
	}
	if good && class.AcceptArgs != nil {
		if err := class.AcceptArgs(out); err != nil {
			c.refusedArgs(class, given, name, err)
			good = false
		}
	}
	return out, good
}

// refusedArgs reports what a class says of its parameters, at the one that it names.
func (c *composer) refusedArgs(class *registry.Class, given []syntax.Arg, name syntax.Word, err error) {
	at := name.At
	var arg *registry.ArgError
	if errors.As(err, &arg) {
		if g := argNamed(given, arg.Arg); g != nil {
			at = argRange(*g)
		}
	}
	d := c.list.Errorf("bad-argument", at, "%s: %v", class.Name, err)
	switch {
	case arg == nil:
	case arg.Help != "":
		d.Helped("%s", arg.Help)
	default:
		for _, p := range class.Params {
			if p.Name == arg.Arg && p.Doc != "" {
				d.Helped("%s: %s", p.Name, p.Doc)
			}
		}
	}
}

// classValue is a class as a parameter of another: its name, or {name: {parameters}}.
func (c *composer) classValue(p registry.Param, arg *syntax.Arg, owner string, scope facts) (plan.Value, bool) {
	if arg.Value == nil {
		c.list.Errorf("missing-value", arg.Name.At, "%s's parameter %s names no class", owner, p.Name).Helped("write it as in `%s: affine.dense`", p.Name)
		return plan.Value{}, false
	}
	n := arg.Value.Node
	name := syntax.Word{Text: n.Value, At: arg.Value.At()}
	var given []syntax.Arg
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 {
		name = syntax.Word{Text: n.Content[0].Value, At: arg.Value.File.Range(n.Content[0])}
		inner := source.Deref(n.Content[1])
		for i := 0; inner.Kind == yaml.MappingNode && i+1 < len(inner.Content); i += 2 {
			given = append(given, syntax.Arg{Name: syntax.Word{Text: inner.Content[i].Value, At: arg.Value.File.Range(inner.Content[i])},
				Value: &syntax.Expr{Node: source.Deref(inner.Content[i+1]), File: arg.Value.File}})
		}
	} else if n.Kind != yaml.ScalarNode {
		c.list.Errorf("want-text", arg.Value.At(), "%s's parameter %s is a class: a name, or {name: {parameters}}", owner, p.Name).Helped("write it as in `%s: affine.dense`", p.Name)
		return plan.Value{}, false
	}
	class := c.reg.Class(name.Text)
	if class == nil {
		d := c.list.Errorf("unknown-class", name.At, "there is no class %s", name.Text)
		d.Among(name.Text, classNames(c.reg), "classes")
		return plan.Value{}, false
	}
	args, ok := c.classArgs(class, given, name, scope)
	if len(args) == 0 {
		return plan.Value{Kind: plan.String, Str: class.Name}, ok
	}
	params := plan.Value{Kind: plan.Map}
	for _, a := range args {
		params.Map = append(params.Map, plan.Entry{Key: a.Name, Value: a.Value})
	}
	return plan.Value{Kind: plan.Map, Map: []plan.Entry{{Key: class.Name, Value: params}}}, ok
}

// recordFields are a record's fields by name.
func recordFields(v expr.Value) facts {
	out := facts{}
	for name := range expr.RecordFields(v.Type.String()) {
		out[name] = expr.Field(v, name)
	}
	return out
}

func (c *composer) classArg(p registry.Param, arg *syntax.Arg, owner string, scope facts) (plan.Value, bool) {
	switch p.Type {
	case "class":
		return c.classValue(p, arg, owner, scope)
	case "string": // a template: the facts of the port's one weight are names in it
		if w, ok := scope["weight"]; ok {
			scope = recordFields(w).with(scope)
		}
	}
	x := &expansion{c: c}
	frame := newFrame(x, c.model, nil, "")
	for name, v := range scope {
		frame.scalars[name] = &scalar{value: v}
	}
	return place{frame, nil}.argument(p.Type, *arg, owner)
}
