package header

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/dtype"
)

const (
	maxInfos        = 1 << 16 // tensors of a GGUF file
	maxGGUFDims     = 4       // of one tensor, as in ggml
	maxAlignment    = 1 << 20
	ggufBlockSize   = 32 // weights of a block of the quantised types that are read
	ggufMagic       = "GGUF"
	alignmentKey    = "general.alignment"
	splitCountKey   = "split.count"
	architectureKey = "general.architecture"
)

// ggufType is an element type of a GGUF file. Its codec is "" where the stored bytes are an array of dtype; else a block
// of 32 weights has the given bytes, and becomes codes of bits each in uint32, a float16 scale and a float16 bias.
type ggufType struct {
	id    uint32
	name  string
	dtype dtype.Dtype
	codec string
	bytes int64 // of an element, or of a block
	bits  int
}

var ggufTypes = []ggufType{
	{0, "F32", dtype.Float32, "", 4, 0}, {1, "F16", dtype.Float16, "", 2, 0}, {30, "BF16", dtype.Bfloat16, "", 2, 0},
	{2, "Q4_0", dtype.Uint32, "q4_0", 18, 4}, {3, "Q4_1", dtype.Uint32, "q4_1", 20, 4}, {8, "Q8_0", dtype.Uint32, "q8_0", 34, 8},
	{24, "I8", dtype.Int8, "", 1, 0}, {25, "I16", dtype.Int16, "", 2, 0}, {26, "I32", dtype.Int32, "", 4, 0},
	{27, "I64", dtype.Int64, "", 8, 0}, {28, "F64", dtype.Float64, "", 8, 0},
}

// ggufOthers names the types that are not read, for messages.
var ggufOthers = map[uint32]string{6: "Q5_0", 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K",
	15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS",
	29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4", 40: "NVFP4", 41: "Q1_0"}

// info is a row of a GGUF file's tensor table.
type info struct {
	Tensor // Name as in the file, Shape outermost first, Offset and Size of the blocks
	typ    *ggufType
}

// readGGUF reads metadata and tensor table of one file.
func readGGUF(path string) (*GGUFMeta, []info, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	m, infos, err := parseGGUF(path, f, size)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	m.src = reopened{path, size}
	return m, infos, nil
}

// parseGGUF reads the header of version 2 and 3: magic, version, counts, metadata, tensor infos, padding, data.
func parseGGUF(path string, r io.ReaderAt, size int64) (*GGUFMeta, []info, error) {
	c := newCursor(r, size)
	head, err := c.take(24, "its header")
	if err != nil || string(head[:4]) != ggufMagic {
		return nil, nil, fmt.Errorf("not a GGUF file")
	}
	version := binary.LittleEndian.Uint32(head[4:])
	switch {
	case version == 2 || version == 3:
	case version != 0 && version&0xffff == 0:
		return nil, nil, fmt.Errorf("a big-endian GGUF file; little-endian ones are read")
	default:
		return nil, nil, fmt.Errorf("GGUF version %d; versions 2 and 3 are read", version)
	}
	tensors, pairs := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint64(head[16:])
	if tensors > maxInfos || tensors > uint64(size)/24 {
		return nil, nil, fmt.Errorf("its header counts %d tensors, more than %s", tensors, atMost(maxInfos, size/24))
	}
	m := &GGUFMeta{Path: path, Version: version, src: r}
	if err := readMeta(c, m, pairs); err != nil {
		return nil, nil, err
	}
	if v, ok := m.values[splitCountKey]; ok && v.scalar != int64(1) && v.scalar != int64(0) {
		return nil, nil, fmt.Errorf("one of %v parts of a split GGUF file; merge the parts first (llama-gguf-split --merge FIRST-PART OUT)", v.scalar)
	}
	infos, err := readInfos(c, path, int(tensors))
	if err != nil {
		return nil, nil, err
	}
	align, err := m.alignment()
	if err != nil {
		return nil, nil, err
	}
	return m, infos, placeInfos(infos, c.off, size, align)
}

func (m *GGUFMeta) alignment() (int64, error) {
	if !m.Has(alignmentKey) {
		return 32, nil
	}
	n, err := m.Int(alignmentKey)
	if err != nil {
		return 0, err
	}
	if n < 1 || n > maxAlignment || n&(n-1) != 0 {
		return 0, fmt.Errorf("%s is %d, not a power of two up to %d", alignmentKey, n, maxAlignment)
	}
	return n, nil
}

func readInfos(c *cursor, path string, count int) ([]info, error) {
	infos := make([]info, 0, count)
	bytes := 0
	seen := make(map[string]bool, count)
	for i := range count {
		name, err := c.text(MaxName, fmt.Sprintf("the name of tensor %d", i))
		if err != nil {
			return nil, err
		}
		if bytes += len(name); name == "" || bytes > maxNames {
			return nil, fmt.Errorf("tensor %d has no name, or the names have more than %d bytes", i, maxNames)
		}
		if seen[name] {
			return nil, fmt.Errorf("tensor %s is there twice", clip(name))
		}
		seen[name] = true
		one, err := readInfo(c, name)
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", clip(name), err)
		}
		one.Name, one.File = name, path
		infos = append(infos, one)
	}
	return infos, nil
}

