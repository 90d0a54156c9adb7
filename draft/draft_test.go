package draft_test

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/compose/format"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/draft"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights/header"
)

func request(t *testing.T, config string) compose.Request {
	t.Helper()
	reg, err := ops.Default()
	require.NoError(t, err)
	data, err := fs.ReadFile(graphs.Files, "models/examples/"+config)
	require.NoError(t, err)
	c, err := header.ParseConfig("config.json", bytes.NewReader(data))
	require.NoError(t, err)
	return compose.Request{Shipped: graphs.Files, Registry: reg, Config: c, Exact: true}
}

func made(t *testing.T, r compose.Request) *compose.Result {
	t.Helper()
	out, err := compose.Compose(context.Background(), r)
	require.NoError(t, err)
	for _, d := range out.Diagnostics.Sorted() {
		if d.Severity == diag.Error {
			require.NoError(t, d)
		}
	}
	return out
}

func canonical(t *testing.T, text []byte) {
	t.Helper()
	var list diag.List
	again, err := format.Source("draft.yaml", text, &list)
	require.NoError(t, err)
	require.Zero(t, list.Len())
	require.Equal(t, string(text), string(again), "formatted")
}

// TestVariants writes a variant for the example of every shipped model: it is formatted, it holds, and it changes no class.
func TestVariants(t *testing.T) {
	configs, err := fs.Glob(graphs.Files, "models/examples/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, configs)
	for _, config := range configs {
		if len(configs) > 10 && !strings.Contains(config, "small") && !strings.Contains(config, "phi3") {
			continue // as deep as real models are
		}
		t.Run(path.Base(config), func(t *testing.T) {
			r := request(t, path.Base(config))
			before := made(t, r)
			file := filepath.Join(string(filepath.Separator), "none", "start.yaml")
			text, err := draft.Variant(before.Plan, r.Registry, draft.About{Name: "start", Flag: "--config x", Path: "x"}, "0123")
			require.NoError(t, err)
			canonical(t, text)
			r.Variants, r.Overlay = []string{file}, map[string][]byte{file: text}
			after := made(t, r)
			require.Len(t, after.Plan.Ports, len(before.Plan.Ports))
			for i := range after.Plan.Ports {
				p, q := &before.Plan.Ports[i], &after.Plan.Ports[i]
				require.Equal(t, before.Plan.Instances[p.Rows[0].Instance].Class, after.Plan.Instances[q.Rows[0].Instance].Class, p.Path)
				if r.Registry.Class(before.Plan.Instances[p.Rows[0].Instance].Class).Takes(p.Kind) {
					require.False(t, q.Rows[0].Exact, "%s is bound by a line", p.Path)
				}
			}
		})
	}
}

// unknown makes a request for a model that nobody knows: the config of one that is shipped under another model_type, and
// the tensors that its graph would want, less some and with others.
func unknown(t *testing.T, config string, without func(string) bool, more ...header.Tensor) compose.Request {
	r := request(t, config)
	plan := made(t, r).Plan
	values := map[string]any{}
	for k, v := range r.Config.Values {
		values[k] = v
	}
	values["model_type"] = "brandnew"
	r.Shipped = fewModels(t)
	r.Config = &header.Config{Path: "config.json", Values: values}
	q, err := header.ReadQuantization(r.Config)
	require.NoError(t, err)
	ck := &header.Checkpoint{Path: "brandnew", Format: "safetensors", Config: r.Config, Quantization: q, Tensors: more}
	for _, x := range plan.Tensors {
		if without == nil || !without(x.Name) {
			ck.Tensors = append(ck.Tensors, header.Tensor{Name: x.Name, Dtype: x.Dtype, Stored: strings.ToUpper(x.Dtype.String()), Shape: x.Shape, File: "model.safetensors"})
		}
	}
	slices.SortFunc(ck.Tensors, func(a, b header.Tensor) int { return strings.Compare(a.Name, b.Name) })
	r.Checkpoint = ck
	return r
}

// fewModels are the shipped blocks with some of the models, which is as good and quicker.
func fewModels(t *testing.T) fs.FS {
	out := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(graphs.Files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if strings.HasPrefix(name, "models/") && !slices.Contains([]string{"llama.yaml", "qwen3_moe.yaml", "qwen2_moe.yaml", "gemma2.yaml"}, path.Base(name)) {
			return nil
		}
		data, err := fs.ReadFile(graphs.Files, name)
		out[name] = &fstest.MapFile{Data: data}
		return err
	}))
	return out
}

