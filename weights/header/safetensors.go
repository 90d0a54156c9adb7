package header

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Limits of a safetensors header. The first is the format's own; the others keep what is kept of a header small.
const (
	maxHeader   = 100_000_000
	maxNames    = 12 << 20 // bytes of all names of one file
	maxMetadata = 4 << 20  // bytes of `__metadata__`
)

// readSafetensors reads the tensor table of one file, sorted by name, and its metadata.
func readSafetensors(path string) ([]Tensor, map[string]string, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	tensors, metadata, err := parseSafetensors(path, f, size)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return tensors, metadata, nil
}

// parseSafetensors reads the header of a file of size bytes: the length of a JSON text (8 bytes, little-endian), the
// text, the data. The format wants the tensors to cover the data without gap or overlap.
func parseSafetensors(path string, r io.ReaderAt, size int64) ([]Tensor, map[string]string, error) {
	var head [9]byte
	if n, err := r.ReadAt(head[:min(size, 9)], 0); err != nil && err != io.EOF || n < 9 {
		return nil, nil, fmt.Errorf("not a safetensors file: it has only %d bytes", size)
	}
	length := binary.LittleEndian.Uint64(head[:8])
	switch {
	case head[8] != '{':
		return nil, nil, fmt.Errorf("not a safetensors file: its header begins with byte 0x%02x, not with `{`", head[8])
	case length > maxHeader:
		return nil, nil, fmt.Errorf("not a safetensors file: it gives its header %d bytes, and the format allows %d", length, maxHeader)
	case int64(length) > size-8:
		return nil, nil, fmt.Errorf("the file ends within its header (%d of %d bytes): its download is incomplete", size-8, length)
	}
	p := &safetensors{path: path, json: newJSON(io.NewSectionReader(r, 8, int64(length))), data: 8 + int64(length)}
	err := p.json.Object(p.member)
	if err == nil {
		err = p.json.End()
	}
	if err != nil {
		if syntax, ok := err.(*SyntaxError); ok {
			return nil, nil, fmt.Errorf("header, line %d, column %d: %s", syntax.Line, syntax.Column, syntax.Message)
		}
		return nil, nil, err
	}
	tensors := slices.Concat(p.blocks...)
	if err := layOut(tensors, p.data, size, "data", true, 1); err != nil {
		return nil, nil, err
	}
	return tensors, p.metadata, sortByName(tensors)
}

type safetensors struct {
	path     string
	json     *jsonReader
	data     int64 // offset in the file of the tensors' bytes
	count    int
	blocks   [][]Tensor
	dims     []int // shapes of many tensors, so that a tensor needs no allocation of its own
	names    int
	metadata map[string]string
}

// member reads a tensor, or the metadata.
func (p *safetensors) member(name string, at Place) error {
	if name == "__metadata__" {
		if p.metadata != nil {
			return p.json.errorAt(at, "`__metadata__` is given twice")
		}
		return p.readMetadata()
	}
	if p.count++; p.count > MaxTensors {
		return p.json.errorAt(at, "more than %d tensors in one file", MaxTensors)
	}
	if p.names += len(name); len(name) > MaxName || p.names > maxNames {
		return p.json.errorAt(at, "the tensors' names are too long: at most %d bytes each and %d together", MaxName, maxNames)
	}
	if name == "" {
		return p.json.errorAt(at, "a tensor has no name")
	}
	t := Tensor{Name: name, File: p.path}
	if err := p.tensor(&t); err != nil {
		if _, syntax := err.(*SyntaxError); syntax || p.json.failed != nil {
			return err
		}
		return fmt.Errorf("tensor %s: %w", clip(name), err)
	}
	const block = 1024
	if p.count%block == 1 {
		p.blocks = append(p.blocks, make([]Tensor, 0, block))
	}
	last := &p.blocks[len(p.blocks)-1]
	*last = append(*last, t)
	return nil
}

func (p *safetensors) readMetadata() error {
	p.metadata = map[string]string{}
	if p.json.peek() == 'n' { // MLX writes null where it is given no metadata
		return p.json.word("null")
	}
	room := maxMetadata
	return p.json.Object(func(key string, at Place) error {
		if _, twice := p.metadata[key]; twice {
			return p.json.errorAt(at, "key %s of `__metadata__` is given twice", clip(key))
		}
		value, err := p.json.String(room)
		if err != nil {
			return err
		}
		if room -= len(key) + len(value) + valueCost; room < 0 {
			return p.json.errorAt(at, "`__metadata__` has more than %d bytes", maxMetadata)
		}
		p.metadata[key] = value
		return nil
	})
}

