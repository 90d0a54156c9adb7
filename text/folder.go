package text

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/text/ordered"
)

// maxFile bounds the files that are read: the largest known tokenizer.json has 33 MB.
const maxFile = 512 << 20

// LoadFolder reads the tokenizer, the chat templates and the stop ids of a Hugging Face folder: tokenizer.json and, where
// they exist, tokenizer_config.json, special_tokens_map.json, chat_template.jinja, chat_template.json,
// additional_chat_templates, generation_config.json and config.json.
func LoadFolder(dir string) (*Loaded, error) {
	l, err := loadFolder(folder(dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return l, nil
}

type folder string

// read returns a file of the folder, nil if it does not exist.
func (d folder) read(name string) ([]byte, error) {
	f, err := os.Open(filepath.Join(string(d), name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	return data, err
}

// object reads a JSON file that holds an object; a missing file is an empty one.
func (d folder) object(name string) (*Object, error) {
	data, err := d.read(name)
	if data == nil || err != nil {
		return &Object{}, err
	}
	o := &Object{}
	if err := o.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, nil
}

func loadFolder(d folder) (*Loaded, error) {
	data, err := d.read("tokenizer.json")
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, d.noTokenizer()
	}
	config, err := d.object("tokenizer_config.json")
	if err != nil {
		return nil, err
	}
	more, err := configTokens(config)
	if err != nil {
		return nil, fmt.Errorf("tokenizer_config.json: %w", err)
	}
	f, err := readFile(data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	more = slices.DeleteFunc(more, func(t addedToken) bool {
		return slices.ContainsFunc(f.added, func(have addedToken) bool { return have.content == t.content })
	})
	l := &Loaded{}
	if l.Tokenizer, err = f.build(more); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	special, err := d.special(config)
	if err != nil {
		return nil, err
	}
	l.Tokenizer.setRoles(special)
	sources, err := d.templates(config)
	if err != nil {
		return nil, err
	}
	l.useTemplates(sources, special)
	return l, d.stops(l)
}

// ErrNoTokenizer: a folder has nothing that texts could be turned into tokens by.
var ErrNoTokenizer = errors.New("there is no tokenizer.json")

func (d folder) noTokenizer() error {
	for _, other := range []string{"tokenizer.model", "vocab.json", "tiktoken.model", "vocab.txt"} {
		if _, err := os.Stat(filepath.Join(string(d), other)); err == nil {
			return fmt.Errorf("there is no tokenizer.json, and %s alone is not supported; transformers writes one: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)", other)
		}
	}
	return ErrNoTokenizer
}

// configTokens reads the added tokens of tokenizer_config.json in the order of their ids.
func configTokens(config *Object) ([]addedToken, error) {
	table, err := config.Object("added_tokens_decoder")
	if err != nil {
		return nil, err
	}
	var tokens []addedToken
	for id, v := range table.All() {
		o, ok := v.(*Object)
		if !ok {
			return nil, fmt.Errorf("added_tokens_decoder: the entry %q must be an object, not %s", id, ordered.Kind(v))
		}
		t, err := readAddedToken(o)
		if err != nil {
			return nil, fmt.Errorf("added_tokens_decoder: the entry %q: %w", id, err)
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// special reads the tokens with a role: a string, or an object with a content.
func (d folder) special(config *Object) (map[string]string, error) {
	fallback, err := d.object("special_tokens_map.json")
	if err != nil {
		return nil, err
	}
	special := map[string]string{}
	for _, role := range []string{"bos", "eos", "unk", "sep", "pad", "cls", "mask"} {
		name := role + "_token"
		for _, o := range []*Object{config, fallback} {
			switch v, _ := o.Get(name); v := v.(type) {
			case string:
				special[name] = v
			case *Object:
				content, ok, err := v.Text("content")
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				if ok {
					special[name] = content
				}
			}
			if special[name] != "" {
				break
			}
		}
	}
	return special, nil
}

func (t *Tokenizer) setRoles(special map[string]string) {
	for name, to := range map[string]*int32{
		"bos_token": &t.roles.bos, "eos_token": &t.roles.eos, "unk_token": &t.roles.unk, "pad_token": &t.roles.pad,
	} {
		if id, ok := t.ID(special[name]); ok && special[name] != "" {
			*to = id
		}
	}
}

// templates returns the sources of the chat templates by name; "" is the one without a name.
func (d folder) templates(config *Object) (map[string]string, error) {
	sources := map[string]string{}
	legacy, err := d.object("chat_template.json")
	if err != nil {
		return nil, err
	}
	for _, o := range []*Object{config, legacy} {
		v, _ := o.Get("chat_template")
		if err := readTemplates(v, sources); err != nil {
			return nil, err
		}
	}
	data, err := d.read("chat_template.jinja")
	if err != nil {
		return nil, err
	}
	if data != nil {
		sources[""] = string(data)
	}
	named, _ := filepath.Glob(filepath.Join(string(d), "additional_chat_templates", "*.jinja"))
	for _, path := range named {
		base := filepath.Base(path)
		data, err := d.read(filepath.Join("additional_chat_templates", base))
		if err != nil {
			return nil, err
		}
		sources[strings.TrimSuffix(base, ".jinja")] = string(data)
	}
	return sources, nil
}

// readTemplates reads a string, or a list of {"name": …, "template": …}.
func readTemplates(v any, sources map[string]string) error {
	switch v := v.(type) {
	case nil:
	case string:
		sources[""] = v
	case []any:
		for i, item := range v {
			o, ok := item.(*Object)
			if !ok {
				return fmt.Errorf("chat_template[%d] must be an object, not %s", i, ordered.Kind(item))
			}
			name, _, err1 := o.Text("name")
			source, _, err2 := o.Text("template")
			if err := errors.Join(err1, err2); err != nil {
				return fmt.Errorf("chat_template[%d]: %w", i, err)
			}
			if name == "default" {
				name = ""
			}
			sources[name] = source
		}
	default:
		return fmt.Errorf("chat_template must be a string or an array, not %s", ordered.Kind(v))
	}
	return nil
}

// stops collects the stop ids of the configuration files.
func (d folder) stops(l *Loaded) error {
	l.Stops.add(l.Tokenizer, "tokenizer_config.json", l.Tokenizer.roles.eos)
	for _, name := range []string{"generation_config.json", "config.json"} {
		o, err := d.object(name)
		if err != nil {
			return err
		}
		v, ok := o.Get("eos_token_id")
		if text, _ := o.Object("text_config"); !ok && text != nil {
			v, _ = text.Get("eos_token_id")
		}
		ids, ok := v.([]any)
		if !ok && v != nil {
			ids = []any{v}
		}
		var known []int32
		for _, id := range ids {
			n, ok := id.(int64)
			if !ok || n < 0 || n >= 1<<31 {
				return fmt.Errorf("%s: eos_token_id: %v is no id", name, id)
			}
			known = append(known, int32(n))
		}
		l.Stops.add(l.Tokenizer, name, known...)
	}
	l.finish()
	return nil
}