func drafted(t *testing.T, r compose.Request) (text string, fits bool) {
	t.Helper()
	out, fits, err := draft.Model(context.Background(), r, draft.About{Name: "brandnew", Flag: "--checkpoint x", Path: "x"})
	require.NoError(t, err)
	canonical(t, out)
	// Names and types hold in any case.
	file := filepath.Join(string(filepath.Separator), "none", "brandnew.yaml")
	r.Graph, r.Overlay = file, map[string][]byte{file: out}
	alone := r
	alone.Config, alone.Checkpoint = nil, nil
	made(t, alone)
	if fits {
		require.NotNil(t, made(t, r).Plan)
	}
	return string(out), fits
}

func TestDraftOfAKnownModel(t *testing.T) {
	text, fits := drafted(t, unknown(t, "qwen3-moe-small.json", nil))
	require.True(t, fits, text)
	require.Contains(t, text, "# It is the shipped model qwen3_moe, the nearest")
	require.Contains(t, text, "\nname: brandnew\n")
	require.Contains(t, text, "\nrecognises: config.string('model_type') == 'brandnew'\n")
	require.NotContains(t, text, "examples:")
	require.Contains(t, text, "# Every tensor is used and none is missing.")
}

func TestDraftThrowsSwitches(t *testing.T) {
	// The shipped model that has norms of q and k in its text has no biases: a setting of its block.
	var biases []header.Tensor
	for _, layer := range []string{"0", "1", "2", "3"} {
		for _, p := range []string{"q", "k", "v"} {
			biases = append(biases, header.Tensor{Name: "model.layers." + layer + ".self_attn." + p + "_proj.bias", Dtype: dtype.Bfloat16, Stored: "BF16"})
		}
	}
	r := unknown(t, "qwen3-moe-small.json", nil)
	for i := range biases {
		x, ok := r.Checkpoint.Lookup(strings.TrimSuffix(biases[i].Name, "bias") + "weight")
		require.True(t, ok)
		biases[i].Shape, biases[i].File = x.Shape[:1], "model.safetensors"
	}
	text, fits := drafted(t, unknown(t, "qwen3-moe-small.json", nil, biases...))
	require.True(t, fits, text)
	require.Contains(t, text, "# - changed: attention is called with qkv_bias: true, as the tensors want it")
	require.Contains(t, text, "qkv_bias: true")
}

func TestDraftSaysWhatIsNotDecided(t *testing.T) {
	r := unknown(t, "qwen3-moe-small.json", func(name string) bool { return strings.HasSuffix(name, "post_attention_layernorm.weight") },
		header.Tensor{Name: "model.layers.0.novel.gate", Dtype: dtype.Bfloat16, Stored: "BF16", Shape: []int{7}, File: "model.safetensors"})
	r.Config.Values["novel_scale"] = 2.5
	text, fits := drafted(t, r)
	require.False(t, fits)
	require.Contains(t, text, "# Not decided:")
	require.Regexp(t, `(?s)tensors that nothing here uses.*model\.layers\.\*\.novel\.gate`, text)
	require.Regexp(t, `(?s)does not have.*model\.layers\.\*\.post_attention_layernorm\.weight`, text)
	require.Regexp(t, `(?s)config keys.*novel_scale`, text)
}

func TestDraftOfAConfigAlone(t *testing.T) {
	r := request(t, "gemma2-2b.json")
	r.Shipped = fewModels(t)
	r.Config.Values["model_type"] = "it's # new"
	text, fits := drafted(t, r)
	require.False(t, fits)
	require.Contains(t, text, "# Only the config was looked at")
	require.Contains(t, text, "recognises: config.string('model_type') == 'its  new'")
}
