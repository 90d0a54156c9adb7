package quantize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphrun/graphrun/text/ordered"
	"github.com/graphrun/graphrun/trellis"
	"github.com/graphrun/graphrun/weights/header"
)

// settings are the files beside the weights: config.json with the new table, the index, and the tokenizer's files, which
// are copied or, of a GGUF file, given.
func settings(ck *header.Checkpoint, tasks []*task, shards []shard, given map[string][]byte) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, path := range ck.Tokenizer {
		data, err := readAll(path)
		if err != nil {
			return nil, err
		}
		out[name] = data
	}
	if ck.GenerationConfig != nil {
		data, err := readAll(ck.GenerationConfig.Path)
		if err != nil {
			return nil, err
		}
		out["generation_config.json"] = data
	}
	maps.Copy(out, given)
	config := maps.Clone(ck.Config.Values)
	if ck.Quantization.Default != nil || len(ck.Quantization.ByPath) > 0 || slices.ContainsFunc(tasks, func(t *task) bool { return t.format != Keep && t.format != Fused }) {
		table := quantTable(&ck.Quantization, tasks)
		config["quantization"], config["quantization_config"] = table, table
	}
	if text, ok := config["text_config"].(map[string]any); ok && text["quantization_config"] != nil {
		text = maps.Clone(text)
		delete(text, "quantization_config")
		config["text_config"] = text
	}
	var err error
	if out["config.json"], err = pretty(inOrder(config)); err == nil && len(shards) > 1 {
		out["model.safetensors.index.json"], err = index(tasks, shards)
	}
	return out, err
}

func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 512 << 20
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s is larger than %d MiB", path, most>>20)
	}
	return data, err
}

// quantTable is the source's table with the new entries. Where most of what is made is affine and the source has no
// default, that becomes the default.
func quantTable(q *header.Quantization, tasks []*task) *ordered.Object {
	entries := map[string]any{}
	for path, one := range q.ByPath {
		entries[path] = quantEntry(one)
	}
	for path := range q.Off {
		entries[path] = false
	}
	var common *header.Quant
	if q.Default != nil {
		common = q.Default
	} else {
		count := map[header.Quant]int{}
		for _, t := range tasks {
			if t.format != Affine {
				continue
			}
			if count[t.quant]++; common == nil || count[t.quant] > count[*common] {
				common = &t.quant
			}
		}
		if common == nil {
			common = &header.Quant{Mode: "affine", Bits: 4, GroupSize: 64}
		}
	}
	for _, t := range tasks {
		switch {
		case t.opened:
			entries[t.path] = false
		case t.format == Keep || t.format == Fused:
		case t.quant == *common:
			delete(entries, t.path)
		default:
			entries[t.path] = quantEntry(t.quant)
		}
	}
	out := quantEntry(*common)
	for _, path := range slices.Sorted(maps.Keys(entries)) {
		out.Set(path, entries[path])
	}
	return out
}

func quantEntry(q header.Quant) *ordered.Object {
	o := ordered.NewObject("group_size", int64(q.GroupSize), "bits", int64(q.Bits), "mode", q.Mode)
	if q.Mode == header.Trellis {
		o.Set(header.Trellis, ordered.NewObject("L", int64(trellis.StateBits), "code", trellis.Code, "axis", int64(q.Axis)))
	}
	return o
}

// inOrder gives maps sorted keys, and the numbers that JSON cannot write the words that Python uses.
func inOrder(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := ordered.NewObject()
		for _, k := range slices.Sorted(maps.Keys(v)) {
			o.Set(k, inOrder(v[k]))
		}
		return o
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = inOrder(v[i])
		}
		return out
	case float64:
		switch {
		case math.IsNaN(v):
			return ordered.Number("NaN")
		case math.IsInf(v, 1):
			return ordered.Number("Infinity")
		case math.IsInf(v, -1):
			return ordered.Number("-Infinity")
		}
	}
	return v
}

// pretty writes JSON with two spaces a level.
func pretty(o any) ([]byte, error) {
	object, ok := o.(*ordered.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", o)
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil { // it holds an Infinity, which json does not know
		b.Reset()
		b.Write(text)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// writeSettings writes the files into the folder.
func writeSettings(folder string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(filepath.Join(folder, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
