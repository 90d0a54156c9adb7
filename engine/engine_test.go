//go:build cgo && mlx

package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/shape"
)

func TestOpenReportsProgressAndCloses(t *testing.T) {
	p := tinyPlan()
	var seen [][2]int64
	arrays, memory := mlx.LiveArrays(), mlx.ActiveMemory()
	e, err := openTiny(t, p, Options{OnProgress: func(done, total int64) { seen = append(seen, [2]int64{done, total}) }})
	require.NoError(t, err)
	require.Equal(t, [][2]int64{{0, 168}, {84, 168}, {168, 168}}, seen)
	require.Greater(t, mlx.ActiveMemory(), memory)
	s, err := e.NewSession()
	require.NoError(t, err)
	_, err = s.Forward(context.Background(), Tokens(1, 2), "logits")
	require.NoError(t, err)
	e.Close()
	e.Close()
	require.Equal(t, arrays, mlx.LiveArrays())
	require.Equal(t, memory, mlx.ActiveMemory())
	_, err = s.Forward(context.Background(), Tokens(1), "logits")
	require.Error(t, err)
	_, err = e.NewSession()
	require.Error(t, err)
	s.Close()
}

func TestOpenErrors(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		change  func(p *plan.Plan)
		fail    string
		options Options
		ctx     context.Context
		want    string
	}{
		"no operator": {change: func(p *plan.Plan) { p.Programs[0].Calls[2].Operator = "ad" },
			want: "model.layers.0: tiny.yaml:7:3: this engine has no operator ad"},
		"no class": {change: func(p *plan.Plan) { p.Instances[1].Class = "matrixx" },
			want: "lm_head: tiny.yaml:3:3: this engine has no class matrixx"},
		"constructor refuses": {change: func(p *plan.Plan) { p.Programs[0].Calls[2].Operator = "refuses" },
			want: "model.layers.0: tiny.yaml:7:3: refuses: two is one too many"},
		"part of itself": {change: func(p *plan.Plan) { p.Instances[1].Parts = []plan.RolePart{{Role: "x", Instance: 1}} },
			want: "lm_head: tiny.yaml:3:3: class matrix is a part of itself"},
		"slot without value": {change: func(p *plan.Plan) { p.Programs[0].Calls[1].Free = []int{1} },
			want: "program 0 of entry text: model.layers.0: tiny.yaml:7:3: input 0: slot 1 has no value here"},
		"tensor cannot be read": {fail: "head.weight",
			want: "tensor head.weight: the file ends early"},
		"tensor shape": {change: func(p *plan.Plan) { p.Tensors[0].Shape = []int{3, 7} },
			want: "model.embed_tokens: tiny.yaml:2:3: tensor embed.weight: has shape [7 3] in the checkpoint, the plan has [3 7]"},
		"tensor dtype": {change: func(p *plan.Plan) { p.Tensors[0].Dtype = dtype.Float16 },
			want: "model.embed_tokens: tiny.yaml:2:3: tensor embed.weight: is float32 in the checkpoint, the plan has float16"},
		"no checkpoint": {change: func(p *plan.Plan) { p.Tensors[0].Recipe = nil },
			want: "the plan was composed without a checkpoint"},
		"guard": {change: func(p *plan.Plan) { p.Programs[0].Guards = []plan.Guard{{Symbol: "Q", Operator: "==", Number: 1}} },
			want: "guard Q == 1 compares none of B, T, S"},
		"memory":    {options: Options{MemoryBudget: 100}, want: "the budget is 100 B"},
		"device":    {options: Options{Device: "npu"}, want: `device "npu" is neither cpu nor gpu`},
		"cancelled": {ctx: cancelled, want: "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			p := tinyPlan()
			if c.change != nil {
				c.change(p)
			}
			if c.ctx == nil {
				c.ctx = context.Background()
			}
			arrays, memory := mlx.LiveArrays(), mlx.ActiveMemory()
			_, err := Open(c.ctx, p, tinyRegistry(t), tinyLoader{p, c.fail}, c.options)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, arrays, mlx.LiveArrays(), "live arrays")
			require.Equal(t, memory, mlx.ActiveMemory(), "active memory")
		})
	}
}

