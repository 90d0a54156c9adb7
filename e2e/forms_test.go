//go:build cgo && mlx

package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/plan"
)

// formRuns are the shipped forms, all but those for a Neural Engine, with what some ports run at some row counts.
var formRuns = map[string][]struct {
	rows        int
	port, class string
}{
	"form-stage":      {{4, "1.mlp", "mlp.gate_down"}, {4, "1.mlp.gate_up", "trellis.gate_up"}, {4, "1.linear_attn.in_proj_z", "affine.rows{tile: 4}"}, {6, "1.mlp", "mlp.unfused"}},
	"form-prompt":     {{33, "1.mlp.gate_proj", "trellis.expand_reduce"}, {33, "3.self_attn.q_proj", "affine.dense"}, {17, "3.self_attn.q_proj", "affine"}},
	"form-fused":      {{4, "1.mlp", "mlp.fused"}, {6, "1.mlp", "mlp.unfused"}},
	"form-media":      {{6, "3.self_attn.q_proj", "affine.rows{tile: 4}"}, {17, "3.self_attn.q_proj", "affine"}, {33, "1.linear_attn.in_proj_z", "affine.dense"}},
	"form-with-mlp":   {{6, "1.mlp", "mlp.unfused"}, {6, "3.self_attn.q_proj", "affine.rows{tile: 4}"}},
	"form-block-only": {{6, "1.linear_attn.out_proj", "affine.rows{tile: 4}"}, {12, "1.linear_attn.out_proj", "affine"}},
	"form-with-projections": {{4, "1.linear_attn.in_proj_qkv", "affine"}, {6, "1.linear_attn.in_proj_qkv", "affine.mma"}, {6, "1.linear_attn.in_proj_z", "affine.mma"},
		{6, "1.linear_attn.in_proj_a", "affine"}, {6, "1.linear_attn.out_proj", "affine.rows{tile: 4}"}, {6, "3.self_attn.q_proj", "affine.mma"},
		{6, "3.self_attn.k_proj", "affine.rows{tile: 4}"}, {6, "3.self_attn.o_proj", "affine.mma"}, {12, "3.self_attn.o_proj", "affine"}},
	"form-with-bound-projections": {{1, "1.linear_attn.out_proj", "affine"}, {4, "1.linear_attn.out_proj", "affine.rows{tile: 4}"}, {6, "1.linear_attn.out_proj", "affine.mma"},
		{12, "1.linear_attn.out_proj", "affine.rows{tile: 4}"}, {17, "1.linear_attn.out_proj", "affine"}},
}

// shippedForms holds the shipped variants' logits at a row count of each of their ranges, with an adapter and without, to the
// plain classes: the exact ones, or those of packed codes where a form takes up to 4 rows so.
func shippedForms(t *testing.T, exact, plain *engine.Engine, open func(name string) *engine.Engine) {
	type at struct {
		rows                   int
		tuned, asMedia, packed bool
	}
	logits := func(e *engine.Engine, x at) engine.Tensor {
		tokens := make([]int32, x.rows)
		for i := range tokens {
			tokens[i] = int32(37*i+x.rows) % 512
		}
		s, err := e.NewSession()
		require.NoError(t, err)
		defer s.Close()
		var adapters []string
		if x.tuned {
			adapters = []string{"tuned"}
		}
		require.NoError(t, s.Adapt(adapters...))
		if x.asMedia {
			return mediaForward(t, s, tokens)
		}
		return forward(t, s, tokens)
	}
	known := map[at]engine.Tensor{}
	for _, name := range slices.Sorted(maps.Keys(formRuns)) {
		e, entry := open(name), "text"
		if name == "form-media" {
			entry = "media"
		}
		for _, run := range formRuns[name] {
			require.Equal(t, run.class, running(e.Plan(), entry, run.rows)["model.layers."+run.port], "%s, %d rows, %s", name, run.rows, run.port)
		}
		if p := e.Plan(); name == "form-with-bound-projections" {
			out := &p.Ports[slices.IndexFunc(p.Ports, func(x plan.Port) bool { return x.Path == "model.layers.1.linear_attn.out_proj" })]
			require.Equal(t, out.At(4).Instance, out.At(12).Instance, "one instance in both ranges")
		}
		worst := 0.0
		for _, rows := range []int{1, 4, 6, 12, 17, 33} {
			for _, tuned := range []bool{false, true} {
				x := at{rows, tuned, entry == "media", rows <= 4 && (name == "form-stage" || name == "form-fused")}
				if _, ok := known[x]; !ok {
					reference := exact
					if x.packed {
						reference = plain
					}
					known[x] = logits(reference, x)
				}
				off := apart(t, known[x], logits(e, x))
				if name == "form-fused" && x.packed && tuned { // adds the sums itself; the reference runs stored weights there
					require.Less(t, off, contracts, name)
					continue
				}
				worst = max(worst, off)
			}
		}
		t.Logf("%s: max |Δ| / max |ref| %.1e", name, worst)
		require.Less(t, worst, hybridBound, name)
	}
}

// mediaForward is a text's logits by way of the embed and media entries.
func mediaForward(t *testing.T, s *engine.Session, tokens []int32) engine.Tensor {
	ctx := context.Background()
	embedded, err := s.Forward(ctx, engine.Inputs{Entry: "embed", Tokens: [][]int32{tokens}}, "embeddings")
	require.NoError(t, err)
	out, err := s.Forward(ctx, engine.Inputs{Entry: "media",
		Others: map[string]engine.Tensor{"embeddings": embedded["embeddings"], "positions": streams(0, len(tokens))}}, "logits")
	require.NoError(t, err)
	return out["logits"]
}
