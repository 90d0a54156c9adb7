package graphs_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights/header"
)

var update = flag.Bool("update", false, "write the headers of the variants' examples, and the tables that explain gives")

// The artifact that the trellis variants are written for, as far as it is published: 64 layers, every fourth one attention,
// gate and up that differ in bits in 10 of them, 40 down projections in the interleaved layout (3 bits) and 24 by rows, 26,
// 140 and 26 of the 192 trellis tensors at 2, 3 and 4 bits. Which layers these are is not published: they are spread here.
const (
	hybridLayers = 64
	hybridFolder = "variants/examples/"
	hybridName   = "qwen3_5-27b-trellis"
)

const hybridConfig = `"model_type": "qwen3_5",
 "tie_word_embeddings": false,
 "torch_dtype": "bfloat16",
 "text_config": {"model_type": "qwen3_5_text", "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 64, "num_attention_heads": 24,
  "num_key_value_heads": 4, "head_dim": 256, "rms_norm_eps": 1e-06, "vocab_size": 248320, "max_position_embeddings": 262144,
  "linear_num_value_heads": 48, "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
  "tie_word_embeddings": false, "attention_bias": false, "full_attention_interval": 4,
  "rope_parameters": {"rope_type": "default", "rope_theta": 10000000.0, "partial_rotary_factor": 0.25, "mrope_interleaved": true, "mrope_section": [11, 11, 10]}}`

// hybridBits are the bits of gate, up and down of each layer.
func hybridBits() (gate, up, down [hybridLayers]int) {
	mixed, same, rows := 0, 0, 0
	for i := range hybridLayers {
		gate[i], up[i], down[i] = 3, 3, 3
		switch {
		case i%6 == 2 && mixed < 10: // of ten: 2 and 3 in four, 3 and 4 in six
			if mixed++; mixed <= 4 {
				gate[i] = 2
			} else {
				up[i] = 4
			}
		case same < 5:
			gate[i], up[i] = 2, 2
			same++
		case i >= hybridLayers-5 && same < 9:
			gate[i], up[i] = 4, 4
			same++
		}
		if i%8 >= 5 {
			down[i] = 2 + 2*(rows%2)
			rows++
		}
	}
	return gate, up, down
}

// hybridFiles writes a config and a listing of tensors: the graph's own tensors, stored as the config's table says, those of
// down projections with 3 bits interleaved.
func hybridFiles(t *testing.T) (config, tensors []byte) {
	t.Helper()
	gate, up, down := hybridBits()
	var table strings.Builder
	entry := func(i int, name string, bits, axis int) {
		fmt.Fprintf(&table, ",\n  \"language_model.model.layers.%d.mlp.%s\": {\"bits\": %d, \"group_size\": 256, \"mode\": \"trellis\", \"trellis\": {\"L\": 12, \"code\": \"1mad\", \"axis\": %d}}", i, name, bits, axis)
	}
	for i := range hybridLayers {
		entry(i, "gate_proj", gate[i], 1)
		entry(i, "up_proj", up[i], 1)
		entry(i, "down_proj", down[i], 0)
		if (i+1)%4 != 0 {
			fmt.Fprintf(&table, ",\n  \"language_model.model.layers.%d.linear_attn.in_proj_qkv\": {\"bits\": 3, \"group_size\": 64}", i)
		}
	}
	text := fmt.Sprintf("{%s,\n \"quantization\": {\"bits\": 4, \"group_size\": 64%s}}\n", hybridConfig, table.String())
	parsed, err := header.ParseConfig("config.json", strings.NewReader(strings.ReplaceAll(text, "language_model.", "")))
	require.NoError(t, err)
	reg, err := ops.Default()
	require.NoError(t, err)
	r, err := compose.Compose(context.Background(), compose.Request{Shipped: graphs.Files, Registry: reg, Model: "qwen3_5", Config: parsed, Exact: true})
	require.NoError(t, err)
	require.NotNil(t, r.Plan, "%v", r.Diagnostics.Sorted())
	var b strings.Builder
	sep := "{"
	for _, tensor := range r.Plan.Tensors {
		var layer int
		dims := tensor.Shape
		if _, err := fmt.Sscanf(tensor.Name, "model.layers.%d.mlp.down_proj.weight", &layer); err == nil && down[layer] == 3 && strings.HasSuffix(tensor.Name, ".weight") {
			dims = []int{5120 / 512, 17408, 48}
		}
		fmt.Fprintf(&b, "%s\n\"language_model.%s\": {\"dtype\": \"%s\", \"shape\": %s}", sep, tensor.Name, tensor.Dtype, strings.ReplaceAll(fmt.Sprint(dims), " ", ", "))
		sep = ","
	}
	return []byte(text), []byte(b.String() + "\n}\n")
}

// TestHybridHeaders holds the files of the examples to what they are made of.
func TestHybridHeaders(t *testing.T) {
	config, tensors := hybridFiles(t)
	for name, want := range map[string][]byte{".json": config, ".tensors.json": tensors} {
		file := filepath.FromSlash(hybridFolder + hybridName + name)
		if *update {
			require.NoError(t, os.WriteFile(file, want, 0o644))
			continue
		}
		have, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), string(have), "go test ./graphs -update writes it anew")
	}
	gate, up, down := hybridBits()
	mixed, interleaved, counts := 0, 0, map[int]int{}
	for i := range hybridLayers {
		if gate[i] != up[i] {
			mixed++
		}
		if down[i] == 3 {
			interleaved++
		}
		for _, bits := range []int{gate[i], up[i], down[i]} {
			counts[bits]++
		}
	}
	require.Equal(t, 10, mixed)
	require.Equal(t, 40, interleaved)
	require.Equal(t, map[int]int{2: 26, 3: 140, 4: 26}, counts)
}
