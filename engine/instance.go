package engine

import (
	"errors"
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// bound names what an instance was built as: the calls of a multi_linear port may differ in `transposed`.
type bound struct {
	instance   int
	transposed bool
	with       string // what it computes before and after
}

// use is what a call tells of the port that it runs: an activation is built for arrays of this kind.
type use struct {
	x     plan.Type
	width int // of an mlp

	before, after *plan.Call // that the class computes too; nil: none
}

func transposed(c *plan.Call) bool {
	v, given := c.Args.Lookup("transposed")
	return !given || v.Bool
}

func useOf(p *plan.Plan, c *plan.Call) use {
	var u use
	if len(c.In) > 0 {
		u.x = c.In[0].Type
	}
	if dims := p.Ports[c.Port].Dims; len(dims) > 1 {
		u.width = dims[1]
	}
	return u
}

// instance makes a class bound to its weights, once however many calls run it; its parts come first.
func (e *Engine) instance(b bound, u use, depth int) (registry.Run, error) {
	if run := e.instances[b]; run != nil {
		return run, nil
	}
	inst := &e.plan.Instances[b.instance]
	if depth > len(e.plan.Instances) {
		return nil, at(inst.Path, inst.At, fmt.Errorf("class %s is a part of itself", inst.Class))
	}
	run, err := e.newInstance(inst, b.transposed, u, nil, func(part plan.RolePart) (registry.Run, error) {
		return e.instance(bound{instance: part.Instance, transposed: true}, use{x: u.x, width: u.width}, depth+1)
	})
	if err != nil {
		var placed *OpError
		if errors.As(err, &placed) {
			return nil, err // of a part, which says more
		}
		return nil, at(inst.Path, inst.At, err)
	}
	e.instances[b] = run
	return run, nil
}

func (e *Engine) newInstance(inst *plan.Instance, transposed bool, u use, factors map[string][]registry.Factor, part func(plan.RolePart) (registry.Run, error)) (registry.Run, error) {
	class := e.registry.Class(inst.Class)
	if class == nil {
		return nil, fmt.Errorf("this engine has no class %s", inst.Class)
	}
	if class.Build == nil {
		return nil, fmt.Errorf("class %s has no kernel in this build", inst.Class)
	}
	c := &registry.ClassBuild{Args: inst.Args, Kind: inst.Kind, Transposed: transposed, Before: u.before, After: u.after, Device: e.device, Workers: e.workers, Scope: e.scope,
		Keep: e.keep, Memo: e.memo, Cleanup: e.cleanup, Weights: map[string]registry.Opened{}, Parts: map[string]registry.Run{}, Factors: factors}
	for _, w := range inst.Weights {
		c.Weights[w.Role] = e.opened(w.Weight)
		c.Roles = append(c.Roles, w.Role)
	}
	for _, p := range inst.Parts {
		c.Roles = append(c.Roles, p.Role)
		run, err := part(p)
		if err != nil {
			return nil, err
		}
		c.Parts[p.Role] = run
	}
	if inst.Activation != nil {
		run, err := e.activation(inst, u)
		if err != nil {
			return nil, err
		}
		c.Activation = run
	}
	return e.made(inst.Class, func() (registry.Run, error) { return class.Build(c) })
}

// activation makes the operator between the parts of an mlp: of gate and up, both [..., width].
func (e *Engine) activation(inst *plan.Instance, u use) (registry.Run, error) {
	name := inst.Activation.Operator
	op := e.registry.Operator(name)
	if op == nil {
		return nil, fmt.Errorf("this engine has no operator %s for the activation", name)
	}
	t := plan.Type{Dtype: u.x.Dtype, Shape: u.x.Shape.Clone()}
	if len(t.Shape) > 0 {
		t.Shape[len(t.Shape)-1] = shape.Int(u.width)
	}
	inputs := make([]registry.Arg, len(op.Inputs))
	states := make([]int, len(op.Inputs))
	for i := range inputs {
		inputs[i] = registry.Arg{Given: true, Type: t}
		states[i] = -1
	}
	types, err := op.Infer(&registry.Infer{Inputs: inputs, Args: inst.Activation.Args})
	if err != nil {
		return nil, fmt.Errorf("activation %s: %w", name, err)
	}
	b := &registry.Build{Args: inst.Activation.Args, Inputs: inputs, Types: types, State: -1, States: states, Device: e.device, Workers: e.workers,
		Scope: e.scope, Keep: e.keep, Memo: e.memo, Cleanup: e.cleanup}
	run, err := e.made(name, func() (registry.Run, error) { return e.construct(op, b) })
	if err != nil || len(op.Inputs) > 1 {
		return run, err
	}
	// A function of gate alone: up is multiplied by it.
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		bent := run(c, in[:1])
		return []mlx.Array{c.Multiply(bent[0], in[1])}
	}, nil
}

// made calls a constructor, frees what it used on the way and evaluates what it kept.
func (e *Engine) made(name string, build func() (registry.Run, error)) (registry.Run, error) {
	before := len(e.constants)
	run, err := build()
	if scope := e.scope.ResetErr(); err == nil {
		err = scope
	}
	e.scope.Free()
	if err == nil && run == nil {
		err = errors.New("its constructor gave no function")
	}
	if err == nil {
		err = mlx.Eval(e.constants[before:]...)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return run, nil
}

func (e *Engine) opened(weight int) registry.Opened {
	w := &e.plan.Weights[weight]
	get := func(tensor int) mlx.Array {
		if tensor < 0 {
			return mlx.Array{}
		}
		return e.tensors[tensor]
	}
	return registry.Opened{Facts: w.Facts, Weight: get(w.Tensor), Scales: get(w.Scales), Biases: get(w.Biases), Bias: get(w.Bias)}
}
