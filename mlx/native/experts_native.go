//go:build cgo && mlx

package native

/*
#cgo noescape grn_experts
#cgo nocallback grn_experts
#include "experts_c.h"
*/
import "C"

import "github.com/graphrun/graphrun/mlx"

func (e *Experts) ready() (uintptr, error) {
	var parts [3]C.grn_stack
	for i, w := range []*Stack{&e.Gate, &e.Up, &e.Down} {
		parts[i] = C.grn_stack{codes: handle(w.Codes), scales: handle(w.Scales), biases: handle(w.Biases), bias: handle(w.Bias),
			bits: C.int(w.Bits), group: C.int(w.Group), run: C.int(w.Run), runs: C.int(w.Runs)}
	}
	r := C.grn_experts_weights(C.uintptr_t(e.Workers.handle), &parts[0], C.int(e.Count))
	return uintptr(r.a), failure(r.err)
}

func freeExperts(weights uintptr) { C.grn_experts_weights_free(C.uintptr_t(weights)) }

func (e *ReadyExperts) apply(s *mlx.Scope, x, indices mlx.Array) mlx.Array {
	return one(s, C.grn_experts(C.uintptr_t(e.handle), C.uintptr_t(s.Stream().Handle()), handle(x), handle(indices)))
}
