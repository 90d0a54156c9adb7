package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

func TestOpErrorText(t *testing.T) {
	where := diag.Range{File: "graphs/models/llama.yaml", Line: 41, Col: 5}
	err := errors.New("reshape: cannot")
	require.EqualError(t, &OpError{"model.layers.3.mlp", where, err}, "model.layers.3.mlp: graphs/models/llama.yaml:41:5: reshape: cannot")
	require.EqualError(t, &OpError{"", where, err}, "graphs/models/llama.yaml:41:5: reshape: cannot")
	require.EqualError(t, &OpError{"model.norm", diag.Range{}, err}, "model.norm: reshape: cannot")
	require.EqualError(t, &OpError{Err: err}, "reshape: cannot")
	require.ErrorIs(t, at("x", where, err), err)
	require.NoError(t, at("x", where, nil))
}

func TestChoosePrograms(t *testing.T) {
	one, few, many, long := &program{}, &program{}, &program{}, &program{}
	only := func(symbol, op string, n int) []guard {
		g, err := compileGuards([]plan.Guard{{Symbol: symbol, Operator: op, Number: n}})
		require.NoError(t, err)
		return g
	}
	table := &table{name: "text", results: []string{"logits"}, choices: []choice{
		{1, 1, nil, one}, {2, 8, only("T", "==", 1), few}, {2, 8, only("T", "!=", 1), many}, {9, 64, only("S", "<=", 100), many},
		{9, 64, only("S", ">", 100), long},
	}}
	for name, c := range map[string]struct {
		b, t, s int
		want    *program
	}{
		"one row":             {1, 1, 50, one},
		"four sequences":      {4, 1, 50, few},
		"four tokens":         {1, 4, 4, many},
		"short":               {1, 64, 100, many},
		"long":                {1, 64, 101, long},
		"no such rows":        {1, 65, 65, nil},
		"sequences by tokens": {2, 32, 101, long},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := table.choose(c.b, c.t, c.s)
			if c.want == nil {
				require.EqualError(t, err, "entry text has no program for logits with B = 1, T = 65, S = 65 (65 rows)")
				return
			}
			require.NoError(t, err)
			require.Same(t, c.want, p)
		})
	}
	for op, want := range map[string][3]bool{"==": {false, true, false}, "!=": {true, false, true}, "<": {true, false, false},
		"<=": {true, true, false}, ">": {false, false, true}, ">=": {false, true, true}} {
		for i, v := range []int{4, 5, 6} {
			require.Equal(t, want[i], only("B", op, 5)[0].holds([3]int{v, 0, 0}), "%d %s 5", v, op)
		}
	}
}

func TestFindTakesTheFewestOutputs(t *testing.T) {
	make := func(results ...string) *table {
		return &table{name: "text", inputs: []string{"tokens"}, results: results}
	}
	both, logits, hidden := make("h", "logits"), make("logits"), make("h")
	all := []*table{both, logits, hidden}
	for name, c := range map[string]struct {
		asked []string
		want  *table
	}{
		"exactly one": {[]string{"logits"}, logits}, "both": {[]string{"logits", "h"}, both}, "none": {nil, logits},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := find(all, "text", []string{"tokens"}, c.asked)
			require.NoError(t, err)
			require.Same(t, c.want, got)
		})
	}
}

