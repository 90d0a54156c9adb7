//go:build cgo && mlx

package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/view"
)

// A hand-made plan over a registry of a few operators: h = embedding(tokens); y = h + the sum of h over all positions
// so far (a state); logits = y · headᵀ. Its numbers are small whole ones, so that Go can follow them exactly.
const (
	tinyVocab = 7
	tinyWidth = 3
)

func tinyEmbedding() []float32 {
	out := make([]float32, tinyVocab*tinyWidth)
	for i := range out {
		out[i] = float32((i*5)%11 - 4)
	}
	return out
}

func tinyHead() []float32 {
	out := make([]float32, tinyVocab*tinyWidth)
	for i := range out {
		out[i] = float32((i*7)%13 - 6)
	}
	return out
}

// tinyLogits are the logits of the last position of a text.
func tinyLogits(text []int32) []float32 {
	e, head := tinyEmbedding(), tinyHead()
	var sum, y [tinyWidth]float32
	for _, id := range text {
		for j := range sum {
			h := e[int(id)*tinyWidth+j]
			sum[j] += h
			y[j] = h + sum[j]
		}
	}
	out := make([]float32, tinyVocab)
	for v := range out {
		for j := range y {
			out[v] += y[j] * head[v*tinyWidth+j]
		}
	}
	return out
}

func tinyGreedy(text []int32, n int) []int32 {
	text = append([]int32(nil), text...)
	for range n {
		best, logits := 0, tinyLogits(text)
		for v := range logits {
			if logits[v] > logits[best] {
				best = v
			}
		}
		text = append(text, int32(best))
	}
	return text[len(text)-n:]
}

func tinyLine(n int) diag.Range { return diag.Range{File: "tiny.yaml", Line: n, Col: 3} }

func tinyPlan() *plan.Plan {
	f32 := dtype.Float32
	b, t := shape.Sym("B"), shape.Sym("T")
	hidden := plan.Type{Dtype: f32, Shape: shape.Shape{b, t, shape.Int(tinyWidth)}}
	logits := plan.Type{Dtype: f32, Shape: shape.Shape{b, t, shape.Int(tinyVocab)}}
	tokens := plan.Named{Name: "tokens", Slot: 0, Dtype: dtype.Int32, Shape: shape.Shape{b, t}}
	slot := func(i int, ty plan.Type) plan.Operand { return plan.Operand{Kind: plan.FromSlot, Index: i, Type: ty} }
	facts := plan.Facts{Storage: "dense", Dtype: f32, Inputs: tinyWidth, Outputs: tinyVocab, Bytes: 4 * tinyVocab * tinyWidth}
	embed := plan.Call{Port: 0, Instance: 0, State: -1, In: []plan.Operand{slot(0, plan.Type{Dtype: dtype.Int32, Shape: tokens.Shape})},
		Out: []int{1}, Types: []plan.Type{hidden}, Free: []int{0}, Path: "model.embed_tokens", At: tinyLine(5)}
	sum := plan.Call{Operator: "running_sum", Port: -1, Instance: -1, State: 0, In: []plan.Operand{slot(1, hidden)},
		Out: []int{2}, Types: []plan.Type{hidden}, Path: "model.layers.0", At: tinyLine(6)}
	add := plan.Call{Operator: "add", Port: -1, Instance: -1, State: -1, In: []plan.Operand{slot(1, hidden), slot(2, hidden)},
		Out: []int{3}, Types: []plan.Type{hidden}, Free: []int{1, 2}, Path: "model.layers.0", At: tinyLine(7)}
	head := plan.Call{Port: 1, Instance: 1, State: -1, In: []plan.Operand{slot(3, hidden)},
		Out: []int{4}, Types: []plan.Type{logits}, Free: []int{3}, Path: "lm_head", At: tinyLine(8)}
	sumOnly := sum
	sumOnly.Free = []int{1, 2}
	return &plan.Plan{
		Model: "tiny",
		Tensors: []plan.Tensor{
			{Name: "embed.weight", Dtype: f32, Shape: []int{tinyVocab, tinyWidth}, Recipe: &view.Recipe{}},
			{Name: "head.weight", Dtype: f32, Shape: []int{tinyVocab, tinyWidth}, Recipe: &view.Recipe{}},
		},
		Weights: []plan.Weight{
			{Path: "model.embed_tokens.weight", Facts: facts, Tensor: 0, Scales: -1, Biases: -1, Bias: -1},
			{Path: "lm_head.weight", Facts: facts, Tensor: 1, Scales: -1, Biases: -1, Bias: -1},
		},
		Instances: []plan.Instance{
			{Class: "rows", Kind: "embedding", Path: "model.embed_tokens", Weights: []plan.RoleWeight{{Role: "weight", Weight: 0}}, At: tinyLine(2)},
			{Class: "matrix", Kind: "head", Path: "lm_head", Weights: []plan.RoleWeight{{Role: "weight", Weight: 1}}, At: tinyLine(3)},
		},
		Ports: []plan.Port{
			{Path: "model.embed_tokens", Kind: "embedding", Dims: []int{tinyVocab, tinyWidth}, Weights: []int{0}, Place: tinyLine(2)},
			{Path: "lm_head", Kind: "head", Dims: []int{tinyWidth, tinyVocab}, Weights: []int{1}, Place: tinyLine(3)},
		},
		States: []plan.State{{Path: "model.sum", Kind: "sum", Dtype: f32, At: tinyLine(4)}},
		Programs: []plan.Program{
			{Entry: "text", First: 1, Inputs: []plan.Named{tokens}, Slots: 5, Calls: []plan.Call{embed, sum, add, head},
				Results: []plan.Named{{Name: "logits", Slot: 4, Dtype: f32, Shape: logits.Shape}}},
			{Entry: "text", First: 1, Inputs: []plan.Named{tokens}, Slots: 3, Calls: []plan.Call{embed, sumOnly}},
		},
	}
}

