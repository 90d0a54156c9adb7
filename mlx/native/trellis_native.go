//go:build cgo && mlx

package native

/*
#cgo pkg-config: graphrun-mlx
#cgo CXXFLAGS: -std=c++20 -O3 -Wall -Wextra
#cgo noescape gr_trellis_encode
#cgo nocallback gr_trellis_encode
#include "trellis_encode.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/graphrun/graphrun/trellis"
)

func chooseCodes(g trellis.Geometry, rows, scales []float32, codes []uint32, plain bool) (float64, error) {
	var sum C.double
	leaveOut := C.int(0)
	if plain {
		leaveOut = 1
	}
	r := C.gr_trellis_encode((*C.float)(unsafe.SliceData(rows)), C.int64_t(g.Rows), C.int64_t(g.Columns), C.int(g.Bits), C.int(g.Block),
		(*C.float)(unsafe.SliceData(scales)), (*C.uint32_t)(unsafe.SliceData(codes)), &sum, leaveOut)
	if r != 0 {
		return 0, errors.New("there is not enough memory to choose trellis codes")
	}
	return float64(sum), nil
}
