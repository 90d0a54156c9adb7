//go:build unix

package quantize

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const lockName = ".lock"

// lockFolder keeps a second run out while this one works; the system lets go of the lock when the process ends.
func lockFolder(folder string) (func(), error) {
	f, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: another process is at work there", folder)
		}
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
