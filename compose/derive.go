package compose

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/view"
)

// derive makes the step of `derive: {name: pattern}, nodes, to: {name: target}`.
func (b *viewBuilder) derive(s *syntax.ViewStep, when view.When) {
	step := view.Derive{When: when}
	sources := s.Key("derive")
	for _, kv := range pairsOf(sources) {
		p := b.pattern(kv.value)
		if p == nil {
			return
		}
		step.From = append(step.From, view.Source{Name: kv.name, Pattern: p})
	}
	to := s.Key("to")
	for _, kv := range pairsOf(to) {
		if len(step.From) > 0 {
			if err := step.From[0].Pattern.CheckTarget(kv.value.Text); err != nil {
				b.fail(kv.value.At, "%v", err)
				return
			}
		}
		step.To = append(step.To, view.Target{Name: kv.name, To: kv.value.Text})
	}
	if len(step.From) == 0 || len(step.To) == 0 || s.Key("nodes") == nil {
		b.fail(s.Verb.At, "the step derive names its sources {name: pattern}, nodes, and to {name: target}").Helped("write it as in `%s`", stepForms["derive"])
		return
	}
	nodes := syntax.ParseNodes(s.Key("nodes").Value, b.c.list)
	step.Make = func(m view.Match, in map[string]*view.Recipe) (map[string]*view.Recipe, error) {
		return b.evalNodes(nodes, in)
	}
	b.steps = append(b.steps, step)
}

type namedWord struct {
	name  string
	value syntax.Word
}

func pairsOf(a *syntax.Arg) []namedWord {
	if a == nil || a.Value == nil || a.Value.Node.Kind != yaml.MappingNode {
		return nil
	}
	var out []namedWord
	n := a.Value.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		v := source.Deref(n.Content[i+1])
		out = append(out, namedWord{n.Content[i].Value, syntax.Word{Text: v.Value, At: a.Value.File.Range(v)}})
	}
	return out
}

// derivable are the operators that a derivation's nodes may use: what can be said of a tensor before it is opened.
var derivable = []string{"reshape", "transpose", "swapaxes", "moveaxis", "expand_dims", "split", "slice", "multiply", "add", "astype", "constant", "fp8_dequantize"}

// evalNodes makes recipes of nodes. The values are the step's alone; numbers are the model's lets and parameters.
func (b *viewBuilder) evalNodes(nodes []syntax.Node, in map[string]*view.Recipe) (map[string]*view.Recipe, error) {
	values := map[string]*view.Recipe{}
	for k, v := range in {
		values[k] = v
	}
	for i := range nodes {
		n := &nodes[i]
		if n.Alias != nil {
			values[n.Results[0].Text] = values[n.Alias.Text]
			continue
		}
		out, err := b.deriveCall(n, values)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", n.At.Line, n.Call.Callee.Text, err)
		}
		if len(out) != len(n.Results) {
			return nil, fmt.Errorf("line %d: %s gives %s, and %d are named", n.At.Line, n.Call.Callee.Text, count(len(out), "result"), len(n.Results))
		}
		for k, r := range n.Results {
			values[r.Text] = out[k]
		}
	}
	return values, nil
}

// deriveArgs reads a call's parameters by name.
type deriveArgs struct {
	b      *viewBuilder
	call   *syntax.Call
	values map[string]*view.Recipe
}

func (a deriveArgs) value(kind, name string) (plan.Value, error) {
	arg := argNamed(a.call.Args, name)
	if arg == nil {
		return plan.Value{}, fmt.Errorf("it needs its parameter %s", name)
	}
	v, ok := a.b.scope.argument(kind, *arg, a.call.Callee.Text)
	if !ok {
		return v, fmt.Errorf("its parameter %s cannot be read", name)
	}
	return v, nil
}

func (a deriveArgs) ints(name string) ([]int, error) {
	v, err := a.value("ints", name)
	return plan.Args{{Name: name, Value: v}}.Ints(name), err
}

func (a deriveArgs) int(name string) (int, error) {
	v, err := a.value("int", name)
	return int(v.Int), err
}

