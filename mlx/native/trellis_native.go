//go:build cgo && mlx

package native

/*
#cgo noescape gr_trellis_encode
#cgo nocallback gr_trellis_encode
#cgo noescape grn_trellis_product
#cgo nocallback grn_trellis_product
#cgo noescape grn_trellis_swiglu
#cgo nocallback grn_trellis_swiglu
#cgo noescape grn_trellis_expand
#cgo nocallback grn_trellis_expand
#include "trellis.h"
#include "trellis_encode.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/trellis"
)

func chooseCodes(g trellis.Geometry, rows, scales []float32, codes []uint32, errors []float64, plain bool) error {
	leaveOut := C.int(0)
	if plain {
		leaveOut = 1
	}
	r := C.gr_trellis_encode((*C.float)(unsafe.SliceData(rows)), C.int64_t(g.Rows), C.int64_t(g.Columns), C.int(g.Bits), C.int(g.Block),
		(*C.float)(unsafe.SliceData(scales)), (*C.uint32_t)(unsafe.SliceData(codes)), (*C.double)(unsafe.SliceData(errors)), leaveOut)
	if r != 0 {
		return fmt.Errorf("there is not enough memory to choose trellis codes")
	}
	return nil
}

func (w *Trellis) c(s *mlx.Scope, form TrellisForm) C.grn_trellis {
	return C.grn_trellis{
		workers: C.uintptr_t(w.Workers.handle), stream: C.uintptr_t(s.Stream().Handle()), codes: handle(w.Codes), scales: handle(w.Scales),
		bits: C.int(w.Bits), block: C.int(w.Block), axis: C.int(w.Axis), form: C.int(form),
	}
}

func (w *Trellis) product(s *mlx.Scope, form TrellisForm, x mlx.Array) mlx.Array {
	c := w.c(s, form)
	return one(s, C.grn_trellis_product(&c, handle(x)))
}

func (w *Trellis) swiglu(s *mlx.Scope, form TrellisForm, up *Trellis, split bool, x mlx.Array) mlx.Array {
	gate, other, tail := w.c(s, form), up.c(s, form), C.int(0)
	if split {
		tail = 1
	}
	return one(s, C.grn_trellis_swiglu(&gate, &other, handle(x), tail))
}

func (w *Trellis) expand(s *mlx.Scope, rounded bool) mlx.Array {
	c, r := w.c(s, Packed), C.int(0)
	if rounded {
		r = 1
	}
	return one(s, C.grn_trellis_expand(&c, r))
}
