package text

import (
	"strings"

	"github.com/graphrun/graphrun/text/bpe"
	"github.com/graphrun/graphrun/text/regex"
	"github.com/graphrun/graphrun/text/steps"
)

// Tokenizer turns text into token ids and back. It does not change after it is made and is safe for use by several
// goroutines.
type Tokenizer struct {
	model *bpe.Model
	added *added
	norm  *steps.Normalizer
	pre   *steps.PreTokenizer
	post  *steps.PostProcessor
	dec   *steps.Decoder
	roles roles
}

// roles are the ids of tokens with a role of their own, -1 where there is none.
type roles struct{ bos, eos, unk, pad int32 }

// Encode returns the ids of text. With addSpecial, the tokens that the model expects around a text (a BOS, as a rule) are
// put there. Special tokens written out in text become their ids either way. Invalid UTF-8 is read as U+FFFD. It fails if
// a pattern of the tokenizer file needs too many steps for this text, or if a character has no token at all.
func (t *Tokenizer) Encode(text string, addSpecial bool) ([]int32, error) {
	text = steps.ToValid(text)
	budget := &regex.Budget{Steps: 1<<24 + 1024*int64(len(text))}
	enc := t.model.Encoder()
	defer enc.Close()
	ids := make([]int32, 0, len(text)/3+8)

	word := func(p steps.Piece) (err error) {
		ids, err = enc.Append(ids, p.Text, p.Bytes)
		return err
	}
	token := func(id int32) { ids = append(ids, id) }
	err := t.added.split(text, t.added.plain, func(part string, offset int) error {
		changed, kept, err := t.norm.Apply(part, budget)
		if err != nil {
			return err
		}
		return t.added.split(changed, t.added.normalized, func(part string, inner int) error {
			first := offset == 0 && inner == 0 && kept
			return t.pre.Apply(steps.Piece{Text: part, First: first}, budget, word)
		}, token)
	}, token)
	if err != nil {
		return nil, err
	}
	return t.post.Apply(ids, addSpecial), nil
}

// EncodePrompt encodes a rendered prompt: with the special tokens of Encode, unless the prompt starts with the BOS token
// already, as a chat template's does.
func (t *Tokenizer) EncodePrompt(text string) ([]int32, error) {
	bos, ok := t.Token(t.roles.bos)
	return t.Encode(text, !ok || !strings.HasPrefix(text, bos))
}

// Decode returns the text of ids. With skipSpecial, special tokens are left out; ids without a token always are. Bytes
// that are not UTF-8 become U+FFFD.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	s := NewStream(t, skipSpecial)
	for _, id := range ids {
		if token, ok := t.shown(id, skipSpecial); ok {
			s.run.Append(token)
		}
	}
	return s.Flush()
}

// shown returns what the decoder gets for an id, and false if it gets nothing.
func (t *Tokenizer) shown(id int32, skipSpecial bool) (string, bool) {
	token, ok := t.added.text(id)
	if !ok {
		token, ok = t.model.Vocab().Token(id)
	}
	return token, ok && !(skipSpecial && t.added.special[token])
}

// Token returns the token of an id as the vocabulary writes it: a byte-level model's " a" is "Ġa".
func (t *Tokenizer) Token(id int32) (string, bool) {
	if a, ok := t.added.tokens[id]; ok {
		return a.content, true
	}
	return t.model.Vocab().Token(id)
}

// ID returns the id of a token, written as Token returns it.
func (t *Tokenizer) ID(token string) (int32, bool) {
	if id, ok := t.added.ids[token]; ok {
		return id, true
	}
	return t.model.Vocab().ID(token)
}

// VocabSize is one more than the highest id. A model's output may be wider: such rows are padding.
func (t *Tokenizer) VocabSize() int {
	size := t.model.Vocab().End()
	for id := range t.added.tokens {
		size = max(size, int(id)+1)
	}
	return size
}

// IsSpecial reports whether id is a control token, which Decode can leave out.
func (t *Tokenizer) IsSpecial(id int32) bool { return t.added.tokens[id].special }

// BOS is the token that starts a text.
func (t *Tokenizer) BOS() (int32, bool) { return t.roles.bos, t.roles.bos >= 0 }

// EOS is the token that ends a text. A model may end with others too: see Stops.
func (t *Tokenizer) EOS() (int32, bool) { return t.roles.eos, t.roles.eos >= 0 }

// UNK is the token for what no other token covers.
func (t *Tokenizer) UNK() (int32, bool) { return t.roles.unk, t.roles.unk >= 0 }

// PAD is the token that fills rows of a batch.
func (t *Tokenizer) PAD() (int32, bool) { return t.roles.pad, t.roles.pad >= 0 }
