//go:build cgo && mlx

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
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

// open composes a checkpoint and makes it executable.
func open(t *testing.T, path string) *engine.Engine {
	t.Helper()
	ck, err := header.Open(path)
	require.NoError(t, err)
	reg, err := ops.Default()
	require.NoError(t, err)
	r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg, Config: ck.Config, Checkpoint: ck, Exact: true})
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

// saved reads the arrays of a safetensors file into Go.
func saved(t *testing.T, path string) map[string]engine.Tensor {
	t.Helper()
	ck, err := header.Open(path)
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	out := map[string]engine.Tensor{}
	for _, h := range ck.Tensors {
		out[h.Name] = engine.Tensor{Dtype: h.Dtype, Shape: h.Shape, Data: data[h.Offset : h.Offset+h.Size]}
	}
	return out
}

func ids(x engine.Tensor) []int32 {
	out := make([]int32, len(x.Data)/4)
	for i := range out {
		b := x.Data[4*i:]
		out[i] = int32(b[0]) | int32(b[1])<<8 | int32(b[2])<<16 | int32(b[3])<<24
	}
	return out
}

// same counts the values that were compared, and fails at the first that differs.
func same(t *testing.T, what string, want, got engine.Tensor) int {
	t.Helper()
	require.Equal(t, want.Dtype, got.Dtype, "%s: dtype", what)
	size := want.Dtype.Size()
	require.Equal(t, len(want.Data), len(got.Data), "%s: size of %v and %v", what, want.Shape, got.Shape)
	if string(want.Data) == string(got.Data) {
		return len(want.Data) / size
	}
	a, err := want.Float32s()
	require.NoError(t, err)
	b, err := got.Float32s()
	require.NoError(t, err)
	differ, first, most := 0, -1, float32(0)
	for i := range a {
		if string(want.Data[i*size:(i+1)*size]) != string(got.Data[i*size:(i+1)*size]) {
			if differ++; first < 0 {
				first = i
			}
			most = max(most, a[i]-b[i], b[i]-a[i])
		}
	}
	require.Failf(t, "bits differ", "%s: %d of %d values differ, the first at %d (want %v, got %v), max |Δ| %v", what, differ, len(a), first, a[first], b[first], most)
	return 0
}

func rows(x engine.Tensor, from, to int) engine.Tensor {
	row := len(x.Data) / x.Shape[0]
	return engine.Tensor{Dtype: x.Dtype, Shape: append([]int{to - from}, x.Shape[1:]...), Data: x.Data[from*row : to*row]}
}

func forward(t *testing.T, s *engine.Session, tokens ...[]int32) engine.Tensor {
	t.Helper()
	out, err := s.Forward(context.Background(), engine.Inputs{Tokens: tokens}, "logits")
	require.NoError(t, err)
	return out["logits"]
}

type manifest struct {
	Cases map[string]struct {
		Kind        string   `json:"kind"`
		Source      string   `json:"source"`
		F32Products bool     `json:"f32_products"`
		Prompts     []string `json:"prompts"`
		Sampled     bool     `json:"sampled"`
	} `json:"cases"`
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

// TestOracle compares the whole logits of every case with mlx-lm's, bit for bit: prompts in one forward, decode steps,
// a second chunk, a batch of two, and generation in chunks.
func TestOracle(t *testing.T) {
	m := readManifest(t)
	names := make([]string, 0, len(m.Cases))
	for name, c := range m.Cases {
		if c.Kind == "model" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	require.NotEmpty(t, names)
	total := 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(oracleDir, name)
			e := open(t, dir)
			want := saved(t, filepath.Join(dir, "expected.safetensors"))
			n := 0
			for _, p := range m.Cases[name].Prompts {
				n += comparePrompt(t, e, want, p)
			}
			n += compareBatch(t, e, want)
			t.Logf("%d values equal", n)
			total += n
		})
	}
	t.Logf("%d values of %d checkpoints equal mlx-lm's bits", total, len(names))
	require.NoError(t, mlx.ClearCache())
}

func comparePrompt(t *testing.T, e *engine.Engine, want map[string]engine.Tensor, p string) int {
	s, err := e.NewSession()
	require.NoError(t, err)
	defer s.Close()
	n := same(t, p+" prefill", want[p+".prefill_logits"], forward(t, s, ids(want[p+".prompt"])))
	for i, id := range ids(want[p+".decode_in"]) {
		n += same(t, fmt.Sprintf("%s decode %d", p, i), rows(want[p+".decode_logits"], i, i+1), forward(t, s, []int32{id}))
	}
	if c, ok := want[p+".chunk_in"]; ok {
		n += same(t, p+" second chunk", want[p+".chunk_logits"], forward(t, s, ids(c)))
	}
	for _, run := range []struct {
		name string
		step int
	}{{"gen", 2048}, {"gen16", 16}} {
		tokens, ok := want[p+"."+run.name+"_tokens"]
		if !ok {
			continue
		}
		require.NoError(t, s.Reset())
		var got []int32
		_, err := s.Generate(context.Background(), ids(want[p+".prompt"]), engine.GenOptions{MaxTokens: len(ids(tokens)), PrefillStep: run.step},
			func(tok engine.Token) error { got = append(got, tok.ID); return nil })
		require.NoError(t, err)
		require.Equal(t, ids(tokens), got, "%s %s", p, run.name)
		n += len(got)
	}
	return n
}

func compareBatch(t *testing.T, e *engine.Engine, want map[string]engine.Tensor) int {
	prompt, ok := want["batch.prompt"]
	if !ok {
		return 0
	}
	s, err := e.NewSession()
	require.NoError(t, err)
	defer s.Close()
	flat, width := ids(prompt), prompt.Shape[1]
	logits := forward(t, s, flat[:width], flat[width:])
	n := same(t, "batch", want["batch.logits"], logits)
	steps := want["batch.decode_in"]
	fed := ids(steps)
	for i := range steps.Shape[1] {
		got := forward(t, s, []int32{fed[i]}, []int32{fed[steps.Shape[1]+i]})
		for b := range 2 {
			exp := rows(inner(rows(want["batch.decode_logits"], b, b+1)), i, i+1)
			n += same(t, fmt.Sprintf("batch decode %d, sequence %d", i, b), exp, rows(got, b, b+1))
		}
	}
	return n
}

// inner drops a first dim of one.
func inner(x engine.Tensor) engine.Tensor {
	return engine.Tensor{Dtype: x.Dtype, Shape: x.Shape[1:], Data: x.Data}
}

// TestRealCheckpoint compares SmolLM2 with mlx-lm, both from the folder that the oracle converted for mlx-lm and from
// the GGUF file itself: its prompt in one forward, 16 decode steps, a second chunk, and greedy generation.
func TestRealCheckpoint(t *testing.T) {
	m := readManifest(t)
	for name, c := range m.Cases {
		if c.Kind != "checkpoint" {
			continue
		}
		dir := filepath.Join(oracleDir, name)
		want := saved(t, filepath.Join(dir, "expected.safetensors"))
		for _, path := range []string{dir, filepath.Join("../.deps/checkpoints", c.Source)} {
			t.Run(filepath.Base(path), func(t *testing.T) {
				if _, err := os.Stat(path); err != nil {
					t.Skipf("%v: run `tools/checkpoint.sh`", err)
				}
				t.Logf("%d values equal", comparePrompt(t, open(t, path), want, "chat"))
			})
		}
	}
	require.NoError(t, mlx.ClearCache())
}
