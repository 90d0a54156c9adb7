//go:build cgo && mlx

package mlx

import (
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestReadBeforeEval(t *testing.T) {
	s := scoped(t)
	a := floats(t, s, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for _, c := range []struct {
		name string
		make func() Array
		want []float32
	}{
		{"lazy", func() Array { return s.Negative(a) }, []float32{-1, -2, -3, -4, -5, -6}},
		{"transposed", func() Array { return s.Transpose(a) }, []float32{1, 4, 2, 5, 3, 6}},
		{"broadcast", func() Array { return s.BroadcastTo(s.Slice(a, []int{0, 0}, []int{1, 2}, []int{1, 1}), []int{2, 2}) },
			[]float32{1, 2, 1, 2}},
		{"stepped backwards", func() Array { return s.Slice(a, []int{1, 2}, []int{-3, -4}, []int{-1, -2}) }, []float32{6, 4, 3, 1}},
		{"a part", func() Array { return s.Slice(a, []int{0, 1}, []int{2, 3}, []int{1, 1}) }, []float32{2, 3, 5, 6}},
		{"empty", func() Array { return s.Zeros([]int{0, 4}, Float32) }, []float32{}},
		{"scalar", func() Array { return s.Sum(a, false) }, []float32{21}},
		{"bfloat16", func() Array { return s.Transpose(s.Astype(a, Bfloat16)) }, []float32{1, 4, 2, 5, 3, 6}},
		{"float16", func() Array { return s.Astype(a, Float16) }, []float32{1, 2, 3, 4, 5, 6}},
		{"float64", func() Array { return s.Astype(a, Float64) }, []float32{1, 2, 3, 4, 5, 6}},
	} {
		x := c.make() // no subtests: they run on threads of their own
		require.NoError(t, s.Err(), c.name)
		got, err := x.Float32s()
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
}

func TestReadOfTheWrongKind(t *testing.T) {
	s := scoped(t)
	f := floats(t, s, []float32{1, 2})
	i, err := FromInt32s([]int32{-5})
	require.NoError(t, err)
	s.Own(i)
	_, err = f.Int32s()
	require.EqualError(t, err, "an array of float32 is not read as int32")
	_, err = i.Float32s()
	require.EqualError(t, err, "the elements of an array of int32 are not floats")
	_, err = f.ItemFloat()
	require.EqualError(t, err, "an array of shape [2] is not one element")
	_, err = Array{}.Bytes()
	require.EqualError(t, err, "read: an absent array has no data")
	_, err = Array{}.Float32s()
	require.Error(t, err)
	_, err = Array{}.ItemInt()
	require.Error(t, err)
	_, err = Array{}.ItemFloat()
	require.Error(t, err)
	v, err := i.ItemInt()
	require.NoError(t, err)
	require.EqualValues(t, -5, v)
	w, err := i.ItemFloat()
	require.NoError(t, err)
	require.Equal(t, -5.0, w)
	require.Nil(t, Array{}.Shape())
	require.Equal(t, 2, f.Dim(-1))
	require.Equal(t, 0, f.Dim(1))
	require.Equal(t, 8, f.Nbytes())
	require.Contains(t, f.String(), "[1, 2]")
}

func TestFromBytesChecks(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		shape []int
		d     Dtype
		want  string
	}{
		{"short", 7, []int{2}, Float32, "7 bytes of data for shape [2] of float32, which takes 8"},
		{"negative", 4, []int{-1}, Float32, "dimension 0 of shape [-1]"},
		{"overflow", 8, []int{1 << 30, 1 << 30, 1 << 30}, Float32, "larger than memory can be"},
		{"wide", 8, []int{1 << 32}, Uint8, "not within 0 and 2^31-1"},
		{"zero times huge", 8, []int{0, 1 << 30, 1 << 30, 1 << 30}, Float32, "8 bytes of data"},
		{"dtype", 8, []int{8}, Dtype(77), "dtype(77) is no element type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromBytes(make([]byte, c.n), c.shape, c.d)
			require.ErrorContains(t, err, c.want)
			_, err = FromMapped(make([]byte, c.n), c.shape, c.d, nil)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestScalarOf holds the roundings to MLX's own casts.
func TestScalarOf(t *testing.T) {
	s := scoped(t)
	values := []float64{0, math.Copysign(0, -1), 1, -2.5, 0.1, 1.0 / 3, 65504, 65519.9, 65520, 1e-7, 5.96e-8, 2.98e-8, 6.1e-5, 3.3895e38,
		1e-40, -1e300, math.Inf(1), math.Inf(-1), 1.00390625, 1.01171875, 2049, 2051}
	for _, d := range []Dtype{Float16, Bfloat16, Float32} {
		for _, v := range values {
			a, err := ScalarOf(v, d)
			require.NoError(t, err)
			s.Own(a)
			require.Equal(t, []int{}, a.Shape())
			require.Equal(t, d, a.Dtype())
			want := s.Astype(floats(t, s, []float32{float32(v)}, 1), d)
			x, err := a.Bytes()
			require.NoError(t, err)
			y, err := want.Bytes()
			require.NoError(t, err)
			require.Equal(t, y, x, "%v as %s", v, d)
		}
	}
	a, err := ScalarOf(0.1, Float64)
	require.NoError(t, err)
	v, err := s.Own(a).ItemFloat()
	require.NoError(t, err)
	require.Equal(t, 0.1, v)
	for _, c := range []struct {
		v    float64
		d    Dtype
		want int64
	}{{16777217, Int32, 16777217}, {-3.7, Int8, -3}, {255, Uint8, 255}, {2, Bool, 1}, {-9.223372036854775808e18, Int64, math.MinInt64}} {
		a, err := ScalarOf(c.v, c.d)
		require.NoError(t, err)
		v, err := s.Own(a).ItemInt()
		require.NoError(t, err)
		require.Equal(t, c.want, v)
	}
	for _, c := range []struct {
		v float64
		d Dtype
	}{{256, Uint8}, {-1, Uint8}, {math.NaN(), Int32}, {9.3e18, Int64}, {1, Dtype(50)}} {
		_, err := ScalarOf(c.v, c.d)
		require.Error(t, err, "%v as %s", c.v, c.d)
	}
}

func TestHalfConversionIsMLXs(t *testing.T) {
	s := scoped(t)
	b := make([]byte, 2<<16)
	for i := range 1 << 16 {
		b[2*i], b[2*i+1] = byte(i), byte(i>>8)
	}
	for _, d := range []Dtype{Float16, Bfloat16} {
		a, err := FromBytes(b, []int{1 << 16}, d)
		require.NoError(t, err)
		got, err := s.Own(a).Float32s()
		require.NoError(t, err)
		want, err := s.Astype(a, Float32).Float32s()
		require.NoError(t, err)
		for i := range want {
			if want[i] == want[i] || got[i] == got[i] { // not-a-number keeps no promise of bits
				require.Equal(t, math.Float32bits(want[i]), math.Float32bits(got[i]), "%s %04x", d, i)
			}
		}
	}
}

// mapFile maps a file of n bytes for reading only.
func mapFile(t *testing.T, n int) []byte {
	path := filepath.Join(t.TempDir(), "data")
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i / 4 % 64)
		if i%4 != 0 {
			data[i] = 0
		}
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	m, err := syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ, syscall.MAP_SHARED)
	require.NoError(t, err)
	return m
}

func TestFromMapped(t *testing.T) {
	const page = 1 << 14
	for _, c := range []struct {
		name    string
		from, n int
		shape   []int
		d       Dtype
		stays   bool
	}{
		{"inside a page", 64, 256, []int{8, 8}, Int32, true},
		{"at a page that others come before", page, 256, []int{64}, Int32, true},
		{"unaligned", 66, 256, []int{64}, Int32, false},
		{"empty", 64, 0, []int{0}, Int32, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scoped(t)
			m := mapFile(t, 4*page)
			part := m[c.from : c.from+c.n]
			released := make(chan bool, 2)
			active := ActiveMemory()
			a, err := FromMapped(part, c.shape, c.d, func() { released <- true })
			require.NoError(t, err)
			if c.stays && !DefaultDevice().IsGPU() {
				require.LessOrEqual(t, ActiveMemory(), active, "no copy was made")
			}
			got, err := a.Bytes()
			require.NoError(t, err)
			require.Equal(t, part[:c.n], append([]byte{}, got...))
			// Nobody else holds the array now: MLX would write the result over it, and the page is read-only.
			r := s.Negative(a)
			r2 := s.Add(s.Abs(a), a)
			a.Free()
			require.NoError(t, s.Err())
			require.NoError(t, Eval(r, r2))
			if c.n > 0 && c.from%4 == 0 {
				v, err := r.Int32s()
				require.NoError(t, err)
				require.Equal(t, -int32(part[4]), v[1])
			}
			s.Free()
			select {
			case <-released:
			case <-time.After(10 * time.Second):
				t.Fatal("not released")
			}
			require.NoError(t, syscall.Munmap(m))
		})
	}
}

func TestFromMappedWithNothingBefore(t *testing.T) {
	s := scoped(t)
	m := mapFile(t, 1<<14)
	defer syscall.Munmap(m) //nolint:errcheck
	// Whether the page before is mapped is the system's choice; either way the data comes through.
	a, err := FromMapped(m[:64], []int{16}, Int32, nil)
	require.NoError(t, err)
	got, err := s.Own(a).Int32s()
	require.NoError(t, err)
	require.Equal(t, unsafe.Slice((*int32)(unsafe.Pointer(&m[0])), 16), got)
	s.Free()
}
