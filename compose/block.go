package compose

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// callBlock expands a block: its names are bound in the order parameters, shapes, defaults, lets.
func (x *expansion) callBlock(p place, call *syntax.Call, doc *syntax.Document, names []syntax.Word) []*value {
	c := x.c
	prefix, ok := x.path(p, call)
	if !ok {
		return nil
	}
	inputs := make([]registry.Input, len(doc.In))
	for i, in := range doc.In {
		inputs[i] = registry.Input{Name: in.Name.Text, Optional: in.Optional}
	}
	g, params, good := x.gather(call, doc.Name.Text, func() []registry.Input { return inputs }, func(n string) bool { return blockParam(doc, n) != nil }, func() []string { return blockParams(doc) })
	f := newFrame(x, doc, nil, prefix)
	f.group = x.groupOf(p, call, doc, prefix)
	body := place{f, nil}
	for _, a := range params {
		decl := blockParam(doc, a.Name.Text)
		if decl.Default != nil {
			if over, v := x.overrides(prefix, false, a.Name.Text); over != nil {
				value, ok := c.setValue(v, decl, over)
				good = good && ok
				f.scalars[a.Name.Text] = value
				continue
			}
		}
		v, ok := p.argument(decl.Type.Text, a, doc.Name.Text)
		good = good && ok
		if ok {
			f.scalars[a.Name.Text] = &scalar{value: fromPlan(decl.Type.Text, v), at: argRange(a)}
		}
	}
	for i, in := range doc.In {
		o, given := g.by[in.Name.Text]
		f.inputs[in.Name.Text] = false
		if !given && !in.Optional {
			missingInput(c.list.Errorf("missing-input", call.Callee.At, "%s takes an input %s, which is not given", doc.Name.Text, in.Name.Text).
				Because(in.Name.At, "declared here").In(prefix), doc.Name.Text, inputs, in.Name.Text)
			good = false
		}
		if !given {
			body = body.bind(in.Name.Text, absentValue())
			continue
		}
		r, ok := x.blockInput(p, doc.Name.Text, inputs[i], o)
		good = good && ok
		if ok {
			f.inputs[in.Name.Text] = !r.none
			body = body.bind(in.Name.Text, known(r))
		}
	}
	for _, s := range call.States {
		path, ok := p.template(s.Path)
		good = good && ok
		x.trace.takes(path)
		f.states[s.Name.Text] = &stateDecl{path: path}
	}
	if !good {
		return nil
	}
	for _, in := range doc.In {
		if v := body.value(in.Name.Text); !v.isAbsent() {
			x.bindDims(body, v.force(), in.Dims)
		}
	}
	for i := range doc.Params {
		good = x.blockDefault(body, &doc.Params[i], call) && good
	}
	if !good || !x.declare(body, &doc.Body) {
		return nil
	}
	for _, in := range doc.In {
		if v := body.value(in.Name.Text); !v.isAbsent() {
			good = x.match(body, v.force(), in.Dims, in.Dtype, "the input "+in.Name.Text+" of "+doc.Name.Text, g.by[in.Name.Text].at, in.Name.At) && good
		}
	}
	if !good {
		return nil
	}
	body, _ = x.nodes(body, doc.Nodes)
	return x.blockResults(body, call, doc, names)
}

func (x *expansion) blockInput(p place, owner string, in registry.Input, o operand) (*result, bool) {
	if o.lit != nil {
		return scalarResult(*o.lit), true
	}
	v, ok := x.input(p, *o.word)
	if !ok {
		return nil, false
	}
	r := v.force()
	if r != nil && r.none && !in.Optional {
		x.absentError(p, *o.word, owner, in.Name)
		return nil, false
	}
	return r, r != nil
}

