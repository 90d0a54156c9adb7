//go:build cgo && mlx

package mlx

/*
#include "shim.h"
*/
import "C"

import (
	"encoding/binary"
	"io"
	"os"
	"sync"
	"unsafe"
)

// releases hears from MLX, through a pipe, which mapped arrays it has dropped. It starts with the first one and stays.
type releases struct {
	mu    sync.Mutex
	write *os.File
	next  uint64
	calls map[uint64]func()
}

var mapped releases

// add gives the pipe and the token that tell that release is due.
func (r *releases) add(release func()) (fd uintptr, token uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.write == nil {
		read, write, err := os.Pipe()
		if err != nil {
			return 0, 0, err
		}
		r.write, r.calls = write, map[uint64]func(){}
		go r.listen(read)
	}
	r.next++
	r.calls[r.next] = release
	return r.write.Fd(), r.next, nil
}

func (r *releases) take(token uint64) func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	release := r.calls[token]
	delete(r.calls, token)
	return release
}

func (r *releases) listen(read io.Reader) {
	var b [8]byte
	for {
		if _, err := io.ReadFull(read, b[:]); err != nil {
			return
		}
		if release := r.take(binary.NativeEndian.Uint64(b[:])); release != nil {
			release()
		}
	}
}

func fromMapped(data []byte, shape []int, d Dtype, release func()) (Array, error) {
	fd, token, err := mapped.add(release)
	if err != nil {
		return Array{}, err
	}
	a, err := single("from_mapped", C.gr_from_mapped(unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)), ints(shape),
		C.size_t(len(shape)), C.int(d), C.int(fd), C.uint64_t(token)))
	if err != nil {
		mapped.take(token)
	}
	return a, err
}
