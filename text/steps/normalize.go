package steps

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/graphrun/graphrun/text/bpe"
	"github.com/graphrun/graphrun/text/ordered"
	"github.com/graphrun/graphrun/text/regex"
	"github.com/graphrun/graphrun/text/ucd"
)

// Normalizer changes a text before it is cut into words. A nil one changes nothing.
type Normalizer struct {
	steps []normalStep
}

// normalStep returns the changed text, and whether its first character still stems from the first one of the input.
type normalStep func(text string, budget *regex.Budget) (changed string, first bool, err error)

// NewNormalizer reads the "normalizer" of a tokenizer file; null is none.
func NewNormalizer(v any) (*Normalizer, error) {
	n := &Normalizer{}
	err := flatten(v, "normalizer", "normalizers", func(o *ordered.Object, kind string) error {
		step, err := readNormalizer(o, kind)
		n.steps = append(n.steps, step)
		return err
	})
	if err != nil || len(n.steps) == 0 {
		return nil, err
	}
	return n, nil
}

// Apply normalises text. first is false where the beginning of text was removed, which matters to a pre-tokeniser that
// treats the first word differently.
func (n *Normalizer) Apply(text string, budget *regex.Budget) (changed string, first bool, err error) {
	first = true
	if n == nil {
		return text, first, nil
	}
	for _, step := range n.steps {
		var kept bool
		if text, kept, err = step(text, budget); err != nil {
			return "", false, fmt.Errorf("normaliser: %w", err)
		}
		first = first && kept
	}
	return text, first, nil
}

func always(f func(string) string) normalStep {
	return func(text string, _ *regex.Budget) (string, bool, error) { return f(text), true, nil }
}

const knownNormalizers = "NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Prepend, Replace, Nmt, BertNormalizer, ByteLevel, Sequence"

func readNormalizer(o *ordered.Object, kind string) (normalStep, error) {
	switch kind {
	case "NFC":
		return always(form(norm.NFC)), nil
	case "NFD":
		return always(form(norm.NFD)), nil
	case "NFKC":
		return always(form(norm.NFKC)), nil
	case "NFKD":
		return always(form(norm.NFKD)), nil
	case "Lowercase":
		return always(lowercase), nil
	case "ByteLevel":
		return always(bpe.ByteLevel), nil
	case "StripAccents":
		return filter(ucd.CombiningMark, nil), nil
	case "Nmt":
		return filter(nmtDropped, nmtSpace), nil
	case "Strip":
		left, err1 := o.Bool("strip_left", false)
		right, err2 := o.Bool("strip_right", false)
		return strip(left, right), errors.Join(err1, err2)
	case "Prepend":
		prefix, _, err := o.Text("prepend")
		return always(func(text string) string {
			if text == "" {
				return ""
			}
			return prefix + text
		}), err
	case "Replace":
		p, err := readPattern(o, "pattern")
		if err != nil {
			return nil, err
		}
		with, _, err := o.Text("content")
		return func(text string, budget *regex.Budget) (string, bool, error) {
			changed, err := p.replace(text, with, budget)
			return changed, with != "" || changed == "" || strings.HasPrefix(text, changed[:1]), err
		}, err
	case "BertNormalizer":
		return readBert(o)
	case "Precompiled":
		return nil, fmt.Errorf("not supported: its table of replacements belongs to Unigram models, which are not supported either")
	}
	return nil, fmt.Errorf("unknown; known are %s", knownNormalizers)
}

// form applies a normalisation form to the code points that take part in it by the tables of Python's tokenizers. The
// ones that only a newer Unicode normalises are kept, and nothing composes or moves across them.
func form(f norm.Form) func(string) string {
	return func(text string) string {
		if f.IsNormalString(text) {
			return text
		}
		var b strings.Builder
		last := 0
		for i, r := range text {
			if r < 0x300 || ucd.Active(r) {
				continue
			}
			size := len(string(r))
			p := norm.NFKD.PropertiesString(text[i : i+size])
			if p.Decomposition() == nil && p.CCC() == 0 && norm.NFC.PropertiesString(text[i:i+size]).BoundaryBefore() {
				continue
			}
			b.WriteString(f.String(text[last:i]))
			b.WriteString(text[i : i+size])
			last = i + size
		}
		if last == 0 {
			return f.String(text)
		}
		b.WriteString(f.String(text[last:]))
		return b.String()
	}
}

func lowercase(text string) string {
	b := make([]byte, 0, len(text)+8)
	for _, r := range text {
		b = ucd.AppendLower(b, r)
	}
	return string(b)
}

func strip(left, right bool) normalStep {
	return func(text string, _ *regex.Budget) (string, bool, error) {
		first := true
		if left {
			trimmed := strings.TrimLeftFunc(text, ucd.Space)
			first = len(trimmed) == len(text)
			text = trimmed
		}
		if right {
			text = strings.TrimRightFunc(text, ucd.Space)
		}
		return text, first, nil
	}
}

// filter removes the characters that drop names and turns the ones that space names into a space.
func filter(drop, space func(rune) bool) normalStep {
	return func(text string, _ *regex.Budget) (string, bool, error) {
		first := true
		changed := strings.Map(func(r rune) rune {
			switch {
			case drop(r):
				return -1
			case space != nil && space(r):
				return ' '
			}
			return r
		}, text)
		for _, r := range text {
			first = !drop(r)
			break
		}
		return changed, first, nil
	}
}

func nmtDropped(r rune) bool {
	return r >= 1 && r <= 8 || r == 0xB || r >= 0xE && r <= 0x1F || r == 0x7F || r == 0x8F || r == 0x9F
}

func nmtSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\f', '\r', 0x1680, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD:
		return true
	}
	return r >= 0x200B && r <= 0x200F
}

func readBert(o *ordered.Object) (normalStep, error) {
	clean, err1 := o.Bool("clean_text", true)
	chinese, err2 := o.Bool("handle_chinese_chars", true)
	lower, err3 := o.Bool("lowercase", true)
	accents, err4 := o.Bool("strip_accents", lower)
	cleaning := filter(ucd.Dropped, ucd.Space)
	return func(text string, budget *regex.Budget) (string, bool, error) {
		first := true
		if clean {
			text, first, _ = cleaning(text, budget)
		}
		if chinese {
			text = spaceIdeographs(text)
		}
		if accents {
			text, _, _ = filter(ucd.Nonspacing, nil)(form(norm.NFD)(text), budget)
		}
		if lower {
			text = lowercase(text)
		}
		return text, first, nil
	}, errors.Join(err1, err2, err3, err4)
}

// spaceIdeographs puts spaces around the code points of the CJK blocks, as BERT does (U+2B820 to U+2B91F excepted).
func spaceIdeographs(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF ||
			r >= 0x2A700 && r <= 0x2B81F || r >= 0x2B920 && r <= 0x2CEAF || r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
