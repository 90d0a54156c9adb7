package graphs_test

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
)

// TestShipped: every shipped file is read and checked without a finding, and all but blocks compose for each of their examples.
func TestShipped(t *testing.T) {
	reg, err := ops.Default()
	require.NoError(t, err)
	require.NoError(t, fs.WalkDir(graphs.Files, ".", func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		if e.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return nil
		}
		t.Run(path, func(t *testing.T) {
			data, err := fs.ReadFile(graphs.Files, path)
			require.NoError(t, err)
			var list diag.List
			doc := syntax.Parse(source.Parse("graphs/"+path, data, &list), &list)
			require.NotNil(t, doc)
			require.Empty(t, list.Sorted())
			require.Equal(t, strings.TrimSuffix(e.Name(), ".yaml"), doc.Name.Text, "a file is named as what it holds")
			require.NotEmpty(t, doc.Doc, "a shipped file says what it is")
			if doc.Kind == "variant" {
				require.NotEmpty(t, doc.Examples, "a shipped variant has an example")
				return // TestVariantTables composes it
			}
			if doc.Kind != "block" {
				require.NotEmpty(t, doc.Examples, "a shipped %s has an example", doc.Kind)
			}
			// As a file of the user's: what is inside the program is taken to be right.
			r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg, Graph: path,
				Memory: func(*plan.Plan, int, int) ([]compose.MemoryLine, error) {
					return []compose.MemoryLine{{Name: "weights", Bytes: 1 << 30}}, nil
				}})
			require.NoError(t, err)
			for _, d := range r.Diagnostics.Sorted() {
				t.Errorf("%v %v", d, d.Help)
			}
			require.Len(t, r.Examples, len(doc.Examples))
		})
		return nil
	}))
}

// TestStatesAreInEveryProgram: a state that one program of an entry writes is written by all, whichever guards and outputs
// lead to it.
func TestStatesAreInEveryProgram(t *testing.T) {
	reg, err := ops.Default()
	require.NoError(t, err)
	examples, err := fs.Glob(graphs.Files, "models/examples/*.json")
	require.NoError(t, err)
	for _, name := range examples {
		t.Run(name, func(t *testing.T) {
			data, err := fs.ReadFile(graphs.Files, name)
			require.NoError(t, err)
			config, err := header.ParseConfig(name, bytes.NewReader(data))
			require.NoError(t, err)
			r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg, Config: config})
			require.NoError(t, err)
			require.NotNil(t, r.Plan)
			used := map[string]map[int]bool{}
			for _, g := range r.Plan.Programs {
				states := map[int]bool{}
				for _, c := range g.Calls {
					if c.State >= 0 {
						states[c.State] = true
					}
				}
				if used[g.Entry] == nil {
					used[g.Entry] = states
				}
				require.Equal(t, used[g.Entry], states, "entry %s, guards %v", g.Entry, g.Guards)
			}
		})
	}
}

// TestModelsAreShort: half of the models take less than 60 lines.
func TestModelsAreShort(t *testing.T) {
	files, err := fs.Glob(graphs.Files, "models/*.yaml")
	require.NoError(t, err)
	var lines []int
	for _, name := range files {
		data, err := fs.ReadFile(graphs.Files, name)
		require.NoError(t, err)
		lines = append(lines, bytes.Count(data, []byte("\n")))
	}
	slices.Sort(lines)
	t.Logf("%d models, median %d lines, longest %d", len(lines), lines[len(lines)/2], lines[len(lines)-1])
	require.Less(t, lines[len(lines)/2], 60)
}

// TestRules: the shipped rules can be asked of a plan.
func TestRules(t *testing.T) {
	reg, err := ops.Default()
	require.NoError(t, err)
	f, err := graphs.Files.Open("models/examples/smollm2-135m.json")
	require.NoError(t, err)
	config, err := header.ParseConfig("config.json", f)
	require.NoError(t, err)
	r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg, Config: config, Rules: []string{"serving"},
		Use: compose.Use{DraftTokens: 2, Adapters: true}, Memory: func(*plan.Plan, int, int) ([]compose.MemoryLine, error) {
			return []compose.MemoryLine{{Name: "weights", Bytes: 1 << 30}}, nil
		}})
	require.NoError(t, err)
	require.Empty(t, r.Diagnostics.Sorted())
	require.NotNil(t, r.Plan)
}

// BenchmarkLibrary composes every shipped model for its examples; the whole library is to take less than a second.
func BenchmarkLibrary(b *testing.B) {
	reg, err := ops.Default()
	require.NoError(b, err)
	models, err := fs.ReadDir(graphs.Files, "models")
	require.NoError(b, err)
	for b.Loop() {
		for _, m := range models {
			if m.IsDir() {
				continue
			}
			r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg, Model: strings.TrimSuffix(m.Name(), ".yaml")})
			require.NoError(b, err)
			require.False(b, r.Diagnostics.HasErrors())
		}
	}
}

// BenchmarkLayers shows how composing grows with the number of layers.
func BenchmarkLayers(b *testing.B) {
	reg, err := ops.Default()
	require.NoError(b, err)
	for _, layers := range []int64{64, 256, 1024} {
		b.Run(map[int64]string{64: "64", 256: "256", 1024: "1024"}[layers], func(b *testing.B) {
			config := &header.Config{Path: "config.json", Values: map[string]any{"model_type": "llama", "hidden_size": int64(2048), "num_hidden_layers": layers,
				"intermediate_size": int64(8192), "num_attention_heads": int64(32), "num_key_value_heads": int64(8), "vocab_size": int64(128256), "rms_norm_eps": 1e-5,
				"quantization": map[string]any{"group_size": int64(64), "bits": int64(4)}}}
			for b.Loop() {
				r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg, Config: config, Variants: []string{"dense-prompt"}})
				require.NoError(b, err)
				require.NotNil(b, r.Plan)
			}
		})
	}
}
