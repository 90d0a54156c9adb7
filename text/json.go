package text

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/text/bpe"
	"github.com/graphrun/graphrun/text/ordered"
	"github.com/graphrun/graphrun/text/steps"
)

// FromJSON reads a tokenizer.json. Errors name the part of the file and, for JSON mistakes, the line and column.
func FromJSON(data []byte) (*Tokenizer, error) {
	f, err := readFile(data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	t, err := f.build(nil)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, nil
}

// file is a tokenizer.json before it is built.
type file struct {
	model      bpe.Config
	kind       string
	hint       int // about how many tokens there are
	merges     bool
	added      []addedToken
	normalizer any
	pre        any
	post       any
	decoder    any
}

func readFile(data []byte) (*file, error) {
	r, err := ordered.NewReader(data)
	if err != nil {
		return nil, err
	}
	f := &file{hint: min(len(data)/64, 1<<18)}
	hasModel := false
	err = r.Object(func(key string) (err error) {
		switch key {
		case "version":
			var v any
			if v, err = r.Value(); err == nil && v != "1.0" {
				err = fmt.Errorf("unknown version %v; known is 1.0", v)
			}
		case "added_tokens":
			var v any
			if v, err = r.Value(); err == nil {
				f.added, err = readAdded(v)
			}
		case "normalizer":
			f.normalizer, err = r.Value()
		case "pre_tokenizer":
			f.pre, err = r.Value()
		case "post_processor":
			f.post, err = r.Value()
		case "decoder":
			f.decoder, err = r.Value()
		case "model":
			hasModel = true
			if err = f.readModel(r); err != nil {
				err = fmt.Errorf("model: %w", err)
			}
		default: // truncation and padding belong to training
			_, err = r.Value()
		}
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err == nil && !hasModel {
		err = fmt.Errorf(`there is no "model"`)
	}
	return f, err
}

func (f *file) readModel(r *ordered.Reader) error {
	o := &ordered.Object{}
	err := r.Object(func(key string) error {
		switch key {
		case "vocab":
			return f.readVocab(r)
		case "merges":
			f.merges = true
			return f.readMerges(r)
		}
		v, err := r.Value()
		o.Set(key, v)
		return err
	})
	if err != nil {
		return err
	}
	return f.readFlags(o)
}

func (f *file) readFlags(o *ordered.Object) (err error) {
	if f.kind, _, err = o.Text("type"); err != nil {
		return err
	}
	if f.kind == "" && f.merges {
		f.kind = "BPE" // files from before the type was written
	}
	if f.kind != "BPE" {
		return fmt.Errorf("its type is %q; only BPE is supported", f.kind)
	}
	c := &f.model
	if c.Unknown, c.HasUnknown, err = o.Text("unk_token"); err != nil {
		return err
	}
	if c.Prefix, _, err = o.Text("continuing_subword_prefix"); err != nil {
		return err
	}
	if c.Suffix, _, err = o.Text("end_of_word_suffix"); err != nil {
		return err
	}
	for key, to := range map[string]*bool{
		"fuse_unk": &c.FuseUnknown, "byte_fallback": &c.ByteFallback, "ignore_merges": &c.IgnoreMerges,
	} {
		if *to, err = o.Bool(key, false); err != nil {
			return err
		}
	}
	if c.Vocab == nil || !f.merges {
		return fmt.Errorf("vocab or merges are missing")
	}
	return nil
}

func (f *file) readVocab(r *ordered.Reader) error {
	if r.Next() == '[' { // a list of tokens and scores: the type will say so
		return r.Skip()
	}
	f.model.Vocab = bpe.NewVocab(f.hint)
	return r.Object(func(token string) error {
		id, err := r.Int()
		if err != nil {
			return fmt.Errorf("vocab: %w", err)
		}
		return f.model.Vocab.Add(token, id)
	})
}

// readMerges reads ["a b", …] or [["a", "b"], …].
func (f *file) readMerges(r *ordered.Reader) error {
	rank := -1
	f.model.Merges = make([]bpe.Pair, 0, f.hint)
	return r.Array(func() error {
		rank++
		if r.Next() != '[' {
			line, err := r.String()
			if err != nil || strings.HasPrefix(line, "#version") {
				return err
			}
			p, err := splitMerge(line)
			if err != nil {
				return fmt.Errorf("merges[%d]: %w", rank, err)
			}
			f.model.Merges = append(f.model.Merges, p)
			return nil
		}
		var sides [2]string
		n := 0
		err := r.Array(func() error {
			s, err := r.String()
			if n < 2 {
				sides[n] = s
			}
			n++
			return err
		})
		if err == nil && n != 2 {
			err = fmt.Errorf("merges[%d] has %d sides instead of 2", rank, n)
		}
		f.model.Merges = append(f.model.Merges, bpe.Pair{Left: sides[0], Right: sides[1]})
		return err
	})
}

func splitMerge(line string) (bpe.Pair, error) {
	left, right, ok := strings.Cut(line, " ")
	if !ok || strings.Contains(right, " ") {
		return bpe.Pair{}, fmt.Errorf("%q is not two tokens with a space between them", line)
	}
	return bpe.Pair{Left: left, Right: right}, nil
}

func readAdded(v any) ([]addedToken, error) {
	if v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("added_tokens must be an array, not %s", ordered.Kind(v))
	}
	var tokens []addedToken
	for i, item := range list {
		o, ok := item.(*ordered.Object)
		if !ok {
			return nil, fmt.Errorf("added_tokens[%d] must be an object, not %s", i, ordered.Kind(item))
		}
		t, err := readAddedToken(o)
		if err != nil {
			return nil, fmt.Errorf("added_tokens[%d]: %w", i, err)
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

func readAddedToken(o *ordered.Object) (t addedToken, err error) {
	if t.content, _, err = o.Text("content"); err != nil {
		return t, err
	}
	if t.special, err = o.Bool("special", false); err != nil {
		return t, err
	}
	for key, to := range map[string]*bool{"single_word": &t.singleWord, "lstrip": &t.lstrip, "rstrip": &t.rstrip} {
		if *to, err = o.Bool(key, false); err != nil {
			return t, err
		}
	}
	t.normalized, err = o.Bool("normalized", !t.special)
	return t, err
}

// build makes the tokenizer; more are added tokens from other files.
func (f *file) build(more []addedToken) (*Tokenizer, error) {
	t := &Tokenizer{roles: roles{-1, -1, -1, -1}}
	var err error
	if t.norm, err = steps.NewNormalizer(f.normalizer); err != nil {
		return nil, err
	}
	if t.pre, err = steps.NewPreTokenizer(f.pre); err != nil {
		return nil, err
	}
	if t.post, err = steps.NewPostProcessor(f.post); err != nil {
		return nil, err
	}
	if t.dec, err = steps.NewDecoder(f.decoder); err != nil {
		return nil, err
	}
	if t.model, err = bpe.New(f.model); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if t.added, err = newAdded(append(f.added, more...), f.model.Vocab, t.norm); err != nil {
		return nil, err
	}
	for _, id := range t.post.IDs() {
		if _, ok := t.Token(id); !ok {
			return nil, fmt.Errorf("post_processor: the id %d has no token", id)
		}
	}
	if f.model.HasUnknown {
		if id, ok := t.ID(f.model.Unknown); ok {
			t.roles.unk = id
		}
	}
	return t, nil
}
