package compose_test

import (
	"context"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
)

// sameWithoutCopies holds what was composed to what comes out where every layer is expanded by itself.
func sameWithoutCopies(t *testing.T, request compose.Request, r *compose.Result) {
	t.Helper()
	alone, err := compose.Compose(context.Background(), compose.Plain(request))
	require.NoError(t, err)
	require.Equal(t, alone.Diagnostics.Sorted(), r.Diagnostics.Sorted())
	require.Equal(t, alone.Plan, r.Plan)
	request.Check = true
	checked, err := compose.Compose(context.Background(), request)
	require.NoError(t, err)
	require.Equal(t, alone.Diagnostics.Sorted(), checked.Diagnostics.Sorted(), "what is found hangs on whether programs are made")
}

// TestCopiedLayers: a plan does not tell which layers were copied. Every shipped file is composed for each of its examples.
func TestCopiedLayers(t *testing.T) {
	reg, err := ops.Default()
	require.NoError(t, err)
	for _, kind := range []string{"models", "variants", "rules"} {
		files, err := fs.Glob(graphs.Files, kind+"/*.yaml")
		require.NoError(t, err)
		for _, file := range files {
			name := strings.TrimSuffix(path.Base(file), ".yaml")
			if strings.HasPrefix(name, "form-") && name != "form-media" { // these bind one model's ports in their several forms
				continue
			}
			t.Run(name, func(t *testing.T) {
				for number := 1; ; number++ {
					request := compose.Request{Shipped: graphs.Files, Registry: reg, Model: name, Example: strconv.Itoa(number),
						Memory: func(*plan.Plan, int, int) ([]compose.MemoryLine, error) { return nil, nil }}
					r, err := compose.Compose(context.Background(), request)
					require.NoError(t, err)
					if r.Plan == nil {
						require.Greater(t, number, 1)
						return
					}
					sameWithoutCopies(t, request, r)
				}
			})
		}
	}
}

// TestLayersThatDiffer: layers that differ from the others in one thing, in a model of the test's own.
func TestLayersThatDiffer(t *testing.T) {
	llama := func(more map[string]any) *header.Config {
		values := map[string]any{"model_type": "llama", "hidden_size": int64(64), "num_hidden_layers": int64(6), "intermediate_size": int64(128),
			"num_attention_heads": int64(4), "vocab_size": int64(320), "rms_norm_eps": 1e-5, "torch_dtype": "float16"}
		for k, v := range more {
			values[k] = v
		}
		return &header.Config{Path: "config.json", Values: values}
	}
	table := func(path string, bits int64) map[string]any {
		return map[string]any{"quantization": map[string]any{"group_size": int64(32), "bits": int64(4), path: map[string]any{"group_size": int64(32), "bits": bits}}}
	}
	reg, err := ops.Default()
	require.NoError(t, err)
	for name, config := range map[string]*header.Config{
		"none":                    llama(nil),
		"bits of a first":         llama(table("model.layers.0.mlp.down_proj", 8)),
		"bits of one":             llama(table("model.layers.3.self_attn.q_proj", 8)),
		"bits of a last":          llama(table("model.layers.5.mlp.gate_proj", 2)),
		"bits that do not divide": llama(map[string]any{"hidden_size": int64(72), "quantization": map[string]any{"group_size": int64(64), "bits": int64(4)}}),
	} {
		t.Run(name, func(t *testing.T) {
			request := compose.Request{Shipped: graphs.Files, Registry: reg, Config: config}
			r, err := compose.Compose(context.Background(), request)
			require.NoError(t, err)
			sameWithoutCopies(t, request, r)
		})
	}
}
