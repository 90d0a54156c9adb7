//go:build !(cgo && mlx)

package mlx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithoutMLX(t *testing.T) {
	require.False(t, Available)
	s := NewScope(Stream{})
	require.False(t, s.Add(Array{}, Array{}).Valid())
	require.ErrorIs(t, s.Err(), ErrNoMLX)
	require.Nil(t, s.Split(Array{}, 2, 0))
	_, err := FromFloat32s([]float32{1})
	require.ErrorIs(t, err, ErrNoMLX)
	_, err = ScalarOf(1, Bfloat16)
	require.ErrorIs(t, err, ErrNoMLX)
	_, err = FromFloat32s([]float32{1}, 2)
	require.ErrorContains(t, err, "takes 8", "bad data is named first")
	_, err = NewStream(DeviceCPU)
	require.ErrorIs(t, err, ErrNoMLX)
	_, err = Compile(nil, false)
	require.ErrorIs(t, err, ErrNoMLX)
	require.ErrorIs(t, Eval(), ErrNoMLX)
	b := Info()
	require.ErrorIs(t, b.Err(), ErrNoMLX)
	require.NotEmpty(t, b.Problems)
	require.NotEmpty(t, b.CPU.Arch)
	s.Free()
}
