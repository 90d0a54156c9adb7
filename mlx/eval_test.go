//go:build cgo && mlx

package mlx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestErrorsDuringEvaluation: on the CPU gather_mm finds out only then that it takes float32 alone.
func TestErrorsDuringEvaluation(t *testing.T) {
	s := scoped(t)
	x := s.Zeros([]int{3, 2, 2}, Bfloat16)
	bad := s.Exp(s.GatherMM(x, x, Array{}, s.Arange(0, 3, 1, Uint32), false))
	require.NoError(t, s.Err(), "building the graph")
	require.ErrorContains(t, Eval(bad), "eval: [GatherMM::eval] Currently only supports float32.")
	_, err := bad.Bytes()
	require.ErrorContains(t, err, "read: ")
	require.NoError(t, Eval(s.Exp(x)), "the thread goes on")
}

func TestAsyncEval(t *testing.T) {
	s := scoped(t)
	require.NoError(t, Eval())
	require.EqualError(t, Eval(Array{}), "eval: arrays[0] is an absent array")
	x := s.Exp(s.Zeros([]int{4}, Float32))
	require.NoError(t, AsyncEval(x))
	require.NoError(t, Synchronize(s.Stream()))
	got, err := x.Float32s()
	require.NoError(t, err)
	require.Equal(t, []float32{1, 1, 1, 1}, got)
}

func TestRandomIsSeeded(t *testing.T) {
	s := scoped(t)
	draw := func() []float32 {
		got, err := s.RandomUniform(floats(t, s, []float32{0}, 1), floats(t, s, []float32{1}, 1), []int{5}, Float32, Array{}).Float32s()
		require.NoError(t, err)
		return got
	}
	require.NoError(t, RandomSeed(3))
	a := draw()
	b := draw()
	require.NoError(t, RandomSeed(3))
	require.Equal(t, a, draw())
	require.NotEqual(t, a, b)
}

func TestDevices(t *testing.T) {
	list, err := Devices()
	require.NoError(t, err)
	require.Contains(t, list, DeviceCPU)
	require.Equal(t, "gpu:3", GPU(3).String())
	require.Equal(t, 3, GPU(3).Index())
	s := scoped(t)
	require.Equal(t, DeviceCPU, s.Stream().Device())
	if len(list) == 1 { // no GPU
		require.ErrorContains(t, SetDefaultDevice(DeviceGPU), "this MLX has no device gpu:0")
		_, err = NewStream(DeviceGPU)
		require.Error(t, err)
		_, err = DefaultStream(DeviceGPU)
		require.Error(t, err)
		require.NoError(t, SetDefaultDevice(DefaultDevice()))
	}
}

func TestMemoryFigures(t *testing.T) {
	s := scoped(t)
	before := ActiveMemory()
	require.NoError(t, ResetPeakMemory())
	x := s.Zeros([]int{1 << 20}, Float32)
	require.NoError(t, Eval(x))
	require.GreaterOrEqual(t, ActiveMemory()-before, 1<<22)
	require.GreaterOrEqual(t, PeakMemory(), 1<<22)
	s.Free()
	require.Equal(t, before, ActiveMemory())
	require.GreaterOrEqual(t, CacheMemory(), 1<<22)
	require.NoError(t, ClearCache())
	require.Zero(t, CacheMemory())
	old, err := SetCacheLimit(1 << 30)
	require.NoError(t, err)
	again, err := SetCacheLimit(old)
	require.NoError(t, err)
	require.Equal(t, 1<<30, again)
	_, err = SetMemoryLimit(-1)
	require.ErrorContains(t, err, "must not be negative")
	require.Positive(t, MemoryLimit())
}
