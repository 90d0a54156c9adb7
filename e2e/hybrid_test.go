//go:build cgo && mlx

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/explain"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/quantize"
	"github.com/graphrun/graphrun/weights/header"
)

// stages is a variant with a form and classes of its own at each count of rows.
const stages = `graphrun: v1
kind: variant
name: stages
doc: Fused, packed, tiled and expanded MLPs by row count, other projections by rows, then dequantised.
of: qwen3_5
bind:
- {ports: 'model.layers.*.mlp', rows: {1..2: mlp.fused, 3..4: {class: mlp.gate_down, adapted: mlp.unfused}, 5..8: mlp.gate_down, else: mlp.unfused}}
- {ports: 'model.layers.*.mlp.gate_up', rows: {3..4: trellis.gate_up}}
- {ports: 'model.layers.*.mlp.{gate_proj,up_proj}', rows: {3..4: trellis.reduce, 5..32: trellis.tiled, 33..: trellis.expand_reduce}}
- {ports: 'model.layers.*.mlp.down_proj', rows: {3..4: trellis.scatter, 5..32: trellis.split_k, 33..: trellis.expand_scatter}}
- {ports: 'model.layers.*.{linear_attn,self_attn}.*', rows: {2..8: affine.rows, 33..: affine.dense}}
`

// packed are the classes that codes are used by as they are decoded, in their plain form.
const packed = `graphrun: v1
kind: variant
name: packed
doc: The reference of packed trellis codes.
of: qwen3_5
bind:
- {ports: 'model.layers.*.mlp.*', kind: linear, class: trellis.packed}
`

// TestHybrid runs a hybrid model, gated delta layers with attention every fourth, whose MLPs are trellis codes of three widths
// and whose other projections are affine: what the row tables say is what runs at each row count, and its logits are near the
// plain classes', with an adapter on top too.
func TestHybrid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hybrid")
	coded(t, randomCheckpoint(t, hybridConfig), dir)
	variant := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name+".yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	tuned := lora(t, filepath.Join(t.TempDir(), "tuned"))
	open := func(variants ...string) *engine.Engine {
		m, err := model.Open(context.Background(), model.Options{Checkpoint: dir, Variants: variants, Exact: true, IDsOnly: true, Device: "cpu"})
		require.NoError(t, err)
		t.Cleanup(m.Close)
		mount(t, m.Engine(), tuned)
		return m.Engine()
	}
	staged, exact, plain := open(variant("stages", stages)), open(), open(variant("packed", packed))
	t.Run("shipped forms", func(t *testing.T) {
		shippedForms(t, exact, plain, func(name string) *engine.Engine { return open(name) })
	})
	for _, c := range []struct {
		rows                       int
		mlp, gateUp, gate, down, z string // what the port runs; "": not run
		reference                  *engine.Engine
		adapted                    float64 // how far logits with an adapter may lie: its ports' reference is trellis, not trellis.packed
	}{
		{1, "mlp.fused", "", "", "", "affine", plain, contracts},
		{2, "mlp.fused", "", "", "", "affine.rows{tile: 4}", plain, contracts},
		{4, "mlp.gate_down", "trellis.gate_up", "", "trellis.scatter", "affine.rows{tile: 4}", plain, hybridBound},
		{5, "mlp.gate_down", "gate_up.unfused", "trellis.tiled", "trellis.split_k", "affine.rows{tile: 4}", exact, hybridBound},
		{20, "mlp.unfused", "", "trellis.tiled", "trellis.split_k", "affine", exact, hybridBound},
		{40, "mlp.unfused", "", "trellis.expand_reduce", "trellis.expand_scatter", "affine.dense", exact, hybridBound},
	} {
		ran := running(staged.Plan(), "text", c.rows)
		for port, want := range map[string]string{"mlp": c.mlp, "mlp.gate_up": c.gateUp, "mlp.gate_proj": c.gate, "mlp.up_proj": c.gate, "mlp.down_proj": c.down, "linear_attn.in_proj_z": c.z} {
			require.Equal(t, want, ran["model.layers.1."+port], "%d rows, %s", c.rows, port)
		}
		random := rand.New(rand.NewPCG(3, uint64(c.rows)))
		tokens := make([]int32, c.rows)
		for i := range tokens {
			tokens[i] = random.Int32N(512)
		}
		logits := func(e *engine.Engine, adapters ...string) engine.Tensor {
			s, err := e.NewSession()
			require.NoError(t, err)
			defer s.Close()
			require.NoError(t, s.Adapt(adapters...))
			return forward(t, s, tokens)
		}
		base, adapted := logits(c.reference), logits(c.reference, "tuned")
		off, offAdapted := apart(t, base, logits(staged)), apart(t, adapted, logits(staged, "tuned"))
		t.Logf("%d rows: max |Δ| / max |ref| %.1e, with the adapter %.1e, whose effect is %.1e", c.rows, off, offAdapted, apart(t, base, adapted))
		require.Less(t, off, hybridBound)
		require.Less(t, offAdapted, c.adapted)
		require.Greater(t, apart(t, base, adapted), 4*contracts)
	}
}

