//go:build cgo && mlx

package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// experts builds the class of the weights, with swiglu.
func (r *rig) experts(class string, weights map[string]registry.Opened) registry.Run {
	r.t.Helper()
	reg, err := Default()
	require.NoError(r.t, err)
	facts := map[string]plan.Facts{}
	for role, w := range weights {
		facts[role] = w.Facts
	}
	require.NoError(r.t, reg.Class(class).Accept("experts", facts))
	pair := argOf(r.t, "float32[1, 1, 1]")
	act := r.build(reg.Operator("swiglu"), []registry.Arg{pair, pair}, nil, []plan.Type{pair.Type}, "cpu")
	run, err := reg.Class(class).Build(&registry.ClassBuild{Kind: "experts", Weights: weights, Activation: act,
		Device: registry.Device{Kind: "cpu"}, Scope: r.scope, Keep: r.keep, Memo: r.memo})
	require.NoError(r.t, err)
	return run
}

func stacked(w, bias mlx.Array) registry.Opened {
	out := denseWeight(w, bias)
	out.Facts.Inputs, out.Facts.Outputs = w.Dim(-1), w.Dim(-2)
	return out
}

// chosen makes indices [b, t, k] of n experts.
func chosen(r *rig, b, t, k, n int) mlx.Array {
	return r.scope.Astype(r.scope.Remainder(r.scope.Multiply(r.scope.Reshape(r.scope.Arange(0, float64(b*t*k), 1, dtype.Uint32), []int{b, t, k}),
		r.number(7)), r.number(n)), dtype.Uint32)
}

func (r *rig) number(n int) mlx.Array {
	a, err := mlx.ScalarOf(float64(n), dtype.Uint32)
	require.NoError(r.t, err)
	return r.scope.Own(a)
}

// TestExpertsAreMLPs holds the gathered products to one product per row and expert, sorted and not.
func TestExpertsAreMLPs(t *testing.T) {
	for _, c := range []struct {
		name   string
		tokens int
		fused  bool
	}{{"one token", 1, false}, {"unsorted", 15, false}, {"sorted", 16, false}, {"fused", 3, true}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			s := r.scope
			x, indices := r.filled(dtype.Float32, 1, 2, c.tokens, 32), chosen(r, 2, c.tokens, 2, 5)
			gate, up, down := r.filled(dtype.Float32, 2, 5, 48, 32), r.filled(dtype.Float32, 4, 5, 48, 32), r.filled(dtype.Float32, 5, 5, 32, 48)
			gb, ub, db := r.filled(dtype.Float32, 6, 5, 48), r.filled(dtype.Float32, 7, 5, 48), r.filled(dtype.Float32, 8, 5, 32)
			weights := map[string]registry.Opened{"gate_proj": stacked(gate, gb), "up_proj": stacked(up, ub), "down_proj": stacked(down, db)}
			if c.fused {
				both := stacked(s.ConcatenateAxis([]mlx.Array{gate, up}, 1), s.ConcatenateAxis([]mlx.Array{gb, ub}, 1))
				weights = map[string]registry.Opened{"gate_up": both, "down_proj": stacked(down, db)}
			}
			got := r.experts("dense", weights)(r.call, []mlx.Array{x, indices})[0]
			require.NoError(t, r.call.Err())
			require.Equal(t, []int{2, c.tokens, 2, 32}, got.Shape())

			part := func(h, w, bias mlx.Array) mlx.Array { // h [.., k, 1, in]
				y := s.Matmul(h, s.Swapaxes(s.TakeAxis(w, indices, 0), -1, -2))
				return s.Add(y, s.ExpandDims(s.TakeAxis(bias, indices, 0), -2))
			}
			h := s.ExpandDimsAxes(x, []int{-2, -3})
			g := part(h, gate, gb)
			want := s.SqueezeAxis(part(s.Multiply(s.Multiply(g, s.Sigmoid(g)), part(h, up, ub)), down, db), -2)
			w, g2 := numbersOf(t, want), numbersOf(t, got)
			for i := range w {
				require.InDelta(t, w[i], g2[i], 1e-3*(1+float64(max(w[i], -w[i]))))
			}
		})
	}
}

// TestExpertsOfHalfPrecision holds the product of chosen matrices alone to that of all of them, rounded once.
func TestExpertsOfHalfPrecision(t *testing.T) {
	for _, tokens := range []int{1, 3, 7, 40} {
		r := newRig(t)
		s := r.scope
		x, indices := r.filled(dtype.Bfloat16, 1, 1, tokens, 64), chosen(r, 1, tokens, 2, 9)
		w := r.filled(dtype.Bfloat16, 2, 9, 96, 64)
		rows := s.ExpandDimsAxes(x, []int{-2, -3})
		run, err := gatherDense(&registry.ClassBuild{Device: registry.Device{Kind: "cpu"}, Scope: s, Keep: r.keep}, w)
		require.NoError(t, err)
		got := run(r.call, rows, indices, false)
		require.NoError(t, r.call.Err())
		wide := s.Swapaxes(s.Astype(w, dtype.Float32), -1, -2)
		same(t, s.Astype(s.GatherMM(s.Astype(rows, dtype.Float32), wide, mlx.Array{}, indices, false), dtype.Bfloat16), got, tokens)
	}
}

// TestExpertsMixStorages is what conversion leaves where a group does not divide the width of down_proj.
func TestExpertsMixStorages(t *testing.T) {
	r := newRig(t)
	x, indices := r.filled(dtype.Bfloat16, 1, 1, 5, 64), chosen(r, 1, 5, 2, 4)
	gate, up := quantised(r, r.filled(dtype.Bfloat16, 2, 4, 40, 64), "affine", 4, 64), quantised(r, r.filled(dtype.Bfloat16, 3, 4, 40, 64), "mxfp4", 4, 32)
	down := stacked(r.filled(dtype.Bfloat16, 4, 4, 64, 40), mlx.Array{})
	y := r.experts("affine", map[string]registry.Opened{"gate_proj": gate, "up_proj": up, "down_proj": down})(r.call, []mlx.Array{x, indices})[0]
	require.NoError(t, r.call.Err())
	require.Equal(t, []int{1, 5, 2, 64}, y.Shape())
	require.NoError(t, mlx.Eval(y))
}
