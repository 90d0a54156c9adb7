//go:build cgo && mlx

package mlx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVariants holds what the documentation says of operations without an axis.
func TestVariants(t *testing.T) {
	s := scoped(t)
	a := floats(t, s, []float32{3, 1, 2, 0}, 2, 2)
	for _, c := range []struct {
		name  string
		got   Array
		shape []int
		want  []float32
	}{
		{"concatenate", s.Concatenate([]Array{a, a}), []int{8}, []float32{3, 1, 2, 0, 3, 1, 2, 0}},
		{"concatenate_axis", s.ConcatenateAxis([]Array{a, a}, -1), []int{2, 4}, []float32{3, 1, 3, 1, 2, 0, 2, 0}},
		{"stack", s.Stack([]Array{a, a}), []int{2, 2, 2}, []float32{3, 1, 2, 0, 3, 1, 2, 0}},
		{"sort", s.Sort(a), []int{4}, []float32{0, 1, 2, 3}},
		{"cumsum", s.Cumsum(a, false, true, Opt[Dtype]{}), []int{4}, []float32{3, 4, 6, 6}},
		{"repeat", s.Repeat(a, 2), []int{8}, []float32{3, 3, 1, 1, 2, 2, 0, 0}},
		{"transpose", s.Transpose(a), []int{2, 2}, []float32{3, 2, 1, 0}},
		{"squeeze", s.Squeeze(s.ExpandDimsAxes(a, []int{0, 2})), []int{2, 2}, []float32{3, 1, 2, 0}},
		{"take", s.Take(a, s.Arange(1, 3, 1, Int32)), []int{2}, []float32{1, 2}},
		{"argmax", s.Astype(s.Argmax(a, false), Float32), []int{}, []float32{0}},
		{"softmax", s.Sum(s.Softmax(a, true), false), []int{}, []float32{1}},
		{"slice", s.Slice(a, []int{0, -1}, []int{2, 2}, []int{1, 1}), []int{2, 1}, []float32{1, 0}},
		{"split_sections", s.SplitSections(a, []int{1}, 1)[1], []int{2, 1}, []float32{1, 0}},
	} {
		require.NoError(t, s.Err(), c.name)
		require.Equal(t, c.shape, c.got.Shape(), c.name)
		got, err := c.got.Float32s()
		require.NoError(t, err, c.name)
		require.InDeltaSlice(t, c.want, got, 1e-6, c.name)
	}
}

// TestRope holds FastRope to its formula, traditional and not.
func TestRope(t *testing.T) {
	s := scoped(t)
	x := floats(t, s, []float32{1, 0, 0, 1, 1, 0, 0, 1}, 1, 1, 2, 4)
	for _, traditional := range []bool{true, false} {
		got, err := s.FastRope(x, 4, traditional, Some[float32](100), 0.5, 3, Array{}).Float32s()
		require.NoError(t, err)
		freqs := floats(t, s, []float32{1, 10}, 2) // base^(2i/dims)
		same, err := s.FastRope(x, 4, traditional, Opt[float32]{}, 0.5, 3, freqs).Float32s()
		require.NoError(t, err)
		require.InDeltaSlice(t, got, same, 1e-6)
		dynamic, err := s.FastRopeDynamic(x, 4, traditional, Some[float32](100), 0.5, s.Arange(3, 4, 1, Int32), Array{}).Float32s()
		require.NoError(t, err)
		require.InDeltaSlice(t, got, dynamic, 1e-6)
		// At position (0+3) × 0.5 the first pair turns by 1.5: cos 1.5 = 0.0707372.
		require.InDelta(t, 0.0707372, got[0], 1e-6)
	}
}
