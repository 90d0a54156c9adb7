package header

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/graphrun/graphrun/dtype"
)

// MaxListing is the size limit of a listing of tensors, in bytes.
const MaxListing = 64 << 20

// ReadListing reads the headers of tensors from JSON, an object {name: {dtype, shape}}, as `graphrun weights --json` writes
// it. Other keys of a tensor are not looked at; no file holds the tensors.
func ReadListing(path string) ([]Tensor, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > MaxListing {
		return nil, fmt.Errorf("%s: %d bytes; a listing of tensors has at most %d", path, size, MaxListing)
	}
	return ParseListing(path, f)
}

// ParseListing reads a listing; path is for messages.
func ParseListing(path string, src io.Reader) ([]Tensor, error) {
	var table map[string]json.RawMessage
	if err := json.NewDecoder(io.LimitReader(src, MaxListing)).Decode(&table); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(table) > MaxTensors {
		return nil, fmt.Errorf("%s: %d tensors; a listing has at most %d", path, len(table), MaxTensors)
	}
	out := make([]Tensor, 0, len(table))
	for name, raw := range table {
		if name == "__missing__" { // what a graph wants of the checkpoint and does not find
			continue
		}
		var one struct {
			Dtype string `json:"dtype"`
			Shape []int  `json:"shape"`
		}
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, clip(name), err)
		}
		d, ok := dtype.Parse(one.Dtype)
		if !ok {
			return nil, fmt.Errorf("%s: %s: %s is no dtype", path, clip(name), clip(one.Dtype))
		}
		if _, fits := product(one.Shape, uint64(d.Size())); !fits || one.Shape == nil || len(name) > MaxName || len(one.Shape) > MaxRank {
			return nil, fmt.Errorf("%s: %s: no tensor has the shape %v", path, clip(name), one.Shape)
		}
		if err := checkDims(one.Shape); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, clip(name), err)
		}
		out = append(out, Tensor{Name: name, Dtype: d, Stored: stored(d), Shape: one.Shape, File: path})
	}
	slices.SortFunc(out, func(a, b Tensor) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// stored is the name that a safetensors file has for a dtype.
func stored(d dtype.Dtype) string {
	for _, e := range elements {
		if e.dtype == d {
			return e.name
		}
	}
	return d.String()
}
