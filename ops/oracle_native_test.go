//go:build cgo && mlx

package ops

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// oracleCase is a call of mlx-lm's or MLX's Python, with what it gave (tools/oracle/ops.py).
type oracleCase struct {
	Operator string         `json:"operator"`
	Args     map[string]any `json:"args"`
	BLAS     bool           `json:"blas"`

	name   string
	arrays map[string]mlx.Array
}

func (c *oracleCase) in(name string) mlx.Array  { return c.arrays[c.name+".in."+name] }
func (c *oracleCase) out(name string) mlx.Array { return c.arrays[c.name+".out."+name] }

func (c *oracleCase) number(name string) float64 { n, _ := c.Args[name].(float64); return n }
func (c *oracleCase) flag(name string) bool      { b, _ := c.Args[name].(bool); return b }

// TestOracle holds every operator and class to the bits of Python's MLX on this machine.
func TestOracle(t *testing.T) {
	folder := filepath.Join("..", ".oracle", "ops")
	text, err := os.ReadFile(filepath.Join(folder, "ops.json"))
	if err != nil {
		t.Skip("no .oracle/ops: `make oracle` makes it")
	}
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
		require.NoError(t, mlx.Eval(a)) // each subtest is a thread of its own
	}
	ran := 0
	for _, name := range names {
		c := cases[name]
		run := oracleRuns[c.Operator]
		if run == nil || strings.Contains(name, ".keep4") || strings.HasPrefix(name, "rope.offsets") {
			continue // of other packages, or not of the language: a ring that keeps its front, an offset per sequence
		}
		ran++
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.name, c.arrays = name, all
			run(r, c)
		})
	}
	require.Greater(t, ran, 200, "most cases are of operators of this package")
}

var oracleRuns = map[string]func(*rig, *oracleCase){
	"rms_norm": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.apply("rms_norm", []any{c.in("x"), c.in("w")}, args("eps", c.number("eps")))[0])
	},
	"layer_norm": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.apply("layer_norm", []any{c.in("x"), c.in("w"), c.in("b")}, args("eps", c.number("eps")))[0])
	},
	"rope": oracleRope,
	"sdpa": func(r *rig, c *oracleCase) {
		given := args("scale", c.number("scale"))
		if c.Args["mask"] == "causal" {
			given = append(given, args("causal", true)...)
		}
		same(r.t, c.out("y"), r.apply("attend", []any{c.in("q"), c.in("k"), c.in("v"), c.in("mask"), c.in("sinks")}, given)[0])
	},
	"causal_mask": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), causalMask(r.call, int(c.number("n")), int(c.number("offset")), int(c.number("window"))))
	},
	"cache":       oracleCache,
	"causal_conv": oracleRecurrent, "token_shift": oracleRecurrent, "gated_delta_update": oracleRecurrent,
	"ssm_update": oracleRecurrent, "wkv7": oracleRecurrent,
	"experts": oracleExperts, "fp8_dequantize": oracleFP8, "rope_streams": oracleStreams,
	"swiglu": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.apply("swiglu", []any{c.in("gate"), c.in("x")}, nil)[0])
	},
	"silu": oracleUnary("silu"), "gelu": oracleUnary("gelu"), "gelu_approx": oracleUnary("gelu_approx"),
	"softplus": oracleUnary("softplus"), "relu2": oracleUnary("relu2"),
	"swiglu_oai": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.apply("swiglu_oai", []any{c.in("gate"), c.in("x")}, nil)[0])
	},
	"gelu_topk": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.apply("gelu_topk", []any{c.in("x")}, args("sparsity", c.number("sparsity")))[0])
	},
	"norm": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.apply("norm", []any{c.in("x")}, args("axis", -1, "keepdims", true))[0])
	},
	"softmax": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.apply("softmax", []any{c.in("x")}, args("axis", -1, "precise", c.flag("precise")))[0])
	},
	"linear": func(r *rig, c *oracleCase) {
		w := registry.Opened{Weight: c.in("w"), Bias: c.in("b"), Facts: plan.Facts{Storage: "dense", Dtype: c.in("w").Dtype(), Inputs: 128, Outputs: 96, Bias: c.in("b").Valid()}}
		for _, kind := range []string{"linear", "head"} {
			same(r.t, c.out("y"), r.class("dense", kind, w, true)(r.call, []mlx.Array{c.in("x")})[0])
		}
	},
	"embedding": func(r *rig, c *oracleCase) {
		w := registry.Opened{Weight: c.in("w"), Facts: plan.Facts{Storage: "dense", Dtype: c.in("w").Dtype()}}
		same(r.t, c.out("y"), r.class("dense", "embedding", w, true)(r.call, []mlx.Array{c.in("ids")})[0])
	},
	"quantized_matmul": func(r *rig, c *oracleCase) {
		same(r.t, c.out("y"), r.class("affine", "linear", quantisedWeight(c), true)(r.call, []mlx.Array{c.in("x")})[0])
	},
	// An embedding of all rows in order is the whole matrix. Only bfloat16 is what an embedding of an fp mode gives.
	"dequantize": func(r *rig, c *oracleCase) {
		rows := r.scope.Arange(0, 64, 1, dtype.Int32)
		same(r.t, c.out("y"), r.class("affine", "embedding", quantisedWeight(c), true)(r.call, []mlx.Array{rows})[0])
	},
}

