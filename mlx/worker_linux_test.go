package mlx

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWorkerKeepsItsThread(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	other := NewWorker()
	defer other.Close()
	thread := func(w *Worker) (id int) {
		require.NoError(t, w.Do(func() error { id = syscall.Gettid(); return nil }))
		return id
	}
	first := thread(w)
	for range 500 {
		require.Equal(t, first, thread(w))
		require.NotEqual(t, first, thread(other))
	}
}