func (x *expansion) blockDefault(body place, param *syntax.Param, call *syntax.Call) bool {
	name := param.Name.Text
	if body.scalars[name] != nil {
		return true
	}
	if over, v := x.overrides(body.prefix, body.doc.Kind == "model", name); over != nil && param.Default != nil {
		value, ok := x.c.setValue(v, param, over)
		body.scalars[name] = value
		return ok
	}
	if param.Default == nil {
		missingParameter(x.c.list.Errorf("missing-parameter", call.Callee.At, "%s needs its parameter %s (%s)", call.Callee.Text, name, param.Type.Text).
			Because(param.Name.At, "declared here").In(body.prefix), registry.Param{Name: name, Type: param.Type.Text})
		return false
	}
	v, ok := body.argument(param.Type.Text, syntax.Arg{Name: param.Name, Value: param.Default}, body.doc.Name.Text)
	if ok {
		body.scalars[name] = &scalar{value: fromPlan(param.Type.Text, v), at: param.Name.At}
	}
	return ok
}

// blockResults gives the block's results by their place; each is checked against its declaration when it is needed.
func (x *expansion) blockResults(body place, call *syntax.Call, doc *syntax.Document, names []syntax.Word) []*value {
	if len(names) > len(doc.Out) {
		x.c.list.Errorf("result-count", names[len(doc.Out)].At, "%s gives %s, and %d are named", doc.Name.Text, count(len(doc.Out), "result"), len(names)).
			Because(doc.Name.At, "its results: %s", outNames(doc)).Helped("name %s before the colon", count(len(doc.Out), "result"))
		return nil
	}
	out := make([]*value, len(names))
	for i := range names {
		o := &doc.Out[i]
		v := body.value(o.Name.Text)
		if v == nil || v.isAbsent() {
			out[i] = absentValue()
			if !o.Optional {
				d := x.c.list.Errorf("absent-value", o.Name.At, "the result %s of %s has no value", o.Name.Text, doc.Name.Text).In(body.prefix)
				for _, why := range body.why(o.Name.Text) {
					d.Helped("the node that gives it is not there: %s", why)
				}
				out[i] = known(nil)
			}
			continue
		}
		out[i] = &value{peek: func() *value { return v }, make: func() *result {
			r := v.force()
			if r == nil || r.none {
				return r
			}
			if !x.match(body, r, o.Dims, o.Dtype, "the result "+o.Name.Text+" of "+doc.Name.Text, o.Name.At, o.Name.At) {
				return nil
			}
			return r
		}}
	}
	return out
}

func outNames(doc *syntax.Document) string {
	names := make([]string, len(doc.Out))
	for i, o := range doc.Out {
		names[i] = o.Name.Text
	}
	return strings.Join(names, ", ")
}

func blockParam(doc *syntax.Document, name string) *syntax.Param {
	for i := range doc.Params {
		if doc.Params[i].Name.Text == name {
			return &doc.Params[i]
		}
	}
	return nil
}

func blockParams(doc *syntax.Document) []string {
	out := make([]string, len(doc.Params))
	for i, p := range doc.Params {
		out[i] = p.Name.Text
	}
	return out
}

// fromPlan makes a parameter's value one of expressions again, with the static type that it is declared to have.
func fromPlan(kind string, v plan.Value) expr.Value {
	out := expr.FromPlan(v)
	out.Type = expr.ParamType(kind)
	return out
}

