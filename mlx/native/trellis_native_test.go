//go:build cgo && mlx

package native

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/trellis"
)

func gaussian(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

func scalesOf(t *testing.T, g trellis.Geometry, rows []float32) []float32 {
	out := make([]float32, g.Rows)
	for r := range out {
		var err error
		_, out[r], err = trellis.Scale(rows[r*g.Columns : (r+1)*g.Columns])
		require.NoError(t, err)
	}
	return out
}

// TestEncodeTrellis: the distortion of a unit Gaussian is that of the format's reference encoder (256 blocks: 0.0743,
// 0.0196 and 0.0054 of the variance), the reported error is that of what is decoded, the vector code chooses the plain
// code's codes, and the ring holds (Decode reads each state from its window, so the first weights see the last symbols).
func TestEncodeTrellis(t *testing.T) {
	for bits, want := range map[int]float64{2: 0.0743, 3: 0.0196, 4: 0.0054} {
		g := trellis.Of(bits, 256, 1, trellis.Row, 128, 512)
		rows := gaussian(g.Rows*g.Columns, 7)
		scales := scalesOf(t, g, rows)
		codes := make([]uint32, g.Words())
		errors := make([]float64, g.Rows)
		require.NoError(t, EncodeTrellis(g, rows, scales, codes, errors))
		sum := 0.0
		for _, e := range errors {
			sum += e
		}
		back, err := trellis.Decode(g, codes, scales)
		require.NoError(t, err)
		var distortion, power float64
		for i, v := range back {
			d := float64(v) - float64(rows[i])
			distortion, power = distortion+d*d, power+float64(rows[i])*float64(rows[i])
		}
		require.InEpsilon(t, sum, distortion, 1e-5)
		require.InEpsilon(t, want, distortion/power, 0.02, "%d bits: %.5f", bits, distortion/power)

		few := g
		few.Rows = 8
		plain := make([]uint32, few.Words())
		require.NoError(t, encodeTrellis(few, rows[:few.Rows*g.Columns], scales[:few.Rows], plain, errors[:few.Rows], true))
		require.Equal(t, plain, codes[:len(plain)])
	}
}

func TestEncodeTrellisRefuses(t *testing.T) {
	g := trellis.Of(3, 64, 1, trellis.Row, 1, 100)
	err := EncodeTrellis(g, make([]float32, 100), make([]float32, 1), make([]uint32, 12), make([]float64, 1))
	require.EqualError(t, err, "100 inputs are no multiple of trellis blocks of 64")
	g.Columns = 128
	err = EncodeTrellis(g, make([]float32, 100), make([]float32, 1), make([]uint32, 12), make([]float64, 1))
	require.EqualError(t, err, "100 weights and 12 words; 1 rows of 128 have 128 and 12")
}