// hybridBound is how far logits of four float32 layers may lie from the plain classes': products with codes are 1e-5 off at
// most, and the layers after them carry that on.
const hybridBound = 2e-5

// contracts is how far those of packed codes may lie from those of stored ones, which are rounded to bfloat16.
const contracts = 1e-2

// changed writes a checkpoint's copy with other tensors, of the same names.
func changed(t *testing.T, source string, f func(s *mlx.Scope, name string, a mlx.Array) mlx.Array) string {
	dir := t.TempDir()
	config, err := os.ReadFile(filepath.Join(source, "config.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644))
	w := mlx.NewWorker()
	defer w.Close()
	require.NoError(t, w.Do(func() error {
		stream, err := mlx.NewStream(mlx.DeviceCPU)
		if err != nil {
			return err
		}
		defer stream.Free()
		arrays, meta, err := mlx.LoadSafetensors(filepath.Join(source, "model.safetensors"), stream)
		if err != nil {
			return err
		}
		s := mlx.NewScope(stream)
		defer s.Free()
		for name, a := range arrays {
			arrays[name] = f(s, name, s.Own(a))
		}
		if err := s.Err(); err != nil {
			return err
		}
		return mlx.SaveSafetensors(filepath.Join(dir, "model.safetensors"), arrays, meta)
	}))
	return dir
}

// coded writes a checkpoint anew: MLPs as trellis codes, gate and up of different widths, the rest affine.
func coded(t *testing.T, source, target string) {
	ck, err := header.Open(source)
	require.NoError(t, err)
	var list diag.List
	p := quantize.ParsePlan("plan.yaml", []byte(strings.Join([]string{"quantize:",
		"- {weights: '**', format: affine, bits: 4, group: 64, where_it_fits: true}",
		"- {weights: '**.mlp.gate_proj', format: trellis, bits: 3}",
		"- {weights: '**.mlp.up_proj', format: trellis, bits: 4}",
		"- {weights: '**.mlp.down_proj', format: trellis, bits: 4, axis: 0}", ""}, "\n")), &list)
	require.Empty(t, list.Sorted())
	_, err = quantize.Run(context.Background(), quantize.Options{Source: ck, Target: target, Plan: p}, &list)
	require.NoError(t, err)
	require.Empty(t, list.Sorted())
}

// lora writes an adapter of random numbers for MLPs, attention and delta projections, as mlx-lm saves one.
func lora(t *testing.T, dir string) string {
	require.NoError(t, os.Mkdir(dir, 0o755))
	settings := `{"fine_tune_type": "lora", "num_layers": 4, "lora_parameters": {"rank": 4, "scale": 2.0, "dropout": 0.0}}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "adapter_config.json"), []byte(settings), 0o644))
	random := rand.New(rand.NewPCG(1, 2))
	saveArrays(t, filepath.Join(dir, "adapters.safetensors"), func(save func(string, mlx.Array)) {
		add := func(path string, in, out int) {
			for i, name := range []string{"lora_a", "lora_b"} {
				size := [][2]int{{in, 4}, {4, out}}[i]
				values := make([]float32, size[0]*size[1])
				for i := range values {
					values[i] = float32(random.NormFloat64()) / 4
				}
				a, err := mlx.FromFloat32s(values, size[0], size[1])
				require.NoError(t, err)
				save(path+"."+name, a)
			}
		}
		for layer := range 4 {
			prefix := fmt.Sprintf("model.layers.%d.", layer)
			for _, name := range []string{"mlp.gate_proj", "mlp.down_proj"} {
				add(prefix+name, 256, 256)
			}
		}
		add("model.layers.0.linear_attn.out_proj", 256, 256)
		add("model.layers.3.self_attn.k_proj", 256, 128)
		add("model.layers.3.self_attn.o_proj", 256, 256)
	})
	return dir
}

// running is the class of every port that runs in an entry at a row count, by path: parts of a form under it.
func running(p *plan.Plan, entry string, rows int) map[string]string {
	out := map[string]string{}
	var add func(instance int)
	add = func(instance int) {
		in := p.Instances[instance]
		out[in.Path] = explain.ClassText(p, instance)
		for _, part := range in.Parts {
			add(part.Instance)
		}
	}
	for _, g := range p.Programs {
		if g.Entry != entry || rows < g.First || g.Last > 0 && rows > g.Last {
			continue
		}
		for i := range g.Calls {
			if g.Calls[i].Operator == "" {
				add(g.Calls[i].Instance)
			}
		}
	}
	return out
}
