package model

import (
	"context"
	"fmt"
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
	t, err := m.Tokenizer()
	if err != nil {
		return Result{}, err
	}
	o := s.GenOptions
	if o.PrefillStep == 0 {
		o.PrefillStep = m.step
	}
	if !s.IgnoreStops {
		own, err := m.StopIDs()
		if err != nil {
			return Result{}, err
		}
		o.StopIDs = append(own, o.StopIDs...)
	}
	session, err := m.engine.NewSession()
	if err != nil {
		return Result{}, err
	}
	defer session.Close()
	a := &answer{stops: text.NewStopMatcher(text.NewStream(t, !s.KeepSpecial), nil, s.Stop), emit: emit}
	stats, err := session.Generate(ctx, prompt, o, a.token)
	if err == nil && !a.stopped {
		err = a.give(a.stops.Flush())
	}
	r := Result{Text: a.text.String(), Tokens: a.ids, Stats: stats, Warning: m.tooLong(session.Positions())}
	_, r.StopText = a.stops.Reason()
	return r, m.placed("cannot-run", err)
}

// answer turns tokens into the text that is given out.
type answer struct {
	stops   *text.StopMatcher
	emit    func(string) error
	text    strings.Builder
	ids     []int32
	stopped bool
}

func (a *answer) token(t engine.Token) error {
	a.ids = append(a.ids, t.ID)
	piece, stopped := a.stops.Add(t.ID)
	if err := a.give(piece); err != nil {
		return err
	}
	if stopped {
		a.stopped = true
		return engine.ErrStop
	}
	return nil
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
