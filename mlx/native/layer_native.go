//go:build cgo && mlx

package native

/*
#cgo noescape grn_rms_norm
#cgo nocallback grn_rms_norm
#cgo noescape grn_swiglu
#cgo nocallback grn_swiglu
#cgo noescape grn_log_softmax
#cgo nocallback grn_log_softmax
#cgo noescape grn_likeliest
#cgo nocallback grn_likeliest
#cgo noescape grn_rope
#cgo nocallback grn_rope
#cgo noescape grn_attention
#cgo nocallback grn_attention
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

func (w *Workers) logSoftmax(s *mlx.Scope, x mlx.Array) mlx.Array {
	return one(s, C.grn_log_softmax(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), handle(x)))
}

func (w *Workers) likeliest(s *mlx.Scope, x mlx.Array) (at, logprob mlx.Array) {
	r := C.grn_likeliest(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), handle(x))
	if err := failure(r.err); err != nil {
		s.Fail(err)
		return
	}
	return s.Own(mlx.Adopt(uintptr(r.a[0]))), s.Own(mlx.Adopt(uintptr(r.a[1])))
}

func (w *Workers) rope(s *mlx.Scope, x mlx.Array, rates []float32, neighbours bool, offset, state int) mlx.Array {
	return one(s, C.grn_rope(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), handle(x), (*C.float)(unsafe.SliceData(rates)), C.int(len(rates)),
		C.bool(neighbours), C.int(offset), C.int(state)))
}

func (a *Attention) call(s *mlx.Scope, in [5]mlx.Array, p Place) (y, keys, values mlx.Array) {
	var handles [5]C.uintptr_t
	for i, x := range in {
		handles[i] = handle(x)
	}
	c := C.grn_attend{
		workers: C.uintptr_t(a.Workers.handle), stream: C.uintptr_t(s.Stream().Handle()), gain_q: handle(a.Q.Gain), gain_k: handle(a.K.Gain),
		norm_q: C.bool(a.Q.On), norm_k: C.bool(a.K.On), neighbours: C.bool(a.Neighbours), eps_q: C.float(a.Q.Eps), eps_k: C.float(a.K.Eps),
		scale: C.float(a.Scale), merged: C.bool(a.Merged), rates: C.int(len(a.Rates)),
		position: C.int(p.Position), at: C.int(p.At), seen: C.int(p.Seen), state: C.int(a.State),
	}
	for i, l := range a.Layout {
		c.layout[i] = C.int(l)
	}
	r := C.grn_attention(&c, &handles[0], (*C.float)(unsafe.SliceData(a.Rates)))
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