// memoryPlan has one weight, one state and one call whose values are easy to count.
func memoryPlan() (*plan.Plan, *registry.Registry) {
	r := registry.New()
	if err := r.AddState(&registry.StateKind{Name: "cache", Bytes: func(plan.State) (int64, int64) { return 100, 7 }}); err != nil {
		panic(err)
	}
	rows := shape.Shape{shape.Sym("B"), shape.Sym("T"), shape.Int(10)}
	tokens := plan.Named{Name: "tokens", Slot: 0, Dtype: dtype.Int32, Shape: shape.Shape{shape.Sym("B"), shape.Sym("T")}}
	y := plan.Type{Dtype: dtype.Bfloat16, Shape: rows}
	call := plan.Call{Port: 0, Instance: 0, State: -1, In: []plan.Operand{{Kind: plan.FromSlot}}, Out: []int{1}, Types: []plan.Type{y}}
	return &plan.Plan{
		Tensors:   []plan.Tensor{{Name: "w.weight", Dtype: dtype.Uint32, Shape: []int{25, 10}}, {Name: "n.weight", Dtype: dtype.Bfloat16, Shape: []int{50}}},
		Weights:   []plan.Weight{{Facts: plan.Facts{Storage: "affine", Bits: 4, Outputs: 35}, Tensor: 0, Scales: -1, Biases: -1, Bias: -1}},
		Instances: []plan.Instance{{Weights: []plan.RoleWeight{{Role: "weight", Weight: 0}}}},
		Ports:     []plan.Port{{Kind: "linear"}},
		States:    []plan.State{{Kind: "cache"}, {Kind: "cache"}},
		Programs: []plan.Program{
			{Entry: "text", First: 1, Slots: 2, Inputs: []plan.Named{tokens}, Calls: []plan.Call{call}},
			{Entry: "text", First: 1, Slots: 2, Inputs: []plan.Named{tokens}, Calls: []plan.Call{call}, Results: []plan.Named{{Slot: 1}}},
		},
	}, r
}

func TestEstimateMemory(t *testing.T) {
	p, r := memoryPlan()
	e, err := EstimateFor(p, r, Demand{1000, 2, 64, "cpu"})
	require.NoError(t, err)
	require.Equal(t, []Item{
		{"weights, affine 4 bits", 1000}, {"weights, others", 100},
		{"states, 2 of 1000 positions x 2 sequences", 2 * 2 * (100*1000 + 7)},
		// tokens 4 bytes, y 20, and what the port's weight puts out beyond y, 50, for 128 rows
		{"values of one forward, up to 64 tokens x 2 sequences", 128 * 74},
	}, e.Items)
	require.Equal(t, int64(1000+100+400028+9472), e.Total)

	require.NoError(t, e.Fits(0))
	require.NoError(t, e.Fits(e.Total))
	err = e.Fits(e.Total - 1)
	require.ErrorContains(t, err, "this needs 401.0 KiB of memory, the budget is 401.0 KiB:")
	require.ErrorContains(t, err, "\n      1000 B  weights, affine 4 bits\n")
	require.ErrorContains(t, err, "\na context of 999 positions would fit")
	require.ErrorContains(t, e.Fits(10572+28), "no context fits")
	var m *MemoryError
	require.ErrorAs(t, err, &m)

	p.States[1].Kind = "cash"
	_, err = EstimateFor(p, r, Demand{1, 1, 1, "cpu"})
	require.ErrorContains(t, err, `no kind of state is called "cash"`)
}

func TestEstimateMemoryCountsScores(t *testing.T) {
	p, r := memoryPlan()
	call := &p.Programs[0].Calls[0]
	call.State = 0
	call.In[0].Type = plan.Type{Dtype: dtype.Float32, Shape: shape.Shape{shape.Sym("B"), shape.Int(3), shape.Sym("T"), shape.Int(8)}}
	cpu, err := EstimateFor(p, r, Demand{1000, 2, 64, "cpu"})
	require.NoError(t, err)
	gpu, err := EstimateFor(p, r, Demand{1000, 2, 64, "gpu"})
	require.NoError(t, err)
	require.Equal(t, int64(2*4*2*3*64*1000), cpu.Total-gpu.Total)
}

func TestEstimateMemoryDoesNotOverflow(t *testing.T) {
	p, r := memoryPlan()
	p.Programs[0].Calls[0].Types[0].Shape = shape.Shape{shape.Sym("S").Mul(1 << 40), shape.Sym("S").Mul(1 << 40)}
	e, err := EstimateFor(p, r, Demand{1 << 40, 1 << 30, 1 << 40, "gpu"})
	require.NoError(t, err)
	require.Positive(t, e.Total)
	require.Error(t, e.Fits(1<<50))
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 30: "5.0 GiB", 1 << 62: "4.0 EiB"} {
		require.Equal(t, want, Bytes(n))
	}
}

