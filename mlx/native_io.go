//go:build cgo && mlx

package mlx

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// cPath refuses what would not come through: C ends a string at a zero, mlx-c reads its error messages as formats.
func cPath(path string) (*C.char, error) {
	if strings.ContainsAny(path, "%\x00") {
		return nil, fmt.Errorf("MLX's own reader cannot be given the path %q, which holds %% or a zero", path)
	}
	return C.CString(path), nil
}

// takeFile takes the arrays and texts, and frees the rest.
func takeFile(op string, f C.gr_file) (map[string]Array, []string, error) {
	defer C.gr_file_free(f)
	if f.err != nil {
		return nil, nil, newError(op, C.GoString(f.err))
	}
	arrays := make(map[string]Array, f.n)
	for i, name := range unsafe.Slice(f.names, f.n) {
		arrays[C.GoString(name)] = Array{uintptr(unsafe.Slice(f.arrays, f.n)[i])}
	}
	texts := make([]string, 0, f.nmeta)
	for _, t := range unsafe.Slice(f.meta, f.nmeta) {
		texts = append(texts, C.GoString(t))
	}
	return arrays, texts, nil
}

func loadSafetensors(path string, s Stream) (map[string]Array, map[string]string, error) {
	p, err := cPath(path)
	if err != nil {
		return nil, nil, err
	}
	defer C.free(unsafe.Pointer(p))
	arrays, texts, err := takeFile("load_safetensors", C.gr_load_safetensors(p, C.uintptr_t(s.ctx)))
	if err != nil {
		return nil, nil, err
	}
	meta := map[string]string{}
	for i := 0; i+1 < len(texts); i += 2 {
		meta[texts[i]] = texts[i+1]
	}
	return arrays, meta, nil
}

func saveSafetensors(path string, arrays map[string]Array, metadata map[string]string) error {
	p, err := cPath(path)
	if err != nil {
		return err
	}
	texts := []*C.char{p}
	defer func() {
		for _, t := range texts {
			C.free(unsafe.Pointer(t))
		}
	}()
	var names []string
	var list []Array
	for name, a := range arrays {
		names, list = append(names, name), append(list, a)
	}
	if err := Eval(list...); err != nil {
		return err
	}
	// The table of C strings is C's own: Go memory that points to it could not be passed on.
	table := func(words []string) **C.char {
		t := (**C.char)(C.calloc(C.size_t(len(words)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
		for i, w := range words {
			c := C.CString(w)
			texts = append(texts, c)
			unsafe.Slice(t, len(words))[i] = c
		}
		return t
	}
	var meta []string
	for k, v := range metadata {
		meta = append(meta, k, v)
	}
	cn, cm := table(names), table(meta)
	defer C.free(unsafe.Pointer(cn))
	defer C.free(unsafe.Pointer(cm))
	return failure("save_safetensors",
		C.gr_save_safetensors(p, cn, handles(list), C.size_t(len(list)), cm, C.size_t(len(meta))))
}

func loadGGUF(path string) (*GGUF, error) {
	s, err := DefaultStream(DeviceCPU)
	if err != nil {
		return nil, err
	}
	defer s.Free()
	p, err := cPath(path)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(p))
	f := C.gr_load_gguf(p, C.uintptr_t(s.ctx))
	g := &GGUF{ctx: uintptr(f.gguf)}
	g.Arrays, _, err = takeFile("load_gguf", f)
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (g *GGUF) text(key string) (string, bool) {
	var has C.bool
	var text *C.char
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	if g.ctx == 0 || failure("gguf", C.gr_gguf_string(C.uintptr_t(g.ctx), k, &has, &text)) != nil || !bool(has) {
		return "", false
	}
	return takeText(text), true
}

func (g *GGUF) texts(key string) ([]string, bool) {
	var has C.bool
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	if g.ctx == 0 {
		return nil, false
	}
	_, texts, err := takeFile("gguf", C.gr_gguf_strings(C.uintptr_t(g.ctx), k, &has))
	return texts, err == nil && bool(has)
}

func (g *GGUF) array(key string) (Array, bool) {
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	if g.ctx == 0 {
		return Array{}, false
	}
	a, err := single("gguf", C.gr_gguf_array(C.uintptr_t(g.ctx), k))
	return a, err == nil && a.Valid()
}

func (g *GGUF) close() {
	C.gr_gguf_free(C.uintptr_t(g.ctx))
	g.ctx = 0
}