func TestForward(t *testing.T) {
	_, s := newTiny(t, tinyPlan(), Options{})
	ctx := context.Background()
	text := []int32{3, 1, 6, 6, 2}
	last := func(in Inputs) []float32 {
		out, err := s.Forward(ctx, in, "logits")
		require.NoError(t, err)
		require.Equal(t, dtype.Float32, out["logits"].Dtype)
		all, err := out["logits"].Float32s()
		require.NoError(t, err)
		require.Equal(t, []int{1, len(in.Tokens[0]), tinyVocab}, out["logits"].Shape)
		return all[len(all)-tinyVocab:]
	}
	require.Equal(t, tinyLogits(text[:3]), last(Tokens(text[:3]...)))
	require.Equal(t, tinyLogits(text[:4]), last(Tokens(text[3])))
	require.Equal(t, 4, s.Positions())
	require.NoError(t, s.Reset())
	require.Equal(t, 0, s.Positions())
	none, err := s.Forward(ctx, Tokens(text[:4]...))
	require.NoError(t, err)
	require.Empty(t, none)
	require.Equal(t, tinyLogits(text), last(Tokens(text[4])))
}

func TestForwardBatch(t *testing.T) {
	_, s := newTiny(t, tinyPlan(), Options{})
	ctx := context.Background()
	texts := [][]int32{{3, 1, 6, 0}, {2, 2, 5, 4}}
	for step := range 2 {
		in := Inputs{Tokens: [][]int32{texts[0][2*step : 2*step+2], texts[1][2*step : 2*step+2]}}
		out, err := s.Forward(ctx, in, "logits")
		require.NoError(t, err)
		all, err := out["logits"].Float32s()
		require.NoError(t, err)
		for i, text := range texts {
			end := (i*2 + 2) * tinyVocab
			require.Equal(t, tinyLogits(text[:2*step+2]), all[end-tinyVocab:end])
		}
	}
	_, err := s.Forward(ctx, Tokens(1), "logits")
	require.ErrorContains(t, err, "the session holds 2 sequences, 1 are given; reset it first")
	_, err = s.Generate(ctx, []int32{1}, GenOptions{}, nil)
	require.ErrorContains(t, err, "the session holds 2 sequences")
	_, err = s.Forward(ctx, Inputs{Tokens: [][]int32{{1, 2}, {1}}}, "logits")
	require.ErrorContains(t, err, "sequence 1 has 1 tokens, the first has 2")
}

func TestForwardErrors(t *testing.T) {
	_, s := newTiny(t, tinyPlan(), Options{Context: 4})
	ctx := context.Background()
	for name, c := range map[string]struct {
		in      Inputs
		outputs []string
		want    string
	}{
		"no tokens":  {Inputs{}, nil, "no tokens are given"},
		"vocabulary": {Tokens(1, 7), nil, "input tokens: token 7 at position 1 of sequence 0 is not within the vocabulary of 7"},
		"negative":   {Tokens(-1), nil, "token -1"},
		"entry":      {Inputs{Entry: "draft", Tokens: [][]int32{{1}}}, nil, "the plan has no entry draft"},
		"output":     {Tokens(1), []string{"logit"}, "has no program for logit; the plan has programs for logits; no output"},
		"input": {Inputs{Tokens: [][]int32{{1}}, Others: map[string]Tensor{"mask": {}}}, nil,
			"entry text, given mask, tokens, has no program for no output"},
		"context": {Tokens(1, 2, 3, 4, 5), nil, "0 positions are taken and 5 more given, the context is 4"},
	} {
		t.Run(name, func(t *testing.T) {
			arrays := mlx.LiveArrays()
			_, err := s.Forward(ctx, c.in, c.outputs...)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, arrays, mlx.LiveArrays())
		})
	}
	_, err := s.Forward(ctx, Tokens(1, 2, 3, 4), "logits")
	require.NoError(t, err, "a refused input leaves the session usable")
}

