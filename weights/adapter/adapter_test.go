package adapter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/internal/testfile"
	"github.com/graphrun/graphrun/weights/view"
)

// small is a plan of a few weights, some of whose tensors have other names in the checkpoint.
func small() *plan.Plan {
	p := &plan.Plan{}
	add := func(path, kind string, in, out int, recipe *view.Recipe) {
		p.Tensors = append(p.Tensors, plan.Tensor{Name: path + ".weight", Recipe: recipe})
		p.Weights = append(p.Weights, plan.Weight{Path: path, Tensor: len(p.Tensors) - 1, Scales: -1, Biases: -1, Bias: -1, Facts: plan.Facts{Inputs: in, Outputs: out}})
		p.Ports = append(p.Ports, plan.Port{Entry: "text", Path: path, Kind: kind, Weights: []int{len(p.Weights) - 1}})
	}
	stored := func(name string, shape ...int) *view.Recipe {
		return view.FromTensor(&header.Tensor{Name: name, Shape: shape, Dtype: dtype.Bfloat16})
	}
	add("model.embed_tokens", "embedding", 8, 32, nil)
	add("model.layers.0.self_attn.q_proj", "linear", 8, 16, stored("blk.0.q.weight", 16, 8))
	add("model.layers.0.self_attn.k_proj", "linear", 8, 4, nil)
	add("model.layers.0.mlp.down_proj", "linear", 16, 8, stored("model.layers.0.mlp.down_proj.weight", 8, 16))
	add("model.layers.0.square", "linear", 4, 4, nil)
	qkv := stored("model.layers.0.attn.qkv.weight", 12, 8)
	add("model.layers.0.attn.v", "linear", 8, 4, &view.Recipe{Op: view.OpSlice, Inputs: []*view.Recipe{qkv}, Shape: []int{4, 8}})
	add("model.layers.0.experts.up_proj", "experts", 8, 16, nil)
	add("language_model.model.norm_proj", "linear", 8, 8, nil)
	return p
}

type half struct {
	name  string
	shape []int
}

// folder writes an adapter's folder.
func folder(t testing.TB, config string, halves ...half) string {
	dir := t.TempDir()
	var tensors []testfile.Tensor
	for _, h := range halves {
		n := 4
		for _, d := range h.shape {
			n *= d
		}
		tensors = append(tensors, testfile.Tensor{Name: h.name, Type: "F32", Shape: h.shape, Data: make([]byte, n)})
	}
	name := "adapters.safetensors"
	if strings.Contains(config, "peft_type") {
		name = "adapter_model.safetensors"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "adapter_config.json"), []byte(config), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), testfile.Pack(true, tensors...), 0o644))
	return dir
}

const (
	mlxConfig  = `{"fine_tune_type":"lora","num_layers":1,"lora_parameters":{"rank":2,"scale":20.0,"dropout":0.0}}`
	peftConfig = `{"peft_type":"LORA","r":2,"lora_alpha":16,"bias":"none","modules_to_save":null}`
)

