package compose

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/shape"
	"github.com/graphrun/graphrun/weights/header"
)

// tensor gives the plan's index of a canonical tensor. Without a checkpoint each tensor is there, of the shape that is
// asked of it first.
func (c *composer) tensor(name string, at diag.Range) (int, bool) {
	if i, ok := c.tensorIndex[name]; ok {
		return i, i >= 0
	}
	if i := c.ofWeight(name); i >= 0 {
		return i, true
	}
	r := c.recipes[name]
	if c.probe != nil && r == nil {
		c.probe.lacks = append(c.probe.lacks, name)
	}
	if c.recipes == nil || c.probe != nil && r == nil {
		c.plan.Tensors = push(c.plan.Tensors, plan.Tensor{Name: name})
		c.tensorIndex[name] = len(c.plan.Tensors) - 1
		return c.tensorIndex[name], true
	}
	if r == nil {
		c.missingTensor(name, at)
		c.tensorIndex[name] = -1
		return -1, false
	}
	c.plan.Tensors = push(c.plan.Tensors, plan.Tensor{Name: name, Dtype: r.Dtype, Shape: r.Shape, Recipe: r})
	c.tensorIndex[name] = len(c.plan.Tensors) - 1
	return c.tensorIndex[name], true
}

// ofWeight is a tensor of a port's weight that is imagined: such are found by the weight's path; -1: it is none.
func (c *composer) ofWeight(name string) int {
	if c.recipes != nil {
		return -1
	}
	at := max(strings.LastIndexByte(name, '.'), 0)
	w, ok := c.weights[name[:at]]
	if !ok || w < 0 {
		return -1
	}
	switch weight := &c.plan.Weights[w]; name[at:] {
	case ".weight":
		return weight.Tensor
	case ".scales":
		return weight.Scales
	case ".biases":
		return weight.Biases
	case ".bias":
		return weight.Bias
	}
	return -1
}

// tensor is one that the graph itself uses, not by a port.
func (x *expansion) tensor(name string, at diag.Range) (int, bool) {
	index, ok := x.c.tensor(name, at)
	x.trace.again(func(y *copying) (ok bool) { y.tensors[index], ok = x.c.tensor(y.path(name), at); return ok })
	return index, ok
}

// has tells whether the checkpoint, after the view, has a tensor.
func (c *composer) has(name string) bool { return c.recipes[name] != nil }

// lack is what is said of tensors that a line of the graph wants, one for each layer, and that are all missing.
type lack struct {
	d     *diag.Diagnostic
	first string
	more  int
}

var numbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b\d+\b`) })

func (c *composer) missingTensor(name string, at diag.Range) {
	if c.probe != nil {
		c.probe.lacks = append(c.probe.lacks, name)
		return
	}
	kind := at.String() + " " + numbers().ReplaceAllString(name, "*")
	if l := c.lacking[kind]; l != nil {
		l.more++
		l.d.Message = fmt.Sprintf("no tensor of the checkpoint gives %s, nor %d more like it up to %s", l.first, l.more, name)
		return
	}
	names := make([]string, 0, len(c.recipes))
	for n := range c.recipes {
		names = append(names, n)
	}
	sort.Strings(names)
	d := c.list.Errorf("missing-tensor", at, "no tensor of the checkpoint gives %s", name)
	c.lacking[kind] = &lack{d: d, first: name}
	nearTensor(d, name, names)
	for _, dropped := range c.viewDropped {
		if dropped == name {
			d.Helped("the view drops it")
		}
	}
}

// weightTensor holds a tensor to the shape that an operator wants.
func (c *composer) weightTensor(index int, want shape.Shape, like dtype.Dtype) (plan.Type, error) {
	t := &c.plan.Tensors[index]
	if t.Recipe == nil && t.Shape == nil {
		dims, ok := want.Known()
		if !ok {
			return plan.Type{}, fmt.Errorf("the weight %s would have the shape %s, which is not known", t.Name, want)
		}
		t.Shape, t.Dtype = dims, c.defaultDtype(like)
	}
	have := shape.Of(t.Shape...)
	if !have.Equal(want) {
		return plan.Type{}, fmt.Errorf("the tensor %s is %s, where %s is wanted%s", t.Name, have, want, storedIn(*t))
	}
	return plan.Type{Dtype: t.Dtype, Shape: have}, nil
}

func storedIn(t plan.Tensor) string {
	if t.Recipe == nil {
		return ""
	}
	out := ""
	t.Recipe.Sources(func(h *header.Tensor) {
		if out == "" {
			out = fmt.Sprintf(" (stored as %s %v in %s)", h.Stored, h.Shape, h.File)
		}
	})
	return out
}

// defaultDtype is the dtype of a dense weight where no tensors are known: the config's.
func (c *composer) defaultDtype(like dtype.Dtype) dtype.Dtype {
	if c.req.Config == nil {
		return like
	}
	for _, values := range []map[string]any{c.req.Config.Values, dictOf(c.req.Config.Values["text_config"])} {
		for _, key := range []string{"torch_dtype", "dtype"} {
			if s, ok := values[key].(string); ok {
				if d, ok := dtype.Parse(s); ok {
					return d
				}
			}
		}
	}
	return like
}

func dictOf(v any) map[string]any { m, _ := v.(map[string]any); return m }

// declaredWeight is a weight that is used as a plain operand.
func (x *expansion) declaredWeight(d *weightDecl, at diag.Range) *result {
	c := x.c
	x.trace.declared(d.at.frame, d.path)
	if d.spec.When != nil {
		is, ok := d.at.truth(d.spec.When)
		if !ok {
			return nil
		}
		if !is {
			return &result{none: true}
		}
	}
	if d.spec.Optional && c.recipes != nil {
		has := c.has(d.path)
		x.trace.again(func(y *copying) bool { return c.has(y.path(d.path)) == has })
		if !has {
			return &result{none: true}
		}
	}
	index, ok := x.tensor(d.path, at)
	if !ok {
		return nil
	}
	dims, ok := d.at.dims(d.spec.Dims)
	if !ok {
		return nil
	}
	like := c.activation
	if d.spec.Dtype != nil {
		want, ok := dtype.Parse(d.spec.Dtype.Text)
		if !ok {
			c.list.Errorf("unknown-dtype", d.spec.Dtype.At, "%s is no dtype", d.spec.Dtype.Text).Among(d.spec.Dtype.Text, dtype.Names(), "dtypes")
			return nil
		}
		like = want
		if t := c.plan.Tensors[index]; t.Recipe != nil && t.Dtype != want {
			c.list.Errorf("dtype-mismatch", d.spec.Dtype.At, "the tensor %s is %s, declared %s%s", t.Name, t.Dtype, want, storedIn(t)).
				Helped("declare `dtype: %s`, or convert it in the view, as in `- {each: '%s', do: [{astype: %s}]}`", t.Dtype, generalised(t.Name), want)
			return nil
		}
	}
	t, err := c.weightTensor(index, dims, like)
	if err != nil {
		c.list.Errorf("shape-mismatch", d.spec.Name.At, "%v", err).In(d.at.prefix)
		return nil
	}
	x.trace.again(func(y *copying) bool {
		other, err := c.weightTensor(y.tensors[index], dims, like)
		return err == nil && other.Dtype == t.Dtype
	})
	return &result{operand: plan.Operand{Kind: plan.FromTensor, Index: index, Type: t}, typ: t}
}

// stateOf finds a state by its name in scope.
func (x *expansion) stateOf(p place, w syntax.Word) (int, *plan.State) {
	d := p.state(w.Text)
	if d == nil {
		var names []string
		for f := p.frame; f != nil; f = f.outer {
			for n := range f.states {
				names = append(names, n)
			}
		}
		e := x.c.list.Errorf("unknown-state", w.At, "%s is not a state here", w.Text).In(p.prefix)
		e.Among(w.Text, names, "states")
		return -1, nil
	}
	index := x.c.stateIndex(x, d, w.At)
	if index < 0 {
		return -1, nil
	}
	return index, &x.c.plan.States[index]
}

func (x *expansion) stateOperand(d *stateDecl) *result {
	index := x.c.stateIndex(x, d, d.spec.Name.At)
	if index < 0 {
		return nil
	}
	return &result{operand: plan.Operand{Kind: plan.FromState, Index: index}}
}

// stateIndex gives the plan's state of a declaration; two declarations of one path must agree.
func (c *composer) stateIndex(x *expansion, d *stateDecl, at diag.Range) int {
	if d.spec == nil {
		c.list.Errorf("unknown-state", at, "the state at %s is mapped, but the block does not declare it", d.path).Helped("leave it out of the call's `state`, or correct its name")
		return -1
	}
	kind := c.reg.State(d.spec.Kind.Text)
	if kind == nil {
		c.list.Errorf("unknown-state", d.spec.Kind.At, "there is no kind of state %s", d.spec.Kind.Text)
		return -1
	}
	decl := plan.State{Path: d.path, Kind: kind.Name, Dtype: c.activation, At: d.spec.Name.At}
	if d.spec.Kind.Text == "array" {
		dims, ok := d.at.dims(d.spec.Dims)
		if !ok {
			return -1
		}
		decl.Args = append(decl.Args, plan.Arg{Name: kind.Fields[0].Name, Value: plan.Value{Kind: plan.Dims, Dims: dims}})
	} else {
		fake := &syntax.Call{Callee: d.spec.Name}
		for _, f := range d.spec.Fields {
			known := false
			for _, k := range kind.Fields {
				known = known || k.Name == f.Name.Text
			}
			if !known {
				e := c.list.Errorf("unknown-key", f.Name.At, "a %s has no field %s", kind.Name, f.Name.Text)
				e.Among(f.Name.Text, paramNames(kind.Fields), "fields")
				return -1
			}
		}
		args, ok := x.params(d.at, kind.Fields, d.spec.Fields, "the state "+d.spec.Name.Text, fake)
		if !ok {
			return -1
		}
		decl.Args = args
		decl.Scheme, decl.Bits, decl.Group = c.kv.storage, c.kv.bits, c.kv.group
	}
	if d.spec.Dtype != nil {
		want, ok := dtype.Parse(d.spec.Dtype.Text)
		if !ok {
			c.list.Errorf("unknown-dtype", d.spec.Dtype.At, "%s is no dtype", d.spec.Dtype.Text).Among(d.spec.Dtype.Text, dtype.Names(), "dtypes")
			return -1
		}
		decl.Dtype = want
	}
	x.trace.declared(d.at.frame, d.path)
	index := c.putState(decl)
	if index >= 0 {
		holds := c.plan.States[index].Dtype
		x.trace.again(func(y *copying) bool {
			again := decl
			again.Path = y.path(decl.Path)
			y.states[index] = c.putState(again)
			return y.states[index] >= 0 && c.plan.States[y.states[index]].Dtype == holds
		})
	}
	return index
}

func (c *composer) putState(decl plan.State) int {
	if i, ok := c.states[decl.Path]; ok {
		first := c.plan.States[i]
		if first.Kind != decl.Kind || !sameArgs(first.Args, decl.Args) {
			c.list.Errorf("state-mismatch", decl.At, "the state %s is declared in two ways: %s and %s", decl.Path, show(first), show(decl)).Because(first.At, "first here").
				Helped("one path is one state: declare it alike, or give one of the calls a path of its own by `at`")
			return -1
		}
		return i
	}
	c.plan.States = append(c.plan.States, decl)
	c.states[decl.Path] = len(c.plan.States) - 1
	return c.states[decl.Path]
}

func (c *composer) stateDtype(path string, d dtype.Dtype) {
	if i, ok := c.states[path]; ok {
		c.plan.States[i].Dtype = d
	}
}

func sameArgs(a, b plan.Args) bool {
	return slices.EqualFunc(a, b, func(x, y plan.Arg) bool { return x.Name == y.Name && sameValue(x.Value, y.Value) }) || showArgs(a) == showArgs(b)
}

func sameValue(a, b plan.Value) bool {
	return a.Kind == b.Kind && a.Int == b.Int && a.Float == b.Float && a.Bool == b.Bool && a.Str == b.Str && a.Dtype == b.Dtype && a.Dims.Equal(b.Dims) &&
		slices.EqualFunc(a.List, b.List, sameValue) &&
		slices.EqualFunc(a.Map, b.Map, func(x, y plan.Entry) bool { return x.Key == y.Key && sameValue(x.Value, y.Value) })
}

func show(s plan.State) string { return s.Kind + " " + showArgs(s.Args) }

func showArgs(a plan.Args) string {
	b, err := a.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(b)
}
