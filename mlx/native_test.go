//go:build cgo && mlx

package mlx

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// scoped gives a scope on the default CPU stream of this test's thread, freed with the test, which must free every handle.
func scoped(t testing.TB) *Scope {
	runtime.LockOSThread()
	live := LiveArrays()
	stream, err := DefaultStream(DeviceCPU)
	require.NoError(t, err)
	s := NewScope(stream)
	t.Cleanup(func() {
		s.Free()
		stream.Free()
		require.Equal(t, live, LiveArrays(), "handles left over")
		runtime.UnlockOSThread()
	})
	return s
}

func floats(t testing.TB, s *Scope, data []float32, shape ...int) Array {
	a, err := FromFloat32s(data, shape...)
	require.NoError(t, err)
	return s.Own(a)
}

func TestAdd(t *testing.T) {
	s := scoped(t)
	c := s.Add(floats(t, s, []float32{1, 2, 3}), floats(t, s, []float32{10, 20, 30}))
	require.NoError(t, s.Err())
	require.Equal(t, []int{3}, c.Shape())
	got, err := c.Float32s()
	require.NoError(t, err)
	require.Equal(t, []float32{11, 22, 33}, got)
}

func TestMatmulGoesThroughOpenBLAS(t *testing.T) {
	s := scoped(t)
	a := floats(t, s, make([]float32, 64*64), 64, 64)
	require.NoError(t, Eval(s.Matmul(a, a)))
	b := Info()
	require.NoError(t, b.Err())
	t.Logf("%+v", b)
	if runtime.GOOS == "linux" {
		require.Equal(t, "OpenBLAS", b.BLAS.Name, b.BLAS.File)
	}
}

func TestErrorsComeBack(t *testing.T) {
	cases := []struct {
		name string
		run  func(s *Scope, a Array)
		want string
	}{
		{"shape mismatch", func(s *Scope, a Array) { s.Add(a, floats(t, s, make([]float32, 4))) },
			"add: [broadcast_shapes] Shapes (3) and (4) cannot be broadcast."},
		{"absent input", func(s *Scope, a Array) { s.Add(a, Array{}) }, "add: b is an absent array"},
		{"absent element", func(s *Scope, a Array) { s.Concatenate([]Array{a, {}}) }, "concatenate: arrays[1] is an absent array"},
		{"too large an axis", func(s *Scope, a Array) { s.SumAxis(a, 1<<40, false) },
			"sum_axis: axis is 1099511627776, which does not fit 32 bits"},
		{"too large a size", func(s *Scope, a Array) { s.Reshape(a, []int{3, 1 << 33}) },
			"reshape: shape[1] is 8589934592, which does not fit 32 bits"},
		{"no dtype", func(s *Scope, a Array) { s.Astype(a, 99) }, "astype: dtype is no dtype (99)"},
		{"a format in text", func(s *Scope, a Array) { s.Einsum("%s%n", []Array{a}) },
			"einsum: subscripts holds a character that it cannot hold"},
		{"unknown mode", func(s *Scope, a Array) { s.Quantize(s.Reshape(a, []int{1, 3}), 32, 4, "nope", Array{}) }, "quantize: "},
		{"null stream", func(s *Scope, a Array) { s.stream = Stream{}; s.Exp(a) }, "exp: expected a non-empty mlx_stream"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := scoped(t)
			c.run(s, floats(t, s, []float32{1, 2, 3}))
			require.ErrorContains(t, s.Err(), c.want)
			var e *Error
			require.ErrorAs(t, s.Err(), &e)
			require.NotContains(t, e.Message, ".cpp")
			require.False(t, s.Exp(floats(t, s, []float32{1})).Valid(), "an operation after an error")
			require.Error(t, s.ResetErr())
			require.NoError(t, s.Err())
		})
	}
}

func TestErrorsStayOnTheirThread(t *testing.T) {
	fail := func(i int) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		stream, err := DefaultStream(DeviceCPU)
		if err != nil {
			return err
		}
		defer stream.Free()
		s := NewScope(stream)
		defer s.Free()
		a, _ := FromFloat32s(make([]float32, i+2))
		b, _ := FromFloat32s(make([]float32, i+20))
		s.Own(a)
		s.Own(b)
		want := newError("add", "[broadcast_shapes] Shapes ("+itoa(i+2)+") and ("+itoa(i+20)+") cannot be broadcast.")
		for range 50 {
			s.Add(a, b)
			if err := s.ResetErr(); err == nil || err.Error() != want.Error() {
				return fmt.Errorf("shape error %v, wanted %w", err, want)
			}
		}
		return nil
	}
	done := make(chan error, 8)
	for i := range 8 {
		go func() { done <- fail(i) }() // when all is freed: the next test counts what is left
	}
	for range 8 {
		require.NoError(t, <-done)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func TestManyResults(t *testing.T) {
	s := scoped(t)
	a := floats(t, s, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8}, 9)
	require.Len(t, s.Split(a, 3, 0), 3)
	nine := s.Split(a, 9, 0) // more than the shim's own space
	require.Len(t, nine, 9)
	v, err := nine[8].ItemFloat()
	require.NoError(t, err)
	require.Equal(t, 8.0, v)
	parts := s.SplitSections(a, []int{2, 5}, 0)
	require.NoError(t, s.Err())
	require.Equal(t, []int{4}, parts[2].Shape())
	k1, k2 := s.RandomSplit(s.RandomKey(7))
	require.NoError(t, s.Err())
	require.Equal(t, k1.Shape(), k2.Shape())
}

func TestQuantizedMatmul(t *testing.T) {
	s := scoped(t)
	x := make([]float32, 64)
	w := make([]float32, 8*64)
	for i := range w {
		x[i%64] = 1
		w[i] = float32(i%16) / 4
	}
	q := s.Quantize(floats(t, s, w, 8, 64), 32, 4, "affine", Array{})
	require.NoError(t, s.Err())
	require.Len(t, q, 3)
	y := s.QuantizedMatmul(floats(t, s, x, 1, 64), q[0], q[1], q[2], true, 32, 4, "affine")
	want := s.Matmul(floats(t, s, x, 1, 64), s.Transpose(s.Dequantize(q[0], q[1], q[2], 32, 4, "affine", Array{}, Opt[Dtype]{})))
	d := s.MaxAxes(s.Abs(s.Subtract(y, want)), []int{0, 1}, false)
	require.NoError(t, s.Err())
	v, err := d.ItemFloat()
	require.NoError(t, err)
	require.Less(t, v, 1e-4)
	def := s.QuantizedMatmul(floats(t, s, x, 1, 64), q[0], q[1], q[2], true, 32, 0, "affine") // bits 0: the mode's default, 4
	require.NoError(t, s.Err())
	same, err := s.ArrayEqual(def, y, false).ItemInt()
	require.NoError(t, err)
	require.EqualValues(t, 1, same)
}

func TestFastOperations(t *testing.T) {
	s := scoped(t)
	x := floats(t, s, []float32{3, 4, 0, 0}, 1, 1, 1, 4)
	n := s.FastRMSNorm(x, Array{}, 0)
	got, err := n.Float32s()
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{1.2, 1.6, 0, 0}, got, 1e-6)
	r := s.FastRope(x, 4, false, Some[float32](10000), 1, 0, Array{})
	a := s.FastScaledDotProductAttention(r, r, x, 0.5, "", Array{}, Array{}, false)
	require.NoError(t, s.Err())
	got, err = a.Float32s()
	require.NoError(t, err)
	require.Equal(t, []float32{3, 4, 0, 0}, got)
}
