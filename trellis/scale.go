package trellis

import (
	"fmt"
	"math"
)

// Scale is the scale of a row: its root mean square over that of the values, as float16, for which the row's weights are
// coded best. A row of zeros has scale 1. A row that is not finite, or too large for float16, is an error.
func Scale(row []float32) (half uint16, value float32, err error) {
	sum := 0.0
	for i, v := range row {
		if d := float64(v); math.IsNaN(d) || math.IsInf(d, 0) {
			return 0, 0, fmt.Errorf("its weight %d is %v", i, v)
		}
		sum += float64(v) * float64(v)
	}
	if sum == 0 {
		return 0x3c00, 1, nil
	}
	half = toHalf(math.Sqrt(sum/float64(len(row))) / rms)
	switch half {
	case 0:
		half = 1 // the least that float16 has
	case 0x7c00:
		return 0, 0, fmt.Errorf("its weights are too large for a float16 scale: root mean square %.3g", math.Sqrt(sum/float64(len(row))))
	}
	return half, fromHalf(half), nil
}

// rms is RMS(), which the tests hold it to.
const rms = 1.0041072

// toHalf rounds a positive number to float16, ties to even.
func toHalf(v float64) uint16 {
	if v >= 65520 {
		return 0x7c00
	}
	exp := max(math.Ilogb(v), -14)
	n := math.RoundToEven(math.Ldexp(v, 10-exp)) // in units of the last place: 1024 to 2048, below of subnormals
	return uint16(int(n) + (exp+14)<<10)
}

func fromHalf(h uint16) float32 {
	if h < 1<<10 {
		return float32(h) * (1.0 / (1 << 24))
	}
	return float32(math.Ldexp(float64(h&0x3ff|0x400), int(h>>10)-25))
}
