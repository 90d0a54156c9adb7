//go:build cgo && mlx

package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/view"
)

const (
	tableRows  = 8
	tableWidth = 32
)

// tableOperators are a look-up in a table of codes, which knows of no limit, and a norm, both by the CPU's own kernels.
func tableOperators(t *testing.T) *registry.Registry {
	r := registry.New()
	op := func(name string, build func(b *registry.Build) (registry.Run, error)) {
		require.NoError(t, r.AddOperator(&registry.Operator{Name: name, Doc: "For a test.", Infer: tinyInfer, Build: build, Inputs: []registry.Input{{Name: "a"}}}))
	}
	op("looked_up", func(b *registry.Build) (registry.Run, error) {
		s := b.Scope
		numbers := make([]float32, tableRows*tableWidth)
		for i := range numbers {
			numbers[i] = float32(i%29) - 14
		}
		table, err := mlx.FromFloat32s(numbers, tableRows, tableWidth)
		if err != nil {
			return nil, err
		}
		q := s.Quantize(s.Own(table), 32, 4, "affine", mlx.Array{})
		if s.Err() != nil {
			return nil, s.ResetErr()
		}
		products, err := native.NewProducts([]*native.Product{{Workers: b.Workers, Weight: q[0], Scales: q[1], Biases: q[2], Bits: 4, Group: 32}}, native.Around{})
		if err != nil {
			return nil, err
		}
		b.Cleanup(products.Free)
		return func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{products.Rows(c.Scope, in[0])} }, nil
	})
	op("normed", func(b *registry.Build) (registry.Run, error) {
		return func(c *registry.Call, in []mlx.Array) []mlx.Array {
			return []mlx.Array{b.Workers.RMSNorm(c.Scope, in[0], mlx.Array{}, 1e-5)}
		}, nil
	})
	return r
}

func tablePlan() *plan.Plan {
	b, n := shape.Sym("B"), shape.Sym("T")
	tokens := plan.Named{Name: "tokens", Slot: 0, Dtype: dtype.Int32, Shape: shape.Shape{b, n}}
	hidden := plan.Type{Dtype: dtype.Float32, Shape: shape.Shape{b, n, shape.Int(tableWidth)}}
	call := func(op string, slot int, in plan.Type, path string, line int) plan.Call {
		return plan.Call{Operator: op, Port: -1, Instance: -1, State: -1, In: []plan.Operand{{Kind: plan.FromSlot, Index: slot, Type: in}}, Out: []int{slot + 1},
			Types: []plan.Type{hidden}, Path: path, At: tinyLine(line)}
	}
	return &plan.Plan{Model: "table", Programs: []plan.Program{{Entry: "text", First: 1, Inputs: []plan.Named{tokens}, Slots: 3,
		Calls:   []plan.Call{call("looked_up", 0, plan.Type{Dtype: dtype.Int32, Shape: tokens.Shape}, "model.table", 5), call("normed", 1, hidden, "model.norm", 6)},
		Results: []plan.Named{{Name: "logits", Slot: 2, Dtype: dtype.Float32, Shape: hidden.Shape}}}}}
}

type nothing struct{}

func (nothing) Load(context.Context, *mlx.Scope, []*view.Recipe, weights.Options) ([]mlx.Array, error) {
	return nil, nil
}

// TestRecordedErrors: an error inside a recorded step names the call and its place; the session has to be reset and then goes
// on as before, recorded again; another session does not see it.
func TestRecordedErrors(t *testing.T) {
	before := mlx.LiveArrays()
	e, err := Open(context.Background(), tablePlan(), tableOperators(t), nothing{}, Options{Device: "cpu", Threads: 2})
	require.NoError(t, err)
	t.Cleanup(func() {
		e.Close()
		require.Equal(t, before, mlx.LiveArrays())
	})
	newSession := func() *Session {
		s, err := e.NewSession()
		require.NoError(t, err)
		return s
	}
	ctx := context.Background()
	step := func(s *Session, id int32) ([]byte, error) {
		out, err := s.Forward(ctx, Tokens(id), "logits")
		return out["logits"].Data, err
	}
	s, other := newSession(), newSession()
	var want [tableRows][]byte
	for id := range want { // more than a recording takes
		want[id], err = step(s, int32(id))
		require.NoError(t, err)
		_, err = step(other, 1)
		require.NoError(t, err)
	}
	for range 3 {
		chains, primitives := s.Recorded()
		require.Equal(t, [2]int{1, 2}, [2]int{chains, primitives})
		_, err = step(s, tableRows)
		require.ErrorContains(t, err, "model.table: tiny.yaml:5:3: looked_up: row 8 of a weight of 8")
		_, err = step(s, 1)
		require.ErrorContains(t, err, "the session failed before and must be reset")
		got, err := step(other, 3)
		require.NoError(t, err)
		require.Equal(t, want[3], got, "another session, with a recording of its own")
		require.NoError(t, s.Reset())
		for id := range want {
			got, err := step(s, int32(id))
			require.NoError(t, err)
			require.Equal(t, want[id], got)
		}
	}
}