func TestCheckRefusesBadIndices(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *plan.Plan)
		want   string
	}{
		"tensor of a weight": {func(p *plan.Plan) { p.Weights[0].Scales = 2 }, "no tensor 2"},
		"weight":             {func(p *plan.Plan) { p.Instances[0].Weights[0].Weight = -1 }, "no weight -1"},
		"part":               {func(p *plan.Plan) { p.Instances[0].Parts = []plan.RolePart{{Role: "up", Instance: 9}} }, "no instance 9 for its part up"},
		"port":               {func(p *plan.Plan) { p.Programs[0].Calls[0].Port = 4 }, "no port 4"},
		"instance":           {func(p *plan.Plan) { p.Programs[0].Calls[0].Instance = 4 }, "no instance 4"},
		"state":              {func(p *plan.Plan) { p.Programs[0].Calls[0].State = 4 }, "no state 4"},
		"slot":               {func(p *plan.Plan) { p.Programs[0].Calls[0].In[0].Index = -1 }, "slot -1 has no value here"},
		"result slot":        {func(p *plan.Plan) { p.Programs[1].Results[0].Slot = 9 }, "slot 9 has no value here"},
		"out":                {func(p *plan.Plan) { p.Programs[0].Calls[0].Out = []int{7} }, "no slot 7 among 2"},
		"many slots":         {func(p *plan.Plan) { p.Programs[0].Slots = 1 << 40 }, "slots for 2 values"},
		"freed twice":        {func(p *plan.Plan) { p.Programs[0].Calls[0].Free = []int{0, 0} }, "free: slot 0 has no value here"},
		"scalar": {func(p *plan.Plan) {
			p.Programs[0].Calls[0].In[0] = plan.Operand{Kind: plan.FromScalar, Scalar: &plan.Value{Kind: plan.String, Str: "one"}}
		}, "one is no number"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := memoryPlan()
			require.NoError(t, check(p))
			c.change(p)
			require.ErrorContains(t, check(p), c.want)
		})
	}
}

func TestBatchesEndWithModules(t *testing.T) {
	names := strings.Fields("a.weight a.scales a.biases b.weight b.scales c")
	sizes := []int64{loadBatchBytes, 1, 1, 5, 5, 5}
	var ends []int
	for first := 0; first < len(names); {
		first = batchEnd(first, len(names), func(i int) string { return names[i] }, func(i int) int64 { return sizes[i] })
		ends = append(ends, first)
	}
	require.Equal(t, []int{3, 6}, ends)
}

func TestSizesOfInputs(t *testing.T) {
	taking := func(name string, dims ...shape.Dim) input { return input{Named: plan.Named{Name: name, Shape: dims}} }
	b, n := shape.Sym("B"), shape.Sym("T")
	table := &table{name: "media", choices: []choice{{program: &program{inputs: []input{taking("embeddings", b, n, shape.Int(4)), taking("positions", shape.Int(3), b, n)}}}}}
	of := func(embeddings, positions []int) Inputs {
		return Inputs{Others: map[string]Tensor{"embeddings": {Shape: embeddings}, "positions": {Shape: positions}}}
	}
	sequences, tokens, err := of([]int{2, 5, 4}, []int{3, 2, 5}).sizes(table)
	require.NoError(t, err)
	require.Equal(t, []int{2, 5}, []int{sequences, tokens})
	_, _, err = of([]int{2, 5}, []int{3, 2, 5}).sizes(table)
	require.EqualError(t, err, "input embeddings: has shape [2 5], the plan has [B, T, 4]")
	_, _, err = of([]int{2, 0, 4}, []int{3, 2, 0}).sizes(table)
	require.EqualError(t, err, "entry media: the shapes of its inputs say B = 2 and T = 0")
}

func TestPositionsAreCountedByStates(t *testing.T) {
	uses := func(entry int, states ...int) *table {
		g := &plan.Program{}
		for _, s := range states {
			g.Calls = append(g.Calls, plan.Call{State: s})
		}
		return &table{entry: entry, choices: []choice{{program: &program{source: g}}}}
	}
	e := &Engine{entries: []string{"text", "embed", "media", "draft"}, tables: []*table{uses(0, 0, 1), uses(1, -1), uses(2, 1, 2), uses(3, 3), uses(0, -1)}}
	e.countPositions()
	text, embed, media, draft := e.tables[0].counter, e.tables[1].counter, e.tables[2].counter, e.tables[3].counter
	require.Equal(t, text, media)
	require.Equal(t, text, e.tables[4].counter, "outputs do not matter")
	require.NotEqual(t, text, embed)
	require.NotEqual(t, text, draft)
	require.NotEqual(t, embed, draft)
}