func readInfo(c *cursor, name string) (one info, err error) {
	const what = "the tensor table"
	dims, err := c.u32(what)
	if err != nil {
		return one, err
	}
	if dims > maxGGUFDims {
		return one, fmt.Errorf("it has %d dims; GGUF allows %d", dims, maxGGUFDims)
	}
	one.Shape = make([]int, dims)
	for k := range dims {
		n, err := c.u64(what)
		if err != nil {
			return one, err
		}
		if n > 1<<62 {
			return one, fmt.Errorf("dim %d is %d", k, n)
		}
		one.Shape[dims-1-k] = int(n) // the file has the innermost first
	}
	id, err := c.u32(what)
	if err != nil {
		return one, err
	}
	offset, err := c.u64(what)
	if err != nil {
		return one, err
	}
	if offset > 1<<62 {
		return one, fmt.Errorf("its offset is %d", offset)
	}
	one.Offset = int64(offset)
	at := slices.IndexFunc(ggufTypes, func(t ggufType) bool { return t.id == id })
	if at < 0 {
		return one, unreadType(id)
	}
	one.typ = &ggufTypes[at]
	one.Dtype, one.Stored = one.typ.dtype, one.typ.name
	return one, one.measure()
}

func unreadType(id uint32) error {
	name := ggufOthers[id]
	if name == "" {
		name = fmt.Sprintf("number %d", id)
	}
	var read []string
	for _, t := range ggufTypes[:6] {
		read = append(read, t.name)
	}
	return fmt.Errorf("it is stored as %s; the types that are read are %s", name, strings.Join(read, ", "))
}

// measure sets Size from shape and type.
func (one *info) measure() error {
	if err := checkDims(one.Shape); err != nil {
		return err
	}
	shape, per := one.Shape, one.typ.bytes
	if one.typ.codec != "" {
		if len(shape) == 0 || shape[len(shape)-1]%ggufBlockSize != 0 {
			return fmt.Errorf("shape %v of %s does not end in whole blocks of %d", shape, one.Stored, ggufBlockSize)
		}
		shape = slices.Clone(shape)
		shape[len(shape)-1] /= ggufBlockSize
	}
	size, ok := product(shape, uint64(per))
	if !ok {
		return fmt.Errorf("shape %v of %s is larger than any file", one.Shape, one.Stored)
	}
	one.Size = size
	return nil
}

// placeInfos turns offsets into the data section into offsets into the file, and checks where the tensors lie.
func placeInfos(infos []info, end, size, align int64) error {
	data := (end + align - 1) / align * align
	tensors := make([]Tensor, len(infos))
	for i := range infos {
		infos[i].Offset += data
		tensors[i] = infos[i].Tensor
	}
	return layOut(tensors, data, size, "data section", false, align)
}
