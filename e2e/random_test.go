//go:build cgo && mlx

package e2e

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/plan"
)

// hybridConfig is a hybrid model of four layers, the last with attention, whose projections all take inputs by 256.
const hybridConfig = `{"model_type": "qwen3_5", "torch_dtype": "float32", "tie_word_embeddings": true, "text_config": {
  "model_type": "qwen3_5_text", "hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 64, "rms_norm_eps": 1e-6, "vocab_size": 512, "max_position_embeddings": 4096,
  "linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 128, "linear_value_head_dim": 64,
  "linear_conv_kernel_dim": 4, "tie_word_embeddings": true, "attention_bias": false, "full_attention_interval": 4,
  "rope_parameters": {"rope_type": "default", "rope_theta": 10000000.0, "partial_rotary_factor": 0.25, "mrope_interleaved": true,
                      "mrope_section": [3, 3, 2]}}}`

// randomCheckpoint writes a checkpoint of random numbers for a config: the tensors that its plan asks for. Matrices keep the size
// of what they multiply, gains are about 1, other vectors about 0.
func randomCheckpoint(t *testing.T, config string) string {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.json")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o644))
	request, err := model.Facts{Config: file, Device: "cpu", Exact: true}.Request()
	require.NoError(t, err)
	made, err := model.Compose(context.Background(), request)
	require.NoError(t, err)
	require.NotNil(t, made.Plan, "%v", made.Found)
	random := rand.New(rand.NewPCG(5, 6))
	saveArrays(t, filepath.Join(dir, "model.safetensors"), func(add func(string, mlx.Array)) {
		for _, w := range made.Plan.Tensors {
			a, err := mlx.FromFloat32s(numbersFor(random, w), w.Shape...)
			require.NoError(t, err)
			add(w.Name, a)
		}
	})
	return dir
}

func numbersFor(random *rand.Rand, w plan.Tensor) []float32 {
	n := 1
	for _, d := range w.Shape {
		n *= d
	}
	mean, size := 0.0, 1/math.Sqrt(float64(n)/float64(w.Shape[0]))
	if len(w.Shape) == 1 {
		size = 0.5
		if strings.HasSuffix(w.Name, ".weight") {
			mean, size = 1, 0.1
		}
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(mean + size*random.NormFloat64())
	}
	return values
}

// saveArrays writes arrays, which it frees.
func saveArrays(t *testing.T, path string, fill func(add func(name string, a mlx.Array))) {
	arrays := map[string]mlx.Array{}
	fill(func(name string, a mlx.Array) { arrays[name] = a })
	w := mlx.NewWorker()
	defer w.Close()
	require.NoError(t, w.Do(func() error {
		defer func() {
			for _, a := range arrays {
				a.Free()
			}
		}()
		return mlx.SaveSafetensors(path, arrays, nil)
	}))
}
