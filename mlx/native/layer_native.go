//go:build cgo && mlx

package native

/*
#cgo noescape grn_rms_norm
#cgo nocallback grn_rms_norm
#cgo noescape grn_swiglu
#cgo nocallback grn_swiglu
#cgo noescape grn_rope
#cgo nocallback grn_rope
#cgo noescape grn_attend
#cgo nocallback grn_attend
#include "native.h"
*/
import "C"

import (
	"unsafe"

	"github.com/graphrun/graphrun/mlx"
)

func (w *Workers) rmsNorm(s *mlx.Scope, x, weight mlx.Array, eps float32) mlx.Array {
	return one(s, C.grn_rms_norm(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), handle(x), handle(weight), C.float(eps)))
}

func (w *Workers) swiglu(s *mlx.Scope, gate, up mlx.Array) mlx.Array {
	return one(s, C.grn_swiglu(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), handle(gate), handle(up)))
}

func (w *Workers) rope(s *mlx.Scope, x mlx.Array, rates []float32, neighbours bool, offset int) mlx.Array {
	return one(s, C.grn_rope(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), handle(x), (*C.float)(unsafe.SliceData(rates)), C.int(len(rates)),
		C.bool(neighbours), C.int(offset)))
}

func (w *Workers) attend(s *mlx.Scope, in [5]mlx.Array, scale float32, offset int) (y, keys, values mlx.Array) {
	var handles [5]C.uintptr_t
	for i, a := range in {
		handles[i] = handle(a)
	}
	r := C.grn_attend(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), &handles[0], C.float(scale), C.int(offset))
	if err := failure(r.err); err != nil {
		s.Fail(err)
		return
	}
	var out [3]mlx.Array
	for i := range out {
		out[i] = s.Own(mlx.Adopt(uintptr(r.a[i])))
	}
	return out[0], out[1], out[2]
}
