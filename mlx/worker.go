package mlx

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// Worker owns an OS thread: streams, compiled functions and random state belong to threads, so everything that
// uses an engine's stream runs here, a whole step as one job (a hop costs some 10 µs).
type Worker struct {
	jobs  chan job
	close sync.Once
	mu    sync.RWMutex // held for reading while a job is handed over
	ended bool
	done  chan struct{}
}

type job struct {
	run    func() error
	result chan error
}

var errWorkerClosed = errors.New("the worker is closed")

// NewWorker starts a worker; the caller closes it.
func NewWorker() *Worker {
	w := &Worker{jobs: make(chan job), done: make(chan struct{})}
	go w.loop()
	return w
}

// loop never unlocks the thread, which ends with it: nothing else in the process meets MLX's state of this thread.
func (w *Worker) loop() {
	runtime.LockOSThread()
	defer close(w.done)
	for j := range w.jobs {
		j.do()
	}
}

// Do runs f on the worker's thread and gives its error; a panic in f comes back as an error. It must not be called from
// inside a job of the same worker, which would wait for itself.
func (w *Worker) Do(f func() error) error {
	w.mu.RLock()
	if w.ended {
		w.mu.RUnlock()
		return errWorkerClosed
	}
	j := job{run: f, result: make(chan error, 1)}
	select {
	case w.jobs <- j:
		w.mu.RUnlock()
	case <-w.done:
		w.mu.RUnlock()
		return errWorkerClosed
	}
	return <-j.result
}

// Close waits for the jobs that were handed over and ends the thread. It may be called twice.
func (w *Worker) Close() {
	w.close.Do(func() {
		w.mu.Lock()
		w.ended = true
		w.mu.Unlock()
		close(w.jobs)
	})
	<-w.done
}

func (j job) do() {
	err := errors.New("the job ended the worker's goroutine") // as testing's FailNow does
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		j.result <- err
	}()
	err = j.run()
}
