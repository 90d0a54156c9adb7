//go:build cgo && mlx

package mlx

/*
#cgo pkg-config: graphrun-mlx
#cgo CFLAGS: -std=gnu11
#cgo CXXFLAGS: -std=c++20
#cgo linux LDFLAGS: -ldl
#cgo noescape gr_shape
#cgo nocallback gr_shape
#cgo noescape gr_free
#cgo nocallback gr_free
#cgo noescape gr_eval
#cgo nocallback gr_eval
#cgo noescape gr_read
#cgo nocallback gr_read
#cgo noescape gr_in_rows
#cgo nocallback gr_in_rows
#cgo noescape gr_from_data
#cgo nocallback gr_from_data
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import "unsafe"

// Available tells whether this build has MLX.
const Available = true

// The shims take Go's ints as they lie in memory.
const _ = uint(unsafe.Sizeof(int(0)) - 8)

func ints(v []int) *C.int64_t        { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(v))) }
func int64s(v []int64) *C.int64_t    { return (*C.int64_t)(unsafe.SliceData(v)) }
func chars(s string) *C.char         { return (*C.char)(unsafe.Pointer(unsafe.StringData(s))) }
func handles(a []Array) *C.uintptr_t { return (*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(a))) }

// failure takes a message of the shims.
func failure(op string, err *C.char) error {
	if err == nil {
		return nil
	}
	text := C.GoString(err)
	C.free(unsafe.Pointer(err))
	return newError(op, text)
}

func (s *Scope) one(op string, r C.gr_one) Array {
	if r.err != nil {
		s.Fail(failure(op, r.err))
		return Array{}
	}
	a := Array{uintptr(r.a)}
	s.owned = append(s.owned, a)
	return a
}

func (s *Scope) two(op string, r C.gr_two) (Array, Array) {
	if r.err != nil {
		s.Fail(failure(op, r.err))
		return Array{}, Array{}
	}
	a, b := Array{uintptr(r.a)}, Array{uintptr(r.b)}
	s.owned = append(s.owned, a, b)
	return a, b
}

func (s *Scope) many(op string, r C.gr_many) []Array {
	if r.err != nil {
		s.Fail(failure(op, r.err))
		return nil
	}
	from := r.few[:min(r.n, C.GR_FEW)]
	if r.many != nil {
		from = unsafe.Slice(r.many, r.n)
		defer C.free(unsafe.Pointer(r.many))
	}
	out := make([]Array, len(from))
	for i, a := range from {
		out[i] = Array{uintptr(a)}
	}
	s.owned = append(s.owned, out...)
	return out
}

func single(op string, r C.gr_one) (Array, error) {
	if r.err != nil {
		return Array{}, failure(op, r.err)
	}
	return Array{uintptr(r.a)}, nil
}

func freeArrays(a []Array) { C.gr_free(handles(a), C.size_t(len(a))) }

func countArray() { C.gr_count(1) }

func liveArrays() int { return int(C.gr_live()) }

func cloneArray(a Array) Array {
	c, _ := single("clone", C.gr_clone(C.uintptr_t(a.ctx))) // a is valid: it cannot fail
	return c
}

func arrayNdim(a Array) int { return int(C.gr_ndim(C.uintptr_t(a.ctx))) }

func arrayShape(a Array) []int {
	shape := make([]int, arrayNdim(a))
	C.gr_shape(C.uintptr_t(a.ctx), ints(shape))
	return shape
}

func arrayDtype(a Array) Dtype { return Dtype(C.gr_dtype_of(C.uintptr_t(a.ctx))) }

func arrayText(a Array) string {
	var text *C.char
	if err := failure("print", C.gr_text_of(C.uintptr_t(a.ctx), &text)); err != nil {
		return err.Error()
	}
	return takeText(text)
}

func takeText(text *C.char) string {
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}

func readArray(a Array, out []byte) error {
	return failure("read", C.gr_read(C.uintptr_t(a.ctx), unsafe.Pointer(unsafe.SliceData(out)), C.size_t(len(out))))
}

func inRows(a Array) (bool, error) {
	var rows C.bool
	err := failure("in_rows", C.gr_in_rows(C.uintptr_t(a.ctx), &rows))
	return bool(rows), err
}

func fromBytes(data []byte, shape []int, d Dtype) (Array, error) {
	return single("from_bytes", C.gr_from_data(unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)), ints(shape),
		C.size_t(len(shape)), C.int(d)))
}

func eval(a []Array, async bool) error {
	if len(a) == 0 {
		return nil
	}
	op := "eval"
	if async {
		op = "async_eval"
	}
	return failure(op, C.gr_eval(handles(a), C.size_t(len(a)), C.bool(async)))
}

func randomSeed(seed uint64) error { return failure("random_seed", C.gr_random_seed(C.uint64_t(seed))) }
