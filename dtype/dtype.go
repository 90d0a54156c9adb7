// Package dtype names the element types of arrays as MLX names them. It is a leaf: every other package may use it.
package dtype

import "fmt"

// Dtype is an element type. The values are mlx-c's mlx_dtype, so the binding passes them through unchanged.
type Dtype uint8

const (
	Bool Dtype = iota
	Uint8
	Uint16
	Uint32
	Uint64
	Int8
	Int16
	Int32
	Int64
	Float16
	Float32
	Float64
	Bfloat16
	Complex64
)

var names = [...]string{"bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
	"float16", "float32", "float64", "bfloat16", "complex64"}

var sizes = [...]int{1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8}

// Names lists every name, in the order of the constants.
func Names() []string { return append([]string(nil), names[:]...) }

func (d Dtype) String() string {
	if int(d) < len(names) {
		return names[d]
	}
	return fmt.Sprintf("dtype(%d)", d)
}

// Size is the bytes of one element.
func (d Dtype) Size() int { return sizes[d] }

// IsFloat tells whether d is a real floating type.
func (d Dtype) IsFloat() bool {
	return d == Float16 || d == Float32 || d == Float64 || d == Bfloat16
}

// IsInteger tells whether d is a signed or unsigned integer (bool is not).
func (d Dtype) IsInteger() bool { return d >= Uint8 && d <= Int64 }

// Parse finds a dtype by its MLX name.
func Parse(name string) (Dtype, bool) {
	for i, n := range names {
		if n == name {
			return Dtype(i), true
		}
	}
	return 0, false
}

// MarshalText writes the MLX name.
func (d Dtype) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the MLX name.
func (d *Dtype) UnmarshalText(b []byte) error {
	v, ok := Parse(string(b))
	if !ok {
		return fmt.Errorf("unknown dtype %q", b)
	}
	*d = v
	return nil
}

// Promote is MLX's result type of an operation on a and b (mlx/dtype.cpp, promote_types).
func Promote(a, b Dtype) Dtype {
	if a == b {
		return a
	}
	if a == Complex64 || b == Complex64 {
		return Complex64
	}
	fa, fb := a.IsFloat(), b.IsFloat()
	switch {
	case fa && fb:
		if a == Float64 || b == Float64 {
			return Float64
		}
		return Float32 // float16 with bfloat16, or either with float32
	case fa:
		return a
	case fb:
		return b
	}
	if a == Bool {
		return b
	}
	if b == Bool {
		return a
	}
	sa, sb := signed(a), signed(b)
	if sa == sb {
		if a.Size() > b.Size() {
			return a
		}
		return b
	}
	s, u := a, b
	if sb {
		s, u = b, a
	}
	if s.Size() > u.Size() {
		return s
	}
	switch u.Size() { // the next wider signed type; uint64 with a signed type gives float32
	case 1:
		return Int16
	case 2:
		return Int32
	case 4:
		return Int64
	}
	return Float32
}

func signed(d Dtype) bool { return d >= Int8 && d <= Int64 }