func TestRead(t *testing.T) {
	q, down := "model.layers.0.self_attn.q_proj", "model.layers.0.mlp.down_proj"
	for name, c := range map[string]struct {
		config string
		halves []half
		path   string
		scale  float64
		turned bool
	}{
		"mlx-lm":            {mlxConfig, []half{{q + ".lora_a", []int{8, 2}}, {q + ".lora_b", []int{2, 16}}}, q, 20, false},
		"scale by default":  {`{"lora_parameters":{"rank":2}}`, []half{{q + ".lora_a", []int{8, 2}}, {q + ".lora_b", []int{2, 16}}}, q, 20, false},
		"rank-stabilised":   {`{"lora_parameters":{"rank":4,"scale":10,"rs_lora":true}}`, []half{{down + ".lora_a", []int{16, 4}}, {down + ".lora_b", []int{4, 8}}}, down, 5, false},
		"PEFT":              {peftConfig, []half{{"base_model.model." + q + ".lora_A.weight", []int{2, 8}}, {"base_model.model." + q + ".lora_B.weight", []int{16, 2}}}, q, 8, true},
		"PEFT, rsLoRA":      {`{"peft_type":"LORA","r":4,"lora_alpha":6,"use_rslora":true}`, []half{{q + ".lora_A.weight", []int{4, 8}}, {q + ".lora_B.weight", []int{16, 4}}}, q, 3, true},
		"PEFT, exceptions":  {`{"peft_type":"LORA","r":2,"lora_alpha":6,"rank_pattern":{"q_proj":4},"alpha_pattern":{"self_attn.q_proj":2,"q_proj":9}}`, []half{{q + ".lora_A.weight", []int{4, 8}}, {q + ".lora_B.weight", []int{16, 4}}}, q, 0.5, true},
		"square, mlx-lm":    {`{"lora_parameters":{"rank":4,"scale":1}}`, []half{{"model.layers.0.square.lora_a", []int{4, 4}}, {"model.layers.0.square.lora_b", []int{4, 4}}}, "model.layers.0.square", 1, false},
		"square, PEFT":      {`{"peft_type":"LORA","r":4,"lora_alpha":4}`, []half{{"model.layers.0.square.lora_A.weight", []int{4, 4}}, {"model.layers.0.square.lora_B.weight", []int{4, 4}}}, "model.layers.0.square", 1, true},
		"the stored name":   {mlxConfig, []half{{"blk.0.q.lora_a", []int{8, 2}}, {"blk.0.q.lora_b", []int{2, 16}}}, q, 20, false},
		"a tower's prefix":  {mlxConfig, []half{{"language_model." + q + ".lora_a", []int{8, 2}}, {"language_model." + q + ".lora_b", []int{2, 16}}}, q, 20, false},
		"without a prefix":  {mlxConfig, []half{{"model.norm_proj.lora_a", []int{8, 2}}, {"model.norm_proj.lora_b", []int{2, 8}}}, "language_model.model.norm_proj", 20, false},
		"mixed by its form": {peftConfig, []half{{q + ".lora_A.weight", []int{8, 2}}, {q + ".lora_B.weight", []int{2, 16}}}, q, 8, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Read(folder(t, c.config, c.halves...), small())
			require.NoError(t, err)
			require.Len(t, a.Factors, 1)
			f := a.Factors[0]
			require.Equal(t, c.path, f.Path)
			require.InDelta(t, c.scale, f.Scale, 1e-12)
			w := small().Weights[f.Weight].Facts
			require.Equal(t, []int{w.Inputs, f.Rank}, f.A.Shape)
			require.Equal(t, []int{f.Rank, w.Outputs}, f.B.Shape)
			require.Equal(t, c.turned, f.A.Op == view.OpContiguous)
			require.Equal(t, int64(4*f.Rank*(w.Inputs+w.Outputs)), a.Bytes())
		})
	}
}

// Everything that is wrong is told at once, by the name that the adapter has for it.
func TestReadFaulty(t *testing.T) {
	q, k := "model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj"
	for name, c := range map[string]struct {
		config string
		halves []half
		want   []string
	}{
		"several at once": {mlxConfig, []half{
			{q + ".lora_a", []int{8, 2}},
			{k + ".lora_a", []int{8, 2}}, {k + ".lora_b", []int{2, 5}},
			{"model.layers.0.self_attn.w_proj.lora_a", []int{8, 2}}, {"model.layers.0.self_attn.w_proj.lora_b", []int{2, 4}},
			{"model.layers.7.self_attn.q_proj.lora_a", []int{8, 2}},
			{"model.embed_tokens.lora_a", []int{32, 2}}, {"model.layers.0.experts.up_proj.lora_a", []int{1, 2, 8}},
			{"model.layers.0.attn.qkv.lora_a", []int{8, 2}}, {q + ".lora_m", []int{3}},
		}, []string{
			q + ".lora_a: stands alone: its other half, " + q + ".lora_b, is missing",
			k + ": the halves are [8, 2] and [2, 5], which the weight, 8 inputs and 4 outputs, does not take; [8, rank] and [rank, 4] are wanted, of one rank",
			"model.layers.0.self_attn.w_proj: the model has no such weight; did you mean model.layers.0.self_attn.k_proj?",
			"model.layers.7.self_attn.q_proj: the model has no such weight; did you mean " + q + "?",
			"model.embed_tokens: adapters of embeddings",
			"model.layers.0.experts.up_proj: adapters of experts are not supported",
			"model.layers.0.attn.qkv: is no weight by itself: the model's view splits, joins or turns it (model.layers.0.attn.v is made of it)",
			q + ".lora_m: is no half of an adapter; did you mean " + q + ".lora_a?",
		}},
		"a rank that is not the settings'": {mlxConfig, []half{{q + ".lora_a", []int{8, 3}}, {q + ".lora_b", []int{3, 16}}}, []string{q + ": has rank 3; the settings say 2"}},
		"halves of two ranks":              {peftConfig, []half{{q + ".lora_A.weight", []int{2, 8}}, {q + ".lora_B.weight", []int{16, 3}}}, []string{"[rank, 8] and [16, rank] are wanted"}},
		"twice": {mlxConfig, []half{{q + ".lora_a", []int{8, 2}}, {q + ".lora_b", []int{2, 16}}, {"blk.0.q.lora_a", []int{8, 2}}, {"blk.0.q.lora_b", []int{2, 16}}},
			[]string{"is the weight " + q}},
		"DoRA":            {`{"fine_tune_type":"dora","lora_parameters":{"rank":2}}`, []half{{q + ".m", []int{16}}}, []string{"fine_tune_type: DoRA", q + ".m: is the magnitude of a DoRA adapter"}},
		"whole weights":   {`{"fine_tune_type":"full"}`, nil, []string{"open the tuned checkpoint itself", "lora_parameters", "it holds no tensors"}},
		"PEFT's settings": {`{"peft_type":"IA3","r":0,"lora_alpha":"x","use_dora":true,"bias":"all","modules_to_save":["lm_head"],"use_rslora":1}`, nil, []string{"peft_type: IA3", "r: 0 is no rank", "lora_alpha: x is no number", "use_dora", "bias: ", "modules_to_save", "use_rslora: 1 is neither"}},
		"a pattern":       {`{"peft_type":"LORA","alpha_pattern":{"(":1}}`, nil, []string{"alpha_pattern.(: is no pattern"}},
		"alpha":           {`{"lora_parameters":{"rank":2,"alpha":16}}`, nil, []string{"lora_parameters.alpha: mlx-lm's adapters have a scale"}},
		"no adapter":      {`{"hidden_size":8}`, nil, []string{"says nothing of an adapter"}},
		"not finite":      {`{"lora_parameters":{"rank":2,"scale":Infinity}}`, nil, []string{"lora_parameters.scale: +Inf is no finite number"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.config, c.halves...)
			_, err := Read(dir, small())
			var faulty *Error
			require.ErrorAs(t, err, &faulty)
			var all []string
			for _, p := range faulty.Problems {
				all = append(all, p.String())
			}
			for _, w := range c.want {
				require.Contains(t, strings.Join(all, "\n"), w)
			}
			require.GreaterOrEqual(t, len(all), len(c.want))
			require.Contains(t, err.Error(), "adapter "+dir+" cannot be mounted")
		})
	}
}

