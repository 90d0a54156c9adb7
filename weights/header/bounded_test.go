package header

import (
	"runtime"
	"testing"
)

// maxAllocated is what reading one hostile header may allocate, all in all.
const maxAllocated = 64 << 20

// bounded runs f and fails where it allocates too much. Time is not looked at: it follows from what is read.
func bounded(t testing.TB, f func() error) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > maxAllocated {
		t.Fatalf("allocated %d MiB", n>>20)
	}
	return err
}
