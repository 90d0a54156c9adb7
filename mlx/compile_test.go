//go:build cgo && mlx

package mlx

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func swiglu(calls *int) func(s *Scope, in []Array) ([]Array, error) {
	return func(s *Scope, in []Array) ([]Array, error) {
		*calls++
		gate, up := in[0], in[1]
		return []Array{s.Multiply(s.Multiply(gate, s.Sigmoid(gate)), up)}, nil
	}
}

func TestCompile(t *testing.T) {
	for _, shapeless := range []bool{false, true} {
		s := scoped(t)
		calls, others := 0, 0
		c, err := Compile(swiglu(&calls), shapeless)
		require.NoError(t, err)
		other, err := Compile(func(s *Scope, in []Array) ([]Array, error) {
			others++
			return []Array{s.Negative(in[0]), s.Exp(in[1])}, nil
		}, shapeless)
		require.NoError(t, err)
		for _, n := range []int{4, 4, 8} {
			x := floats(t, s, make([]float32, n))
			one := s.Add(x, s.Ones([]int{n}, Float32))
			got := c.Call(s, []Array{one, one})
			require.NoError(t, s.Err())
			v, err := got[0].Float32s()
			require.NoError(t, err)
			require.InDelta(t, 0.7310586, v[0], 1e-6)
			two := other.Call(s, []Array{one, x})
			require.NoError(t, s.Err())
			require.Len(t, two, 2)
			v, err = two[0].Float32s()
			require.NoError(t, err)
			require.EqualValues(t, -1, v[0])
		}
		want := 2
		if shapeless {
			want = 1
		}
		require.Equal(t, want, calls)
		require.Equal(t, want, others)
		c.Free()
		c.Free()
		other.Free()
		require.Nil(t, c.Call(s, nil))
		require.EqualError(t, s.ResetErr(), "compiled: the function was freed")
		s.Free()
	}
}

// A compiled function may call another, as a compiled block calls an activation that is compiled by itself.
func TestCompileInside(t *testing.T) {
	s := scoped(t)
	inner, outer := 0, 0
	act, err := Compile(swiglu(&inner), true)
	require.NoError(t, err)
	defer act.Free()
	block, err := Compile(func(s *Scope, in []Array) ([]Array, error) {
		outer++
		bent := act.Call(s, []Array{in[0], in[0]})
		if s.Err() != nil {
			return nil, s.Err()
		}
		return []Array{s.Add(bent[0], in[0])}, nil
	}, true)
	require.NoError(t, err)
	defer block.Free()
	for _, n := range []int{4, 8} {
		got := block.Call(s, []Array{s.Ones([]int{n}, Float32)})
		require.NoError(t, s.Err())
		v, err := got[0].Float32s()
		require.NoError(t, err)
		require.InDelta(t, 1.7310586, v[n-1], 1e-6)
	}
	require.Equal(t, []int{1, 1}, []int{inner, outer}, "each is traced once")
}

func TestCompileErrors(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		fn   func(s *Scope, in []Array) ([]Array, error)
		want string
	}{
		{"an error", func(*Scope, []Array) ([]Array, error) { return nil, boom }, "boom"},
		{"a panic", func(*Scope, []Array) ([]Array, error) { panic("oh") }, "panic in a compiled function: oh"},
		{"an operation's", func(s *Scope, in []Array) ([]Array, error) { return []Array{s.Reshape(in[0], []int{7})}, nil },
			"reshape: [reshape] Cannot reshape array of size 3 into shape (7)."},
		{"an absent result", func(*Scope, []Array) ([]Array, error) { return make([]Array, 1), nil }, "result 0 of a compiled function is absent"},
		{"evaluating", func(s *Scope, in []Array) ([]Array, error) { return in, Eval(s.Exp(in[0])) }, "eval"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scoped(t)
			f, err := Compile(c.fn, false)
			require.NoError(t, err)
			defer f.Free()
			for range 3 {
				require.Nil(t, f.Call(s, []Array{floats(t, s, make([]float32, 3))}))
				require.ErrorContains(t, s.ResetErr(), c.want)
			}
		})
	}
}

func TestDisableCompile(t *testing.T) {
	s := scoped(t)
	require.NoError(t, DisableCompile())
	defer func() { require.NoError(t, EnableCompile()) }()
	calls := 0
	c, err := Compile(swiglu(&calls), false)
	require.NoError(t, err)
	defer c.Free()
	x := floats(t, s, []float32{1})
	for range 3 {
		c.Call(s, []Array{x, x})
	}
	require.NoError(t, s.Err())
	require.Equal(t, 3, calls)
}
