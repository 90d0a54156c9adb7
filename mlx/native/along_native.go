//go:build cgo && mlx

package native

/*
#cgo noescape grn_softmax
#cgo nocallback grn_softmax
#cgo noescape grn_argpartition
#cgo nocallback grn_argpartition
#cgo noescape grn_take_along
#cgo nocallback grn_take_along
#cgo noescape grn_sum
#cgo nocallback grn_sum
#include "along_c.h"
*/
import "C"

import "github.com/graphrun/graphrun/mlx"

func (w *Workers) softmax(s *mlx.Scope, x mlx.Array) mlx.Array {
	return one(s, C.grn_softmax(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), handle(x)))
}

func (w *Workers) argpartition(s *mlx.Scope, x mlx.Array, kth int) mlx.Array {
	return one(s, C.grn_argpartition(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), handle(x), C.int(kth)))
}

func (w *Workers) takeAlong(s *mlx.Scope, x, indices mlx.Array) mlx.Array {
	return one(s, C.grn_take_along(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), handle(x), handle(indices)))
}

func (w *Workers) sum(s *mlx.Scope, x mlx.Array, axis int, keepdims bool) mlx.Array {
	return one(s, C.grn_sum(C.uintptr_t(w.handle), C.uintptr_t(s.Stream().Handle()), handle(x), C.int(axis), C.bool(keepdims)))
}
