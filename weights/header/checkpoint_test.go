package header

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/weights/internal/testfile"
)

func bytesOf(name string, n int) testfile.Tensor {
	return testfile.Tensor{Name: name, Type: "U8", Shape: []int{n}, Data: make([]byte, n)}
}

// folder writes files; of a value that begins with "->", a link.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if to, link := strings.CutPrefix(content, "->"); link {
			require.NoError(t, os.Symlink(to, path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return dir
}

func pack(tensors ...testfile.Tensor) string { return string(testfile.Pack(true, tensors...)) }

const (
	shard1 = "model-00001-of-00002.safetensors"
	shard2 = "model-00002-of-00002.safetensors"
	index  = `{"metadata": {"total_size": 5}, "weight_map": {"a": "` + shard1 + `", "b": "` + shard1 + `", "c": "` + shard2 + `"}}`
)

func TestOpenFolder(t *testing.T) {
	a, b, c := bytesOf("a", 1), bytesOf("b", 2), bytesOf("c", 2)
	outside := filepath.Join(t.TempDir(), "out.safetensors")
	require.NoError(t, os.WriteFile(outside, []byte(pack(c)), 0o644))
	for _, test := range []struct {
		name     string
		files    map[string]string
		tensors  string
		warnings []string
		err      string
	}{
		{name: "one file", files: map[string]string{"model.safetensors": pack(a, b)}, tensors: "a b"},
		{name: "shards", files: map[string]string{indexName: index, shard1: pack(a, b), shard2: pack(c)}, tensors: "a b c"},
		{name: "no index", files: map[string]string{shard1: pack(a, b), shard2: pack(c)}, tensors: "a b c", warnings: []string{"the 2 files that their names make a set"}},
		{name: "no index and a shard missing", files: map[string]string{shard1: pack(a, b)}, err: "shards are missing: " + shard2},
		{name: "two sets", files: map[string]string{shard1: pack(a, b), "model-00001-of-00003.safetensors": pack(c)}, err: "of different sets"},
		{name: "no weights", err: "no weights: neither model.safetensors nor"},
		{name: "other weights", files: map[string]string{"weights.safetensors": pack(a)}, err: "give a file by itself"},
		{name: "shard missing", files: map[string]string{indexName: index, shard1: pack(a, b)}, err: "shards that the index names are missing: " + shard2},
		{name: "tensor missing", files: map[string]string{indexName: index, shard1: pack(a), shard2: pack(c)}, err: "tensors that the index names are in none of its shards: b (should be in " + shard1 + ")"},
		{name: "tensor in another shard", files: map[string]string{indexName: index, shard1: pack(a), shard2: pack(b, c)}, tensors: "a b c", warnings: []string{"the index is stale, tensors are in other shards: b (in " + shard2}},
		{name: "tensor unlisted", files: map[string]string{indexName: index, shard1: pack(a, b), shard2: pack(c, bytesOf("d", 1))}, tensors: "a b c d", warnings: []string{"does not name (they are read): d"}},
		{name: "stray file", files: map[string]string{indexName: index, shard1: pack(a, b), shard2: pack(c), "model.safetensors": pack(a)}, tensors: "a b c", warnings: []string{"not read: model.safetensors"}},
		{name: "tensor twice", files: map[string]string{indexName: index, shard1: pack(a, b), shard2: pack(b, c)}, err: `tensor "b" is in two files, ` + shard1 + " and " + shard2},
		{name: "bad shard", files: map[string]string{indexName: index, shard1: pack(a, b), shard2: pack(c)[:20]}, err: shard2 + ": the file ends within its header"},
		{name: "index is no JSON", files: map[string]string{indexName: `{"weight_map": {"a": 1}}`}, err: indexName + ":1:22: expected a string"},
		{name: "index is empty", files: map[string]string{indexName: `{"metadata": {}}`}, err: "weight_map names no tensor"},
		{name: "index names a tensor twice", files: map[string]string{indexName: `{"weight_map": {"a": "x", "a": "y"}}`}, err: `tensor "a" is given twice`},
		{name: "shard above", files: map[string]string{indexName: `{"weight_map": {"c": "../out.safetensors"}}`}, err: `"../out.safetensors" is not a path inside the folder`},
		{name: "absolute shard", files: map[string]string{indexName: `{"weight_map": {"c": "` + outside + `"}}`}, err: "is not a path inside the folder"},
		{name: "backslashes", files: map[string]string{indexName: `{"weight_map": {"c": "..\\out.safetensors"}}`}, err: "is not a path inside the folder"},
		{name: "zero byte", files: map[string]string{indexName: `{"weight_map": {"c": "a\u0000"}}`}, err: "is not a path inside the folder"},
		{name: "link outside", files: map[string]string{indexName: `{"weight_map": {"c": "x"}}`, "x": "->" + outside}, err: "is a link that leaves the folder"},
		{name: "folder link outside", files: map[string]string{indexName: `{"weight_map": {"c": "d/out.safetensors"}}`, "d": "->" + filepath.Dir(outside)}, err: "is a link that leaves the folder"},
		{name: "weights linked outside", files: map[string]string{"model.safetensors": "->" + outside}, err: "is a link that leaves the folder"},
		{name: "link inside", files: map[string]string{indexName: `{"weight_map": {"c": "x"}}`, "x": "->sub/y", "sub/y": pack(c)}, tensors: "c"},
		{name: "shard in a folder below", files: map[string]string{indexName: `{"weight_map": {"c": "sub/y"}}`, "sub/y": pack(c)}, tensors: "c"},
		{name: "shard is a folder", files: map[string]string{indexName: `{"weight_map": {"c": "sub"}}`, "sub/y": ""}, err: "not a regular file"},
		{name: "link to itself", files: map[string]string{indexName: `{"weight_map": {"c": "x"}}`, "x": "->x"}, err: "too many links"},
		{name: "bad generation config", files: map[string]string{"model.safetensors": pack(a), "generation_config.json": "{"}, err: "generation_config.json:1:2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.files == nil {
				test.files = map[string]string{}
			}
			test.files["config.json"] = `{"model_type": "x"}`
			ck, err := Open(folder(t, test.files))
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			var names []string
			for _, x := range ck.Tensors {
				names = append(names, x.Name)
			}
			require.Equal(t, test.tensors, strings.Join(names, " "))
			require.Len(t, ck.Warnings, len(test.warnings), "%v", ck.Warnings)
			for i, w := range test.warnings {
				require.Contains(t, ck.Warnings[i], w)
			}
			for _, f := range ck.Files {
				info, err := os.Stat(f)
				require.NoError(t, err)
				require.NoError(t, ck.Unchanged(f, info))
			}
		})
	}
}

