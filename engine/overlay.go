package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/weights/adapter"
)

// While an active adapter touches one of a port's weights, the port runs the class bound under `adapted`, or the exact one. A
// form stays and takes its parts so; a class of one weight gets the adapters' sums on top; one that adds them itself stays
// and is given the factors. What no adapter touches runs as ever.

// adaptedPort is a port at a range of rows: the index of the range.
type adaptedPort struct{ port, row int }

// adaptedProgram is a program with the functions of its touched ports exchanged.
func (e *Engine) adaptedProgram(set *active, p *program) (*program, error) {
	q := *p
	touched := func(c *plan.Call) bool {
		return c.Operator == "" && c.Port >= 0 && set.touches(e.plan.Ports[c.Port].Weights)
	}
	for _, k := range p.fixed {
		if touched(k.call) {
			return nil, at(k.call.Path, k.call.At, fmt.Errorf("an adapter touches this port, whose input hangs on nothing and which ran when the engine opened"))
		}
	}
	q.calls = nil
	for i := range p.calls {
		single := []call{p.calls[i]}
		if p.calls[i].unit != nil {
			var err error
			if single, err = e.apart(p.source, &p.calls[i], touched); err != nil {
				return nil, err
			}
		}
		for _, c := range single {
			if c.unit == nil && touched(c.at) {
				run, err := e.adaptedRun(set, c.at.Port, max(p.source.First, 1), useOf(e.plan, c.at))
				if err != nil {
					return nil, err
				}
				c.run = run
			}
			q.calls = append(q.calls, c)
		}
	}
	q.reads = readsOf(&q)
	q.pieces = piecesOf(&q)
	return &q, nil
}

