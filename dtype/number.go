package dtype

import (
	"encoding/binary"
	"math"
)

// Number reads the first element of b, of type d, in the machine's byte order. 64-bit integers beyond 2^53 are rounded, of
// a complex number it is the real part.
func Number(d Dtype, b []byte) float64 {
	order := binary.NativeEndian
	switch d {
	case Bool, Uint8:
		return float64(b[0])
	case Int8:
		return float64(int8(b[0]))
	case Uint16:
		return float64(order.Uint16(b))
	case Int16:
		return float64(int16(order.Uint16(b)))
	case Uint32:
		return float64(order.Uint32(b))
	case Int32:
		return float64(int32(order.Uint32(b)))
	case Uint64:
		return float64(order.Uint64(b))
	case Int64:
		return float64(int64(order.Uint64(b)))
	case Float16:
		return float64(FromFloat16(order.Uint16(b)))
	case Bfloat16:
		return float64(math.Float32frombits(uint32(order.Uint16(b)) << 16))
	case Float64:
		return math.Float64frombits(order.Uint64(b))
	}
	return float64(math.Float32frombits(order.Uint32(b)))
}

// FromFloat16 is exact.
func FromFloat16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10)&0x1f, uint32(h&0x3ff)
	switch exp {
	case 0: // zero and subnormals: frac × 2⁻²⁴
		f := math.Float32bits(float32(frac) * (1.0 / (1 << 24)))
		return math.Float32frombits(sign | f)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