// inputs are the values and numbers that the call takes by place, or by name from a map.
func (a deriveArgs) inputs(names ...string) ([]*view.Recipe, []*float64, error) {
	var items []*syntax.Expr
	if a.call.Input != nil && a.call.Input.Node.Kind == yaml.MappingNode {
		n := a.call.Input.Node
		for _, want := range names {
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == want {
					v := source.Deref(n.Content[i+1])
					if v.Kind == yaml.ScalarNode && v.ShortTag() == "!!null" {
						v = n.Content[i]
					}
					items = append(items, &syntax.Expr{Node: v, File: a.call.Input.File})
				}
			}
		}
	} else if items = listItems(a.call.Input); items == nil && a.call.Input != nil {
		items = []*syntax.Expr{a.call.Input}
	}
	if len(items) != len(names) {
		return nil, nil, fmt.Errorf("it takes %s, %d are given", count(len(names), "input"), len(items))
	}
	recipes, numbers := make([]*view.Recipe, len(items)), make([]*float64, len(items))
	for i, e := range items {
		if r := a.values[e.Node.Value]; r != nil {
			recipes[i] = r
			continue
		}
		v, ok := a.b.scope.eval(e)
		f, isNumber := v.Number()
		if !ok || !isNumber {
			return nil, nil, fmt.Errorf("%s is no value of the step and no number", e.Node.Value)
		}
		numbers[i] = &f
	}
	return recipes, numbers, nil
}

func (b *viewBuilder) deriveCall(n *syntax.Node, values map[string]*view.Recipe) ([]*view.Recipe, error) {
	a := deriveArgs{b, n.Call, values}
	one := func(r *view.Recipe, err error) ([]*view.Recipe, error) { return []*view.Recipe{r}, err }
	name := n.Call.Callee.Text
	switch name {
	case "multiply", "add":
		in, num, err := a.inputs("a", "b")
		if err != nil {
			return nil, err
		}
		op, scalar := view.OpProduct, view.Scaled
		if name == "add" {
			op, scalar = view.OpSum, view.Shifted
		}
		switch {
		case in[0] != nil && in[1] != nil:
			return one(view.Combined(op, in[0], in[1]))
		case in[0] != nil:
			return one(scalar(in[0], *num[1]))
		case in[1] != nil:
			return one(scalar(in[1], *num[0]))
		}
		return nil, fmt.Errorf("both inputs are numbers")
	case "constant":
		return one(a.constant())
	case "fp8_dequantize":
		in, _, err := a.inputs("x", "scale")
		if err != nil {
			return nil, err
		}
		block, err := a.int("block")
		if err != nil {
			return nil, err
		}
		d, err := a.value("dtype", "dtype")
		if err != nil || in[0] == nil || in[1] == nil {
			return nil, fmt.Errorf("it takes codes, scales, block and dtype")
		}
		return one(view.FP8(in[0], in[1], block, d.Dtype))
	}
	in, _, err := a.inputs("x")
	if err != nil {
		return nil, err
	}
	x := in[0]
	if x == nil {
		return nil, fmt.Errorf("its input is a number")
	}
	switch name {
	case "reshape":
		shape, err := a.ints("shape")
		if err != nil {
			return nil, err
		}
		return one(view.Reshaped(x, shape))
	case "transpose":
		axes, err := a.ints("axes")
		if err != nil {
			return nil, err
		}
		return one(view.Transposed(x, axes))
	case "swapaxes":
		return one(a.swapped(x))
	case "moveaxis":
		from, err := a.int("source")
		to, err2 := a.int("destination")
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("it takes source and destination")
		}
		return one(view.Moved(x, from, to))
	case "expand_dims":
		axis, err := a.int("axis")
		if err != nil {
			return nil, err
		}
		return one(expanded1(x, axis))
	case "slice":
		axis, err := a.int("axis")
		start, err2 := a.int("start")
		stop, err3 := a.int("stop")
		if err != nil || err2 != nil || err3 != nil {
			return nil, fmt.Errorf("it takes axis, start and stop")
		}
		return one(view.Sliced(x, axis, start, stop))
	case "split":
		return a.split(x)
	case "astype":
		d, err := a.value("dtype", "dtype")
		if err != nil {
			return nil, err
		}
		return []*view.Recipe{view.Cast(x, d.Dtype)}, nil
	}
	help := diag.DidYouMean(name, derivable)
	return nil, fmt.Errorf("a derivation cannot use it (it can: %v) %s", derivable, help)
}

