package header

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/weights/internal/testfile"
)

// llama3Factors are what llama.cpp's converter stores for settings.
func llama3Factors(dims int, base, factor, low, high, old float64) []float32 {
	out := make([]float32, dims/2)
	for i := range out {
		w := 2 * math.Pi * math.Pow(base, 2*float64(i)/float64(dims))
		switch {
		case w < old/high:
			out[i] = 1
		case w > old/low:
			out[i] = float32(factor)
		default:
			smooth := (old/w - low) / (high - low)
			out[i] = float32(1 / ((1-smooth)/factor + smooth))
		}
	}
	return out
}

func TestRopeScaling(t *testing.T) {
	settings := func(factor, high float64, old any) map[string]any {
		return map[string]any{"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": high, "original_max_position_embeddings": old}
	}
	for _, c := range []struct {
		name    string
		base    float64
		factors []float32
		want    map[string]any
		err     string
	}{
		{name: "8B", base: 500000, factors: llama3Factors(128, 500000, 8, 1, 4, 8192), want: settings(8, 4, int64(8192))},
		{name: "1B", base: 500000, factors: llama3Factors(64, 500000, 32, 1, 4, 8192), want: settings(32, 4, int64(8192))},
		{name: "uneven", base: 10000, factors: llama3Factors(256, 10000, 3.5, 1, 2.25, 777), want: settings(3.5, 2.25, int64(777))},
		{name: "another scale of the same", base: 500000, factors: llama3Factors(128, 500000, 8, 2, 8, 16384), want: settings(8, 4, int64(8192))},
		{name: "none", base: 10000, factors: []float32{1, 1, 1}},
		{name: "another base", base: 10000, factors: llama3Factors(128, 500000, 8, 1, 4, 8192), err: "no settings give these factors"},
		{name: "another rule", base: 10000, factors: []float32{1, 2, 3, 4, 5, 6, 7, 8}, err: "factors"},
		{name: "only two values", base: 10000, factors: []float32{1, 1, 8, 8}, err: "do not follow the rule"},
		{name: "not a number", base: 10000, factors: []float32{1, float32(math.NaN())}, err: "is not a number from 1 up"},
		{name: "infinite", base: 10000, factors: []float32{1, float32(math.Inf(1))}, err: "is not a number from 1 up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ropeScaling(c.factors, c.base, "llama3")
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestGGUFRopeFactors(t *testing.T) {
	factors := llama3Factors(32, 10000, 8, 1, 4, 256)
	one := testfile.Tensor{Name: "rope_freqs.weight", Shape: []int{len(factors)}}
	for _, f := range factors {
		one.Data = binary.LittleEndian.AppendUint32(one.Data, math.Float32bits(f))
	}
	ck, err := open(small().Add(one).Bytes())
	require.NoError(t, err)
	require.Equal(t, map[string]any{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": int64(256)},
		ck.Config.Values["rope_scaling"])
	for _, x := range ck.Tensors {
		require.NotContains(t, x.FileName(), "rope_freqs")
	}

	_, err = open(small().Set("llama.rope.scaling.factor", 2.0).Add(one).Bytes())
	require.ErrorContains(t, err, "tensor rope_freqs.weight: the metadata gives another scaling")
	_, err = open(small().Add(tensor("rope_freqs.weight", kindF16, 32, 16)).Bytes())
	require.ErrorContains(t, err, "not a short list of F32")
}