func TestReadWithoutFiles(t *testing.T) {
	_, err := Read(filepath.Join(t.TempDir(), "none"), small())
	require.ErrorContains(t, err, "there is no adapter")
	dir := t.TempDir()
	_, err = Read(dir, small())
	require.ErrorContains(t, err, "holds no optiq_lora_config.json and no adapter_config.json")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "adapter_config.json"), []byte(mlxConfig), 0o644))
	_, err = Read(dir, small())
	require.ErrorContains(t, err, "holds no adapters.safetensors and no adapter_model.safetensors")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "adapters.safetensors"), []byte("none"), 0o644))
	_, err = Read(dir, small())
	require.ErrorContains(t, err, "adapters.safetensors")
}

// Whatever the two files hold: an adapter that fits the plan, or an error.
func FuzzAdapter(f *testing.F) {
	q := "model.layers.0.self_attn.q_proj"
	pack := func(a, b string, x, y []int) []byte {
		return testfile.Pack(true, testfile.Tensor{Name: a, Type: "F32", Shape: x, Data: make([]byte, 4*x[0]*x[1])}, testfile.Tensor{Name: b, Type: "F32", Shape: y, Data: make([]byte, 4*y[0]*y[1])})
	}
	mlx := pack(q+".lora_a", q+".lora_b", []int{8, 2}, []int{2, 16})
	peft := pack("base_model.model."+q+".lora_A.weight", "base_model.model."+q+".lora_B.weight", []int{2, 8}, []int{16, 2})
	f.Add([]byte(mlxConfig), mlx)
	f.Add([]byte(peftConfig), peft)
	f.Add([]byte(peftConfig), mlx)
	f.Add([]byte(`{"peft_type":"LORA","r":1e400,"alpha_pattern":{"(a+)+$":1},"rank_pattern":{"":-3}}`), peft)
	f.Add([]byte(`{"lora_parameters":{"rank":-1,"scale":NaN}}`), testfile.Safetensors(`{}`, nil))
	f.Add([]byte(`{"r":2}`), pack(".lora_a", ".lora_b", []int{1, 1}, []int{1, 1}))
	f.Fuzz(func(t *testing.T, config, factors []byte) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "adapter_config.json"), config, 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "adapters.safetensors"), factors, 0o644))
		p := small()
		a, err := Read(dir, p)
		if err != nil {
			return
		}
		for _, x := range a.Factors {
			w := p.Weights[x.Weight].Facts
			require.Equal(t, []int{w.Inputs, x.Rank}, x.A.Shape)
			require.Equal(t, []int{x.Rank, w.Outputs}, x.B.Shape)
		}
	})
}
