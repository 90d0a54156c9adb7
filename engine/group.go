package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// A block that is marked compiled is one function of MLX's compile, as the same function is in mlx-lm: on a GPU its calls
// become one kernel, whose rounding may differ from that of the calls one by one. On the CPU they run one by one: there
// fusing changes no bit, and it costs a run of the C++ compiler for every function.

// groupKey tells compiled functions apart: calls with the same text compute the same.
type groupKey struct{ text string }

// ends are where a group's values come from and go to.
type ends struct {
	in    []plan.Operand
	local map[int]int // slot that the group writes -> number inside
	out   []int       // slots that are read outside
}

func groupLength(calls []plan.Call) int {
	n := 1
	for n < len(calls) && calls[n].Group == calls[0].Group {
		n++
	}
	return n
}

// group makes one call of the calls first..last-1 of a program.
func (e *Engine) group(g *plan.Program, first, last int) (call, error) {
	calls := g.Calls[first:last]
	group := g.Groups[calls[0].Group-1]
	x := endsOf(g, first, last)
	c := call{at: &plan.Call{Operator: group.Block, Port: -1, Instance: -1, State: -1, Path: group.Path, At: group.At}, in: make([]mlx.Array, len(x.in))}
	for i, in := range x.in {
		if in.Kind == plan.FromSlot {
			c.fill = append(c.fill, fill{int32(i), int32(in.Index)})
		} else {
			c.in[i] = e.tensors[in.Index]
		}
	}
	for _, s := range x.out {
		c.out = append(c.out, int32(s))
	}
	key := groupKey{x.text(calls, group.Shapeless)}
	if f, ok := e.memo[key].(*fused); ok {
		c.run = f.run
		return c, nil
	}
	f, err := e.newFused(calls, x, group.Shapeless)
	if err != nil {
		return c, err
	}
	e.memo[key] = f
	c.run = f.run
	return c, nil
}

// endsOf sorts the operands of a group into those that it makes and those that it is given, each once.
func endsOf(g *plan.Program, first, last int) ends {
	x := ends{local: map[int]int{}}
	for _, c := range g.Calls[first:last] {
		for _, in := range c.In {
			if _, own := x.local[in.Index]; in.Kind == plan.FromTensor || in.Kind == plan.FromSlot && !own {
				if x.place(in) < 0 {
					x.in = append(x.in, in)
				}
			}
		}
		for _, s := range c.Out {
			x.local[s] = len(x.local)
		}
	}
	read := map[int]bool{}
	for _, c := range g.Calls[last:] {
		for _, in := range c.In {
			if in.Kind == plan.FromSlot {
				read[in.Index] = true
			}
		}
	}
	for _, r := range g.Results {
		read[r.Slot] = true
	}
	for s := range x.local {
		if read[s] {
			x.out = append(x.out, s)
		}
	}
	slices.Sort(x.out)
	return x
}

// place is the number of an operand among those given, -1 where it is none of them.
func (x *ends) place(o plan.Operand) int {
	return slices.IndexFunc(x.in, func(have plan.Operand) bool { return have.Kind == o.Kind && have.Index == o.Index })
}

// name is an operand as the function sees it, wherever it stands in a program.
func (x *ends) name(in plan.Operand) string {
	if n, own := x.local[in.Index]; own && in.Kind == plan.FromSlot {
		return fmt.Sprintf("%%%d", n)
	}
	switch in.Kind {
	case plan.FromSlot, plan.FromTensor:
		return fmt.Sprintf("$%d %s %s", x.place(in), in.Type.Dtype, in.Type.Shape)
	case plan.FromScalar:
		return in.Scalar.Text()
	}
	return "-"
}

func (x *ends) text(calls []plan.Call, shapeless bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, shapeless)
	for _, c := range calls {
		args, _ := json.Marshal(c.Args) // parameters of a plan are always writable
		fmt.Fprint(&b, c.Operator, string(args))
		for _, in := range c.In {
			fmt.Fprint(&b, " ", x.name(in))
		}
		fmt.Fprintln(&b)
	}
	for _, s := range x.out {
		fmt.Fprint(&b, x.local[s], " ")
	}
	return b.String()
}

// fused is a compiled function, and the forward that calls it: a trace needs its sizes.
type fused struct {
	*mlx.Compiled
	forward *registry.Call
}

func (f *fused) run(c *registry.Call, in []mlx.Array) []mlx.Array {
	f.forward = c
	out := f.Call(c.Scope, in)
	f.forward = nil
	return out
}

// newFused builds the calls and compiles the function of them.
func (e *Engine) newFused(calls []plan.Call, x ends, shapeless bool) (*fused, error) {
	type inner struct {
		run      registry.Run
		from     [][2]int // operand, index into the given ones
		made     [][2]int // operand, number inside
		out      []int
		name     string
		operands int
	}
	body := make([]inner, len(calls))
	for i := range calls {
		src := &calls[i]
		run, err := e.operator(src)
		if err != nil {
			return nil, err
		}
		c := inner{run: run, name: src.Operator, operands: len(src.In)}
		for k, in := range src.In {
			n, own := x.local[in.Index]
			switch {
			case in.Kind == plan.FromSlot && own:
				c.made = append(c.made, [2]int{k, n})
			case in.Kind == plan.FromSlot || in.Kind == plan.FromTensor:
				c.from = append(c.from, [2]int{k, x.place(in)})
			}
		}
		for _, s := range src.Out {
			c.out = append(c.out, x.local[s])
		}
		body[i] = c
	}
	results := make([]int, len(x.out))
	for i, s := range x.out {
		results[i] = x.local[s]
	}
	f := &fused{}
	compiled, err := mlx.Compile(func(s *mlx.Scope, given []mlx.Array) ([]mlx.Array, error) {
		trace := &registry.Call{Scope: s, Memo: map[any]any{}, B: f.forward.B, T: f.forward.T, S: f.forward.S}
		values := make([]mlx.Array, len(x.local))
		for _, c := range body {
			in := make([]mlx.Array, c.operands)
			for _, p := range c.from {
				in[p[0]] = given[p[1]]
			}
			for _, p := range c.made {
				in[p[0]] = values[p[1]]
			}
			out := c.run(trace, in)
			if err := s.Err(); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if len(out) < len(c.out) {
				return nil, fmt.Errorf("%s gave %d results, the plan has %d", c.name, len(out), len(c.out))
			}
			for k, n := range c.out {
				values[n] = out[k]
			}
		}
		out := make([]mlx.Array, len(results))
		for i, n := range results {
			out[i] = values[n]
		}
		return out, nil
	}, shapeless)
	if err != nil {
		return nil, err
	}
	f.Compiled = compiled
	return f, nil
}
