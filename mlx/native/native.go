//go:build cgo && mlx

package native

/*
#cgo pkg-config: graphrun-mlx
#cgo CXXFLAGS: -std=c++20 -O2 -Wall -Wextra
#cgo noescape grn_affine_products
#cgo nocallback grn_affine_products
#cgo noescape grn_affine_rows
#cgo nocallback grn_affine_rows
#cgo noescape grn_nodes
#cgo nocallback grn_nodes
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

func nodes(arrays []mlx.Array) int {
	handles := make([]C.uintptr_t, len(arrays))
	for i, a := range arrays {
		handles[i] = handle(a)
	}
	return int(C.grn_nodes(unsafe.SliceData(handles), C.int(len(handles))))
}

func newProducts(members []*Product) (uintptr, error) {
	faces := make([]C.grn_affine, len(members))
	for i, p := range members {
		faces[i] = C.grn_affine{
			workers: C.uintptr_t(p.Workers.handle), weight: handle(p.Weight), scales: handle(p.Scales), biases: handle(p.Biases), bias: handle(p.Bias),
			bits: C.int(p.Bits), group: C.int(p.Group), form: C.int(p.Form), tile: C.int(p.Tile),
		}
	}
	r := C.grn_affine_weights(unsafe.SliceData(faces), C.int(len(faces)))
	return uintptr(r.a), failure(r.err)
}

func freeProducts(weights uintptr) { C.grn_affine_weights_free(C.uintptr_t(weights)) }

func (p *Products) rows(s *mlx.Scope, numbers mlx.Array) mlx.Array {
	return one(s, C.grn_affine_rows(C.uintptr_t(p.handle), C.uintptr_t(s.Stream().Handle()), handle(numbers)))
}

func (p *Products) products(s *mlx.Scope, x, gain, residual mlx.Array) []mlx.Array {
	var handles [maxMembers]C.uintptr_t
	around := C.grn_around{norm: C.bool(p.around.Norm), eps: C.float(p.around.Eps), gain: handle(gain), residual: handle(residual)}
	out := make([]mlx.Array, p.members)
	if err := failure(C.grn_affine_products(C.uintptr_t(p.handle), C.uintptr_t(s.Stream().Handle()), handle(x), around, &handles[0])); err != nil {
		s.Fail(err)
		return out
	}
	for i := range out {
		out[i] = s.Own(mlx.Adopt(uintptr(handles[i])))
	}
	return out
}

func (p *Products) gather(s *mlx.Scope, count int, x, indices mlx.Array) mlx.Array {
	return one(s, C.grn_gather(C.uintptr_t(p.handle), C.uintptr_t(s.Stream().Handle()), C.int(count), handle(x), handle(indices)))
}
