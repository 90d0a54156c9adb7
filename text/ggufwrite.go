package text

import (
	"encoding/json"
	"fmt"

	"github.com/graphrun/graphrun/text/ordered"
)

// Files writes the tokenizer of a GGUF file as a Hugging Face folder has it, by file name: tokenizer.json,
// tokenizer_config.json with the chat template, and generation_config.json with the ids that end a text. They read back
// as the same tokenizer. One that ranks its merges by scores has no list of them to write and is an error.
func (g GGUF) Files() (map[string][]byte, error) {
	t, err := fromGGUF(&g)
	if err != nil {
		return nil, fmt.Errorf("GGUF tokenizer: %w", err)
	}
	f, _, err := g.read()
	if err != nil {
		return nil, err
	}
	if f.model.Scores != nil {
		return nil, fmt.Errorf("GGUF tokenizer: tokenizer.ggml.model %s ranks its merges by scores; tokenizer.json has a list of merges, and none is made of scores", g.Model)
	}
	out := map[string][]byte{}
	write := func(name string, v any) {
		data, e := json.MarshalIndent(v, "", "  ")
		if e != nil && err == nil {
			err = fmt.Errorf("%s: %w", name, e)
		}
		out[name] = append(data, '\n')
	}
	write("tokenizer.json", f.json(t))
	config := ordered.NewObject("tokenizer_class", "PreTrainedTokenizerFast", "clean_up_tokenization_spaces", false)
	for _, role := range []struct {
		name string
		id   int32
	}{{"bos_token", t.roles.bos}, {"eos_token", t.roles.eos}, {"unk_token", t.roles.unk}, {"pad_token", t.roles.pad}} {
		if token, ok := t.Token(role.id); ok {
			config.Set(role.name, token)
		}
	}
	if g.ChatTemplate != "" {
		config.Set("chat_template", g.ChatTemplate)
	}
	write("tokenizer_config.json", config)
	if ends := g.ends(); len(ends) > 0 {
		write("generation_config.json", map[string]any{"eos_token_id": ends})
	}
	return out, err
}

// ends are the ids that end a text.
func (g GGUF) ends() []int {
	var out []int
	for _, id := range append([]int{g.EOS}, g.EndIDs...) {
		if id >= 0 {
			out = append(out, id)
		}
	}
	return out
}

// json is the file as tokenizer.json has it.
func (f *file) json(t *Tokenizer) any {
	added := []any{}
	for _, a := range f.added {
		id, _ := t.ID(a.content)
		added = append(added, ordered.NewObject("id", int64(id), "content", a.content, "single_word", a.singleWord, "lstrip", a.lstrip,
			"rstrip", a.rstrip, "normalized", a.normalized, "special", a.special))
	}
	vocab := ordered.NewObject()
	for id := range int32(f.model.Vocab.End()) {
		if token, ok := f.model.Vocab.Token(id); ok {
			vocab.Set(token, int64(id))
		}
	}
	merges := make([]any, len(f.model.Merges))
	for i, m := range f.model.Merges {
		merges[i] = []any{m.Left, m.Right}
	}
	model := ordered.NewObject("type", "BPE", "dropout", nil, "unk_token", nil, "continuing_subword_prefix", nil, "end_of_word_suffix", nil,
		"fuse_unk", f.model.FuseUnknown, "byte_fallback", f.model.ByteFallback, "ignore_merges", f.model.IgnoreMerges, "vocab", vocab, "merges", merges)
	if f.model.HasUnknown {
		model.Set("unk_token", f.model.Unknown)
	}
	return ordered.NewObject("version", "1.0", "truncation", nil, "padding", nil, "added_tokens", added, "normalizer", f.normalizer,
		"pre_tokenizer", f.pre, "post_processor", t.around(), "decoder", f.decoder, "model", model)
}

// around is the post-processor that puts the tokenizer's tokens around a text, or nil.
func (t *Tokenizer) around() any {
	special := ordered.NewObject()
	single := []any{}
	text := func() {
		single = append(single, ordered.NewObject("Sequence", ordered.NewObject("id", "A", "type_id", int64(0))))
	}
	ids := t.post.Apply([]int32{-1}, true)
	if len(ids) == 1 {
		return nil
	}
	for _, id := range ids {
		token, ok := t.Token(id)
		if !ok {
			text()
			continue
		}
		single = append(single, ordered.NewObject("SpecialToken", ordered.NewObject("id", token, "type_id", int64(0))))
		special.Set(token, ordered.NewObject("id", token, "ids", []any{int64(id)}, "tokens", []any{token}))
	}
	return ordered.NewObject("type", "TemplateProcessing", "single", single, "pair", append([]any{}, single...), "special_tokens", special)
}