// apart are the calls that run as one where one of them is touched; else the one.
func (e *Engine) apart(g *plan.Program, joined *call, touched func(*plan.Call) bool) ([]call, error) {
	calls := joined.unit.Calls()
	if !slices.ContainsFunc(calls, func(i int) bool { return touched(&g.Calls[i]) }) {
		return []call{*joined}, nil
	}
	var out []call
	for _, i := range calls {
		src := &g.Calls[i]
		if touched(src) { // its function is another
			out = append(out, e.operands(src, src.In, src.Out))
			continue
		}
		c, err := e.call(src)
		if err != nil {
			return nil, at(src.Path, src.At, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// adaptedRun makes what a port runs at a row count while the adapters of a list are active.
func (e *Engine) adaptedRun(set *active, index, rows int, u use) (registry.Run, error) {
	p := &e.plan.Ports[index]
	row := p.At(rows)
	if row == nil {
		return nil, at(p.Path, p.Place, fmt.Errorf("the plan binds no class to %d rows", rows))
	}
	if !set.touches(p.Weights) {
		return e.instance(bound{instance: row.Instance, transposed: true}, u, 0)
	}
	key := adaptedPort{index, slices.IndexFunc(p.Rows, func(r plan.RowClass) bool { return r.First == row.First })}
	if run := set.runs[key]; run != nil {
		return run, nil
	}
	run, err := e.newAdapted(set, p, row, rows, u)
	if err != nil {
		return nil, at(p.Path, p.Place, err)
	}
	set.runs[key] = run
	return run, nil
}

func (e *Engine) newAdapted(set *active, p *plan.Port, row *plan.RowClass, rows int, u use) (registry.Run, error) {
	inst := e.plan.Instances[row.Instance]
	if row.Adapted >= 0 {
		inst = e.plan.Instances[row.Adapted]
	}
	if set.touches(held(&inst)) && e.adds(&inst) {
		factors, err := set.roles(e, &inst)
		if err != nil {
			return nil, err
		}
		before := len(e.cleanups)
		run, err := e.newInstance(&inst, true, u, factors, nil)
		set.cleanups = append(set.cleanups, e.cleanups[before:]...) // what it holds goes with the adapters
		e.cleanups = e.cleanups[:before]
		return run, err
	}
	if row.Adapted < 0 && set.touches(held(&inst)) {
		var err error
		if inst, err = e.exact(p, &inst); err != nil {
			return nil, err
		}
	}
	own := held(&inst)
	touched := set.touches(own)
	if touched && (len(inst.Parts) > 0 || len(own) > 1) {
		return nil, fmt.Errorf("%s computes with several weights at once and knows no adapters", inst.Class)
	}
	run, err := e.newInstance(&inst, true, u, nil, func(part plan.RolePart) (registry.Run, error) {
		index := e.portAt(p.Entry, strings.TrimSuffix(p.Path, pairSuffix(p))+"."+part.Role)
		if index < 0 {
			return nil, fmt.Errorf("%s has no part %s", p.Path, part.Role)
		}
		return e.adaptedRun(set, index, rows, u)
	})
	if err != nil || !touched {
		return run, err
	}
	return overlay(run, set.factors(own[0])), nil
}

// adds tells whether an instance's class adds adapters' sums itself.
func (e *Engine) adds(inst *plan.Instance) bool {
	class := e.registry.Class(inst.Class)
	return class != nil && class.Adapters
}

// roles are the factors of an instance's weights.
func (a *active) roles(e *Engine, inst *plan.Instance) (map[string][]registry.Factor, error) {
	out := map[string][]registry.Factor{}
	for _, w := range inst.Weights {
		for _, f := range a.factors(w.Weight) {
			wide, err := f.floats(e.scope)
			if err != nil {
				return nil, err
			}
			out[w.Role] = append(out[w.Role], wide)
		}
	}
	return out, nil
}

// widenedBytes is what an adapter's factors take again in float32, for classes that add its sums themselves.
func (e *Engine) widenedBytes(a *adapter.Adapter) int64 {
	adds := map[int]bool{}
	for i := range e.plan.Instances {
		if in := &e.plan.Instances[i]; e.adds(in) {
			for _, w := range in.Weights {
				adds[w.Weight] = true
			}
		}
	}
	n := int64(0)
	for _, f := range a.Factors {
		if adds[f.Weight] {
			facts := e.plan.Weights[f.Weight].Facts
			n += 4 * int64(f.Rank) * int64(facts.Inputs+facts.Outputs)
		}
	}
	return n
}

// floats are the pair in float32, made once: classes that add its sums compute so.
func (f *factor) floats(s *mlx.Scope) (registry.Factor, error) {
	for i, from := range []mlx.Array{f.a, f.b} {
		if f.wide[i].Valid() {
			continue
		}
		a := s.Contiguous(s.Astype(from, mlx.Float32), false)
		err := s.ResetErr()
		if err == nil {
			err = mlx.Eval(a)
		}
		if err != nil {
			return registry.Factor{}, err
		}
		s.Keep(a)
		f.wide[i] = a
	}
	return registry.Factor{A: f.wide[0], B: f.wide[1], Scale: f.scale}, nil
}

// held are the weights that an instance computes with itself.
func held(inst *plan.Instance) []int {
	var out []int
	for _, w := range inst.Weights {
		out = append(out, w.Weight)
	}
	return out
}

// pairSuffix ends the path of an mlp's pair of gate and up; the parts' paths begin before it.
func pairSuffix(p *plan.Port) string {
	if p.Kind == "gate_up" {
		return ".gate_up"
	}
	return ""
}

// exact is the exact class of a port, over the parts' own bindings where there are several weights.
func (e *Engine) exact(p *plan.Port, inst *plan.Instance) (plan.Instance, error) {
	out := plan.Instance{Kind: p.Kind, Path: p.Path, Activation: inst.Activation, At: inst.At}
	storage := "parts"
	switch {
	case len(p.Weights) > 1:
		for _, role := range p.Roles {
			out.Parts = append(out.Parts, plan.RolePart{Role: role, Instance: -1})
		}
	default:
		storage = e.plan.Weights[p.Weights[0]].Facts.Storage
		out.Weights = []plan.RoleWeight{{Role: "weight", Weight: p.Weights[0]}}
		if p.Kind == "gate_up" { // one weight that holds both is a product like any other
			out.Kind = "linear"
		}
	}
	class := e.registry.ExactClass(out.Kind, storage)
	if class == nil {
		return out, fmt.Errorf("no exact class fills a port of kind %s with %s weights", p.Kind, storage)
	}
	out.Class = class.Name
	return out, nil
}

// portAt finds a port by its path; -1: there is none.
func (e *Engine) portAt(entry, path string) int {
	return slices.IndexFunc(e.plan.Ports, func(p plan.Port) bool { return p.Entry == entry && p.Path == path })
}

// overlay adds the sums of adapters to a product, in mlx-lm's order (mlx_lm/tuner/lora.py, LoRALinear): y + (scale * ((x @ A) @ B)),
// the scaled product in the dtype of x.
func overlay(plain registry.Run, factors []*factor) registry.Run {
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		x, y := in[0], plain(c, in)[0]
		for _, f := range factors {
			z := c.Matmul(c.Matmul(x, f.a), f.b)
			y = c.Add(y, c.Astype(c.Multiply(f.scaled(c, z), z), x.Dtype()))
		}
		return []mlx.Array{y}
	}
}

// scaled is the scale in a product's dtype, as Python's weak scalars become.
func (f *factor) scaled(c *registry.Call, z mlx.Array) mlx.Array {
	d := z.Dtype()
	if a, ok := f.scalar[d]; ok {
		return a
	}
	a, err := mlx.ScalarOf(f.scale, d)
	if err != nil {
		c.Fail(err)
		return mlx.Array{}
	}
	f.scalar[d] = a
	return a
}
