package mlx

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// FromBytes copies data, elements in row order and the machine's byte order, into a new array for the caller to free.
func FromBytes(data []byte, shape []int, d Dtype) (Array, error) {
	if err := checkData(len(data), shape, d); err != nil {
		return Array{}, err
	}
	return fromBytes(data, shape, d)
}

// FromMapped makes an array of memory that stays where it is, as a mapped file's; release (which may be nil) is called
// once, on a goroutine of its own, when MLX no longer needs it. On failure release is not called. data must be outside Go's heap.
//
// The memory may be read-only: MLX never writes to it. It is copied, and released at once, where its address does not
// suit the dtype, where the bytes before it cannot be read (MLX looks at 8 of them; a checkpoint's header lies there), and
// where MLX cannot wrap memory that it did not make (CUDA, and Metal for memory that starts inside a page).
func FromMapped(data []byte, shape []int, d Dtype, release func()) (Array, error) {
	if err := checkData(len(data), shape, d); err != nil {
		return Array{}, err
	}
	return fromMapped(data, shape, d, release)
}

// FromFloat32s copies data into a new array; without a shape it has one dimension.
func FromFloat32s(data []float32, shape ...int) (Array, error) {
	return fromSlice(data, shape, Float32)
}

// FromInt32s copies data into a new array; without a shape it has one dimension.
func FromInt32s(data []int32, shape ...int) (Array, error) {
	return fromSlice(data, shape, Int32)
}

func fromSlice[T any](data []T, shape []int, d Dtype) (Array, error) {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*d.Size())
	return FromBytes(b, shape, d)
}

func checkData(n int, shape []int, d Dtype) error {
	if d > Complex64 {
		return fmt.Errorf("%s is no element type", d)
	}
	need := uint64(d.Size())
	for i, dim := range shape {
		if dim < 0 || dim > math.MaxInt32 {
			return fmt.Errorf("dimension %d of shape %v is not within 0 and 2^31-1", i, shape)
		}
		if dim > 0 && need > math.MaxInt64/uint64(dim) {
			return fmt.Errorf("an array of shape %v and dtype %s is larger than memory can be", shape, d)
		}
		need *= uint64(dim)
	}
	if need != uint64(n) {
		return fmt.Errorf("%d bytes of data for shape %v of %s, which takes %d", n, shape, d, need)
	}
	return nil
}

// ScalarOf makes an array without dimensions, for the caller to free, that holds v as Python's mx.array(v, d) does: a
// float is rounded to float32 and then to d, except for float64; a whole number goes to an integer dtype as it is. There
// is no conversion left to evaluate, so graphs with it are the ones that Python makes.
func ScalarOf(v float64, d Dtype) (Array, error) {
	var b [8]byte
	n := binary.NativeEndian
	f := float32(v)
	switch {
	case d == Float64:
		n.PutUint64(b[:], math.Float64bits(v))
	case d == Float32 || d == Complex64:
		n.PutUint32(b[:], math.Float32bits(f))
	case d == Bfloat16:
		n.PutUint16(b[:], float32ToBfloat16(f))
	case d == Float16:
		n.PutUint16(b[:], float32ToFloat16(f))
	case d == Bool:
		if v != 0 {
			b[0] = 1
		}
	case d.IsInteger():
		if err := putInteger(b[:], v, d); err != nil {
			return Array{}, err
		}
	default:
		return Array{}, fmt.Errorf("%s is no element type", d)
	}
	return fromBytes(b[:d.Size()], nil, d)
}

func putInteger(b []byte, v float64, d Dtype) error {
	bits := d.Size() * 8
	low, high := 0.0, math.Ldexp(1, bits) // exclusive
	signed := d >= Int8
	if signed {
		low, high = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	}
	t := math.Trunc(v)
	if math.IsNaN(v) || t < low || t >= high {
		return fmt.Errorf("%v does not fit %s", v, d)
	}
	u := uint64(t)
	if signed {
		u = uint64(int64(t))
	}
	switch bits {
	case 8:
		b[0] = byte(u)
	case 16:
		binary.NativeEndian.PutUint16(b, uint16(u))
	case 32:
		binary.NativeEndian.PutUint32(b, uint32(u))
	default:
		binary.NativeEndian.PutUint64(b, u)
	}
	return nil
}

// float32ToBfloat16 rounds to nearest, ties to even.
func float32ToBfloat16(f float32) uint16 {
	if f != f {
		return 0x7fc0
	}
	u := math.Float32bits(f)
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// float32ToFloat16 rounds to nearest, ties to even; what is too large becomes infinite.
func float32ToFloat16(f float32) uint16 {
	u := math.Float32bits(f)
	sign, abs := uint16(u>>16&0x8000), u&0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00
	case abs >= 0x477ff000: // rounds to 65520 or more
		return sign | 0x7c00
	case abs < 0x38800000: // subnormal: a whole number of 2⁻²⁴
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(abs))*(1<<24)))
	}
	return sign | uint16((abs-0x38000000+0xfff+abs>>13&1)>>13)
}
