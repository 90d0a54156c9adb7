package mlx

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/graphrun/graphrun/dtype"
)

// Bytes evaluates the array and copies its elements in row order, in the machine's byte order.
func (a Array) Bytes() ([]byte, error) {
	out := make([]byte, a.Nbytes())
	return out, read(a, out)
}

// InRows evaluates the array and tells whether its elements lie in row order without gaps.
func (a Array) InRows() (bool, error) { return inRows(a) }

// Float32s evaluates the array and copies its elements, of any real floating type, as float32.
func (a Array) Float32s() ([]float32, error) {
	d := a.Dtype()
	if d == Float32 {
		return copyOut[float32](a, "float32", d)
	}
	if a.Valid() && !d.IsFloat() {
		return nil, fmt.Errorf("the elements of an array of %s are not floats", d)
	}
	b, err := a.Bytes()
	if err != nil {
		return nil, err
	}
	out := make([]float32, a.Size())
	for i := range out {
		switch d {
		case Float16:
			out[i] = dtype.FromFloat16(binary.NativeEndian.Uint16(b[2*i:]))
		case Bfloat16:
			out[i] = math.Float32frombits(uint32(binary.NativeEndian.Uint16(b[2*i:])) << 16)
		case Float64:
			out[i] = float32(math.Float64frombits(binary.NativeEndian.Uint64(b[8*i:])))
		}
	}
	return out, nil
}

// Int32s evaluates an array of int32 and copies its elements.
func (a Array) Int32s() ([]int32, error) { return copyOut[int32](a, "int32", Int32) }

// Uint32s evaluates an array of uint32 and copies its elements.
func (a Array) Uint32s() ([]uint32, error) { return copyOut[uint32](a, "uint32", Uint32) }

// Int64s evaluates an array of int64 and copies its elements.
func (a Array) Int64s() ([]int64, error) { return copyOut[int64](a, "int64", Int64) }

// ItemInt evaluates an array of one integer or bool and gives it.
func (a Array) ItemInt() (int64, error) {
	b, err := a.item()
	if err != nil {
		return 0, err
	}
	switch a.Dtype() {
	case Bool, Uint8:
		return int64(b[0]), nil
	case Int8:
		return int64(int8(b[0])), nil
	case Uint16:
		return int64(binary.NativeEndian.Uint16(b)), nil
	case Int16:
		return int64(int16(binary.NativeEndian.Uint16(b))), nil
	case Uint32:
		return int64(binary.NativeEndian.Uint32(b)), nil
	case Int32:
		return int64(int32(binary.NativeEndian.Uint32(b))), nil
	case Int64:
		return int64(binary.NativeEndian.Uint64(b)), nil
	case Uint64:
		v := binary.NativeEndian.Uint64(b)
		if v > math.MaxInt64 {
			return 0, fmt.Errorf("%d does not fit int64", v)
		}
		return int64(v), nil
	}
	return 0, fmt.Errorf("the element of an array of %s is no integer", a.Dtype())
}

// ItemFloat evaluates an array of one number and gives it.
func (a Array) ItemFloat() (float64, error) {
	d := a.Dtype()
	if a.Valid() && !d.IsFloat() {
		v, err := a.ItemInt()
		return float64(v), err
	}
	b, err := a.item()
	if err != nil {
		return 0, err
	}
	switch d {
	case Float16:
		return float64(dtype.FromFloat16(binary.NativeEndian.Uint16(b))), nil
	case Bfloat16:
		return float64(math.Float32frombits(uint32(binary.NativeEndian.Uint16(b)) << 16)), nil
	case Float32:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b))), nil
	}
	return math.Float64frombits(binary.NativeEndian.Uint64(b)), nil
}

func (a Array) item() ([]byte, error) {
	if a.Valid() && a.Size() != 1 {
		return nil, fmt.Errorf("an array of shape %v is not one element", a.Shape())
	}
	return a.Bytes()
}

func copyOut[T any](a Array, name string, want Dtype) ([]T, error) {
	if a.Valid() && a.Dtype() != want {
		return nil, fmt.Errorf("an array of %s is not read as %s", a.Dtype(), name)
	}
	out := make([]T, a.Size())
	var zero T
	return out, read(a, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(out)*int(unsafe.Sizeof(zero))))
}

func read(a Array, out []byte) error {
	if !a.Valid() {
		return &Error{Op: "read", Message: "an absent array has no data"}
	}
	return readArray(a, out)
}