// tensor reads {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]} and checks it by itself.
func (p *safetensors) tensor(t *Tensor) error {
	const hasType, hasShape, hasOffsets = 1, 2, 4
	has := 0
	var stored string
	var begin, end int64
	err := p.json.Object(func(key string, at Place) error {
		bit, err := 0, error(nil)
		switch key {
		case "dtype":
			bit = hasType
			stored, err = p.json.Word(64)
		case "shape":
			bit = hasShape
			t.Shape, err = p.shape()
		case "data_offsets":
			bit = hasOffsets
			begin, end, err = p.offsets()
		default:
			return p.json.Skip()
		}
		if err == nil && has&bit != 0 {
			err = p.json.errorAt(at, "%s is given twice", key)
		}
		has |= bit
		return err
	})
	if err != nil {
		return err
	}
	for _, need := range []struct {
		bit  int
		name string
	}{{hasType, "dtype"}, {hasShape, "shape"}, {hasOffsets, "data_offsets"}} {
		if has&need.bit == 0 {
			return fmt.Errorf("it has no %s", need.name)
		}
	}
	e, err := findElement(stored)
	if err != nil {
		return err
	}
	t.Dtype, t.Stored = e.dtype, e.name
	if err := checkDims(t.Shape); err != nil {
		return err
	}
	want, ok := product(t.Shape, uint64(e.dtype.Size()))
	switch {
	case !ok:
		return fmt.Errorf("shape %v of %s is larger than any file", t.Shape, t.Stored)
	case end < begin:
		return fmt.Errorf("its data ends (%d) before it begins (%d)", end, begin)
	case end-begin != want:
		return fmt.Errorf("shape %v of %s needs %d bytes, and it has %d", t.Shape, t.Stored, want, end-begin)
	}
	t.Offset, t.Size = p.data+begin, want
	return nil
}

func (p *safetensors) shape() ([]int, error) {
	const block = 1024
	if cap(p.dims)-len(p.dims) < MaxRank {
		p.dims = make([]int, 0, block)
	}
	from := len(p.dims)
	err := p.json.Array(func() error {
		n, err := p.json.Count()
		if err == nil && len(p.dims)-from == MaxRank {
			err = p.json.errorf("a shape of more than %d dims", MaxRank)
		}
		if err == nil {
			p.dims = append(p.dims, int(n))
		}
		return err
	})
	return p.dims[from:len(p.dims):len(p.dims)], err
}

func (p *safetensors) offsets() (begin, end int64, err error) {
	n := 0
	err = p.json.Array(func() error {
		v, err := p.json.Count()
		switch n++; n {
		case 1:
			begin = v
		case 2:
			end = v
		default:
			return p.json.errorf("data_offsets has more than two numbers")
		}
		return err
	})
	if err == nil && n != 2 {
		err = p.json.errorf("data_offsets has %d numbers, not two", n)
	}
	return begin, end, err
}

// layOut checks that tensors lie in the file and do not overlap; whole: that they cover everything from data on; else
// that each begins at a multiple of align.
func layOut(tensors []Tensor, data, size int64, what string, whole bool, align int64) error {
	order := make([]*Tensor, len(tensors))
	for i := range tensors {
		order[i] = &tensors[i]
	}
	slices.SortFunc(order, func(a, b *Tensor) int {
		if a.Offset != b.Offset {
			return cmp.Compare(a.Offset, b.Offset)
		}
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Name, b.Name))
	})
	last, end := "", data
	for _, t := range order {
		switch {
		case t.Offset > size || t.Size > size-t.Offset:
			return fmt.Errorf("the file ends at byte %d, and tensor %s lies at %d to %d: its download is incomplete, or its header is wrong", size, clip(t.FileName()), t.Offset, t.Offset+min(t.Size, 1<<62-1))
		case t.Offset < end && t.Size > 0:
			return fmt.Errorf("tensors %s and %s overlap at byte %d", clip(last), clip(t.FileName()), t.Offset)
		case whole && t.Offset > end:
			return fmt.Errorf("%d bytes at %d, before tensor %s, belong to no tensor", t.Offset-end, end, clip(t.FileName()))
		case (t.Offset-data)%align != 0:
			return fmt.Errorf("tensor %s begins at %d bytes into the %s, which is no multiple of the alignment %d", clip(t.FileName()), t.Offset-data, what, align)
		}
		if t.Size > 0 {
			last, end = t.FileName(), t.Offset+t.Size
		}
	}
	if whole && end != size {
		return fmt.Errorf("%d bytes at the end of the file belong to no tensor", size-end)
	}
	return nil
}

// sortByName sorts and refuses duplicates. Pointers are sorted, since tensors are large to move about.
func sortByName(tensors []Tensor) error {
	order := make([]*Tensor, len(tensors))
	for i := range tensors {
		order[i] = &tensors[i]
	}
	slices.SortFunc(order, func(a, b *Tensor) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; a.Name == b.Name {
			if a.FileName() != b.FileName() {
				return fmt.Errorf("tensors %s and %s both stand for %s", clip(a.FileName()), clip(b.FileName()), a.Name)
			}
			return fmt.Errorf("tensor %s is there twice", clip(a.Name))
		}
	}
	sorted := make([]Tensor, len(order))
	for i, t := range order {
		sorted[i] = *t
	}
	copy(tensors, sorted)
	return nil
}
