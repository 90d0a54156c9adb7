//go:build cgo && mlx

package mlx

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"runtime/debug"
	"unsafe"
)

func compile(fn func(*Scope, []Array) ([]Array, error), shapeless bool) (*Compiled, error) {
	t := &tracing{fn: fn}
	h := cgo.NewHandle(t)
	a, err := single("compile", C.gr_compile(C.uint64_t(h), C.bool(shapeless)))
	if err != nil {
		h.Delete()
		return nil, err
	}
	return &Compiled{closure: a.ctx, handle: uintptr(h), state: t}, nil
}

func (c *Compiled) call(s *Scope, in []Array) []Array {
	if c.closure == 0 {
		s.Fail(&Error{Op: "compiled", Message: "the function was freed"})
		return nil
	}
	c.state.stream, c.state.err = s.stream, nil
	r := C.gr_compiled_call(C.uintptr_t(c.closure), handles(in), C.size_t(len(in)))
	if c.state.err != nil { // MLX only knows that the function failed
		_ = failure("compiled", r.err)
		s.Fail(c.state.err)
		return nil
	}
	return s.many("compiled", r)
}

func (c *Compiled) free() {
	if c.closure != 0 {
		C.gr_compiled_free(C.uintptr_t(c.closure))
		cgo.Handle(c.handle).Delete()
		c.closure = 0
	}
}

func compileMode(on bool) error { return failure("compile_mode", C.gr_compile_mode(C.bool(on))) }

// grTrace is called by MLX while it traces: in are handles for us to free, *out becomes handles for C to free.
//
//export grTrace
func grTrace(handle C.uint64_t, in *C.uintptr_t, n C.size_t, out **C.uintptr_t) C.int64_t {
	t := cgo.Handle(handle).Value().(*tracing)
	s := NewScope(t.stream)
	defer s.Free()
	args := make([]Array, n)
	for i, a := range unsafe.Slice(in, n) {
		args[i] = s.Own(Array{uintptr(a)})
	}
	results, err := t.run(s, args)
	if err != nil {
		t.err = err
		return -1
	}
	list := (*C.uintptr_t)(C.calloc(C.size_t(len(results)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	for i, a := range results {
		unsafe.Slice(list, len(results))[i] = C.uintptr_t(a.Clone().ctx)
	}
	*out = list
	return C.int64_t(len(results))
}

// run calls the function; neither a panic nor an absent result passes through C.
func (t *tracing) run(s *Scope, in []Array) (out []Array, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in a compiled function: %v\n%s", r, debug.Stack())
		}
	}()
	out, err = t.fn(s, in)
	if err == nil {
		err = s.Err()
	}
	for i, a := range out {
		if err == nil && !a.Valid() {
			err = fmt.Errorf("result %d of a compiled function is absent", i)
		}
	}
	return out, err
}