func tinyInfer(c *registry.Infer) ([]plan.Type, error) { return []plan.Type{c.Type(0)}, nil }

// tinyRegistry has the plan's operators, and some that go wrong.
func tinyRegistry(t testing.TB) *registry.Registry {
	r := registry.New()
	op := func(name string, inputs int, run func(b *registry.Build) (registry.Run, error)) {
		o := &registry.Operator{Name: name, Doc: "For a test.", Infer: tinyInfer, Build: run}
		for i := range inputs {
			o.Inputs = append(o.Inputs, registry.Input{Name: string(rune('a' + i))})
		}
		require.NoError(t, r.AddOperator(o))
	}
	fixed := func(run registry.Run) func(*registry.Build) (registry.Run, error) {
		return func(*registry.Build) (registry.Run, error) { return run, nil }
	}
	op("add", 2, fixed(func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.Add(in[0], in[1])} }))
	op("same", 1, fixed(func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{in[0]} }))
	op("running_sum", 1, func(b *registry.Build) (registry.Run, error) {
		state := b.State
		return func(c *registry.Call, in []mlx.Array) []mlx.Array {
			return []mlx.Array{c.States[state].(*sumState).add(c.Scope, in[0])}
		}, nil
	})
	op("wrong_shape", 2, fixed(func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{c.Reshape(c.Add(in[0], in[1]), []int{5, 77})}
	}))
	op("panics", 2, fixed(func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{in[9]} }))
	op("gives_none", 2, fixed(func(c *registry.Call, in []mlx.Array) []mlx.Array { return nil }))
	op("refuses", 2, func(b *registry.Build) (registry.Run, error) {
		b.Keep(b.Scope.Zeros([]int{4}, dtype.Float32))
		b.Scope.Ones([]int{4}, dtype.Float32)
		return nil, errors.New("two is one too many")
	})
	class := func(name, kind string, build func(b *registry.ClassBuild) registry.Run) {
		require.NoError(t, r.AddClass(&registry.Class{Name: name, Doc: "For a test.", Kinds: []string{kind},
			Accept: func(string, map[string]plan.Facts) error { return nil },
			Build:  func(b *registry.ClassBuild) (registry.Run, error) { return build(b), nil }}))
	}
	class("rows", "embedding", func(b *registry.ClassBuild) registry.Run {
		w := b.Weights["weight"].Weight
		return func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.TakeAxis(w, in[0], 0)} }
	})
	class("matrix", "head", func(b *registry.ClassBuild) registry.Run {
		w := b.Keep(b.Scope.Transpose(b.Weights["weight"].Weight))
		return func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.Matmul(in[0], w)} }
	})
	require.NoError(t, r.AddState(&registry.StateKind{Name: "sum",
		New:   func(plan.State) (registry.StateValue, error) { return &sumState{}, nil },
		Bytes: func(plan.State) (int64, int64) { return 16, 4 * tinyWidth }}))
	return r
}

