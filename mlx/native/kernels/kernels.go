//go:build cgo && mlx

package kernels

/*
#cgo CXXFLAGS: -std=c++20 -O2 -Wall -Wextra -Wno-psabi
#include <stdint.h>
#include <stdlib.h>
uintptr_t grk_best(void);
uintptr_t grk_named(const char *name);
int grk_in_order(void);
*/
import "C"

import "unsafe"

// Best is the address of the best table that this processor runs.
func Best() uintptr { return uintptr(C.grk_best()) }

// Named is the address of the table of an instruction set (avx512, avxvnni, avx2, neon, plain); 0 where this processor
// does not run it.
func Named(name string) uintptr {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	return uintptr(C.grk_named(s))
}

// InOrder tells whether this processor runs products in order.
func InOrder() bool { return C.grk_in_order() != 0 }
