package model

import (
	"errors"
	"strings"

	"github.com/ardanlabs/jinja"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/text"
	"github.com/graphrun/graphrun/weights/header"
)

// Stands in for parts of package text that are on their way.

type Message struct {
	Role    string
	Content any
}

type RenderOptions struct{ AddGenerationPrompt bool }

type template struct{ t *jinja.Template }

func (t *template) Render(messages []Message, o RenderOptions) (string, error) {
	var list []any
	for _, m := range messages {
		list = append(list, map[string]any{"role": m.Role, "content": m.Content})
	}
	return t.t.Render(map[string]any{"messages": list, "add_generation_prompt": o.AddGenerationPrompt})
}

type loaded struct {
	Tokenizer *text.Tokenizer
	Template  *template
}

func loadGGUF(g text.GGUF) (*loaded, error) {
	t, err := text.FromGGUF(g)
	if err != nil {
		return nil, err
	}
	l := &loaded{Tokenizer: t}
	if g.ChatTemplate != "" {
		c, err := jinja.Compile(g.ChatTemplate)
		if err != nil {
			return nil, err
		}
		l.Template = &template{c}
	}
	return l, nil
}

func loadFolder(string) (*loaded, error) { return nil, errors.New("not yet") }

func stopSources(ck *header.Checkpoint, l *loaded) []engine.StopSource {
	id, _ := l.Tokenizer.EOS()
	return []engine.StopSource{{Name: "tokenizer", IDs: []int32{id}}}
}

type stopMatcher struct {
	s     *text.Stream
	stops []string
}

func (m *stopMatcher) Add(id int32) (string, bool) {
	t := m.s.Add(id)
	for _, s := range m.stops {
		if i := strings.Index(t, s); i >= 0 {
			return t[:i], true
		}
	}
	return t, false
}
func (m *stopMatcher) Flush() string { return m.s.Flush() }