// sumState is the sum over positions, [B, 1, width].
type sumState struct {
	sum            mlx.Array
	offset, before int
}

func (s *sumState) Begin()      { s.before = s.offset }
func (s *sumState) Offset() int { return s.before }
func (s *sumState) Free()       { s.Reset() }
func (s *sumState) Reset() {
	if s.sum.Valid() {
		s.sum.Free()
	}
	*s = sumState{}
}

func (s *sumState) Arrays() []mlx.Array {
	if !s.sum.Valid() {
		return nil
	}
	return []mlx.Array{s.sum}
}

func (s *sumState) add(sc *mlx.Scope, x mlx.Array) mlx.Array {
	y := sc.CumsumAxis(x, 1, false, true, mlx.Opt[mlx.Dtype]{})
	if s.sum.Valid() {
		y = sc.Add(y, s.sum)
	}
	n := x.Dim(1)
	last := sc.Slice(y, []int{0, n - 1, 0}, []int{x.Dim(0), n, tinyWidth}, []int{1, 1, 1})
	if sc.Err() != nil {
		return mlx.Array{}
	}
	sc.Keep(last)
	sc.Own(s.sum)
	s.sum = last
	s.offset += n
	return y
}

// tinyLoader gives the plan's two tensors.
type tinyLoader struct {
	p    *plan.Plan
	fail string // the tensor that cannot be read
}

func (l tinyLoader) Load(ctx context.Context, sc *mlx.Scope, recipes []*view.Recipe, o weights.Options) ([]mlx.Array, error) {
	var out []mlx.Array
	for n, r := range recipes {
		for i, data := range [][]float32{tinyEmbedding(), tinyHead()} {
			if l.p.Tensors[i].Recipe != r {
				continue
			}
			if l.p.Tensors[i].Name == l.fail {
				return nil, errors.New("tensor " + l.fail + ": the file ends early")
			}
			a, err := mlx.FromFloat32s(data, tinyVocab, tinyWidth)
			if err != nil {
				return nil, err
			}
			out = append(out, sc.Own(a))
			if o.Progress != nil {
				o.Progress(int64(n+1), int64(len(recipes)))
			}
		}
	}
	return out, ctx.Err()
}

func openTiny(t testing.TB, p *plan.Plan, o Options) (*Engine, error) {
	return Open(context.Background(), p, tinyRegistry(t), tinyLoader{p: p}, o)
}

// newTiny opens the plan and a session, and holds the test to freeing everything.
func newTiny(t testing.TB, p *plan.Plan, o Options) (*Engine, *Session) {
	before := mlx.LiveArrays()
	e, err := openTiny(t, p, o)
	require.NoError(t, err)
	s, err := e.NewSession()
	require.NoError(t, err)
	t.Cleanup(func() {
		e.Close()
		require.Equal(t, before, mlx.LiveArrays(), "live arrays after closing")
	})
	return e, s
}
