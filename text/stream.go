package text

import "github.com/graphrun/graphrun/text/steps"

// Stream turns generated ids into text, one by one. Text is returned as soon as no later id can change it, and never
// with part of a character: the bytes of a character that comes in several tokens are held until it is complete. All that
// Add and Flush return, put together, is what Decode returns for the same ids. A Stream serves one generation and is not
// safe for use by several goroutines.
type Stream struct {
	t    *Tokenizer
	run  *steps.Stream
	skip bool
}

// NewStream starts a stream. With skipSpecial, special tokens give no text.
func NewStream(t *Tokenizer, skipSpecial bool) *Stream {
	return &Stream{t: t, run: t.dec.NewStream(), skip: skipSpecial}
}

// Add takes the next id and returns the text that is certain now, often "" in the middle of a character.
func (s *Stream) Add(id int32) string {
	token, ok := s.t.shown(id, s.skip)
	if !ok {
		return ""
	}
	return s.run.Add(token)
}

// Flush ends the stream and returns what was held back; bytes that never became a character are U+FFFD.
func (s *Stream) Flush() string { return s.run.Flush() }
