package model

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/text"
	"github.com/graphrun/graphrun/weights/header"
)

// words is a checkpoint's tokenizer and chat template. They are read while the weights are opened.
type words struct {
	ck  *header.Checkpoint
	get func() (*loaded, error)
}

func readWords(ck *header.Checkpoint) *words {
	w := &words{ck: ck}
	w.get = sync.OnceValues(w.read)
	go w.get()
	return w
}

func (w *words) read() (*loaded, error) {
	if w.ck.GGUF != nil {
		g, err := w.ck.GGUF.Tokenizer()
		if err != nil {
			return nil, err
		}
		l, err := loadGGUF(fromHeader(g))
		if err != nil {
			return nil, fmt.Errorf("%s: its tokenizer: %w", w.ck.Path, err)
		}
		return l, nil
	}
	if w.ck.Tokenizer["tokenizer.json"] == "" {
		return nil, fmt.Errorf("%s: no tokenizer.json in this folder; graphrun reads no other form of a tokenizer", filepath.Dir(w.ck.Config.Path))
	}
	return loadFolder(filepath.Dir(w.ck.Config.Path))
}

func fromHeader(g *header.GGUFTokenizer) text.GGUF {
	out := text.GGUF{
		Model: g.Model, Pre: g.Pre, Tokens: g.Tokens, Merges: g.Merges,
		BOS: int(g.BOS), EOS: int(g.EOS), UNK: int(g.Unknown), PAD: int(g.Padding),
		AddBOS: g.AddBOS, AddEOS: g.AddEOS, SpacePrefix: g.AddPrefix, ChatTemplate: g.ChatTemplate,
	}
	for _, t := range g.Types {
		out.Types = append(out.Types, int32(t))
	}
	for _, s := range g.Scores {
		out.Scores = append(out.Scores, float32(s))
	}
	for _, id := range []int64{g.EOT, g.EOM} {
		if id >= 0 {
			out.EndIDs = append(out.EndIDs, int(id))
		}
	}
	return out
}

// Tokenizer is the checkpoint's.
func (m *Model) Tokenizer() (*text.Tokenizer, error) {
	l, err := m.words.get()
	if err != nil {
		return nil, err
	}
	return l.Tokenizer, nil
}

// HasTemplate tells whether the checkpoint has a chat template.
func (m *Model) HasTemplate() (bool, error) {
	l, err := m.words.get()
	if err != nil {
		return false, err
	}
	return l.Template != nil, nil
}

// Prompt puts messages into the chat template, up to where the answer begins.
func (m *Model) Prompt(messages []Message) (string, error) {
	l, err := m.words.get()
	if err != nil {
		return "", err
	}
	if l.Template == nil {
		return "", errors.New("the checkpoint has no chat template")
	}
	return l.Template.Render(messages, RenderOptions{AddGenerationPrompt: true})
}

// StopIDs are the tokens that end a text: all that the config, the generation config and the tokenizer name. The warning
// tells where these differ.
func (m *Model) StopIDs() (ids []int32, warning string) {
	l, err := m.words.get()
	if err != nil {
		return nil, ""
	}
	return engine.StopIDs(stopSources(m.ck, l)...)
}
