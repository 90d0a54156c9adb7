//go:build cgo && mlx

package ops

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// TestSavedCases holds operators and classes to single calls of mlx-lm that were saved elsewhere, on the same MLX and
// processor family: GRAPHRUN_ORACLE_DATA is a folder with ops.json, {case: {args, operator}}, and ops.safetensors.
func TestSavedCases(t *testing.T) {
	folder := os.Getenv("GRAPHRUN_ORACLE_DATA")
	if folder == "" {
		t.Skip("GRAPHRUN_ORACLE_DATA names no folder of saved operator cases")
	}
	text, err := os.ReadFile(filepath.Join(folder, "ops.json"))
	require.NoError(t, err)
	var cases map[string]*oracleCase
	require.NoError(t, json.Unmarshal(text, &cases))
	names := make([]string, 0, len(cases))
	for name := range cases {
		names = append(names, name)
	}
	sort.Strings(names)
	outer := newRig(t)
	all, _, err := mlx.LoadSafetensors(filepath.Join(folder, "ops.safetensors"), outer.scope.Stream())
	require.NoError(t, err)
	for _, a := range all {
		outer.scope.Own(a)
		require.NoError(t, mlx.Eval(a))
	}
	ran := 0
	for _, name := range names {
		c := cases[name]
		family, _, _ := strings.Cut(name, ".")
		run := oracleRuns[c.Operator]
		for _, key := range []string{family + ".*", name} {
			if known := savedRuns[key]; known != nil {
				run = known
			}
		}
		if run == nil {
			continue
		}
		ran++
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.name, c.arrays = name, all
			run(r, c)
		})
	}
	require.Greater(t, ran, 20, "cases that are known here")
}

// savedRuns by case, or by family and a star.
var savedRuns = map[string]func(*rig, *oracleCase){
	"rms_norm.*": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.apply("rms_norm", []any{c.in("x"), c.in("w")}, args("eps", c.number("eps")))[0])
	},
	"layer_norm.*": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.apply("layer_norm", []any{c.in("x"), c.in("w"), c.in("b")}, args("eps", c.number("eps")))[0])
	},
	"swiglu": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.apply("swiglu", []any{c.in("gate"), c.in("x")}, nil)[0])
	},
	"geglu": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.scope.Multiply(r.apply("gelu_approx", []any{c.in("gate")}, nil)[0], c.in("x")))
	},
	"silu":        func(r *rig, c *oracleCase) { same(r.t, c.out("y"), r.apply("silu", []any{c.in("x")}, nil)[0]) },
	"sdpa.causal": savedAttention, "sdpa.decode": savedAttention, "sdpa.window": savedAttention,
	"linear.*": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.class("dense", "linear", denseWeight(c.in("w"), c.in("b")), true)(r.call, []mlx.Array{c.in("x")})[0])
	},
	"qlinear.*": func(r *rig, c *oracleCase) {
		w := savedQuantised(c.out("wq"), c.out("scales"), c.out("biases"), c.Args)
		same(r.t, c.out("y"), r.class("affine", "linear", w, true)(r.call, []mlx.Array{c.in("x")})[0])
	},
	"gdn.update": savedDelta, "gdn.step": savedDelta,
	"conv1d.depthwise": func(r *rig, c *oracleCase) { // of rows that the state is already joined to
		x, w := c.in("x"), c.in("w")
		keep, size := w.Dim(1)-1, x.Shape()
		s := r.session("causal_conv", heldArray(x.Dtype(), shape.Of(size[0], keep, size[2])), nil, along(r.scope, x, 1, keep, size[1]), w)
		s.state.Set(r.scope, along(r.scope, x, 1, 0, keep))
		same(r.t, c.out("y"), s.tokens(0, size[1]-keep))
		same(r.t, along(r.scope, x, 1, size[1]-keep, size[1]), s.state.Arrays()[0])
	},
	"moe.switch_glu.sorted": savedExperts, "moe.switch_glu.unsorted": savedExperts,
	"moe.switch_glu_q4.sorted": savedExperts, "moe.switch_glu_q4.unsorted": savedExperts,
}

func savedAttention(r *rig, c *oracleCase) {
	given := args("scale", c.number("scale"), "causal", c.Args["mask"] == "causal")
	same(r.t, c.out("y"), r.apply("attend", []any{c.in("q"), c.in("k"), c.in("v"), c.in("mask"), mlx.Array{}}, given)[0])
}

func savedQuantised(w, scales, biases mlx.Array, given map[string]any) registry.Opened {
	group, bits := int(given["group_size"].(float64)), int(given["bits"].(float64))
	return registry.Opened{Weight: w, Scales: scales, Biases: biases, Facts: plan.Facts{Storage: "affine", Dtype: scales.Dtype(), Mode: "affine",
		Bits: bits, Group: group, Inputs: scales.Dim(-1) * group, Outputs: w.Dim(-2), Count: w.Dim(-3)}}
}

// savedDelta is a recurrence with its decay and its beta, which are lines of their own in a graph.
func savedDelta(r *rig, c *oracleCase) {
	s := r.scope
	softplus := r.apply("softplus", []any{s.Add(c.in("a"), c.in("dt_bias"))}, nil)[0]
	g := s.Exp(s.Multiply(s.Negative(s.Exp(s.Astype(c.in("A_log"), dtype.Float32))), softplus))
	want := c.out("state")
	run := r.session("gated_delta_update", heldArray(dtype.Float32, shape.Of(want.Shape()...)), nil, c.in("q"), c.in("k"), c.in("v"), g, s.Sigmoid(c.in("b")))
	if before := c.in("state"); before.Valid() {
		run.state.Set(s, before)
	}
	same(r.t, c.out("y"), run.tokens(0, c.in("q").Dim(1)))
	same(r.t, want, run.state.Arrays()[0], "state")
}

func savedExperts(r *rig, c *oracleCase) {
	from := *c // unsorted cases have the sorted ones' weights
	if other, ok := c.Args["weights"].(string); ok {
		from.name = other
		from.Args = map[string]any{"bits": 4.0, "group_size": 64.0}
	}
	weights := map[string]registry.Opened{}
	for _, role := range []string{"gate_proj", "up_proj", "down_proj"} {
		w, scales := from.in(role+".weight"), from.in(role+".scales")
		if scales.Valid() {
			weights[role] = savedQuantised(w, scales, from.in(role+".biases"), from.Args)
		} else {
			weights[role] = stacked(w, mlx.Array{})
		}
	}
	class := weights["gate_proj"].Facts.Storage
	indices := r.scope.Astype(c.in("inds"), dtype.Uint32)
	got := r.experts(class, weights)(r.call, []mlx.Array{c.in("x"), indices})[0]
	if class == "affine" {
		same(r.t, c.out("y"), got)
		return
	}
	// Float32 products, whose bits follow the BLAS in use.
	want, have := numbersOf(r.t, c.out("y")), numbersOf(r.t, got)
	require.Len(r.t, have, len(want))
	for i := range want {
		require.InDelta(r.t, want[i], have[i], 1e-5*(1+math.Abs(float64(want[i]))))
	}
}
