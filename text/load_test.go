package text

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const small = `{"version": "1.0", "decoder": {"type": "Fuse"},
	"added_tokens": [{"id": 3, "content": "<|end|>", "special": true, "normalized": false}],
	"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "<|end|>": 3, "<s>": 4, "\n": 5}, "merges": ["a b"]}}`

func writeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return dir
}

func TestLoadFolder(t *testing.T) {
	dir := writeFolder(t, map[string]string{
		"tokenizer.json": small,
		"tokenizer_config.json": `{"bos_token": "<s>", "eos_token": {"content": "</s>", "special": true}, "pad_token": null,
			"chat_template": [{"name": "default", "template": "old"}, {"name": "tool_use", "template": "with {{ tools|length }} tools"}],
			"added_tokens_decoder": {"3": {"content": "<|end|>", "special": true}, "6": {"content": "</s>", "special": true, "normalized": false}}}`,
		"special_tokens_map.json":             `{"pad_token": "a", "bos_token": "b"}`,
		"chat_template.jinja":                 "{{ bos_token }}{% for m in messages %}{{ m.role[0] }}{{ m.content }}<|end|>\n{% endfor %}{{ pad_token }}",
		"additional_chat_templates/rag.jinja": "documents {{ documents|length }}",
		"generation_config.json":              `{"eos_token_id": [6, 2]}`,
		"config.json":                         `{"eos_token_id": 6, "text_config": {"eos_token_id": 0}}`,
	})
	l, err := LoadFolder(dir)
	require.NoError(t, err)
	tok := l.Tokenizer
	for name, f := range map[string]func() (int32, bool){"<s>": tok.BOS, "</s>": tok.EOS, "a": tok.PAD} {
		id, ok := f()
		require.True(t, ok, name)
		token, _ := tok.Token(id)
		require.Equal(t, name, token)
	}
	require.True(t, tok.IsSpecial(6))
	require.Equal(t, 7, tok.VocabSize())
	ids, err := tok.Encode("ab</s>a<|end|>", true)
	require.NoError(t, err)
	require.Equal(t, []int32{2, 6, 0, 3}, ids)
	require.Equal(t, "aba", tok.Decode(ids, true))

	out, err := l.TemplateFor(false).Render([]Message{{Role: "user", Content: "hi"}}, RenderOptions{})
	require.NoError(t, err)
	require.Equal(t, "<s>uhi<|end|>\na", out)
	out, err = l.TemplateFor(true).Render(nil, RenderOptions{Tools: []any{1}})
	require.NoError(t, err)
	require.Equal(t, "with 1 tools", out)
	require.Contains(t, l.Templates, "rag")

	require.Equal(t, []int32{2, 3, 6}, l.Stops.IDs, "the union, with the token behind an assistant's reply")
	require.Len(t, l.Warnings, 1)
	require.Contains(t, l.Warnings[0], "generation_config.json says ab, </s>")
}

func TestLoadFolderErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", nil, "there is no tokenizer.json"},
		{"SentencePiece only", map[string]string{"tokenizer.model": "x"}, "tokenizer.model alone is not supported"},
		{"bad config", map[string]string{"tokenizer.json": small, "tokenizer_config.json": "{"}, "tokenizer_config.json: line 1, column 2"},
		{"bad template list", map[string]string{"tokenizer.json": small, "tokenizer_config.json": `{"chat_template": 1}`}, "chat_template must be a string or an array"},
		{"bad eos", map[string]string{"tokenizer.json": small, "config.json": `{"eos_token_id": "x"}`}, "config.json: eos_token_id: x is no id"},
		{"bad tokenizer", map[string]string{"tokenizer.json": `{"model": {"type": "Unigram", "vocab": [["a", -1.5]]}}`}, `its type is "Unigram"; only BPE is supported`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeFolder(t, c.files)
			_, err := LoadFolder(dir)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, dir)
		})
	}
}

// A template that cannot be used must not keep a checkpoint from being used without it.
func TestLoadFolderBadTemplate(t *testing.T) {
	l, err := LoadFolder(writeFolder(t, map[string]string{"tokenizer.json": small, "chat_template.jinja": "{% if %}"}))
	require.NoError(t, err)
	require.Nil(t, l.Template)
	require.Error(t, l.TemplateErr)
	require.Contains(t, l.Warnings[0], "the chat template cannot be used")
}

func TestLoadGGUF(t *testing.T) {
	var f fixture
	readGz(t, "testdata/gguf/smollm2_small.json.gz", &f)
	l, err := LoadGGUF(f.GGUF.metadata())
	require.NoError(t, err)
	require.NotNil(t, l.Template)
	require.Empty(t, l.Warnings)
	end, ok := l.Tokenizer.ID("<|im_end|>")
	require.True(t, ok)
	require.Equal(t, []int32{end}, l.Stops.IDs)
	prompt, err := l.Template.Render([]Message{{Role: "user", Content: "Hi"}}, RenderOptions{AddGenerationPrompt: true})
	require.NoError(t, err)
	ids, err := l.Tokenizer.EncodePrompt(prompt)
	require.NoError(t, err)
	bos, _ := l.Tokenizer.BOS()
	require.Equal(t, bos, ids[0])
	require.Equal(t, prompt, l.Tokenizer.Decode(ids, false))
}

func TestEncodePrompt(t *testing.T) {
	var f fixture
	readGz(t, "testdata/kinds/llama3.json.gz", &f)
	tok := f.build(t)
	tok.roles.bos = 0
	for _, text := range []string{"Hi", "<|begin_of_text|>Hi"} {
		ids, err := tok.EncodePrompt(text)
		require.NoError(t, err)
		require.Equal(t, int32(0), ids[0])
		require.NotEqual(t, int32(0), ids[1], "one BOS only")
	}
}
