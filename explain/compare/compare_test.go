package compare_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/explain/compare"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights/header"
)

var update = flag.Bool("update", false, "write the golden files anew")

// side composes a model and a variant, both as text; "" for none, or for the shipped model.
func side(t *testing.T, graph, variant, config string) compare.Side {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		if text == "" {
			return ""
		}
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	reg, err := ops.Default()
	require.NoError(t, err)
	c, err := header.ReadConfig(file("config.json", config))
	require.NoError(t, err)
	req := compose.Request{Graph: file("model.yaml", graph), Shipped: graphs.Files, Config: c, Registry: reg}
	if variant != "" {
		req.Variants = []string{file("variant.yaml", variant)}
	}
	r, err := compose.Compose(context.Background(), req)
	require.NoError(t, err)
	for _, d := range r.Diagnostics.Sorted() {
		t.Log(d.Error())
	}
	require.NotNil(t, r.Plan)
	report, err := explain.Make(r.Plan, reg, explain.Facts{Config: "config.json", Memory: explain.Memory{
		Items: []explain.Item{{Name: "states", Bytes: int64(len(r.Plan.States)) << 20}}, Total: int64(len(r.Plan.States)) << 20,
	}})
	require.NoError(t, err)
	return compare.Side{Report: report, Plan: r.Plan}
}

const config = `{"model_type": "llama", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 4, "intermediate_size": 128,
  "num_attention_heads": 2, "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16", "quantization": {"group_size": 32, "bits": 4}}`

const variant = `graphrun: v1
kind: variant
name: some
of: llama
bind:
- {ports: 'model.layers.{0,2,3}.mlp.down_proj', rows: {8..: affine.dense}}
- {ports: '**.q_proj', rows: {32..64: affine.dense}}
submit: {rows: {1..8: {schedule_every: 4}}}
`

func TestPlans(t *testing.T) {
	windowed := strings.Replace(config, `"rms_norm_eps"`, `"sliding_window": 16, "layer_types": ["full_attention", "sliding_attention", "full_attention", "full_attention"], "rms_norm_eps"`, 1)
	llama, err := graphs.Files.ReadFile("models/llama.yaml")
	require.NoError(t, err)
	added := strings.Replace(string(llama), "    - r: {mlp: x}\n", "    - r: {mlp: x}\n    - r: {silu: r}\n", 1)
	swapped := strings.Replace(string(llama), "    - h: {add: [h, r]}\n    - x", "    - h: {add: [r, h]}\n    - x", 1)
	cases := []struct {
		name string
		a, b compare.Side
	}{
		{"same", side(t, "", "", config), side(t, string(llama), "", config)},
		{"variant", side(t, "", "", config), side(t, "", variant, config)},
		{"config", side(t, "", "", config), side(t, "", "", windowed)},
		{"layers", side(t, "", "", config), side(t, "", "", strings.Replace(config, `layers": 4`, `layers": 2`, 1))},
		{"node", side(t, "", "", config), side(t, added, "", config)},
		{"wiring", side(t, "", "", config), side(t, swapped, "", config)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := compare.Plans(c.a, c.b)
			require.Equal(t, c.name == "same", d.Same)
			var b bytes.Buffer
			require.NoError(t, d.WriteText(&b, false))
			got := noFolders(b.String())
			file := filepath.Join("testdata", c.name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
			b.Reset()
			require.NoError(t, d.WriteJSON(&b))
			back := compare.Plans(c.b, c.a)
			require.Equal(t, d.Same, back.Same)
			require.Len(t, back.Sections, len(d.Sections), "what differs does so both ways")
		})
	}
}

// noFolders leaves of paths of files their last parts, and of hashes nothing.
func noFolders(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		words := strings.Split(l, " ")
		for k, w := range words {
			if strings.HasPrefix(w, "/") {
				words[k] = filepath.Base(w)
			}
			if k > 0 && words[k-1] == "plan" || k > 0 && words[k-1] == "plan:" {
				words[k] = "HASH"
			}
		}
		lines[i] = strings.Join(words, " ")
	}
	return strings.Join(lines, "\n")
}

func TestColour(t *testing.T) {
	d := compare.Plans(side(t, "", "", config), side(t, "", variant, config))
	var b bytes.Buffer
	require.NoError(t, d.WriteText(&b, true))
	require.Contains(t, b.String(), "\x1b[33m~ model.layers")
}
