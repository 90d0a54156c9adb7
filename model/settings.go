package model

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/engine"
)

// Settings are those of one text. The zero value takes the most likely token each time, until the model ends the text.
type Settings struct {
	engine.GenOptions // its StopIDs are taken beside the model's own

	// Adapters are the names of those that are active, in the order in which their sums are added; nil: all that were mounted,
	// empty: none.
	Adapters []string

	Stop        []string // texts that end the answer and are no part of it
	IgnoreStops bool     // go on after the model's end-of-text tokens, for measuring
	KeepSpecial bool     // give the text of special tokens too
}

// Check tells of settings that are out of their range, and of those that would have no effect: what somebody sets is
// meant to do something.
func (s Settings) Check() error {
	if err := s.GenOptions.Check(); err != nil {
		return err
	}
	var idle []string
	note := func(is bool, name string) {
		if is {
			idle = append(idle, name)
		}
	}
	if s.Temperature == 0 {
		note(s.TopP != 0 && s.TopP != 1, "top-p")
		note(s.TopK != 0, "top-k")
		note(s.MinP != 0, "min-p")
		note(s.XTCChance != 0, "XTC")
		note(s.Seed != 0, "seed")
		if idle != nil {
			return fmt.Errorf("%s without a temperature has no effect: at temperature 0 the most likely token is taken; set a temperature above 0",
				strings.Join(idle, ", "))
		}
	}
	if s.RepetitionContext != 0 && (s.RepetitionPenalty == 0 || s.RepetitionPenalty == 1) && s.PresencePenalty == 0 && s.FrequencyPenalty == 0 {
		return fmt.Errorf("a repetition context of %d without a penalty has no effect: set a repetition penalty, as 1.1", s.RepetitionContext)
	}
	for _, stop := range s.Stop {
		if stop == "" {
			return errors.New("an empty stop text would end every answer before it begins")
		}
	}
	return nil
}
