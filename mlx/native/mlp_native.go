//go:build cgo && mlx

package native

/*
#cgo noescape grn_mlp
#cgo nocallback grn_mlp
#include "mlp_c.h"
*/
import "C"

import (
	"unsafe"

	"github.com/graphrun/graphrun/mlx"
)

func (m *MLP) ready() (uintptr, error) {
	var parts [3]C.grn_matrix
	var sums []C.grn_low_rank
	for i, w := range []*Matrix{&m.Gate, &m.Up, &m.Down} {
		parts[i] = C.grn_matrix{codes: handle(w.Codes), scales: handle(w.Scales), biases: handle(w.Biases), bias: handle(w.Bias),
			bits: C.int(w.Bits), group: C.int(w.Group), axis: C.int(w.Axis)}
		for _, l := range w.Sums {
			sums = append(sums, C.grn_low_rank{part: C.int(i), a: handle(l.A), b: handle(l.B), first: C.int(l.First), scale: C.float(l.Scale)})
		}
	}
	r := C.grn_mlp_weights(C.uintptr_t(m.Workers.handle), &parts[0], unsafe.SliceData(sums), C.int(len(sums)), C.bool(m.Panels))
	return uintptr(r.a), failure(r.err)
}

func freeMLP(weights uintptr) { C.grn_mlp_weights_free(C.uintptr_t(weights)) }

func (m *ReadyMLP) apply(s *mlx.Scope, x, gain, residual mlx.Array) mlx.Array {
	around := C.grn_around{norm: C.bool(m.Norm), eps: C.float(m.Eps), gain: handle(gain), residual: handle(residual)}
	return one(s, C.grn_mlp(C.uintptr_t(m.handle), C.uintptr_t(s.Stream().Handle()), handle(x), around))
}
