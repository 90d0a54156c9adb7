package weights

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"github.com/graphrun/graphrun/weights/header"
)

// Files are a checkpoint's files, of which arrays can be made. It is for use by one goroutine at a time.
type Files struct {
	ck     *header.Checkpoint
	maps   map[string]*region
	mu     sync.Mutex
	closed bool
}

// OpenFiles looks at the checkpoint's files, that they are still those whose headers were read; it maps none yet.
func OpenFiles(ck *header.Checkpoint) (*Files, error) {
	f := &Files{ck: ck, maps: map[string]*region{}}
	for _, path := range ck.Files {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if err := ck.Unchanged(path, info); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Close lets go of the files. Arrays that were made stay good: a file stays mapped until its last array is freed.
func (f *Files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for path, r := range f.maps {
		r.release()
		delete(f.maps, path)
	}
	return nil
}

// file maps a file, once, after a look whether it is still the one that was checked: a mapped file that has become
// shorter would end the process where its missing pages are read.
func (f *Files) file(path string) (*region, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("%s: the checkpoint is closed", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := f.ck.Unchanged(path, info); err != nil {
		return nil, err
	}
	if r := f.maps[path]; r != nil {
		return r, nil
	}
	if int64(int(info.Size())) != info.Size() {
		return nil, fmt.Errorf("%s: %d bytes are more than this machine can map", path, info.Size())
	}
	data, free, err := mapFile(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: mapping it: %w", path, err)
	}
	f.maps[path] = newRegion(data, free)
	return f.maps[path], nil
}

// guarded runs f, which reads mapped memory, and gives an error where a page of it cannot be read.
func guarded(path string, f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if fault, ok := r.(interface{ Addr() uintptr }); ok {
				err = fmt.Errorf("%s: the file can no longer be read (at address %#x): it was cut short, or its device failed", path, fault.Addr())
				return
			}
			err = fmt.Errorf("%s: %v", path, r)
		}
	}()
	f()
	return nil
}

// touch reads a byte of each page.
func touch(pages []byte) error {
	const page = 4096
	sum := byte(0)
	err := guarded("mapped file", func() {
		for i := 0; i < len(pages); i += page {
			sum += pages[i]
		}
	})
	sink(sum)
	return err
}

//go:noinline
func sink(byte) {}
