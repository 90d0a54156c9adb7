package header

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/graphrun/graphrun/dtype"
)

// Limits of what is read from one checkpoint.
const (
	MaxName    = 1024   // bytes of a tensor's name
	MaxRank    = 16     // dims of a tensor
	MaxTensors = 50_000 // tensors of one file
)

// Tensor is one array of a checkpoint, as the opened checkpoint will give it.
type Tensor struct {
	Name   string      // the checkpoint's own; of GGUF files, the name that the mapping gives
	Source string      // the name in the file, where that is another one
	Dtype  dtype.Dtype // as MLX sees it: float8 codes are uint8
	Stored string      // the file's own type: "BF16", "F8_E4M3", "Q4_1"
	Shape  []int       // outermost first
	File   string      // path
	Offset int64       // of the stored bytes in File
	Size   int64       // of the stored bytes
	Codec  string      // "" where the stored bytes are the array, else how they become it: "q4_1.weight"
}

// Elements is the number of elements; Open has checked that it does not overflow.
func (t *Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= int64(d)
	}
	return n
}

// Bytes is the array's size in memory, which differs from Size where a codec stands between.
func (t *Tensor) Bytes() int64 { return t.Elements() * int64(t.Dtype.Size()) }

// FileName is the name that the file itself uses.
func (t *Tensor) FileName() string {
	if t.Source != "" {
		return t.Source
	}
	return t.Name
}

// element is an element type as a safetensors file names it.
type element struct {
	name  string
	dtype dtype.Dtype
}

// elements are the types that MLX can hold. Float8 codes and power-of-two scales stay codes.
var elements = []element{
	{"BF16", dtype.Bfloat16}, {"F16", dtype.Float16}, {"F32", dtype.Float32}, {"F64", dtype.Float64},
	{"U8", dtype.Uint8}, {"U16", dtype.Uint16}, {"U32", dtype.Uint32}, {"U64", dtype.Uint64},
	{"I8", dtype.Int8}, {"I16", dtype.Int16}, {"I32", dtype.Int32}, {"I64", dtype.Int64},
	{"BOOL", dtype.Bool}, {"C64", dtype.Complex64},
	{"F8_E4M3", dtype.Uint8}, {"F8_E5M2", dtype.Uint8}, {"F8_E8M0", dtype.Uint8},
	{"F8_E4M3FNUZ", dtype.Uint8}, {"F8_E5M2FNUZ", dtype.Uint8},
}

// ElementName is the name that a safetensors file has for a dtype.
func ElementName(d dtype.Dtype) string {
	for _, e := range elements {
		if e.dtype == d {
			return e.name
		}
	}
	return ""
}

func findElement(name string) (element, error) {
	for _, e := range elements {
		if e.name == name {
			return e, nil
		}
	}
	switch name {
	case "F4", "F6_E2M3", "F6_E3M2":
		return element{}, fmt.Errorf("its element type %s is narrower than a byte, which MLX has no array for (MLX's own 4-bit files store such codes packed in U32)", name)
	}
	return element{}, fmt.Errorf("unknown element type %s", clip(name))
}

// checkDims refuses dims that MLX's shapes, of int32, cannot hold.
func checkDims(shape []int) error {
	for i, d := range shape {
		if d < 0 || d > math.MaxInt32 {
			return fmt.Errorf("dim %d of shape %v is not within 0 and 2^31-1", i, shape)
		}
	}
	return nil
}

// product multiplies dims and a factor; ok is false where a dim is negative or the result leaves int64.
func product(shape []int, factor uint64) (n int64, ok bool) {
	zero, total := false, factor
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		if d == 0 {
			zero = true
			continue
		}
		hi, lo := bits.Mul64(total, uint64(d))
		if hi != 0 || lo > 1<<62 {
			return 0, false
		}
		total = lo
	}
	if zero {
		return 0, true
	}
	return int64(total), total <= 1<<62
}

// clip quotes a text of a file for an error message, shortened.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
	}
	return fmt.Sprintf("%q", s)
}
