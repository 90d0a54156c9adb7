package steps

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/text/bpe"
	"github.com/graphrun/graphrun/text/ordered"
	"github.com/graphrun/graphrun/text/regex"
	"github.com/graphrun/graphrun/text/ucd"
)

// Piece is a part of the text on its way to the model.
type Piece struct {
	Text  string
	First bool // it begins where the whole text begins
	Bytes bool // its bytes are yet to be replaced by their stand-ins (bpe.ByteLevel)
}

// PreTokenizer cuts a text into words. A nil one leaves it whole.
type PreTokenizer struct {
	steps []splitter
}

type splitter interface {
	split(p Piece, budget *regex.Budget, emit func(Piece) error) error
}

// NewPreTokenizer reads the "pre_tokenizer" of a tokenizer file; null is none.
func NewPreTokenizer(v any) (*PreTokenizer, error) {
	p := &PreTokenizer{}
	err := flatten(v, "pre_tokenizer", "pretokenizers", func(o *ordered.Object, kind string) error {
		steps, err := readPreTokenizer(o, kind)
		p.steps = append(p.steps, steps...)
		return err
	})
	if err != nil || len(p.steps) == 0 {
		return nil, err
	}
	// Words are looked up in a cache by their own bytes: the stand-ins are only made where a later step would see them.
	if last, ok := p.steps[len(p.steps)-1].(toBytes); ok {
		last.deferred = true
		p.steps[len(p.steps)-1] = last
	}
	return p, nil
}

// Apply cuts piece and calls emit for each word in order; empty words are left out.
func (t *PreTokenizer) Apply(piece Piece, budget *regex.Budget, emit func(Piece) error) error {
	next := emit
	if t != nil {
		for i := len(t.steps) - 1; i >= 0; i-- {
			step, after := t.steps[i], next
			next = func(p Piece) error {
				if p.Text == "" {
					return nil
				}
				return step.split(p, budget, after)
			}
		}
	}
	if piece.Text == "" {
		return nil
	}
	return next(piece)
}

const knownPreTokenizers = "ByteLevel, Split, Digits, Metaspace, Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit, BertPreTokenizer, FixedLength, Sequence"

// gpt2 is the split that ByteLevel does by itself.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

func readPreTokenizer(o *ordered.Object, kind string) ([]splitter, error) {
	switch kind {
	case "ByteLevel":
		prefix, err1 := o.Bool("add_prefix_space", true)
		split, err2 := o.Bool("use_regex", true)
		var steps []splitter
		if prefix {
			steps = append(steps, spacePrefix{})
		}
		if split {
			re, err := regex.Compile(gpt2)
			if err != nil {
				return nil, err
			}
			steps = append(steps, &at{p: &pattern{re: re}, b: isolated})
		}
		return append(steps, toBytes{}), errors.Join(err1, err2)
	case "Split":
		p, err := readPattern(o, "pattern")
		if err != nil {
			return nil, err
		}
		name, _, err1 := o.Text("behavior")
		b, err2 := readBehavior(name)
		invert, err3 := o.Bool("invert", false)
		return []splitter{&at{p, b, invert}}, errors.Join(err1, err2, err3)
	case "Digits":
		individual, err := o.Bool("individual_digits", false)
		b := contiguous
		if individual {
			b = isolated
		}
		return []splitter{&at{p: &pattern{class: ucd.Numeric}, b: b}}, err
	case "Punctuation":
		name, ok, err := o.Text("behavior")
		if err == nil && !ok {
			name = string(isolated)
		}
		b, err2 := readBehavior(name)
		return []splitter{&at{p: &pattern{class: ucd.Punctuation}, b: b}}, errors.Join(err, err2)
	case "Whitespace":
		return []splitter{words{}}, nil
	case "WhitespaceSplit":
		return []splitter{&at{p: &pattern{class: ucd.Space}, b: removed}}, nil
	case "BertPreTokenizer":
		return []splitter{&at{p: &pattern{class: ucd.Space}, b: removed}, &at{p: &pattern{class: ucd.Punctuation}, b: isolated}}, nil
	case "CharDelimiterSplit", "Delimiter":
		d, err := readChar(o, "delimiter")
		return []splitter{&at{p: &pattern{literal: d}, b: removed}}, err
	case "Metaspace":
		m, err := readMetaspace(o)
		return []splitter{m}, err
	case "FixedLength":
		n, err := o.Int("length", 5)
		if err == nil && n < 1 {
			err = fmt.Errorf(`"length" must be at least 1, not %d`, n)
		}
		return []splitter{fixed(n)}, err
	}
	return nil, fmt.Errorf("unknown; known are %s", knownPreTokenizers)
}

func readChar(o *ordered.Object, key string) (string, error) {
	s, _, err := o.Text(key)
	if err == nil && utf8.RuneCountInString(s) != 1 {
		err = fmt.Errorf("%q must be one character, not %q", key, s)
	}
	return s, err
}

// at splits at a pattern.
type at struct {
	p      *pattern
	b      behavior
	invert bool
}

func (s *at) split(p Piece, budget *regex.Budget, emit func(Piece) error) error {
	return cut(p.Text, s.p, s.b, s.invert, budget, func(start, end int) error {
		return emit(Piece{Text: p.Text[start:end], First: p.First && start == 0})
	})
}

type spacePrefix struct{}

func (spacePrefix) split(p Piece, _ *regex.Budget, emit func(Piece) error) error {
	if !strings.HasPrefix(p.Text, " ") {
		p.Text = " " + p.Text
	}
	return emit(p)
}

// toBytes replaces bytes by their stand-ins, or leaves that to the model.
type toBytes struct{ deferred bool }

func (s toBytes) split(p Piece, _ *regex.Budget, emit func(Piece) error) error {
	if s.deferred {
		p.Bytes = true
	} else {
		p.Text = bpe.ByteLevel(p.Text)
	}
	return emit(p)
}

// words keeps runs of word characters and runs of other visible ones.
type words struct{}

func (words) split(p Piece, _ *regex.Budget, emit func(Piece) error) error {
	kind := func(r rune) int {
		switch {
		case ucd.RustWord(r):
			return 1
		case ucd.Space(r):
			return 0
		}
		return 2
	}
	start, current := 0, 0
	for i, r := range p.Text {
		if k := kind(r); k != current {
			if current != 0 {
				if err := emit(Piece{Text: p.Text[start:i], First: p.First && start == 0}); err != nil {
					return err
				}
			}
			start, current = i, k
		}
	}
	if current == 0 {
		return nil
	}
	return emit(Piece{Text: p.Text[start:], First: p.First && start == 0})
}

// fixed cuts into parts of so many characters.
type fixed int

func (n fixed) split(p Piece, _ *regex.Budget, emit func(Piece) error) error {
	start, count := 0, 0
	for i := range p.Text {
		if count == int(n) {
			if err := emit(Piece{Text: p.Text[start:i], First: p.First && start == 0}); err != nil {
				return err
			}
			start, count = i, 0
		}
		count++
	}
	return emit(Piece{Text: p.Text[start:], First: p.First && start == 0})
}
