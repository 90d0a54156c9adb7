package text

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/text/bpe"
	"github.com/graphrun/graphrun/text/ordered"
	"github.com/graphrun/graphrun/text/steps"
)

// GGUF is the tokenizer's part of a GGUF file's metadata (the keys tokenizer.ggml.*).
type GGUF struct {
	Model  string // tokenizer.ggml.model
	Pre    string // tokenizer.ggml.pre, "" where absent
	Tokens []string
	Types  []int32   // token_type, nil where absent: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
	Scores []float32 // nil where absent
	Merges []string

	BOS, EOS, UNK, PAD int   // -1 where absent
	EndIDs             []int // further ends of generation: eot_token_id, eom_token_id

	AddBOS, AddEOS, SpacePrefix *bool // add_bos_token, add_eos_token, add_space_prefix; nil where absent

	ChatTemplate string // tokenizer.chat_template
}

//go:embed gguf.yaml
var ggufSource []byte

type ggufTable struct {
	Models map[string]ggufModel `yaml:"models"`
	Pre    []ggufPre            `yaml:"pre"`
	Shared []string             `yaml:"patterns"`
}

type ggufModel struct {
	Merges       string `yaml:"merges"`
	Pre          bool   `yaml:"pre"`
	ByteFallback bool   `yaml:"byte_fallback"`
	FuseUnknown  bool   `yaml:"fuse_unk"`
	AddBOS       bool   `yaml:"add_bos"`
	SpacePrefix  bool   `yaml:"space_prefix"`
	Prefix       any    `yaml:"prefix"`
	Normalizer   []any  `yaml:"normalizer"`
	Decoder      any    `yaml:"decoder"`
	Strip        any    `yaml:"strip"`
}

type ggufPre struct {
	Names        []string `yaml:"names"`
	Split        []any    `yaml:"split"`
	Normalizer   []any    `yaml:"normalizer"`
	IgnoreMerges bool     `yaml:"ignore_merges"`
	AddBOS       bool     `yaml:"add_bos"`
}

var loadGGUF = sync.OnceValues(func() (*ggufTable, error) {
	t := &ggufTable{}
	if err := yaml.Unmarshal(ggufSource, t); err != nil {
		return nil, fmt.Errorf("gguf.yaml: %w", err)
	}
	return t, nil
})

// FromGGUF builds a tokenizer from GGUF metadata. A model kind or pre-tokeniser that is not known is an error that lists
// the known ones.
func FromGGUF(g GGUF) (*Tokenizer, error) {
	t, err := fromGGUF(&g)
	if err != nil {
		return nil, fmt.Errorf("GGUF tokenizer: %w", err)
	}
	return t, nil
}

func fromGGUF(g *GGUF) (*Tokenizer, error) {
	f, addBOS, err := g.read()
	if err != nil {
		return nil, err
	}
	t, err := f.build(nil)
	if err != nil {
		return nil, err
	}
	return t, t.ggufRoles(g, addBOS)
}

// read puts the metadata into the terms of tokenizer.json. addBOS is whether a text begins with a BOS where the file does
// not say.
func (g *GGUF) read() (f *file, addBOS bool, err error) {
	table, err := loadGGUF()
	if err != nil {
		return nil, false, err
	}
	m, ok := table.Models[g.Model]
	if !ok {
		return nil, false, fmt.Errorf("tokenizer.ggml.model is %q; known are %s", g.Model, listed(table.Models))
	}
	if len(g.Tokens) == 0 {
		return nil, false, errors.New("tokenizer.ggml.tokens is empty")
	}
	if g.Types != nil && len(g.Types) != len(g.Tokens) {
		return nil, false, fmt.Errorf("tokenizer.ggml.token_type has %d entries for %d tokens", len(g.Types), len(g.Tokens))
	}
	pre := ggufPre{}
	if m.Pre {
		if pre, err = table.find(g.Pre); err != nil {
			return nil, false, err
		}
	}
	f = &file{}
	if err := f.ggufModel(g, m, pre); err != nil {
		return nil, false, err
	}
	return f, m.AddBOS || pre.AddBOS, f.ggufSteps(g, m, pre)
}

// find returns the way to split of a name. A file without the key is read the general way.
func (t *ggufTable) find(name string) (ggufPre, error) {
	if name == "" {
		name = "default"
	}
	var known []string
	for _, p := range t.Pre {
		if slices.Contains(p.Names, name) {
			return p, nil
		}
		known = append(known, p.Names...)
	}
	slices.Sort(known)
	return ggufPre{}, fmt.Errorf("tokenizer.ggml.pre is %q, which is not known; known are %s", name, strings.Join(known, ", "))
}

func listed[T any](m map[string]T) string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Token types of GGUF.
const (
	ggufUnknown     = 2
	ggufControl     = 3
	ggufUserDefined = 4
)

