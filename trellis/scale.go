package trellis

import (
	"fmt"
	"math"
)

// Largest is the largest value that every code can have, of both signs: weights beyond so many scales are cut off.
const Largest = 448 / divisor

// Larger are scales above a row's own that are worth trying, ascending, each by the square root of two, up to the one that
// has the row's largest weight within reach; none where what is cut off is less than 0.2 % of the row's power. A row with
// a few weights of many root mean squares, as down projections have them, is coded better so.
func Larger(row []float32, scale float32) (halves []uint16, values []float32) {
	var most, power, lost float64
	for _, v := range row {
		d := math.Abs(float64(v))
		most, power = max(most, d), power+d*d
		if over := d - Largest*float64(scale); over > 0 {
			lost += over * over
		}
	}
	if lost < 0.002*power {
		return nil, nil
	}
	for s := float64(scale) * math.Sqrt2; ; s *= math.Sqrt2 {
		last := s*Largest >= most
		if last {
			s = most / Largest
		}
		h := toHalf(s)
		if h >= 0x7c00 {
			return halves, values
		}
		halves, values = append(halves, h), append(values, fromHalf(h))
		if last {
			return halves, values
		}
	}
}

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
