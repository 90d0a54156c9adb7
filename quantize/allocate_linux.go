package quantize

import (
	"errors"
	"os"
	"syscall"
)

// allocate takes the file's blocks from the disk at once, where the file system can, so that a full one is found out
// before anything is computed.
func allocate(f *os.File, size int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
		if errors.Is(err, syscall.EOPNOTSUPP) {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