func (a deriveArgs) constant() (*view.Recipe, error) {
	v, ok := a.b.scope.eval(a.call.Input)
	if !ok {
		return nil, fmt.Errorf("its value cannot be read")
	}
	p := v.Plan()
	list := p.List
	if p.Kind != plan.List {
		list = []plan.Value{p}
	}
	var numbers []float64
	for _, item := range list {
		f, ok := item.Number()
		if !ok {
			return nil, fmt.Errorf("%s is no number", item.Text())
		}
		numbers = append(numbers, f)
	}
	var repeats []int
	if argNamed(a.call.Args, "repeats") != nil {
		var err error
		if repeats, err = a.ints("repeats"); err != nil {
			return nil, err
		}
	}
	d := dtype.Float32
	if like := argNamed(a.call.Args, "like"); like != nil && like.Value != nil && a.values[like.Value.Node.Value] != nil {
		d = a.values[like.Value.Node.Value].Dtype
	} else if argNamed(a.call.Args, "dtype") != nil {
		v, err := a.value("dtype", "dtype")
		if err != nil {
			return nil, err
		}
		d = v.Dtype
	}
	return view.Constant(numbers, repeats, d)
}

func (a deriveArgs) swapped(x *view.Recipe) (*view.Recipe, error) {
	axes, err := a.ints("axes")
	if err != nil || len(axes) != 2 {
		return nil, fmt.Errorf("it takes axes: two of them")
	}
	order := make([]int, len(x.Shape))
	for i := range order {
		order[i] = i
	}
	for i := range axes {
		if axes[i] < 0 {
			axes[i] += len(order)
		}
		if axes[i] < 0 || axes[i] >= len(order) {
			return nil, fmt.Errorf("axis %d is outside %v", axes[i], x.Shape)
		}
	}
	order[axes[0]], order[axes[1]] = axes[1], axes[0]
	return view.Transposed(x, order)
}

func expanded1(x *view.Recipe, axis int) (*view.Recipe, error) {
	if axis < 0 {
		axis += len(x.Shape) + 1
	}
	if axis < 0 || axis > len(x.Shape) {
		return nil, fmt.Errorf("axis %d is outside %v", axis, x.Shape)
	}
	shape := append(append(append([]int(nil), x.Shape[:axis]...), 1), x.Shape[axis:]...)
	return view.Reshaped(x, shape)
}

func (a deriveArgs) split(x *view.Recipe) ([]*view.Recipe, error) {
	axis, err := a.int("axis")
	if err != nil {
		return nil, err
	}
	k := axis
	if k < 0 {
		k += len(x.Shape)
	}
	if k < 0 || k >= len(x.Shape) {
		return nil, fmt.Errorf("axis %d is outside %v", axis, x.Shape)
	}
	var sizes []int
	if argNamed(a.call.Args, "sizes") != nil {
		if sizes, err = a.ints("sizes"); err != nil {
			return nil, err
		}
	} else {
		parts, err := a.int("parts")
		if err != nil || parts < 1 || x.Shape[k]%parts != 0 {
			return nil, fmt.Errorf("it takes sizes, or parts that divide the %d of axis %d", x.Shape[k], axis)
		}
		for range parts {
			sizes = append(sizes, x.Shape[k]/parts)
		}
	}
	var out []*view.Recipe
	at := 0
	for _, n := range sizes {
		r, err := view.Sliced(x, k, at, at+n)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
		at += n
	}
	if at != x.Shape[k] {
		return nil, fmt.Errorf("sizes %v do not add up to the %d of axis %d", sizes, x.Shape[k], axis)
	}
	return out, nil
}
