package mlx

import "github.com/graphrun/graphrun/dtype"

// Dtype is an element type.
type Dtype = dtype.Dtype

// The element types of MLX.
const (
	Bool      = dtype.Bool
	Uint8     = dtype.Uint8
	Uint16    = dtype.Uint16
	Uint32    = dtype.Uint32
	Uint64    = dtype.Uint64
	Int8      = dtype.Int8
	Int16     = dtype.Int16
	Int32     = dtype.Int32
	Int64     = dtype.Int64
	Float16   = dtype.Float16
	Float32   = dtype.Float32
	Float64   = dtype.Float64
	Bfloat16  = dtype.Bfloat16
	Complex64 = dtype.Complex64
)

// Opt is a value that may be absent: the zero Opt is.
type Opt[T any] struct {
	Value T
	Valid bool
}

// Some is a present value.
func Some[T any](v T) Opt[T] { return Opt[T]{v, true} }
