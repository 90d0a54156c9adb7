package native

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native/kernels"
)

// Workers are an engine's threads and the kernels that its processor runs. One primitive at a time uses them.
type Workers struct{ handle uintptr }

// NewWorkers starts threads, the one that calls the kernels included. The caller closes them; primitives that still
// wait to be evaluated keep them until they have run.
func NewWorkers(threads int) (*Workers, error) { return NewWorkersOf(threads, "") }

// NewWorkersOf takes kernels by the name of their instruction set (avx512, avxvnni, avx2, neon, plain), for tests; ""
// takes the best that the processor runs. One that it does not run is an error.
func NewWorkersOf(threads int, set string) (*Workers, error) {
	if !mlx.Available {
		return nil, mlx.ErrNoMLX
	}
	table := kernels.Best()
	if set != "" {
		table = kernels.Named(set)
	}
	if table == 0 {
		return nil, fmt.Errorf("this processor has no kernels %s", set)
	}
	h, err := newWorkers(threads, table)
	if err != nil {
		return nil, err
	}
	return &Workers{h}, nil
}

// Kernels is the name of the instruction set.
func (w *Workers) Kernels() string { return kernelsOf(w.handle) }

// Nodes counts the calls of MLX's primitives that evaluating arrays would run: each costs a few µs, whatever it computes.
func Nodes(arrays ...mlx.Array) int { return nodes(arrays) }

// Free ends the threads once nothing needs them.
func (w *Workers) Free() {
	if w.handle != 0 {
		freeWorkers(w.handle)
		w.handle = 0
	}
}
