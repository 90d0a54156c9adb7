package tensors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/explain/tensors"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights/header"
)

const graph = `graphrun: v1
kind: model
name: small
recognises: config.string('model_type') == 'small'
let: {hidden: config.int('hidden'), vocab: config.int('vocab'), layers: config.int('layers')}
view:
- {drop: '**.inv_freq'}
- {rename: 'transformer.**', to: 'model.**'}
- {stack: 'model.layers.{i}.part.{e}.weight', over: e, to: 'model.layers.{i}.whole.weight'}
ports:
  model.embed: {embedding: [vocab, hidden]}
  lm_head: {head: [hidden, vocab], tied: model.embed}
nodes:
- h: {model.embed: tokens}
- h:
    repeat: {i: layers}
    at: 'model.layers.{i}'
    ports: {proj: {linear: [hidden, hidden]}, mlp: {mlp: [hidden, hidden], activation: swiglu}}
    weights: {whole.weight: [2, hidden]}
    nodes:
    - x: {rms_norm: h, weight: norm.weight, eps: 0.00001}
    - x: {proj: x}
    - x: {mlp: x}
    - w: {sum: whole.weight, axis: 0, keepdims: false}
    - h: {multiply: [x, w]}
- logits: {lm_head: h}
`

const config = `{"model_type": "small", "hidden": 64, "vocab": 96, "layers": 2, "quantization": {"group_size": 32, "bits": 4}}`

// checkpoint has the small model's tensors, with some others and without those that skip names.
func checkpoint(t *testing.T, skip ...string) *header.Checkpoint {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o644))
	c, err := header.ReadConfig(path)
	require.NoError(t, err)
	q, err := header.ReadQuantization(c)
	require.NoError(t, err)
	ck := &header.Checkpoint{Path: "small", Format: "safetensors", Config: c, Quantization: q}
	at := int64(0)
	add := func(name, stored string, d dtype.Dtype, shape ...int) {
		for _, s := range skip {
			if s == name {
				return
			}
		}
		size := int64(d.Size())
		for _, n := range shape {
			size *= int64(n)
		}
		ck.Tensors = append(ck.Tensors, header.Tensor{Name: name, Stored: stored, Dtype: d, Shape: shape, File: "m.safetensors", Offset: at, Size: size})
		at += size
	}
	for _, layer := range []string{"transformer.layers.0.", "transformer.layers.1."} {
		add(layer+"norm.weight", "BF16", dtype.Bfloat16, 64)
		add(layer+"part.0.weight", "BF16", dtype.Bfloat16, 64)
		add(layer+"part.1.weight", "BF16", dtype.Bfloat16, 64)
		add(layer+"attn.inv_freq", "F32", dtype.Float32, 16)
		for _, p := range []string{"proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"} {
			add(layer+p+".weight", "U32", dtype.Uint32, 64, 8)
			add(layer+p+".scales", "BF16", dtype.Bfloat16, 64, 2)
			add(layer+p+".biases", "BF16", dtype.Bfloat16, 64, 2)
		}
	}
	add("transformer.embed.weight", "BF16", dtype.Bfloat16, 96, 64)
	add("model.odd", "F16", dtype.Float16, 3)
	sort.Slice(ck.Tensors, func(i, j int) bool { return ck.Tensors[i].Name < ck.Tensors[j].Name })
	return ck
}

func list(t *testing.T, ck *header.Checkpoint) *tensors.List {
	t.Helper()
	file := filepath.Join(t.TempDir(), "small.yaml")
	require.NoError(t, os.WriteFile(file, []byte(graph), 0o644))
	reg, err := ops.Default()
	require.NoError(t, err)
	r := compose.Request{Graph: file, Shipped: graphs.Files, Registry: reg, Config: ck.Config, Checkpoint: ck}
	made, err := compose.Compose(context.Background(), r)
	require.NoError(t, err)
	require.NotNil(t, made.Audit, made.Diagnostics.Sorted())
	r.Checkpoint = nil
	alone, err := compose.Compose(context.Background(), r)
	require.NoError(t, err)
	require.NotNil(t, alone.Plan, alone.Diagnostics.Sorted())
	return tensors.Make(ck, made.Model, made.Audit, alone.Plan)
}

func text(t *testing.T, l *tensors.List) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, l.WriteText(&b, false))
	return b.String()
}

