package quantize

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/text/ordered"
)

// shard is a file of the new checkpoint.
type shard struct {
	name   string
	header []byte // with its length before it, padded so that the data begin at a multiple of 8
	size   int64  // of the file
}

// layout places the outputs, sorted by name, in files of about so many bytes of data each (a larger tensor has a file
// of its own) and writes the files' headers.
func layout(tasks []*task, perShard int64) ([]shard, error) {
	var all []*output
	for _, t := range tasks {
		all = append(all, t.outputs...)
	}
	slices.SortFunc(all, func(a, b *output) int { return cmp.Compare(a.name, b.name) })
	var groups [][]*output
	size := int64(0)
	for i, o := range all {
		if i > 0 && all[i-1].name == o.name {
			return nil, fmt.Errorf("two tensors would be named %s", o.name)
		}
		if len(groups) == 0 || size+o.bytes > perShard {
			groups, size = append(groups, nil), 0
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], o)
		size += o.bytes
	}
	out := make([]shard, len(groups))
	for i, g := range groups {
		name := "model.safetensors"
		if len(groups) > 1 {
			name = fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(groups))
		}
		s, err := place(name, i, g)
		if err != nil {
			return nil, err
		}
		out[i] = s
	}
	return out, nil
}

func place(name string, index int, outputs []*output) (shard, error) {
	table := ordered.NewObject("__metadata__", ordered.NewObject("format", "mlx"))
	at := int64(0)
	for _, o := range outputs {
		shape := make([]any, len(o.shape))
		for i, d := range o.shape {
			shape[i] = int64(d)
		}
		table.Set(o.name, ordered.NewObject("dtype", o.element, "shape", shape, "data_offsets", []any{at, at + o.bytes}))
		o.shard, o.offset = index, at
		at += o.bytes
	}
	text, err := table.MarshalJSON()
	if err != nil {
		return shard{}, err
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	head := make([]byte, 8, 8+len(text))
	for i := range 8 {
		head[i] = byte(len(text) >> (8 * i))
	}
	head = append(head, text...)
	for _, o := range outputs {
		o.offset += int64(len(head))
	}
	return shard{name, head, int64(len(head)) + at}, nil
}

// index is model.safetensors.index.json of several files.
func index(tasks []*task, shards []shard) ([]byte, error) {
	var all []*output
	total := int64(0)
	for _, t := range tasks {
		all = append(all, t.outputs...)
	}
	slices.SortFunc(all, func(a, b *output) int { return cmp.Compare(a.name, b.name) })
	where := ordered.NewObject()
	for _, o := range all {
		where.Set(o.name, shards[o.shard].name)
		total += o.bytes
	}
	return pretty(ordered.NewObject("metadata", ordered.NewObject("total_size", total), "weight_map", where))
}
