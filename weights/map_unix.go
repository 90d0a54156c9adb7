//go:build unix

package weights

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a whole file for reading.
func mapFile(f *os.File, size int64) ([]byte, func([]byte) error, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	return data, unix.Munmap, err
}

// allocate gives zeroed memory outside Go's heap, in large pages where the system has them.
func allocate(n int) ([]byte, func([]byte) error, error) {
	data, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	preferLargePages(data)
	return data, unix.Munmap, nil
}
