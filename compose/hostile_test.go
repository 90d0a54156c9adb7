package compose_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights/header"
)

// TestHostileFiles: what is no graph file is an error at its place, soon and in little memory.
func TestHostileFiles(t *testing.T) {
	bomb := "graphrun: v1\nkind: model\nname: a\nlet:\n  a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for i := 1; i < 12; i++ {
		n := string(rune('a' + i))
		bomb += "  " + n + ": &" + n + " [" + strings.TrimSuffix(strings.Repeat("*"+map[bool]string{true: "a0", false: string(rune('a' + i - 1))}[i == 1]+", ", 10), ", ") + "]\n"
	}
	for name, c := range map[string]struct{ text, code string }{
		"bomb":            {bomb, "yaml-too-many-nodes"},
		"flow nesting":    {strings.Repeat("[", 100_000), "yaml-too-deep"},
		"brace nesting":   {strings.Repeat("{a: ", 10_000), "yaml-too-deep"},
		"dash nesting":    {strings.Repeat("- ", 10_000), "yaml-too-deep"},
		"indentation":     {nested(200), "yaml-too-deep"},
		"large":           {strings.Repeat("a", 50<<20), "yaml-too-large"},
		"quotes":          {strings.Repeat("'", 1<<20-1), "yaml-syntax"},
		"not utf-8":       {"graphrun: v1\nname: \xff\xfe\n", "yaml-not-utf8"},
		"empty":           {"", "yaml-empty"},
		"a scalar":        {"hello", "yaml-not-a-mapping"},
		"a list":          {"- 1\n- 2\n", "yaml-not-a-mapping"},
		"NUL":             {"graphrun: v1\x00", "yaml-syntax"},
		"many keys":       {"graphrun: v1\nlet:\n" + manyKeys(20_000), "yaml-too-many-nodes"},
		"complex key":     {"? [a, b]\n: 1\n", "yaml-key"},
		"binary":          {"\x7fELF\x01\x02", "yaml-syntax"},
		"unclosed quote":  {"graphrun: 'v1\nkind: model\n", "yaml-syntax"},
		"endless anchors": {"a: &a [*a]\n", "yaml-cyclic-anchor"},
		"bare variant":    {"graphrun: v1\nkind: variant\nname: g\n", "missing-key"},
		"bare rules":      {"graphrun: v1\nkind: rules\nname: g\n", "missing-key"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, []txtar.File{{Name: "g.yaml", Data: []byte(c.text)}}, "g.yaml")
			require.Contains(t, got, "["+c.code+"]")
			got = run(t, []txtar.File{{Name: "g.yaml", Data: []byte(c.text)}, {Name: "config.json", Data: []byte(`{"model_type": "llama"}`)}}, "g.yaml")
			require.Contains(t, got, "["+c.code+"]", "with a config")
		})
	}
}

func nested(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("  k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + ": 1\n")
	}
	return b.String()
}

// TestLineEnds: a byte-order mark and CRLF change nothing.
func TestLineEnds(t *testing.T) {
	a, err := txtar.ParseFile("testdata/valid.txtar")
	require.NoError(t, err)
	for i := range a.Files {
		if strings.HasSuffix(a.Files[i].Name, ".yaml") {
			a.Files[i].Data = []byte("\ufeff" + strings.ReplaceAll(string(a.Files[i].Data), "\n", "\r\n"))
		}
	}
	require.Equal(t, "composed: 36 calls\n", run(t, a.Files, "tiny.yaml"))
}

// FuzzGraphFile: whatever the file, composing ends, without a panic, and says something where it gives no plan.
func FuzzGraphFile(f *testing.F) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, c := range cases {
		a, err := txtar.ParseFile(c)
		require.NoError(f, err)
		f.Add(string(a.Files[0].Data), string(a.Files[1].Data))
	}
	for _, m := range []string{"llama", "qwen2", "qwen3"} {
		data, err := graphs.Files.ReadFile("models/" + m + ".yaml")
		require.NoError(f, err)
		block, err := graphs.Files.ReadFile("blocks/attention.yaml")
		require.NoError(f, err)
		f.Add(string(data), string(block))
	}
	for _, kind := range []string{"variant", "rules"} {
		f.Add("graphrun: v1\nkind: "+kind+"\nname: tiny\n", "")
	}
	reg, err := ops.Default()
	require.NoError(f, err)
	config := &header.Config{Path: "config.json", Values: map[string]any{"model_type": "tiny", "hidden": int64(64), "vocab": int64(128), "layers": int64(2), "heads": int64(4),
		"hidden_size": int64(64), "vocab_size": int64(128), "num_hidden_layers": int64(2), "num_attention_heads": int64(4), "num_key_value_heads": int64(2), "intermediate_size": int64(64),
		"rms_norm_eps": 1e-5, "head_dim": int64(16), "rope_theta": 1e4, "max_position_embeddings": int64(64), "tie_word_embeddings": true}}
	f.Fuzz(func(t *testing.T, model, block string) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tiny.yaml"), []byte(model), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "mixer.yaml"), []byte(block), 0o644))
		slow := time.AfterFunc(20*time.Second, func() { panic("composing takes more than 20 s:\n" + model + "\n---\n" + block) })
		defer slow.Stop()
		r, err := compose.Compose(context.Background(), compose.Request{Graph: filepath.Join(dir, "tiny.yaml"), Shipped: graphs.Files, Registry: reg, Config: config, Force: true})
		require.NoError(t, err)
		if r.Plan == nil && r.Diagnostics.Len() == 0 && strings.Contains(model, "kind: model") {
			t.Fatalf("no plan and no diagnostic:\n%s", model)
		}
	})
}
