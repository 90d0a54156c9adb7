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
	named = regexp.MustCompile(`(?m)^name: (\S+)`)
)

// TestShownGraphs composes every whole graph file that a document shows, all of a document in one folder.
func TestShownGraphs(t *testing.T) {
	for _, doc := range documents(t) {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		dir, models := t.TempDir(), []string{}
		for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(m[1], "graphrun: v1") || !strings.Contains(m[1], "\nnodes:") {
				continue
			}
			file := filepath.Join(dir, named.FindStringSubmatch(m[1])[1]+".yaml")
			require.NoError(t, os.WriteFile(file, []byte(m[1]), 0o644))
			models = append(models, file)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644))
		for _, file := range models {
			t.Run(filepath.Base(doc)+"/"+filepath.Base(file), func(t *testing.T) { composes(t, file, filepath.Join(dir, "config.json")) })
		}
	}
}

// TestExamples composes the example files for the config beside them.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { composes(t, file, "../examples/smollm2-135m.json") })
	}
}

func composes(t *testing.T, file, settings string) {
	c, err := header.ReadConfig(settings)
	require.NoError(t, err)
	r, err := ops.Default()
	require.NoError(t, err)
	out, err := compose.Compose(context.Background(), compose.Request{Graph: file, Shipped: graphs.Files, Registry: r, Config: c})
	require.NoError(t, err)
	for _, d := range out.Diagnostics.Sorted() {
		t.Error(d.Error(), d.Help)
	}
}

// documents are the files that people read.
func documents(t *testing.T) []string {
	out, err := filepath.Glob("*.md")
	require.NoError(t, err)
	more, err := filepath.Glob("../*.md")
	require.NoError(t, err)
	examples, err := filepath.Glob("../examples/*.md")
	require.NoError(t, err)
	return append(append(out, more...), examples...)
}
