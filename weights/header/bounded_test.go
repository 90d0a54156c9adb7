package header

import (
	"runtime/metrics"
	"testing"
)

// maxAllocated is what reading one hostile header may allocate, all in all.
const maxAllocated = 64 << 20

// bounded runs f and fails where it allocates too much. Time is not looked at: it follows from what is read.
func bounded(t testing.TB, f func() error) error {
	t.Helper()
	before := allocated()
	err := f()
	if n := allocated() - before; n > maxAllocated {
		t.Fatalf("allocated %d MiB", n>>20)
	}
	return err
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
