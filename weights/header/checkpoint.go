package header

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Checkpoint is what is known of a model's files without opening a weight. It holds no file open.
type Checkpoint struct {
	Path             string  // the folder or file that was asked for
	Format           string  // "safetensors" or "gguf"
	Config           *Config // nil where a safetensors file stands alone, without config.json beside it
	GenerationConfig *Config // generation_config.json; nil where there is none
	Quantization     Quantization
	Tensors          []Tensor          // sorted by name
	Files            []string          // that hold tensors
	Metadata         map[string]string // of the safetensors files (of several, the first's value wins)
	GGUF             *GGUFMeta         // of a GGUF file
	Tokenizer        map[string]string // files of the tokenizer that are there, path by name: "tokenizer.json"
	Warnings         []string          // what is odd but harmless, each with its file

	stamps map[string]stamp
}

// stamp tells whether a file is still the one whose header was read.
type stamp struct {
	size int64
	time time.Time
}

// tokenizerFiles are the files of a Hugging Face folder that a tokenizer or a chat template may come from.
var tokenizerFiles = []string{"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
	"vocab.json", "merges.txt", "vocab.txt", "tokenizer.model", "chat_template.jinja", "chat_template.json"}

// Open reads the headers of a checkpoint: a folder with config.json and safetensors files, a .safetensors file (with the
// settings beside it, if there are any), or a .gguf file.
func Open(path string) (*Checkpoint, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	var ck *Checkpoint
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case info.IsDir():
		ck, err = openFolder(path)
	case ext == ".gguf":
		ck, err = openGGUF(path)
	case ext == ".safetensors":
		ck, err = openFile(path)
	default:
		err = fmt.Errorf("%s: a checkpoint is a folder, a .safetensors file or a .gguf file", path)
	}
	if err != nil {
		return nil, err
	}
	ck.stamps = map[string]stamp{}
	for _, f := range ck.Files {
		info, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		ck.stamps[f] = stamp{info.Size(), info.ModTime()}
	}
	return ck, nil
}

// Lookup finds a tensor by its name.
func (ck *Checkpoint) Lookup(name string) (*Tensor, bool) {
	i, ok := slices.BinarySearchFunc(ck.Tensors, name, func(t Tensor, name string) int { return cmp.Compare(t.Name, name) })
	if !ok {
		return nil, false
	}
	return &ck.Tensors[i], true
}

// Unchanged tells, of a file of Files, whether info is that of the file whose header was read.
func (ck *Checkpoint) Unchanged(path string, info fs.FileInfo) error {
	s, ok := ck.stamps[path]
	switch {
	case !ok:
		return fmt.Errorf("%s: not a file of this checkpoint", path)
	case s.size != info.Size():
		return fmt.Errorf("%s: the file has changed since its header was read: %d bytes, then %d", path, s.size, info.Size())
	case !s.time.Equal(info.ModTime()):
		return fmt.Errorf("%s: the file has been written since its header was read", path)
	}
	return nil
}

func openFile(path string) (*Checkpoint, error) {
	ck := &Checkpoint{Path: path, Format: "safetensors", Files: []string{path}}
	var err error
	if ck.Tensors, ck.Metadata, err = readSafetensors(path); err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	if _, err := os.Stat(filepath.Join(folder, "config.json")); errors.Is(err, fs.ErrNotExist) {
		return ck, nil
	}
	return ck, ck.readSettings(folder)
}

func openFolder(path string) (*Checkpoint, error) {
	ck := &Checkpoint{Path: path, Format: "safetensors"}
	if err := ck.readSettings(path); err != nil {
		return nil, err
	}
	if err := ck.readShards(path); err != nil {
		return nil, err
	}
	return ck, nil
}

// readSettings reads config.json, generation_config.json, the quantization table, and finds the tokenizer's files.
func (ck *Checkpoint) readSettings(folder string) error {
	path, err := inside(folder, "config.json")
	if errors.Is(err, fs.ErrNotExist) {
		return ck.noConfig(folder)
	}
	if err != nil {
		return err
	}
	if ck.Config, err = readJSONFile(path); err != nil {
		return err
	}
	for _, name := range tokenizerFiles {
		switch path, err := inside(folder, name); {
		case err == nil:
			if ck.Tokenizer == nil {
				ck.Tokenizer = map[string]string{}
			}
			ck.Tokenizer[name] = path
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	path, err = inside(folder, "generation_config.json")
	if err == nil {
		ck.GenerationConfig, err = readJSONFile(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := ck.readModelOpt(folder); err != nil {
		return err
	}
	q, warnings, err := readQuantization(ck.Config)
	ck.Quantization, ck.Warnings = q, append(ck.Warnings, warnings...)
	return err
}

// readModelOpt takes over the table that NVIDIA's ModelOpt writes beside config.json.
func (ck *Checkpoint) readModelOpt(folder string) error {
	if ck.Config.Values["quantization"] != nil || ck.Config.Values["quantization_config"] != nil {
		return nil
	}
	path, err := inside(folder, "hf_quant_config.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	table, err := readJSONFile(path)
	if err != nil {
		return err
	}
	if table.Values["quant_method"] == nil {
		table.Values["quant_method"] = "modelopt"
	}
	ck.Config.Values["quantization_config"] = table.Values
	return nil
}

// noConfig says what is missing, and what is there that could be meant.
func (ck *Checkpoint) noConfig(folder string) error {
	var found []string
	for _, glob := range []string{"*.gguf", "*.safetensors"} {
		names, err := filepath.Glob(filepath.Join(escapeGlob(folder), glob))
		if err != nil {
			return err
		}
		found = append(found, names...)
	}
	if len(found) > 0 {
		return fmt.Errorf("%s: no config.json in this folder; give one of its files by itself: %s", folder, few(found))
	}
	return fmt.Errorf("%s: no config.json in this folder, and no .safetensors or .gguf file: not a checkpoint", folder)
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// few lists some of many names.
func few(names []string) string {
	const most = 5
	short := make([]string, 0, most)
	for _, n := range names[:min(most, len(names))] {
		if len(n) > 200 {
			n = n[:200] + "…"
		}
		short = append(short, n)
	}
	text := strings.Join(short, ", ")
	if n := len(names) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