// match holds a value to a declared shape and dtype. A bare name that is not in scope is bound by the first shape that
// holds it; `...` stands once for any axes.
func (x *expansion) match(body place, r *result, dims []*syntax.Expr, want *syntax.Word, what string, at, declared diag.Range) bool {
	if r == nil {
		return false
	}
	if dims == nil && want == nil || r.operand.Kind == plan.FromScalar || r.list != nil {
		return true
	}
	if want != nil && want.Text != r.typ.Dtype.String() {
		x.c.list.Errorf("dtype-mismatch", at, "%s is %s, declared %s", what, r.typ.Dtype, want.Text).Because(want.At, "declared here").In(body.prefix).
			Helped("convert it, as in `- y: {astype: x, dtype: %s}`, or declare %s", want.Text, r.typ.Dtype)
		return false
	}
	if dims == nil {
		return true
	}
	have := r.typ.Shape
	rest := -1
	for i, d := range dims {
		if d.Node.Kind == yaml.ScalarNode && d.Node.Value == "..." {
			rest = i
		}
	}
	if rest < 0 && len(have) != len(dims) || rest >= 0 && len(have) < len(dims)-1 {
		x.mismatch(body, what, have, dims, at, declared, fmt.Sprintf("it has %s", count(len(have), "axis")))
		return false
	}
	for i, d := range dims {
		k := i
		switch {
		case i == rest:
			continue
		case rest >= 0 && i > rest:
			k = len(have) - (len(dims) - i)
		}
		if d.Node.Kind == yaml.ScalarNode && d.Node.ShortTag() == "!!str" {
			if _, known := body.TypeOf(d.Node.Value); !known && isName(d.Node.Value) {
				body.scalars[d.Node.Value] = dimScalar(have[k], d.At())
				continue
			}
		}
		wanted, ok := body.dim(d)
		if !ok {
			return false
		}
		if !wanted.Equal(have[k]) {
			x.mismatch(body, what, have, dims, at, declared, fmt.Sprintf("axis %d is %s, not %s", k, have[k], wanted))
			return false
		}
	}
	return true
}

// bindDims gives names that are not in scope the dims of an input: before defaults and lets, which may use them.
func (x *expansion) bindDims(body place, r *result, dims []*syntax.Expr) {
	if r == nil || r.list != nil || r.operand.Kind == plan.FromScalar {
		return
	}
	have := r.typ.Shape
	for i, d := range dims {
		if d.Node.Kind == yaml.ScalarNode && d.Node.Value == "..." {
			break
		}
		if i >= len(have) || d.Node.Kind != yaml.ScalarNode || d.Node.ShortTag() != "!!str" || !isName(d.Node.Value) {
			continue
		}
		if _, known := body.TypeOf(d.Node.Value); !known && !declares(body.doc.Let, d.Node.Value) {
			body.scalars[d.Node.Value] = dimScalar(have[i], d.At())
		}
	}
}

func declares(lets []syntax.Let, name string) bool {
	for _, l := range lets {
		if l.Name.Text == name {
			return true
		}
	}
	return false
}

func dimScalar(d shape.Dim, at diag.Range) *scalar {
	if n, ok := d.Known(); ok {
		return &scalar{value: expr.Of(n), at: at}
	}
	return &scalar{dim: &d, value: expr.Value{Type: expr.Int}, at: at}
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func (x *expansion) mismatch(body place, what string, have shape.Shape, dims []*syntax.Expr, at, declared diag.Range, why string) {
	texts := make([]string, len(dims))
	for i, d := range dims {
		texts[i] = d.Node.Value
	}
	x.c.list.Errorf("shape-mismatch", at, "%s is %s, declared [%s]: %s", what, have, strings.Join(texts, ", "), why).
		Because(declared, "declared here").In(body.prefix).Helped("if the declaration is wrong: %s has %s here", what, have)
}

// overrides asks the lines of set at a path.
func (x *expansion) overrides(prefix string, root bool, name string) (*syntax.Arg, *variant) {
	over, v := x.c.overrides(prefix, root, name)
	if len(x.c.variants) > 0 {
		x.trace.again(func(y *copying) bool { again, _ := x.c.overrides(y.path(prefix), root, name); return again == over })
	}
	return over, v
}

// setValue is what a line of set gives a parameter.
func (c *composer) setValue(v *variant, param *syntax.Param, over *syntax.Arg) (*scalar, bool) {
	decl := registry.Param{Name: param.Name.Text, Type: param.Type.Text}
	value, ok := c.classArg(decl, over, "set", v.scope)
	return &scalar{value: fromPlan(param.Type.Text, value), at: over.Name.At}, ok
}
