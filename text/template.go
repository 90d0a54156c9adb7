package text

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/graphrun/graphrun/text/jinja"
	"github.com/graphrun/graphrun/text/ordered"
)

// Object is a JSON object that keeps the order of its keys, for tools and variables of templates.
type Object = ordered.Object

// TemplateError is a failure of a chat template, with its line. Raised tells what the template itself refuses (roles
// that must alternate, for one) from a mistake in it.
type TemplateError = jinja.Error

// Message is one turn of a conversation.
type Message struct {
	Role    string
	Content any     // a string, or a []any of parts, or nil: then the message has no content key
	Fields  *Object // further keys, in order: name, tool_calls, tool_call_id, reasoning_content
}

// UnmarshalJSON reads {"role": …, "content": …, …}. A null is as good as a missing key, as in transformers.
func (m *Message) UnmarshalJSON(data []byte) error {
	o := &Object{}
	if err := o.UnmarshalJSON(data); err != nil {
		return err
	}
	role, ok, err := o.Text("role")
	if err != nil || !ok {
		return fmt.Errorf(`a message needs a "role" that is a string`)
	}
	*m = Message{Role: role}
	for key, v := range o.All() {
		switch {
		case key == "role" || v == nil:
		case key == "content":
			m.Content = v
		default:
			if m.Fields == nil {
				m.Fields = &Object{}
			}
			m.Fields.Set(key, v)
		}
	}
	return nil
}

// MarshalJSON writes the message as UnmarshalJSON reads it.
func (m Message) MarshalJSON() ([]byte, error) {
	o := ordered.NewObject("role", m.Role)
	if m.Content != nil {
		o.Set("content", m.Content)
	}
	for key, v := range m.Fields.All() {
		o.Set(key, v)
	}
	return json.Marshal(o)
}

// reasoningKeys are the names that a message's reasoning goes by; the first is what templates read.
var reasoningKeys = []string{"reasoning_content", "thinking", "reasoning"}

// object returns the message as a template sees it. Reasoning is also there under the names that other templates read,
// as transformers gives it.
func (m Message) object() (*Object, error) {
	o := &Object{}
	var reasoning any
	for _, key := range reasoningKeys {
		if v, _ := m.Fields.Get(key); v != nil && reasoning == nil {
			reasoning = v
		}
	}
	if reasoning != nil {
		o.Set("thinking", reasoning)
	}
	o.Set("role", m.Role)
	if m.Content != nil {
		content, err := ordered.FromGo(m.Content)
		if err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
		o.Set("content", content)
	}
	for key, v := range m.Fields.All() {
		conv, err := ordered.FromGo(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		o.Set(key, conv)
	}
	if reasoning != nil {
		o.Set("reasoning_content", reasoning)
	}
	return o, nil
}

// Template renders conversations into prompts. It is safe for use by several goroutines.
type Template struct {
	parsed  *jinja.Template
	source  string
	special map[string]string
}

// NewTemplate parses a chat template. special are the variables bos_token, eos_token and the like.
func NewTemplate(source string, special map[string]string) (*Template, error) {
	if len(source) > 4<<20 {
		return nil, fmt.Errorf("chat template: %d bytes are too many", len(source))
	}
	parsed, err := jinja.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	return &Template{parsed, source, special}, nil
}

// Source returns the text of the template.
func (t *Template) Source() string { return t.source }

// RenderOptions say what a prompt is rendered with.
type RenderOptions struct {
	AddGenerationPrompt bool             // end with the beginning of the assistant's turn
	Tools               []any            // JSON schemas: *Object, or anything that marshals to JSON
	Documents           []any            // of retrieval templates
	Variables           *Object          // further variables, such as enable_thinking; they win over all others
	Now                 func() time.Time // for dates; time.Now if nil
}

// Render returns the prompt. It fails with a *TemplateError where the template fails or refuses.
func (t *Template) Render(messages []Message, opts RenderOptions) (string, error) {
	vars := &Object{}
	list := make([]any, len(messages))
	for i, m := range messages {
		o, err := m.object()
		if err != nil {
			return "", fmt.Errorf("message %d: %w", i, err)
		}
		list[i] = o
	}
	vars.Set("messages", list)
	for name, items := range map[string][]any{"tools": opts.Tools, "documents": opts.Documents} {
		if items == nil {
			vars.Set(name, nil)
			continue
		}
		v, err := ordered.FromGo(items)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		vars.Set(name, v)
	}
	vars.Set("add_generation_prompt", opts.AddGenerationPrompt)
	for name, token := range t.special {
		vars.Set(name, token)
	}
	for name, v := range opts.Variables.All() {
		conv, err := ordered.FromGo(v)
		if err != nil {
			return "", fmt.Errorf("variable %s: %w", name, err)
		}
		vars.Set(name, conv)
	}
	out, err := t.parsed.Render(vars, jinja.Options{Now: opts.Now})
	if err != nil {
		return "", fmt.Errorf("chat template: %w", err)
	}
	return out, nil
}

// EndOfTurn returns the token that the template puts behind an assistant's reply: generation ends there too, whatever
// the checkpoint's configuration says.
func (t *Template) EndOfTurn(tok *Tokenizer) (int32, bool) {
	const reply = "Zq7xVn3w"
	out, err := t.Render([]Message{{Role: "user", Content: "a"}, {Role: "assistant", Content: reply}}, RenderOptions{})
	if err != nil {
		return 0, false
	}
	_, after, found := strings.Cut(out, reply)
	if !found {
		return 0, false
	}
	ids, err := tok.Encode(after, false)
	if err != nil {
		return 0, false
	}
	for _, id := range ids {
		token, _ := tok.Token(id)
		if tok.IsSpecial(id) {
			return id, true
		}
		if strings.Trim(token, " \n▁ĠĊ") != "" {
			break
		}
	}
	return 0, false
}