func TestText(t *testing.T) {
	require.Equal(t, `34 tensors stored, 32.9 KiB; 30 after the view of small, 32.8 KiB

  model.embed.weight                       bfloat16 [96 64]                                                             BF16 transformer.embed.weight                             embedding model.embed, head lm_head
  model.layers.*.mlp.down_proj.weight  ×2  uint32 [64 8]     affine 4 bits group 32, scales and biases bfloat16 [64 2]  U32 transformer.layers.*.mlp.down_proj.weight             linear model.layers.*.mlp.down_proj
  model.layers.*.mlp.gate_proj.weight  ×2  uint32 [64 8]     affine 4 bits group 32, scales and biases bfloat16 [64 2]  U32 transformer.layers.*.mlp.gate_proj.weight             linear model.layers.*.mlp.gate_proj
  model.layers.*.mlp.up_proj.weight    ×2  uint32 [64 8]     affine 4 bits group 32, scales and biases bfloat16 [64 2]  U32 transformer.layers.*.mlp.up_proj.weight               linear model.layers.*.mlp.up_proj
  model.layers.*.norm.weight           ×2  bfloat16 [64]                                                                BF16 transformer.layers.*.norm.weight                     rms_norm model.layers.*
  model.layers.*.proj.weight           ×2  uint32 [64 8]     affine 4 bits group 32, scales and biases bfloat16 [64 2]  U32 transformer.layers.*.proj.weight                      linear model.layers.*.proj
  model.layers.*.whole.weight          ×2  bfloat16 [2 64]                                                              2 × BF16 [64] transformer.layers.*.part.*.weight (stack)  sum model.layers.*
  model.odd                                float16 [3]                                                                  F16                                                       nothing

dropped by the view
  transformer.layers.*.attn.inv_freq  ×2  float32 [16]  F32

used by nothing: 1 tensor
  model.odd    float16 [3]    F16
`, text(t, list(t, checkpoint(t))))
}

func TestMissing(t *testing.T) {
	l := list(t, checkpoint(t, "transformer.layers.1.norm.weight", "transformer.embed.weight", "model.odd"))
	require.True(t, l.Guessed)
	require.Empty(t, l.Unused())
	var names []string
	for _, w := range l.Missing {
		names = append(names, w.Name)
	}
	require.Equal(t, []string{"model.embed.biases", "model.embed.scales", "model.embed.weight", "model.layers.1.norm.weight"}, names)
	require.Regexp(t, `(?m)^missing: 4 tensors\n  model.embed.weight +uint32 \[96 8\] +affine 4 bits group 32, .* for embedding model.embed, head lm_head\n  model.layers.1.norm.weight `, text(t, l))
}

// TestTiles: a storage that nothing computes yet is listed as what it is.
func TestTiles(t *testing.T) {
	skip := []string{"model.odd"}
	for _, layer := range []string{"0", "1"} {
		for _, part := range []string{"weight", "scales", "biases"} {
			skip = append(skip, "transformer.layers."+layer+".proj."+part)
		}
	}
	ck := checkpoint(t, skip...)
	for i, layer := range []string{"0", "1"} {
		for _, x := range []header.Tensor{
			{Name: "trellis", Stored: "I16", Dtype: dtype.Int16, Shape: []int{8, 8, 16 * (3 + i)}}, {Name: "suh", Stored: "F16", Dtype: dtype.Float16, Shape: []int{128}},
			{Name: "svh", Stored: "F16", Dtype: dtype.Float16, Shape: []int{128}}, {Name: "mul1", Stored: "I32", Dtype: dtype.Int32, Shape: []int{}},
		} {
			x.Name, x.File, x.Size = "transformer.layers."+layer+".proj."+x.Name, "m.safetensors", x.Bytes()
			ck.Tensors = append(ck.Tensors, x)
		}
	}
	sort.Slice(ck.Tensors, func(i, j int) bool { return ck.Tensors[i].Name < ck.Tensors[j].Name })
	l := list(t, ck)
	require.False(t, l.Guessed)
	require.Empty(t, l.Unused())
	out := text(t, l)
	require.Regexp(t, `model.layers.0.proj.trellis +int16 \[8 8 48\] +exl3 mul1 3 bits g256 tiles +I16 transformer.layers.\*.proj.trellis +linear model.layers.\*.proj`, out)
	require.Regexp(t, `model.layers.1.proj.trellis +int16 \[8 8 64\] +exl3 mul1 4 bits g256 tiles `, out)
	require.Regexp(t, `model.layers.\*.proj.suh +×2 +float16 \[128\] .* linear model.layers.\*.proj`, out)
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, list(t, checkpoint(t)).WriteJSON(&b))
	var got map[string]struct {
		Dtype   string
		Shape   []int
		Dropped bool
		Gives   []struct {
			Name   string
			Unused bool
			Made   string              `json:"made_by"`
			Quant  *header.Quant       `json:"quantization"`
			Users  []map[string]string `json:"used_by"`
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	require.Len(t, got, 34)
	require.True(t, got["transformer.layers.0.attn.inv_freq"].Dropped)
	part := got["transformer.layers.1.part.1.weight"]
	require.Equal(t, []int{64}, part.Shape)
	require.Equal(t, "model.layers.1.whole.weight", part.Gives[0].Name)
	require.Equal(t, "stack", part.Gives[0].Made)
	require.Equal(t, []map[string]string{{"path": "model.layers.1", "by": "sum"}}, part.Gives[0].Users)
	require.Equal(t, &header.Quant{GroupSize: 32, Bits: 4, Mode: "affine"}, got["transformer.layers.0.proj.weight"].Gives[0].Quant)
	require.True(t, got["model.odd"].Gives[0].Unused)

	b.Reset()
	require.NoError(t, list(t, checkpoint(t, "transformer.embed.weight")).WriteJSON(&b))
	require.Contains(t, b.String(), `"__missing__": [`)
}

func TestPlain(t *testing.T) {
	l := tensors.Plain(checkpoint(t))
	require.Contains(t, text(t, l), "34 tensors stored, 32.9 KiB\n\n  model.odd")
	require.Empty(t, l.Weights)
}
