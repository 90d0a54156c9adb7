package text

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/text/ordered"
)

type conversation struct {
	Name      string
	Messages  []Message
	Tools     []any
	Variables *Object
	Generate  bool
}

func (c *conversation) UnmarshalJSON(data []byte) error {
	o := &Object{}
	if err := o.UnmarshalJSON(data); err != nil {
		return err
	}
	c.Name, _, _ = o.Text("name")
	c.Generate, _ = o.Bool("generate", false)
	c.Tools, _ = o.Array("tools")
	c.Variables, _ = o.Object("variables")
	messages, _ := o.Get("messages")
	raw, err := json.Marshal(messages)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, &c.Messages)
}

func readJSON(t testing.TB, path string, to any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, to))
}

// TestTemplatesEqualToPython renders every template over every conversation and compares with transformers, byte for
// byte; where Python raises an error there must be one here.
func TestTemplatesEqualToPython(t *testing.T) {
	var conversations []conversation
	readJSON(t, "testdata/conversations.json", &conversations)
	var rendered map[string][]struct{ Text, Error *string }
	readJSON(t, "testdata/rendered.json", &rendered)
	require.GreaterOrEqual(t, len(conversations), 9)
	require.GreaterOrEqual(t, len(rendered), 8)
	now := time.Date(2026, 3, 7, 15, 4, 5, 0, time.UTC)
	special := map[string]string{"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
	for name, wants := range rendered {
		tpl, err := NewTemplate(templateSource(t, name), special)
		require.NoError(t, err, name)
		for i, c := range conversations {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				got, err := tpl.Render(c.Messages, RenderOptions{
					AddGenerationPrompt: c.Generate, Tools: c.Tools, Variables: c.Variables, Now: func() time.Time { return now },
				})
				if want := wants[i]; want.Text != nil {
					require.NoError(t, err)
					require.Equal(t, *want.Text, got)
					return
				}
				var e *TemplateError
				require.ErrorAs(t, err, &e, "Python: %s", *wants[i].Error)
				kind, message, _ := strings.Cut(*wants[i].Error, ": ")
				require.Equal(t, kind == "TemplateError", e.Raised)
				require.Contains(t, e.Message, message)
			})
		}
	}
}

func templateSource(t testing.TB, name string) string {
	t.Helper()
	if name == "smollm2" {
		var f fixture
		readGz(t, "testdata/gguf/smollm2_small.json.gz", &f)
		return f.GGUF.ChatTemplate
	}
	data, err := os.ReadFile(filepath.Join("testdata/templates", name+".jinja"))
	require.NoError(t, err)
	return string(data)
}

func TestMessageJSON(t *testing.T) {
	source := `{"role":"assistant","content":[{"type":"text","text":"a"}],"tool_calls":[{"z":1,"a":2.0}],"name":null}`
	var m Message
	require.NoError(t, json.Unmarshal([]byte(source), &m))
	require.Equal(t, "assistant", m.Role)
	require.Equal(t, []string{"tool_calls"}, m.Fields.Keys())
	out, err := json.Marshal(m)
	require.NoError(t, err)
	require.Equal(t, `{"role":"assistant","content":[{"type":"text","text":"a"}],"tool_calls":[{"z":1,"a":2.0}]}`, string(out))
	require.ErrorContains(t, json.Unmarshal([]byte(`{"content":"x"}`), &m), `"role"`)
}

func TestRenderValues(t *testing.T) {
	tpl, err := NewTemplate("{{ messages[0].content }} {{ tools | tojson }} {{ x }} {{ bos_token }}", map[string]string{"bos_token": "<s>"})
	require.NoError(t, err)
	out, err := tpl.Render([]Message{{Role: "user", Content: "hi"}}, RenderOptions{
		Tools:     []any{map[string]any{"b": 1, "a": []int{1}}, ordered.NewObject("z", int64(1), "y", nil)},
		Variables: ordered.NewObject("x", 3),
	})
	require.NoError(t, err)
	require.Equal(t, `hi [{"a": [1], "b": 1}, {"z": 1, "y": null}] 3 <s>`, out)

	_, err = tpl.Render([]Message{{Role: "user", Content: make(chan int)}}, RenderOptions{})
	require.ErrorContains(t, err, "message 0: content")
	_, err = NewTemplate("{% if %}", nil)
	require.ErrorContains(t, err, "chat template: line 1:")
}