func (f *file) ggufModel(g *GGUF, m ggufModel, pre ggufPre) error {
	f.kind, f.merges = "BPE", true
	c := &f.model
	c.Vocab = bpe.NewVocab(len(g.Tokens))
	for id, token := range g.Tokens {
		token = steps.ToValid(token)
		if err := c.Vocab.Add(token, int32(id)); err != nil {
			return err
		}
		if c.Vocab.Len() != id+1 {
			return fmt.Errorf("the token %q has two ids, %d and %d", token, slices.Index(g.Tokens, token), id)
		}
		if g.Types == nil {
			continue
		}
		switch kind := g.Types[id]; kind {
		case ggufUnknown, ggufControl, ggufUserDefined:
			f.added = append(f.added, addedToken{content: token, special: kind != ggufUserDefined})
		}
	}
	c.ByteFallback, c.FuseUnknown, c.IgnoreMerges = m.ByteFallback, m.FuseUnknown, pre.IgnoreMerges
	if !m.Pre && g.UNK >= 0 && g.UNK < len(g.Tokens) {
		c.Unknown, c.HasUnknown = g.Tokens[g.UNK], true
	}
	if m.Merges == "scores" {
		if len(g.Scores) != len(g.Tokens) {
			return fmt.Errorf("tokenizer.ggml.scores has %d entries for %d tokens", len(g.Scores), len(g.Tokens))
		}
		c.Scores = g.Scores
		return nil
	}
	c.Merges = make([]bpe.Pair, 0, len(g.Merges))
	for i, line := range g.Merges {
		line = steps.ToValid(line)
		// A side may begin with a space: the cut is at the first one behind the first byte.
		at := strings.IndexByte(line[min(1, len(line)):], ' ') + 1
		if at == 0 {
			return fmt.Errorf("tokenizer.ggml.merges[%d] is %q, not two tokens with a space between them", i, line)
		}
		c.Merges = append(c.Merges, bpe.Pair{Left: line[:at], Right: line[at+1:]})
	}
	return nil
}

func (f *file) ggufSteps(g *GGUF, m ggufModel, pre ggufPre) error {
	prefix := m.SpacePrefix
	if g.SpacePrefix != nil && m.Prefix != nil {
		prefix = *g.SpacePrefix
	}
	var normal []any
	decoders := []any{m.Decoder}
	if prefix {
		normal = append(normal, m.Prefix)
		if m.Strip != nil {
			decoders = append(decoders, m.Strip)
		}
	}
	normal = append(append(normal, m.Normalizer...), pre.Normalizer...)
	var split []any
	for _, s := range pre.Split {
		if pattern, ok := s.(string); ok {
			s = map[string]any{
				"type": "Split", "pattern": map[string]any{"Regex": pattern}, "behavior": "Isolated", "invert": false,
			}
		}
		split = append(split, s)
	}
	if m.Pre {
		split = append(split, map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})
	}
	var err1, err2, err3 error
	f.normalizer, err1 = sequenceOf("normalizers", normal)
	f.pre, err2 = sequenceOf("pretokenizers", split)
	f.decoder, err3 = sequenceOf("decoders", decoders)
	return errors.Join(err1, err2, err3)
}

func sequenceOf(key string, items []any) (any, error) {
	if len(items) == 0 {
		return nil, nil
	}
	return ordered.FromGo(map[string]any{"type": "Sequence", key: items})
}

func (t *Tokenizer) ggufRoles(g *GGUF, addBOS bool) error {
	role := func(key string, id int, to *int32) error {
		if id < 0 {
			return nil
		}
		if id >= len(g.Tokens) {
			return fmt.Errorf("tokenizer.ggml.%s is %d, but there are %d tokens", key, id, len(g.Tokens))
		}
		*to = int32(id)
		return nil
	}
	err := errors.Join(role("bos_token_id", g.BOS, &t.roles.bos), role("eos_token_id", g.EOS, &t.roles.eos),
		role("unknown_token_id", g.UNK, &t.roles.unk), role("padding_token_id", g.PAD, &t.roles.pad))
	if err != nil {
		return err
	}
	addEOS := false
	if g.AddBOS != nil {
		addBOS = *g.AddBOS
	}
	if g.AddEOS != nil {
		addEOS = *g.AddEOS
	}
	var before, after []int32
	if addBOS {
		if t.roles.bos < 0 {
			return errors.New("a BOS token is to be added, but tokenizer.ggml.bos_token_id is missing")
		}
		before = []int32{t.roles.bos}
	}
	if addEOS {
		if t.roles.eos < 0 {
			return errors.New("an EOS token is to be added, but tokenizer.ggml.eos_token_id is missing")
		}
		after = []int32{t.roles.eos}
	}
	t.post = steps.Around(before, after)
	return nil
}
