package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// program is a plan's program, ready: every Run is made, every operand that does not change is in place.
type program struct {
	source  *plan.Program
	calls   []call
	slots   int
	inputs  []input
	results []result
	fixed   []fixedSlot // constants made at load
	reads   []int       // by slot: the last call that reads it, len(calls) for a result, -1 for none
	pieces  []piece
	plain   bool // no step of it is worth recording
}

// call is one step of the interpreter.
type call struct {
	run  registry.Run
	in   []mlx.Array // tensors are in place; slots are filled in before each run
	fill []fill
	out  []int32
	at   *plan.Call
	unit *plan.Fused // what runs as this call; nil: `at` alone
}

type fill struct{ at, slot int32 }

type fixedSlot struct {
	slot  int32
	value mlx.Array
	call  *plan.Call // that gave it
}

type input struct {
	plan.Named
	limit int // of the integers in it: rows of the embedding that they index; 0: none known
}

type result struct {
	name string
	slot int
}

// build makes every instance and every call, and sorts the programs into tables.
func (e *Engine) build(ctx context.Context) error {
	e.instances = map[bound]registry.Run{}
	for i := range e.plan.Programs {
		if err := ctx.Err(); err != nil {
			return err
		}
		g := &e.plan.Programs[i]
		p, err := e.program(g)
		if err != nil {
			return err
		}
		guards, err := compileGuards(g.Guards)
		if err != nil {
			return fmt.Errorf("program %d of entry %s: %w", i, g.Entry, err)
		}
		t := e.tableFor(g)
		t.choices = append(t.choices, choice{first: max(g.First, 1), last: g.Last, guards: guards, program: p})
	}
	e.countPositions()
	return nil
}

func (e *Engine) program(g *plan.Program) (*program, error) {
	p := &program{source: g, slots: g.Slots, calls: make([]call, 0, len(g.Calls))}
	for _, in := range g.Inputs {
		p.inputs = append(p.inputs, input{in, indexLimit(e.plan, g, in.Slot)})
	}
	// One order for all programs of a table.
	slices.SortFunc(p.inputs, func(a, b input) int { return strings.Compare(a.Name, b.Name) })
	for _, out := range g.Results {
		p.results = append(p.results, result{out.Name, out.Slot})
	}
	constant := newConstants(g)
	units := e.unitsOf(g)
	for i := 0; i < len(g.Calls); i++ {
		src := &g.Calls[i]
		if u := units[i]; u != nil {
			if u.Place != i {
				continue
			}
			c, err := e.joined(g, u)
			if err != nil {
				return nil, at(src.Path, src.At, err)
			}
			p.calls = append(p.calls, c)
			continue
		}
		if src.Group > 0 && e.fuse {
			n := groupLength(g.Calls[i:])
			c, err := e.group(g, i, i+n)
			if err != nil {
				return nil, at(src.Path, src.At, err)
			}
			p.calls = append(p.calls, c)
			i += n - 1
			continue
		}
		c, err := e.call(src)
		if err == nil && constant.is(src) {
			err = e.runOnce(p, &c)
		} else if err == nil {
			p.calls = append(p.calls, c)
		}
		if err != nil {
			return nil, at(src.Path, src.At, err)
		}
	}
	p.reads = readsOf(p)
	p.pieces = piecesOf(p)
	return p, nil
}

// call makes one call's function and operands.
func (e *Engine) call(src *plan.Call) (call, error) {
	c := e.operands(src, src.In, src.Out)
	var err error
	if src.Operator == "" {
		c.run, err = e.instance(bound{instance: src.Instance, transposed: transposed(src)}, useOf(e.plan, src), 0)
	} else {
		c.run, err = e.operator(src)
	}
	return c, err
}

// operands is a call without its function.
func (e *Engine) operands(src *plan.Call, in []plan.Operand, out []int) call {
	c := call{at: src, in: make([]mlx.Array, len(in))}
	for i, in := range in {
		switch in.Kind {
		case plan.FromSlot:
			c.fill = append(c.fill, fill{int32(i), int32(in.Index)})
		case plan.FromTensor:
			c.in[i] = e.tensors[in.Index]
		}
		// A state is reached by its index, a weak scalar became an array when the operator was built.
	}
	for _, s := range out {
		c.out = append(c.out, int32(s))
	}
	return c
}

func (e *Engine) operator(src *plan.Call) (registry.Run, error) {
	op := e.registry.Operator(src.Operator)
	if op == nil {
		return nil, fmt.Errorf("this engine has no operator %s", src.Operator)
	}
	b := e.buildOf(src)
	return e.made(src.Operator, func() (registry.Run, error) { return e.construct(op, b) })
}

// buildOf is what an operator's constructor may ask.
func (e *Engine) buildOf(src *plan.Call) *registry.Build {
	b := &registry.Build{Args: src.Args, Types: src.Types, State: src.State, Device: e.device, Workers: e.workers, Scope: e.scope,
		Keep: e.keep, Memo: e.memo, Cleanup: e.cleanup, States: make([]int, len(src.In))}
	for i := range src.In {
		in := &src.In[i]
		arg := registry.Arg{Given: in.Kind != plan.FromNothing, Type: in.Type}
		b.States[i] = -1
		switch in.Kind {
		case plan.FromScalar:
			arg.Scalar = in.Scalar
		case plan.FromState:
			arg.State = &e.plan.States[in.Index]
			b.States[i] = in.Index
		}
		b.Inputs = append(b.Inputs, arg)
	}
	return b
}

// construct makes an operator's function: of the CPU's own kernels where the plan says so and they serve the call.
func (e *Engine) construct(op *registry.Operator, b *registry.Build) (registry.Run, error) {
	if op.Native != nil && e.workers != nil && slices.Contains(e.plan.Native, op.Name) {
		if run, err := op.Native(b); run != nil || err != nil {
			return run, err
		}
	}
	return op.Build(b)
}

// tableFor is the table that a program belongs to.
func (e *Engine) tableFor(g *plan.Program) *table {
	entry := slices.Index(e.entries, g.Entry)
	if entry < 0 {
		entry = len(e.entries)
		e.entries = append(e.entries, g.Entry)
	}
	in, out := names(g.Inputs), names(g.Results)
	for _, t := range e.tables {
		if t.entry == entry && slices.Equal(t.inputs, in) && slices.Equal(t.results, out) {
			return t
		}
	}
	t := &table{entry: entry, name: g.Entry, inputs: in, results: out}
	e.tables = append(e.tables, t)
	return t
}

// indexLimit is the number of rows of the smallest embedding that an input indexes; 0 where it indexes none. MLX reads
// outside of the table for an index beyond it.
func indexLimit(p *plan.Plan, g *plan.Program, slot int) int {
	limit := 0
	for i := range g.Calls {
		c := &g.Calls[i]
		if c.Operator != "" || p.Ports[c.Port].Kind != "embedding" || len(p.Ports[c.Port].Dims) == 0 {
			continue
		}
		rows := p.Ports[c.Port].Dims[0]
		for _, in := range c.In {
			if in.Kind == plan.FromSlot && in.Index == slot && (limit == 0 || rows < limit) {
				limit = rows
			}
		}
	}
	return limit
}
