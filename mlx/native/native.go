//go:build cgo && mlx

package native

/*
#cgo pkg-config: graphrun-mlx
#cgo CXXFLAGS: -std=c++20 -O2 -Wall -Wextra
#cgo noescape grn_affine_product
#cgo nocallback grn_affine_product
#include <stdlib.h>
#include "native.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/graphrun/graphrun/mlx"
)

func newWorkers(threads int, table uintptr) (uintptr, error) {
	r := C.grn_workers_new(C.int(threads), C.uintptr_t(table))
	return uintptr(r.a), failure(r.err)
}

func freeWorkers(w uintptr) { C.grn_workers_free(C.uintptr_t(w)) }

func kernelsOf(w uintptr) string { return C.GoString(C.grn_workers_kernels(C.uintptr_t(w))) }

func failure(err *C.char) error {
	if err == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(err))
	return errors.New(C.GoString(err))
}

// one takes a result into the scope.
func one(s *mlx.Scope, r C.grn_one) mlx.Array {
	if err := failure(r.err); err != nil {
		s.Fail(err)
		return mlx.Array{}
	}
	return s.Own(mlx.Adopt(uintptr(r.a)))
}

func handle(a mlx.Array) C.uintptr_t { return C.uintptr_t(a.Handle()) }

func (p *Product) call(s *mlx.Scope, x mlx.Array) mlx.Array {
	w := C.grn_affine{
		workers: C.uintptr_t(p.Workers.handle), stream: C.uintptr_t(s.Stream().Handle()),
		weight: handle(p.Weight), scales: handle(p.Scales), biases: handle(p.Biases), bias: handle(p.Bias),
		bits: C.int(p.Bits), group: C.int(p.Group), form: C.int(p.Form), tile: C.int(p.Tile),
	}
	return one(s, C.grn_affine_product(&w, handle(x)))
}