func oracleUnary(name string) func(*rig, *oracleCase) {
	return func(r *rig, c *oracleCase) { same(r.t, c.out("y"), r.apply(name, []any{c.in("x")}, nil)[0]) }
}

func quantisedWeight(c *oracleCase) registry.Opened {
	mode, _ := c.Args["mode"].(string)
	return registry.Opened{Weight: c.in("w"), Scales: c.in("scales"), Biases: c.in("biases"), Facts: plan.Facts{Storage: "affine",
		Dtype: c.in("scales").Dtype(), Mode: mode, Bits: int(c.number("bits")), Group: int(c.number("group_size")), Inputs: 256, Outputs: 64}}
}

// at is a state of which only the offset is asked.
type at struct{ kvArrays }

func oracleRope(r *rig, c *oracleCase) {
	offset := int(c.number("offset"))
	r.call.States = []registry.StateValue{&at{kvArrays{start: offset}}}
	given := args("dims", int(c.number("dims")), "base", c.number("base"), "traditional", c.flag("traditional"))
	if longest := int(c.number("max_position_embeddings")); longest > 0 {
		given = append(given, args("max_position", longest)...)
	}
	if m, ok := c.Args["scaling"].(map[string]any); ok {
		given = append(given, args("scaling", fromJSON(m))...)
	}
	kv := cacheState("heads", 1, "dim", 64)
	y := r.apply("rope", []any{c.in("x"), kv}, given)[0]
	if want := c.out("freqs"); want.Valid() {
		same(r.t, want, r.memo[freqsKeyOf(r)].(mlx.Array), "frequencies")
	}
	same(r.t, c.out("y"), y)
}

func freqsKeyOf(r *rig) any {
	for k := range r.memo {
		if _, ok := k.(freqsKey); ok {
			return k
		}
	}
	r.t.Fatal("no frequencies were made")
	return nil
}

func fromJSON(x any) plan.Value {
	switch x := x.(type) {
	case float64:
		if x == float64(int(x)) {
			return valueOf(int(x))
		}
		return valueOf(x)
	case []any:
		v := plan.Value{Kind: plan.List}
		for _, e := range x {
			v.List = append(v.List, fromJSON(e))
		}
		return v
	case map[string]any:
		v := plan.Value{Kind: plan.Map}
		for k, e := range x {
			v.Map = append(v.Map, plan.Entry{Key: k, Value: fromJSON(e)})
		}
		return v
	}
	return valueOf(x)
}

var windowName = regexp.MustCompile(`rotating(\d+)`)

// oracleCache compares what a cache hands to attention, and its masks, update by update.
func oracleCache(r *rig, c *oracleCase) {
	decl := cacheState("heads", 1, "dim", 4)
	if windowName.MatchString(c.name) {
		decl = cacheState("heads", 1, "dim", 4, "window", 16)
	}
	state, err := cacheKind().New(*decl)
	require.NoError(r.t, err)
	r.ends = append(r.ends, state.Free)
	kv, position := state.(registry.KV), 0
	for i, n := range c.Args["updates"].([]any) {
		count := int(n.(float64))
		kv.Begin()
		require.Equal(r.t, position, kv.Offset())
		mask := kv.Mask(r.call, count, false)
		if want := c.arrays[joinName(c.name, "out.mask", i)]; want.Valid() {
			same(r.t, want, mask.Array, "mask of update", i)
		} else {
			require.False(r.t, mask.Array.Valid(), "no mask array before update %d", i)
		}
		k, v := kv.Update(r.call.Scope, along(r.scope, c.in("k"), 2, position, position+count), along(r.scope, c.in("v"), 2, position, position+count))
		require.NoError(r.t, r.call.Err())
		same(r.t, c.arrays[joinName(c.name, "out.k", i)], k, "keys of update", i)
		same(r.t, c.arrays[joinName(c.name, "out.v", i)], v, "values of update", i)
		position += count
	}
}

func joinName(name, what string, i int) string { return name + "." + what + "." + valueOf(i).Text() }
