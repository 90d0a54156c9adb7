//go:build cgo && mlx

package mlx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWorkersComeAndGo: each has its own stream, compiled function and random state; their threads end with them.
func TestWorkersComeAndGo(t *testing.T) {
	live := LiveArrays()
	for range 20 {
		w := NewWorker()
		var c *Compiled
		require.NoError(t, w.Do(func() error {
			stream, err := NewStream(DeviceCPU)
			if err != nil {
				return err
			}
			defer stream.Free()
			s := NewScope(stream)
			defer s.Free()
			calls := 0
			if c, err = Compile(swiglu(&calls), false); err != nil {
				return err
			}
			x := s.RandomNormal([]int{4}, Float32, 0, 1, Array{})
			out := c.Call(s, []Array{x, x})
			if s.Err() != nil {
				return s.Err()
			}
			return Eval(out...)
		}))
		w.Close()
		c.Free() // after its thread
	}
	require.Equal(t, live, LiveArrays())
}

// TestStreamOfAnotherThread: MLX refuses, and that is an error like any other.
func TestStreamOfAnotherThread(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	var stream Stream
	require.NoError(t, w.Do(func() (err error) { stream, err = NewStream(DeviceCPU); return err }))
	defer stream.Free()
	other := NewWorker()
	defer other.Close()
	err := other.Do(func() error {
		s := NewScope(stream)
		defer s.Free()
		x := s.Ones([]int{4}, Float32)
		if s.Err() != nil {
			return s.Err()
		}
		return Eval(s.Exp(x))
	})
	require.Error(t, err)
	t.Log(err)
}
