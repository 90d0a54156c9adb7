package model

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/graphrun/graphrun/text"
	"github.com/graphrun/graphrun/weights/header"
)

// readWords begins to read a checkpoint's tokenizer and chat template, which takes about as long as opening the weights
// of a small model. The function that it gives waits for them. That there are none is known at once.
func readWords(ck *header.Checkpoint, none bool) (func() (*text.Loaded, error), error) {
	switch {
	case none:
		return func() (*text.Loaded, error) { return nil, errors.New("the model was opened for token ids only") }, nil
	case ck.GGUF == nil && ck.Tokenizer["tokenizer.json"] == "":
		_, err := text.LoadFolder(folderOf(ck)) // says what is there instead
		return nil, err
	}
	get := sync.OnceValues(func() (*text.Loaded, error) {
		if ck.GGUF == nil {
			return text.LoadFolder(folderOf(ck))
		}
		g, err := ck.GGUF.Tokenizer()
		if err != nil {
			return nil, err
		}
		l, err := text.LoadGGUF(fromHeader(g))
		if err != nil {
			return nil, fmt.Errorf("%s: its tokenizer: %w", ck.Path, err)
		}
		return l, nil
	})
	go func() { _, _ = get() }()
	return get, nil
}

// TokenizerFiles are the files that a Hugging Face folder has for the tokenizer of a GGUF file, by name; nil for a
// checkpoint that has such files already.
func TokenizerFiles(ck *header.Checkpoint) (map[string][]byte, error) {
	if ck.GGUF == nil {
		return nil, nil
	}
	g, err := ck.GGUF.Tokenizer()
	if err != nil {
		return nil, err
	}
	files, err := fromHeader(g).Files()
	if err != nil {
		return nil, fmt.Errorf("%s: its tokenizer: %w", ck.Path, err)
	}
	return files, nil
}

func folderOf(ck *header.Checkpoint) string { return filepath.Dir(ck.Config.Path) }

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
	l, err := m.words()
	if err != nil {
		return nil, err
	}
	return l.Tokenizer, nil
}

// Template is the checkpoint's chat template; nil where it has none. One that cannot be used is an error.
func (m *Model) Template() (*text.Template, error) {
	l, err := m.words()
	if err != nil {
		return nil, err
	}
	if l.Template == nil && l.TemplateErr != nil {
		return nil, fmt.Errorf("%s: its chat template cannot be used: %w", m.ck.Path, l.TemplateErr)
	}
	return l.Template, nil
}

// Prompt puts messages into the chat template, up to where the answer begins.
func (m *Model) Prompt(messages []text.Message) (string, error) {
	t, err := m.Template()
	switch {
	case err != nil:
		return "", err
	case t == nil:
		return "", errors.New("the checkpoint has no chat template")
	}
	return t.Render(messages, text.RenderOptions{AddGenerationPrompt: true})
}

// StopIDs are the tokens that end a text: all that the config, the generation config, the tokenizer and the chat template
// name, in ascending order.
func (m *Model) StopIDs() ([]int32, error) {
	l, err := m.words()
	if err != nil {
		return nil, err
	}
	return slices.Clone(l.Stops.IDs), nil
}