func TestOperatorErrorsNameTheirPlace(t *testing.T) {
	for name, c := range map[string]struct{ op, want string }{
		"MLX's error":     {"wrong_shape", "model.layers.0: tiny.yaml:7:3: wrong_shape: reshape: "},
		"panic":           {"panics", "model.layers.0: tiny.yaml:7:3: panics: internal error: runtime error: index out of range"},
		"too few results": {"gives_none", "model.layers.0: tiny.yaml:7:3: gives_none gave 0 results, the plan has 1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := tinyPlan()
			p.Programs[0].Calls[2].Operator = c.op
			_, s := newTiny(t, p, Options{})
			ctx := context.Background()
			_, err := s.Forward(ctx, Tokens(1, 2))
			require.NoError(t, err)
			_, err = s.Forward(ctx, Tokens(1, 2), "logits")
			require.ErrorContains(t, err, c.want)
			var op *OpError
			require.ErrorAs(t, err, &op)
			require.Equal(t, "tiny.yaml:7:3", op.At.String())
			_, err = s.Forward(ctx, Tokens(1, 2))
			require.ErrorContains(t, err, "the session failed before and must be reset")
			arrays, memory := 0, 0
			for i := range 10 {
				require.NoError(t, s.Reset())
				_, err = s.Forward(ctx, Tokens(1, 2), "logits")
				require.Error(t, err)
				if i == 0 {
					arrays, memory = mlx.LiveArrays(), mlx.ActiveMemory()
				}
			}
			require.Equal(t, arrays, mlx.LiveArrays(), "failed forwards leak no handle")
			require.Equal(t, memory, mlx.ActiveMemory(), "failed forwards leak no memory")
			require.NoError(t, s.Reset())
			_, err = s.Forward(ctx, Tokens(1, 2))
			require.NoError(t, err)
		})
	}
}

func TestConstantsRunOnceAtLoad(t *testing.T) {
	p := tinyPlan()
	g := &p.Programs[0]
	// head.weight's sum with itself depends on nothing: it is added to nothing that the logits need, and its twin by
	// `same` is a result.
	known := plan.Type{Dtype: dtype.Float32, Shape: shape.Of(tinyVocab, tinyWidth)}
	tensor := plan.Operand{Kind: plan.FromTensor, Index: 1, Type: known}
	g.Slots = 7
	g.Calls = append([]plan.Call{
		{Operator: "add", Port: -1, Instance: -1, State: -1, In: []plan.Operand{tensor, tensor}, Out: []int{5}, Types: []plan.Type{known}},
		{Operator: "same", Port: -1, Instance: -1, State: -1, In: []plan.Operand{{Kind: plan.FromSlot, Index: 5, Type: known}},
			Out: []int{6}, Types: []plan.Type{known}, Free: []int{5}},
	}, g.Calls...)
	g.Results = append(g.Results, plan.Named{Name: "twice", Slot: 6, Dtype: dtype.Float32, Shape: known.Shape})
	e, s := newTiny(t, p, Options{})
	table, err := find(e.tables, "text", []string{"tokens"}, []string{"twice"})
	require.NoError(t, err)
	require.Len(t, table.choices[0].program.calls, 4, "calls left for a forward")
	for range 2 {
		out, err := s.Forward(context.Background(), Tokens(1), "twice")
		require.NoError(t, err)
		got, err := out["twice"].Float32s()
		require.NoError(t, err)
		for i, v := range tinyHead() {
			require.Equal(t, 2*v, got[i])
		}
	}
}

// TestCloseRunsCleanups: what constructors made beside arrays is let go of, once.
func TestCloseRunsCleanups(t *testing.T) {
	e, ran := &Engine{worker: mlx.NewWorker()}, 0
	e.cleanup(func() { ran++ })
	e.Close()
	e.Close()
	require.Equal(t, 1, ran)
}
