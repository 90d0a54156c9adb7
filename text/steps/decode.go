package steps

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/text/ordered"
	"github.com/graphrun/graphrun/text/regex"
)

// Decoder describes how tokens become text. A nil one joins them with spaces.
type Decoder struct {
	makers []func(joined bool) decodeStep
	joins  []bool
}

// decodeStep is one step over a stream of tokens. It emits zero or more tokens for each it gets; once an earlier step
// has joined all tokens, what it gets and emits are fragments of a single token.
type decodeStep interface {
	push(token string, emit func(string))
	flush(emit func(string))
}

// NewDecoder reads the "decoder" of a tokenizer file; null is none.
func NewDecoder(v any) (*Decoder, error) {
	d := &Decoder{}
	err := flatten(v, "decoder", "decoders", func(o *ordered.Object, kind string) error {
		maker, joins, err := readDecoder(o, kind)
		d.makers = append(d.makers, maker)
		d.joins = append(d.joins, joins)
		return err
	})
	if err != nil || v == nil {
		return nil, err
	}
	return d, nil
}

// Stream is one run of a decoder. It is not safe for use by several goroutines.
type Stream struct {
	steps []decodeStep
	emits []func(string)
	out   strings.Builder
}

// NewStream starts a run.
func (d *Decoder) NewStream() *Stream {
	s := &Stream{}
	if d == nil {
		s.steps = []decodeStep{&spaces{}}
	} else {
		joined := false
		for i, maker := range d.makers {
			s.steps = append(s.steps, maker(joined))
			joined = joined || d.joins[i]
		}
	}
	s.emits = make([]func(string), len(s.steps)+1)
	s.emits[len(s.steps)] = func(text string) { s.out.WriteString(text) }
	for i := len(s.steps) - 1; i >= 0; i-- {
		step, next := s.steps[i], s.emits[i+1]
		s.emits[i] = func(token string) { step.push(token, next) }
	}
	return s
}

// Add takes the next token and returns the text that is certain now. It is valid UTF-8.
func (s *Stream) Add(token string) string {
	s.emits[0](token)
	return s.take()
}

// Flush ends the run and returns what was held back.
func (s *Stream) Flush() string {
	for i, step := range s.steps {
		step.flush(s.emits[i+1])
	}
	return s.take()
}

// Append takes the next token and keeps its text for the next Add or Flush.
func (s *Stream) Append(token string) { s.emits[0](token) }

func (s *Stream) take() string {
	text := s.out.String()
	s.out.Reset()
	return text
}

const knownDecoders = "ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace, BPEDecoder, Sequence"

// readDecoder returns the maker of a step, and whether the step joins all tokens into one.
func readDecoder(o *ordered.Object, kind string) (func(joined bool) decodeStep, bool, error) {
	switch kind {
	case "ByteLevel":
		return func(bool) decodeStep { return &byteLevel{} }, true, nil
	case "Fuse":
		return func(bool) decodeStep { return each(func(t string) string { return t }) }, true, nil
	case "ByteFallback":
		return func(joined bool) decodeStep { return buffered(joined, &byteFallback{}) }, false, nil
	case "Replace":
		return readReplace(o)
	case "Strip":
		char, err1 := readChar(o, "content")
		start, err2 := o.Int("start", 0)
		stop, err3 := o.Int("stop", 0)
		err := errors.Join(err1, err2, err3)
		if err == nil && (start < 0 || stop < 0 || start > 1<<16 || stop > 1<<16) {
			err = fmt.Errorf("start %d and stop %d must lie between 0 and %d", start, stop, 1<<16)
		}
		return func(joined bool) decodeStep {
			if joined {
				return &stripJoined{char: char, start: int(start), stop: int(stop)}
			}
			return each(func(t string) string { return stripToken(t, char, int(start), int(stop)) })
		}, false, err
	case "Metaspace":
		m, err := readMetaspace(o)
		return func(joined bool) decodeStep { return &unspace{m: m, joined: joined} }, false, err
	case "BPEDecoder":
		suffix, ok, err := o.Text("suffix")
		if err == nil && !ok {
			suffix = "</w>"
		}
		return func(joined bool) decodeStep { return buffered(joined, &wordEnd{suffix: suffix}) }, false, err
	case "WordPiece", "CTC":
		return nil, false, fmt.Errorf("not supported: it belongs to models of another kind; known are %s", knownDecoders)
	}
	return nil, false, fmt.Errorf("unknown; known are %s", knownDecoders)
}

func readReplace(o *ordered.Object) (func(joined bool) decodeStep, bool, error) {
	p, err := readPattern(o, "pattern")
	if err != nil {
		return nil, false, err
	}
	with, _, err := o.Text("content")
	oneChar := p.re == nil && len([]rune(p.literal)) == 1
	return func(joined bool) decodeStep {
		step := each(func(t string) string {
			changed, err := p.replace(t, with, &regex.Budget{Steps: 1<<22 + 256*int64(len(t))})
			if err != nil {
				return t // a pattern that runs away on a token of its own vocabulary
			}
			return changed
		})
		return buffered(joined && !oneChar, step)
	}, false, err
}
