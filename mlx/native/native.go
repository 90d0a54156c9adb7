//go:build cgo && mlx

package native

/*
#cgo pkg-config: graphrun-mlx
#cgo CXXFLAGS: -std=c++20 -O2 -Wall -Wextra
#cgo noescape grn_affine_products
#cgo nocallback grn_affine_products
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

func (p *Product) face(s *mlx.Scope) C.grn_affine {
	return C.grn_affine{
		workers: C.uintptr_t(p.Workers.handle), stream: C.uintptr_t(s.Stream().Handle()),
		weight: handle(p.Weight), scales: handle(p.Scales), biases: handle(p.Biases), bias: handle(p.Bias),
		bits: C.int(p.Bits), group: C.int(p.Group), form: C.int(p.Form), tile: C.int(p.Tile),
	}
}

func products(s *mlx.Scope, members []*Product, x, gain, residual mlx.Array, a Around) []mlx.Array {
	var faces [maxMembers]C.grn_affine
	var handles [maxMembers]C.uintptr_t
	for i, p := range members {
		faces[i] = p.face(s)
	}
	around := C.grn_around{norm: C.bool(a.Norm), eps: C.float(a.Eps), gain: handle(gain), residual: handle(residual)}
	out := make([]mlx.Array, len(members))
	if err := failure(C.grn_affine_products(&faces[0], C.int(len(members)), handle(x), around, &handles[0])); err != nil {
		s.Fail(err)
		return out
	}
	for i := range out {
		out[i] = s.Own(mlx.Adopt(uintptr(handles[i])))
	}
	return out
}
