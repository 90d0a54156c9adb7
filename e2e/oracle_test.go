//go:build cgo && mlx

package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/header"
)

// oracleDir is where `make oracle` leaves mlx-lm's logits.
const oracleDir = "../.oracle"

// manifest is what tools/oracle/make.py says of them.
type manifest struct {
	Environment map[string]any        `json:"environment"`
	Cases       map[string]oracleCase `json:"cases"`
}

type oracleCase struct {
	Kind        string   `json:"kind"`
	Model       string   `json:"model"`
	Graph       string   `json:"graph"`  // of the repository, where the model is not a shipped one
	Source      string   `json:"source"` // the GGUF file that a checkpoint was converted from
	F32Products bool     `json:"f32_products"`
	Prompts     []string `json:"prompts"`
	Adapters    []string `json:"adapters"`
	Sampled     bool     `json:"sampled"`
}

func readManifest(t *testing.T) manifest {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(oracleDir, "manifest.json"))
	if err != nil {
		t.Skip("no oracle: run `make oracle` first")
	}
	var m manifest
	require.NoError(t, json.Unmarshal(data, &m))
	return m
}

// casesOf runs a test for each case of a kind, with its folder; it skips where there is no oracle.
func casesOf(t *testing.T, kind string, run func(t *testing.T, dir string, c oracleCase)) {
	for name, c := range readManifest(t).Cases {
		if c.Kind == kind {
			t.Run(name, func(t *testing.T) { run(t, filepath.Join(oracleDir, name), c) })
		}
	}
}

// models are the names of the cases that MODELS chooses, as it does for `make oracle`: by the name of a case or of its
// model, * and ? allowed.
func (m manifest) models(t *testing.T) []string {
	patterns := strings.Fields(strings.ReplaceAll(os.Getenv("MODELS"), ",", " "))
	chosen := func(name string) bool {
		return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
			byName, err := path.Match(p, name)
			require.NoError(t, err, "MODELS")
			byModel, _ := path.Match(p, m.Cases[name].Model)
			return byName || byModel
		})
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m.Cases)) {
		if m.Cases[name].Kind == "model" && chosen(name) {
			out = append(out, name)
		}
	}
	return out
}

// open composes a checkpoint and makes it executable: for the shipped model, or a graph of the repository.
func open(t *testing.T, path string, graphOf ...string) *engine.Engine {
	t.Helper()
	graph := filepath.Join(graphOf...)
	if graph != "" {
		graph = filepath.Join("..", graph)
	}
	return openAs(t, path, graph)
}

// openAs is open with variants beside the exact classes.
func openAs(t *testing.T, path, graph string, variants ...string) *engine.Engine {
	t.Helper()
	ck, err := header.Open(path)
	require.NoError(t, err)
	reg, err := ops.Default()
	require.NoError(t, err)
	r, err := compose.Compose(context.Background(), compose.Request{Graph: graph, Shipped: graphs.Files, Registry: reg, Config: ck.Config, Checkpoint: ck, Variants: variants, Exact: true})
	require.NoError(t, err)
	for _, d := range r.Diagnostics.Sorted() {
		t.Log(d.Error(), d.Help)
	}
	require.NotNil(t, r.Plan)
	files, err := weights.OpenFiles(ck)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	e, err := engine.Open(context.Background(), r.Plan, reg, files, engine.Options{Device: "cpu"})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// TestOracle compares the whole logits of every case with mlx-lm's, bit for bit: prompts in one forward, decode steps,
// a second chunk, a batch of two, and the tokens of generation in chunks. `make oracle` prints its table.
func TestOracle(t *testing.T) {
	m := readManifest(t)
	names := m.models(t)
	require.NotEmpty(t, names, "the oracle has no case of MODELS here: `make expected`")
	equal := results{}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(oracleDir, name)
			e := open(t, dir, m.Cases[name].Graph)
			c := compareCase(t, e, saved(t, filepath.Join(dir, "expected.safetensors")), m.Cases[name].Prompts)
			t.Logf("%d values equal", c.values())
			equal[name] = c
		})
	}
	if *report {
		equal.print(os.Stdout, m, names)
	}
	equal.keep(t, m)
	require.NoError(t, mlx.ClearCache())
}

// TestRealCheckpoint compares SmolLM2 with mlx-lm, both from the folder that the oracle converted for mlx-lm and from
// the GGUF file itself: its prompt in one forward, 16 decode steps, a second chunk, and greedy generation.
func TestRealCheckpoint(t *testing.T) {
	m := readManifest(t)
	for name, k := range m.Cases {
		if k.Kind != "checkpoint" {
			continue
		}
		dir := filepath.Join(oracleDir, name)
		want := saved(t, filepath.Join(dir, "expected.safetensors"))
		for _, path := range []string{dir, filepath.Join("../.deps/checkpoints", k.Source)} {
			t.Run(filepath.Base(path), func(t *testing.T) {
				if _, err := os.Stat(path); err != nil {
					t.Skipf("%v: run `tools/checkpoint.sh`", err)
				}
				var c counts
				comparePrompt(t, open(t, path), want, "chat", &c)
				t.Logf("%d values equal", c.values())
			})
		}
	}
	require.NoError(t, mlx.ClearCache())
}
