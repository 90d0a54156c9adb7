//go:build cgo && mlx

package ops

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// symbols are what the good cases of the inference tests run with.
var symbols = map[string]int{"B": 2, "T": 3, "S": 8, "len(kv)": 8}

func init() { execute = executeInferred }

func executeInferred(t *testing.T, op *registry.Operator, inf *registry.Infer, types []plan.Type) {
	r := newRig(t)
	r.call.B, r.call.T, r.call.S = symbols["B"], symbols["T"], symbols["S"]
	arrays := make([]mlx.Array, len(inf.Inputs))
	for i, in := range inf.Inputs {
		switch {
		case in.State != nil:
			r.call.States = []registry.StateValue{prefilled(r, in.State, op.Name == "read_cache")}
		case in.Given && in.Scalar == nil:
			arrays[i] = r.filled(in.Type.Dtype, i, evaluated(t, in.Type.Shape)...)
		}
	}
	if inf.State != nil {
		r.call.States = []registry.StateValue{prefilled(r, inf.State, !inf.Inputs[min(1, len(inf.Inputs)-1)].Given && op.Name == "attend")}
	}
	out := r.build(op, inf.Inputs, inf.Args, types, "cpu")(r.call, arrays)
	require.NoError(t, r.call.Err())
	require.Len(t, out, len(types))
	for i, a := range out {
		require.Equal(t, types[i].Dtype, a.Dtype(), "dtype of result %d", i)
		if strings.Contains(types[i].Shape.String(), "len(") {
			require.Len(t, a.Shape(), len(types[i].Shape))
			continue
		}
		require.Equal(t, evaluated(t, types[i].Shape), a.Shape(), "shape of result %d", i)
	}
	require.NoError(t, mlx.Eval(out...))
}

// prefilled is a session's state at 5 positions, or 8 where nothing is written; an array is new.
func prefilled(r *rig, decl *plan.State, readOnly bool) registry.StateValue {
	r.t.Helper()
	if decl.Kind == "array" {
		v, err := arrayKind().New(*decl)
		require.NoError(r.t, err)
		r.ends = append(r.ends, v.Free)
		return v
	}
	v, err := cacheKind().New(plan.State{Path: decl.Path, Kind: decl.Kind, Args: decl.Args, Dtype: decl.Dtype})
	require.NoError(r.t, err)
	r.ends = append(r.ends, v.Free)
	g, err := newGeometry(*decl)
	require.NoError(r.t, err)
	n := symbols["S"] - symbols["T"]
	if readOnly {
		n = symbols["S"]
	}
	k, val := r.filled(decl.Dtype, 1, symbols["B"], g.heads, n, g.dim), mlx.Array{}
	if g.valueDim > 0 {
		val = r.filled(decl.Dtype, 2, symbols["B"], g.heads, n, g.valueDim)
	}
	v.Begin()
	v.(registry.KV).Update(r.call.Scope, k, val)
	v.Begin()
	return v
}

func evaluated(t *testing.T, s shape.Shape) []int {
	t.Helper()
	out := make([]int, len(s))
	for i, d := range s {
		n, err := d.Eval(symbols)
		require.NoError(t, err)
		out[i] = n
	}
	return out
}
