package header

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/graphrun/graphrun/dtype"
)

// ropeScaling finds the settings of Llama 3's frequency scaling from what GGUF files store of it: a float32 per pair of
// rotating dims, by which its frequency is divided. With w the pair's wavelength, the factor is 1 below old/high, factor
// above old/low, and between them 1/((1-s)/factor + s) with s = (old/w - low)/(high - low). So s is linear in 1/w, and
// slope and intercept of the pairs between give old and high, up to a common scale that changes nothing: low is set to 1.
// The result is nil where all factors are 1, an error where the formula does not give the stored numbers back.
func ropeScaling(factors []float32, base float64, ropeType string) (map[string]any, error) {
	most, dims := 1.0, 2*len(factors)
	for _, f := range factors {
		if !(f >= 1) || math.IsInf(float64(f), 0) {
			return nil, fmt.Errorf("factor %v is not a number from 1 up", f)
		}
		most = max(most, float64(f))
	}
	if most == 1 {
		return nil, nil
	}
	// Least squares of s over x = 1/w.
	var n, sx, sy, sxx, sxy float64
	for i, f := range factors {
		if f := float64(f); f > 1 && f < most {
			x, y := rotations(base, i, dims), (1/f-1/most)/(1-1/most)
			n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		}
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	intercept := (sy - slope*sx) / n
	if n < 2 || !(slope > 0) || !(intercept < 0) {
		return nil, fmt.Errorf("the factors do not follow the rule low, smooth, high")
	}
	high, old := 1-1/intercept, -slope/intercept
	for _, digits := range []float64{1, 100, 0} { // authors choose round numbers; take them where they fit
		h, o := high, old
		if digits > 0 {
			h, o = math.Round(high*digits)/digits, math.Round(old)
		}
		if factorsFit(factors, base, most, 1, h, o) {
			return map[string]any{"rope_type": ropeType, "factor": shortest(float32(most)), "low_freq_factor": 1.0, "high_freq_factor": h,
				"original_max_position_embeddings": wholeIf(o)}, nil
		}
	}
	return nil, fmt.Errorf("no settings give these factors (nearest: factor %.4g, high %.4g, original context %.5g)", most, high, old)
}

func wholeIf(f float64) any {
	if f == math.Trunc(f) {
		return int64(f)
	}
	return f
}

// rotations is 1/w of pair i.
func rotations(base float64, i, dims int) float64 {
	return math.Pow(base, -2*float64(i)/float64(dims)) / (2 * math.Pi)
}

func factorsFit(factors []float32, base, factor, low, high, old float64) bool {
	for i, f := range factors {
		w, want := 1/rotations(base, i, 2*len(factors)), 1.0
		switch {
		case w > old/low:
			want = factor
		case w >= old/high:
			s := (old/w - low) / (high - low)
			want = 1 / ((1-s)/factor + s)
		}
		if math.Abs(float64(f)-want) > 2e-5*want {
			return false
		}
	}
	return true
}

// readFactors reads a small float32 tensor.
func readFactors(r io.ReaderAt, one *info) ([]float32, error) {
	if one.Dtype != dtype.Float32 || len(one.Shape) != 1 || one.Size == 0 || one.Size > 4096 {
		return nil, fmt.Errorf("tensor %s is %s %v, not a short list of F32", clip(one.Name), one.Stored, one.Shape)
	}
	b := make([]byte, one.Size)
	if n, err := r.ReadAt(b, one.Offset); n < len(b) {
		return nil, err
	}
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out, nil
}
