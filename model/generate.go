package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/text"
)

// Result is a generated text.
type Result struct {
	Text   string
	Tokens []int32 // without the stop token
	// StopText is the one of Settings.Stop that ended the text; "" where none did.
	StopText string
	engine.Stats
	// Warning tells that the text went beyond the length that the model was made for; "" otherwise.
	Warning string
}

// Chat answers the last of the messages, in the form of the checkpoint's chat template. emit (which may be nil) is given
// the text as soon as it is certain, whole characters only; an error of it ends the generation and comes back.
func (m *Model) Chat(ctx context.Context, messages []text.Message, s Settings, emit func(string) error) (Result, error) {
	prompt, err := m.Prompt(messages)
	if err != nil {
		return Result{}, err
	}
	return m.Complete(ctx, prompt, s, emit)
}

// Complete goes on with a text, special tokens in it included.
func (m *Model) Complete(ctx context.Context, prompt string, s Settings, emit func(string) error) (Result, error) {
	t, err := m.Tokenizer()
	if err != nil {
		return Result{}, err
	}
	ids, err := t.EncodePrompt(prompt)
	if err != nil {
		return Result{}, err
	}
	return m.Generate(ctx, ids, s, emit)
}

// Generate goes on with token ids. A cancelled ctx is no error: what was generated comes back, with that reason.
func (m *Model) Generate(ctx context.Context, prompt []int32, s Settings, emit func(string) error) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	o := s.GenOptions
	if o.PrefillStep == 0 {
		o.PrefillStep = m.step
	}
	a := &answer{emit: emit}
	if m.idsOnly && s.Stop != nil {
		return Result{}, errors.New("a stop text is looked for in the text, and the model was opened for token ids only")
	}
	if !m.idsOnly {
		l, err := m.words()
		if err != nil {
			return Result{}, err
		}
		if !s.IgnoreStops {
			o.StopIDs = slices.Concat(l.Stops.IDs, o.StopIDs)
		}
		a.stops = text.NewStopMatcher(text.NewStream(l.Tokenizer, !s.KeepSpecial), nil, s.Stop)
	}
	session, err := m.engine.NewSession()
	if err != nil {
		return Result{}, err
	}
	defer session.Close()
	adapters := s.Adapters
	if adapters == nil {
		adapters = m.engine.Adapters()
	}
	if err := session.Adapt(adapters...); err != nil {
		return Result{}, m.placed("cannot-run", err)
	}
	stats, err := session.Generate(ctx, prompt, o, a.token)
	if err == nil {
		err = a.end()
	}
	r := Result{Text: a.text.String(), Tokens: a.ids, StopText: a.stop, Stats: stats, Warning: m.tooLong(session.Positions())}
	return r, m.placed("cannot-run", err)
}

// answer turns tokens into the text that is given out.
type answer struct {
	stops *text.StopMatcher // nil: ids only
	emit  func(string) error
	text  strings.Builder
	ids   []int32
	stop  string // that ended it
}

func (a *answer) token(t engine.Token) error {
	a.ids = append(a.ids, t.ID)
	if a.stops == nil {
		return nil
	}
	piece, stopped := a.stops.Add(t.ID)
	if err := a.give(piece); err != nil {
		return err
	}
	if stopped {
		return engine.ErrStop
	}
	return nil
}

// end gives out what was held back, since it could have become a character or a stop text.
func (a *answer) end() error {
	if a.stops == nil {
		return nil
	}
	err := a.give(a.stops.Flush())
	_, a.stop = a.stops.Reason()
	return err
}

func (a *answer) give(piece string) error {
	if piece == "" {
		return nil
	}
	a.text.WriteString(piece)
	if a.emit == nil {
		return nil
	}
	return a.emit(piece)
}

func (m *Model) tooLong(positions int) string {
	const key = "max_position_embeddings"
	made, ok := m.ck.Config.Values[key].(int64)
	if !ok || made <= 0 || int64(positions) <= made {
		return ""
	}
	return fmt.Sprintf("the text takes %d positions, the model was made for %d (%s): what comes after them is rarely good",
		positions, made, m.ck.Config.At(key))
}
