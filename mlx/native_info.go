//go:build cgo && mlx

package mlx

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"runtime"
	"strings"
)

func fillInfo(b *BuildInfo) {
	built := func(i C.int) string { return C.GoString(C.gr_built(i)) }
	b.MLXExpected, b.MLXC, b.MLXCExpected, b.Backend, b.MLXCSource = built(0), built(1), built(2), built(3), built(4)
	var text *C.char
	if err := failure("version", C.gr_mlx_version(&text)); err != nil {
		b.Problems = append(b.Problems, err.Error())
	} else {
		b.MLX = takeText(text)
	}
	b.Problems = append(b.Problems, b.mismatches()...)
	b.Default = DefaultDevice().String()
	list, err := Devices()
	if err != nil {
		b.Problems = append(b.Problems, err.Error())
	}
	for _, d := range list {
		info, err := d.Info()
		if err != nil {
			b.Problems = append(b.Problems, err.Error())
		}
		b.Devices = append(b.Devices, DeviceInfo{d.String(), info})
	}
	blas := func(i C.int) string { return takeText(C.gr_blas(i)) }
	b.BLAS = BLASInfo{File: blas(0), Config: strings.TrimSpace(blas(1)), Core: blas(2), Threads: blas(3)}
	switch {
	case b.BLAS.Config != "" && strings.Contains(b.BLAS.File, "openblas"):
		b.BLAS.Name = "OpenBLAS"
	case runtime.GOOS == "darwin":
		b.BLAS.Name = "Accelerate"
	default:
		b.BLAS.Name = "reference"
		b.Problems = append(b.Problems, "float32 matrix products go through the reference BLAS, which is many times slower than "+
			"OpenBLAS: apt-get install libopenblas-dev, then `make setup` and build again")
	}
}
