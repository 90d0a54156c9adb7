package compose_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights/header"
)

func config(t *testing.T, text string) *header.Config {
	c := &header.Config{Path: "config.json"}
	d := json.NewDecoder(nil)
	_ = d
	require.NoError(t, json.Unmarshal([]byte(text), &c.Values))
	for k, v := range c.Values {
		if f, ok := v.(float64); ok && f == float64(int64(f)) {
			c.Values[k] = int64(f)
		}
	}
	return c
}

func TestLlama(t *testing.T) {
	reg, err := ops.Default()
	require.NoError(t, err)
	r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg, Config: config(t, `{"model_type": "llama", "hidden_size": 128,
	 "num_hidden_layers": 4, "intermediate_size": 192, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "rms_norm_eps": 1e-5, "vocab_size": 512, "torch_dtype": "bfloat16"}`)})
	require.NoError(t, err)
	for _, d := range r.Diagnostics.Sorted() {
		t.Log(d.Error(), d.Help, d.Path)
	}
	require.NotNil(t, r.Plan)
	require.False(t, r.Diagnostics.HasErrors())
	b, _ := json.MarshalIndent(r.Plan, "", " ")
	t.Log(len(b), len(r.Plan.Programs[0].Calls), len(r.Plan.Programs[1].Calls))
}

var _ = diag.Error
