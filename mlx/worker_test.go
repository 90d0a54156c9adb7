package mlx

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorkerCarriesErrors(t *testing.T) {
	w := NewWorker()
	boom := errors.New("boom")
	require.NoError(t, w.Do(func() error { return nil }))
	require.Equal(t, boom, w.Do(func() error { return boom }))
	require.ErrorContains(t, w.Do(func() error { panic("oh") }), "panic: oh")
	require.ErrorContains(t, w.Do(func() error { var p *int; *p = 1; return nil }), "nil pointer")
	require.NoError(t, w.Do(func() error { return nil }), "it goes on after a panic")
	w.Close()
	w.Close()
	require.Equal(t, errWorkerClosed, w.Do(func() error { return nil }))
}

func TestWorkerWhoseGoroutineEnds(t *testing.T) {
	w := NewWorker()
	require.ErrorContains(t, w.Do(func() error { runtime.Goexit(); return nil }), "ended")
	require.Equal(t, errWorkerClosed, w.Do(func() error { return nil }))
	w.Close()
}

func TestWorkerFromManyGoroutines(t *testing.T) {
	w := NewWorker()
	var wg sync.WaitGroup
	sum := 0 // only jobs touch it
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				if err := w.Do(func() error { sum++; return nil }); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	w.Close()
	require.Equal(t, 1000, sum)
}
