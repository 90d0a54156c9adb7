//go:build cgo && mlx

package mlx

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScopeOwnership(t *testing.T) {
	s := scoped(t)
	live := LiveArrays()
	a := floats(t, s, []float32{1, 2})
	b := s.Exp(a)
	require.Equal(t, live+2, LiveArrays())

	s.Keep(b)
	s.Free()
	require.Equal(t, live+1, LiveArrays(), "the kept array lives")
	got, err := b.Float32s()
	require.NoError(t, err, "its freed input lives inside MLX")
	require.InDelta(t, 2.718281, got[0], 1e-5)
	s.Own(b)

	mark := s.Mark()
	x := s.Exp(b)
	y := s.Exp(x)
	s.ReleaseTo(mark, y, b) // b is older than the mark
	require.Equal(t, live+2, LiveArrays())
	require.NoError(t, Eval(y))

	mark = s.Mark()
	x = s.Exp(y)
	z := s.Exp(x)
	s.Drop(x, y, Array{}, x)
	require.Equal(t, live+2, LiveArrays())
	s.ReleaseTo(mark)
	require.Equal(t, live+1, LiveArrays(), "z was made after the mark, which drops leave right")
	_ = z
	s.ReleaseTo(-1)
	s.ReleaseTo(1000)
	s.Free()
	require.Equal(t, live, LiveArrays())
}

func TestScopeErrorIsSticky(t *testing.T) {
	s := NewScope(Stream{})
	first := errors.New("first")
	s.Fail(nil)
	require.NoError(t, s.Err())
	s.Fail(first)
	s.Fail(errors.New("second"))
	require.Equal(t, first, s.Err())
	require.False(t, s.Zeros([]int{2}, Float32).Valid())
	require.Nil(t, s.Split(Array{}, 2, 0))
	require.Equal(t, first, s.ResetErr())
	require.NoError(t, s.Err())
}

// TestMemoryStaysFlat runs many steps of a small network whose state is carried from one to the next.
func TestMemoryStaysFlat(t *testing.T) {
	s := scoped(t)
	w := floats(t, s, make([]float32, 64*64), 64, 64)
	s.Keep(w)
	defer w.Free()
	state := s.Zeros([]int{1, 64}, Float32)
	s.Keep(state)
	var active, live int
	for step := range 3000 {
		h := s.FastRMSNorm(s.Add(s.Matmul(state, w), state), Array{}, 1e-5)
		halves := s.Split(h, 2, -1)
		next := s.ConcatenateAxis([]Array{s.Sigmoid(halves[0]), halves[1]}, -1)
		s.Keep(next)
		require.NoError(t, s.Err())
		require.NoError(t, Eval(next))
		s.Free()
		state.Free()
		state = next
		if step == 100 {
			active, live = ActiveMemory(), LiveArrays()
		}
	}
	s.Own(state)
	require.Equal(t, live, LiveArrays())
	require.Equal(t, active, ActiveMemory())
}

func TestFailuresLeakNothing(t *testing.T) {
	s := scoped(t)
	a, b := floats(t, s, make([]float32, 3)), floats(t, s, make([]float32, 4))
	live := LiveArrays()
	for range 200 {
		s.Add(a, b)
		s.ResetErr()
		s.Split(a, 2, 0)
		s.ResetErr()
		s.ConcatenateAxis([]Array{a, s.Reshape(b, []int{2, 2})}, 0)
		s.ResetErr()
		s.Drop(s.owned[len(s.owned)-1])
	}
	require.LessOrEqual(t, LiveArrays(), live)
}

func BenchmarkLazyAdd(b *testing.B) {
	s := scoped(b)
	x := floats(b, s, []float32{1, 2, 3})
	mark := s.Mark()
	b.ReportAllocs()
	for i := range b.N {
		s.Add(x, x)
		if i%256 == 255 {
			s.ReleaseTo(mark)
		}
	}
}

func BenchmarkReshape(b *testing.B) {
	s := scoped(b)
	x := floats(b, s, make([]float32, 24), 2, 3, 4)
	mark := s.Mark()
	b.ReportAllocs()
	for i := range b.N {
		s.Reshape(x, []int{6, 1, 4})
		if i%256 == 255 {
			s.ReleaseTo(mark)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	s := scoped(b)
	x := floats(b, s, make([]float32, 24), 2, 12)
	mark := s.Mark()
	b.ReportAllocs()
	for i := range b.N {
		s.Split(x, 2, -1)
		if i%256 == 255 {
			s.ReleaseTo(mark)
		}
	}
}

func BenchmarkQuantizedMatmul(b *testing.B) {
	s := scoped(b)
	q := s.Quantize(floats(b, s, make([]float32, 8*64), 8, 64), 32, 4, "affine", Array{})
	x := floats(b, s, make([]float32, 64), 1, 64)
	require.NoError(b, s.Err())
	mark := s.Mark()
	b.ReportAllocs()
	for i := range b.N {
		s.QuantizedMatmul(x, q[0], q[1], q[2], true, 32, 4, "affine")
		if i%256 == 255 {
			s.ReleaseTo(mark)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	s := scoped(b)
	x := floats(b, s, []float32{1, 2, 3})
	mark := s.Mark()
	b.ReportAllocs()
	for range b.N {
		if err := Eval(s.Add(x, x)); err != nil {
			b.Fatal(err)
		}
		s.ReleaseTo(mark)
	}
}
