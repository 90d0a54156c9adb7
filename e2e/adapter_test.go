//go:build cgo && mlx

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/adapter"
)

// mount reads and mounts an adapter under its folder's name.
func mount(t *testing.T, e *engine.Engine, folder string) {
	t.Helper()
	a, err := adapter.Read(folder, e.Plan())
	require.NoError(t, err)
	files, err := weights.OpenFiles(a.Checkpoint)
	require.NoError(t, err)
	require.NoError(t, e.Mount(context.Background(), filepath.Base(folder), a, files, 1))
	require.NoError(t, files.Close())
}

// TestAdapters compares whole logits with LoRA adapters with mlx-lm's, bit for bit: one of all projections, of down and of gate
// alone, two at once in both orders, in PEFT's form and scale, in sessions that take turns; without any, the model's own bits.
func TestAdapters(t *testing.T) {
	casesOf(t, "adapters", func(t *testing.T, dir string, c oracleCase) {
		e := open(t, dir)
		for _, a := range c.Adapters {
			mount(t, e, filepath.Join(dir, "adapters", a))
		}
		want := saved(t, filepath.Join(dir, "expected.safetensors"))
		n := 0
		for _, run := range [][2]string{{"base", ""}, {"all", "all"}, {"down", "down"}, {"gate", "gate"}, {"all", "peft"}, {"rslora", "rslora"},
			{"all+down", "all+down"}, {"down+all", "down+all"}, {"base", ""}} {
			n += runAdapted(t, e, want, run[0], strings.FieldsFunc(run[1], func(r rune) bool { return r == '+' }))
		}
		t.Logf("%d values equal", n)
	})
}

func runAdapted(t *testing.T, e *engine.Engine, want map[string]engine.Tensor, key string, adapters []string) int {
	s, err := e.NewSession()
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Adapt(adapters...))
	ctx := context.Background()
	forward := func(tokens ...int32) engine.Tensor {
		got, err := s.Forward(ctx, engine.Tokens(tokens...), "logits")
		require.NoError(t, err)
		return got["logits"]
	}
	what := fmt.Sprintf("%s as %v", key, adapters)
	n := same(t, what, batched(want[key+".logits"]), forward(ids(want["prompt"])...))
	for i, id := range ids(want[key+".decode_in"]) {
		n += same(t, fmt.Sprintf("%s, step %d", what, i), batched(rows(want[key+".decode_logits"], i, i+1)), forward(id))
	}
	if len(adapters) > 0 {
		require.ErrorIs(t, s.Adapt(), engine.ErrWritten)
		require.NoError(t, s.Reset())
		require.NoError(t, s.Adapt())
	}
	return n
}

// A port that an adapter touches leaves a class that is not exact for the exact one, and a form takes its parts so: with every
// projection touched, or the only ones that a variant binds, the bits are those of no variant.
func TestAdaptersLeaveClasses(t *testing.T) {
	dir := filepath.Join(oracleDir, "llama-q4-adapters")
	if _, ok := readManifest(t).Cases[filepath.Base(dir)]; !ok {
		t.Skip("the oracle has no llama-q4-adapters here")
	}
	want := saved(t, filepath.Join(dir, "expected.safetensors"))
	for bind, adapters := range map[string][]string{
		"- {ports: '**', kind: linear, class: affine.dense}\n- {ports: '**.mlp', class: mlp.gate_down}":                                                     {"all", "all+down"},
		"- {ports: '**.down_proj', rows: {1: affine.dense, 2..: {class: affine.dense, adapted: affine}}}\n- {ports: '**.mlp', rows: {1..8: mlp.gate_down}}": {"down"},
	} {
		variant := filepath.Join(t.TempDir(), "v.yaml")
		require.NoError(t, os.WriteFile(variant, []byte("graphrun: v1\nkind: variant\nname: v\ndoc: Other classes.\nof: '*'\nbind:\n"+bind+"\n"), 0o644))
		m, err := model.Open(context.Background(), model.Options{Checkpoint: dir, Variants: []string{variant}, Exact: true, IDsOnly: true, Device: "cpu", Adapters: []model.Adapter{
			{Path: filepath.Join(dir, "adapters", "all")}, {Path: filepath.Join(dir, "adapters", "down")}}})
		require.NoError(t, err)
		for _, a := range adapters {
			runAdapted(t, m.Engine(), want, a, strings.Split(a, "+"))
		}
		s, err := m.Engine().NewSession()
		require.NoError(t, err)
		require.ErrorContains(t, s.Adapt("al"), "there is no adapter al; mounted: all, down")
		require.ErrorContains(t, s.Adapt("all", "all"), "named twice")
		require.NoError(t, s.Adapt("all"))
		require.ErrorContains(t, m.Engine().Unmount("all"), "a session uses")
		s.Close()
		require.NoError(t, m.Engine().Unmount("all"))
		require.Equal(t, []string{"down"}, m.Engine().Adapters())
		m.Close()
	}
	_, err := model.Open(context.Background(), model.Options{Checkpoint: filepath.Join(oracleDir, "llama-bf16-adapters"), IDsOnly: true, Device: "cpu", MemoryBudget: 1 << 30,
		Adapters: []model.Adapter{{Path: filepath.Join(dir, "adapters", "down")}, {Path: filepath.Join(dir, "adapters", "down")}}})
	require.ErrorContains(t, err, "an adapter down is mounted already")
}

// TestAdaptersByDefault: what runs by default on a CPU, whose mlp.fused adds adapters' sums itself, is near the exact classes under the
// same adapters, for a prompt and a step. In float32: MLX's own half-precision products are less exact than those compared.
func TestAdaptersByDefault(t *testing.T) {
	dir := filepath.Join(oracleDir, "llama-q4-adapters")
	if _, ok := readManifest(t).Cases[filepath.Base(dir)]; !ok {
		t.Skip("the oracle has no llama-q4-adapters here")
	}
	wide := changed(t, dir, func(s *mlx.Scope, _ string, a mlx.Array) mlx.Array {
		if a.Dtype().IsFloat() {
			return s.Astype(a, mlx.Float32)
		}
		return a
	})
	open := func(exact bool) *engine.Engine {
		m, err := model.Open(context.Background(), model.Options{Checkpoint: wide, Exact: exact, IDsOnly: true, Device: "cpu"})
		require.NoError(t, err)
		t.Cleanup(m.Close)
		for _, name := range []string{"all", "down", "gate"} {
			mount(t, m.Engine(), filepath.Join(dir, "adapters", name))
		}
		return m.Engine()
	}
	exact, fast := open(true), open(false)
	require.Equal(t, "mlp.fused", running(fast.Plan(), "text", 1)["model.layers.0.mlp"])
	logits := func(e *engine.Engine, adapters []string) (prompt, step engine.Tensor) {
		s, err := e.NewSession()
		require.NoError(t, err)
		defer s.Close()
		require.NoError(t, s.Adapt(adapters...))
		return forward(t, s, []int32{3, 1, 4, 1, 5, 9, 2}), forward(t, s, []int32{6})
	}
	base, _ := logits(exact, nil)
	for _, adapters := range [][]string{nil, {"all"}, {"down"}, {"gate"}, {"all", "down"}} {
		prompt, step := logits(exact, adapters)
		fastPrompt, fastStep := logits(fast, adapters)
		off := max(apart(t, prompt, fastPrompt), apart(t, step, fastStep))
		t.Logf("%v: max |Δ| / max |ref| %.1e, the adapters' effect %.1e", adapters, off, apart(t, base, prompt))
		require.Less(t, off, 1e-3)
	}
}