// Hugging Face's cache keeps the files in blobs, and links to them in a folder per revision.
func TestOpenCache(t *testing.T) {
	dir := folder(t, map[string]string{
		"models--x/blobs/1": `{"model_type": "x"}`, "models--x/blobs/2": pack(bytesOf("a", 1)), "secret": pack(bytesOf("a", 1)),
		"models--x/snapshots/abc/config.json": "->../../blobs/1", "models--x/snapshots/abc/model.safetensors": "->../../blobs/2",
		"models--x/snapshots/bad/config.json": "->../../blobs/1", "models--x/snapshots/bad/model.safetensors": "->../../../secret",
	})
	ck, err := Open(filepath.Join(dir, "models--x", "snapshots", "abc"))
	require.NoError(t, err)
	require.Len(t, ck.Tensors, 1)
	_, err = Open(filepath.Join(dir, "models--x", "snapshots", "bad"))
	require.ErrorContains(t, err, "leaves the folder")
}

func TestOpenSettings(t *testing.T) {
	dir := folder(t, map[string]string{
		"config.json":            `{"model_type": "x", "quantization": {"group_size": 32, "bits": 4, "what": 1}}`,
		"generation_config.json": `{"eos_token_id": [1, 2]}`, "tokenizer.json": "{}", "chat_template.jinja": "",
		"model.safetensors": string(testfile.Safetensors(`{"__metadata__":{"format":"mlx"}}`, nil)),
	})
	ck, err := Open(dir)
	require.NoError(t, err)
	require.Equal(t, &Quant{GroupSize: 32, Bits: 4, Mode: "affine"}, ck.Quantization.Default)
	require.Equal(t, map[string]string{"tokenizer.json": filepath.Join(dir, "tokenizer.json"), "chat_template.jinja": filepath.Join(dir, "chat_template.jinja")}, ck.Tokenizer)
	require.Equal(t, "mlx", ck.Metadata["format"])
	require.Len(t, ck.Warnings, 1)
	ids, err := ck.GenerationConfig.TokenIDs("eos_token_id")
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, ids)

	file, err := Open(filepath.Join(dir, "model.safetensors"))
	require.NoError(t, err)
	require.Equal(t, "x", file.Config.Values["model_type"])
	alone := folder(t, map[string]string{"adapters.safetensors": pack(bytesOf("a", 1))})
	file, err = Open(filepath.Join(alone, "adapters.safetensors"))
	require.NoError(t, err)
	require.Nil(t, file.Config)
	require.Len(t, file.Tensors, 1)

	opt := folder(t, map[string]string{"config.json": "{}", "model.safetensors": pack(bytesOf("a", 1)), "hf_quant_config.json": `{"quantization": {"quant_algo": "NVFP4"}}`})
	ck, err = Open(opt)
	require.NoError(t, err)
	require.Equal(t, "modelopt", ck.Quantization.Method)
	require.Equal(t, "nvfp4", ck.Quantization.Default.Mode)
}

func TestOpenErrors(t *testing.T) {
	dir := folder(t, map[string]string{"x.gguf": "GGUF", "y.bin": "", "empty/z": ""})
	for _, c := range []struct{ name, path, want string }{
		{"nothing there", "nothing", "no such file"},
		{"no config", "", "give one of its files by itself: "},
		{"no checkpoint", "empty", "not a checkpoint"},
		{"unknown file", "y.bin", "a checkpoint is a folder, a .safetensors file or a .gguf file"},
		{"bad GGUF", "x.gguf", "x.gguf: not a GGUF file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(filepath.Join(dir, c.path))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestUnchanged(t *testing.T) {
	dir := folder(t, map[string]string{"config.json": "{}", "model.safetensors": pack(bytesOf("a", 1))})
	ck, err := Open(dir)
	require.NoError(t, err)
	path := filepath.Join(dir, "model.safetensors")
	require.NoError(t, os.Truncate(path, 10))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.ErrorContains(t, ck.Unchanged(path, info), "has changed since its header was read")
	require.ErrorContains(t, ck.Unchanged("other", info), "not a file of this checkpoint")
}
