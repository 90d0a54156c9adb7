//go:build cgo && mlx

package native

/*
#cgo noescape grn_chain_run
#cgo nocallback grn_chain_run
#cgo noescape grn_chain_new
#cgo nocallback grn_chain_new
#cgo noescape grn_native_calls
#cgo nocallback grn_native_calls
#include "native.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"github.com/graphrun/graphrun/mlx"
)

func handlesOf(to []C.uintptr_t, arrays []mlx.Array) []C.uintptr_t {
	for _, a := range arrays {
		to = append(to, handle(a))
	}
	return to
}

func nativeCalls(known []mlx.Array, calls []Ends) []int {
	var in, out []C.uintptr_t
	ins, outs, kinds := make([]C.int, len(calls)), make([]C.int, len(calls)), make([]C.int, len(calls))
	for i, c := range calls {
		in, out = handlesOf(in, c.In), handlesOf(out, c.Out)
		ins[i], outs[i] = C.int(len(c.In)), C.int(len(c.Out))
	}
	k := handlesOf(nil, known)
	C.grn_native_calls(unsafe.SliceData(k), C.int(len(k)), unsafe.SliceData(in), unsafe.SliceData(ins), unsafe.SliceData(out), unsafe.SliceData(outs),
		C.int(len(calls)), unsafe.SliceData(kinds))
	result := make([]int, len(calls))
	for i, k := range kinds {
		result[i] = int(k)
	}
	return result
}

func newChain(workers uintptr, known, in, out []mlx.Array, outs int, calls []Ends) (uintptr, error) {
	k, i, o := handlesOf(nil, known), handlesOf(nil, in), handlesOf(nil, out)
	var names []byte
	var made []C.uintptr_t
	var of []C.int
	for _, c := range calls {
		names = append(append(names, strings.ReplaceAll(c.Name, "\x00", "")...), 0)
		made, of = handlesOf(made, c.Out), append(of, C.int(len(c.Out)))
	}
	r := C.grn_chain_new(C.uintptr_t(workers), unsafe.SliceData(k), C.int(len(k)), unsafe.SliceData(i), C.int(len(i)), unsafe.SliceData(o), C.int(outs), C.int(len(o)),
		(*C.char)(unsafe.Pointer(unsafe.SliceData(names))), unsafe.SliceData(made), unsafe.SliceData(of), C.int(len(of)))
	return uintptr(r.a), failure(r.err)
}

func freeChain(chain uintptr) {
	if chain != 0 {
		C.grn_chain_free(C.uintptr_t(chain))
	}
}

func chainNodes(chain uintptr) int { return int(C.grn_chain_nodes(C.uintptr_t(chain))) }

func (c *Chain) run(s *mlx.Scope, in []mlx.Array, places []Place) []mlx.Array {
	out := make([]mlx.Array, c.outputs)
	made := make([]C.uintptr_t, c.outputs)
	given := handlesOf(make([]C.uintptr_t, 0, c.inputs), in)
	at := make([]C.grn_place, len(places))
	for i, p := range places {
		at[i] = C.grn_place{position: C.int(p.Position), at: C.int(p.At), seen: C.int(p.Seen)}
	}
	if err := failure(C.grn_chain_run(C.uintptr_t(c.handle), C.uintptr_t(s.Stream().Handle()), unsafe.SliceData(given), unsafe.SliceData(at), C.int(len(at)),
		unsafe.SliceData(made))); err != nil {
		s.Fail(err)
		return out
	}
	for i := range out {
		out[i] = s.Own(mlx.Adopt(uintptr(made[i])))
	}
	return out
}
