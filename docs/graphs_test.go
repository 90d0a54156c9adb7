package docs

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights/header"
)

// config is what the documents' models are composed for.
const config = `{"model_type": "tiny", "hidden_size": 64, "vocab_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
	"num_key_value_heads": 2, "torch_dtype": "bfloat16"}`

var (
	fence = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	body  = regexp.MustCompile(`(?m)^(nodes|bind|rules):`)
	kind  = regexp.MustCompile(`(?m)^kind: (\S+)`)
	named = regexp.MustCompile(`(?m)^name: (\S+)`)
)

// TestShownGraphs composes every whole graph file that a document shows, all of a document in one folder.
func TestShownGraphs(t *testing.T) {
	for _, doc := range documents(t) {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		dir, files := t.TempDir(), []string{}
		for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(m[1], "graphrun: v1") || !body.MatchString(m[1]) {
				continue
			}
			file := filepath.Join(dir, named.FindStringSubmatch(m[1])[1]+".yaml")
			require.NoError(t, os.WriteFile(file, []byte(m[1]), 0o644))
			files = append(files, file)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644))
		for _, file := range files {
			t.Run(filepath.Base(doc)+"/"+filepath.Base(file), func(t *testing.T) { composes(t, file, filepath.Join(dir, "config.json")) })
		}
	}
}

// exampleConfig is of the checkpoint that the examples are for.
const exampleConfig = "../examples/smollm2-135m.json"

// TestExamples composes the example files.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { composes(t, file, exampleConfig) })
	}
}

// composes composes a file without a finding. A variant and rules are held to the shipped model of the examples.
func composes(t *testing.T, file, settings string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	r := compose.Request{Graph: file, Shipped: graphs.Files}
	switch kind.FindStringSubmatch(string(text))[1] {
	case "variant":
		r.Graph, r.Variants, settings = "", []string{file}, exampleConfig
	case "rules":
		r.Graph, r.Rules, settings = "", []string{file}, exampleConfig
	}
	r.Config, err = header.ReadConfig(settings)
	require.NoError(t, err)
	r.Registry, err = ops.Default()
	require.NoError(t, err)
	out, err := compose.Compose(context.Background(), r)
	require.NoError(t, err)
	for _, d := range out.Diagnostics.Sorted() {
		t.Error(d.Error(), d.Help)
	}
}

// documents are the files that people read.
func documents(t *testing.T) []string {
	var out []string
	for _, glob := range []string{"*.md", "../*.md", "../examples/*.md"} {
		found, err := filepath.Glob(glob)
		require.NoError(t, err)
		out = append(out, found...)
	}
	return out
}
