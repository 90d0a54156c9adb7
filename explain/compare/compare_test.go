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

// side composes a model, all as text; a variant may be "".
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
	req := compose.Request{Graph: file("model.yaml", graph), Shipped: graphs.Files, Config: c, Registry: reg, Exact: true}
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

const config = `{"model_type": "small", "hidden_size": 64, "vocab_size": 96, "num_hidden_layers": 4, "quantization": {"group_size": 32, "bits": 4}}`

const model = `graphrun: v1
kind: model
name: small
recognises: config.string('model_type') == 'small'
let:
  hidden: config.int('hidden_size')
  vocab:  config.int('vocab_size')
  layers: config.int('num_hidden_layers')
  window: config.int('sliding_window', 0)
ports:
  embed: {embedding: [vocab, hidden]}
  lm_head: {head: [hidden, vocab], tied: embed}
nodes:
- h: {embed: tokens}
- h:
    repeat: {i: layers}
    at: 'model.layers.{i}'
    ports:
      q_proj: {linear: [hidden, hidden]}
      k_proj: {linear: [hidden, hidden]}
      mlp: {mlp: [hidden, 2 * hidden], activation: swiglu}
    state:
      kv: {cache: {heads: 2, dim: 32, window: 'i == 1 ? window : 0'}}
    nodes:
    - x: {rms_norm: h, weight: norm.weight, eps: 0.00001}
    - q: {q_proj: x}
    - k: {k_proj: x}
    - k: {silu: k, when: i > 9}
    - q, k: {split_heads: [q, k], count: 2}
    - q, k: {swap_heads: [q, k]}
    - r: {attend: {q, k, v: k}, state: kv, scale: 0.2}
    - r: {merge_heads: r}
    - h: {add: [h, r]}
    - r: {mlp: h}
    - h: {add: [h, r]}
- logits: {lm_head: h}
`

const variant = `graphrun: v1
kind: variant
name: some
of: small
bind:
- {ports: 'model.layers.{0,2,3}.mlp.down_proj', rows: {8..: affine.dense}}
- {ports: '**.q_proj', rows: {32..64: affine.dense}}
submit: {rows: {1..8: {schedule_every: 4}}}
`

func TestPlans(t *testing.T) {
	windowed := strings.Replace(config, `"quant`, `"sliding_window": 16, "quant`, 1)
	added := strings.Replace(model, "    - r: {mlp: h}\n", "    - r: {mlp: h}\n    - r: {silu: r}\n", 1)
	swapped := strings.Replace(model, "    - h: {add: [h, r]}\n    - r", "    - h: {add: [r, h]}\n    - r", 1)
	commented := "# moved\n" + model
	cases := []struct {
		name string
		a, b compare.Side
	}{
		{"same", side(t, model, "", config), side(t, commented, "", config)},
		{"variant", side(t, model, "", config), side(t, model, variant, config)},
		{"config", side(t, model, "", config), side(t, model, "", windowed)},
		{"layers", side(t, model, "", config), side(t, model, "", strings.Replace(config, `layers": 4`, `layers": 2`, 1))},
		{"node", side(t, model, "", config), side(t, added, "", config)},
		{"wiring", side(t, model, "", config), side(t, swapped, "", config)},
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
	d := compare.Plans(side(t, model, "", config), side(t, model, variant, config))
	var b bytes.Buffer
	require.NoError(t, d.WriteText(&b, true))
	require.Contains(t, b.String(), "\x1b[33m~ model.layers")
}
