package weights

import (
	"math"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/weights/view"
)

// constant makes the numbers of a recipe as an array [n] of its dtype.
func (b *builder) constant(r *view.Recipe) mlx.Array {
	var flat []float32
	for i, v := range r.Numbers {
		n := 1
		if r.Repeats != nil {
			n = r.Repeats[i]
		}
		for range n {
			flat = append(flat, float32(v))
		}
	}
	a, err := mlx.FromFloat32s(flat, len(flat))
	b.scope.Fail(err)
	return b.scope.Astype(b.scope.Own(a), r.Dtype)
}

// fp8 dequantises float8 (e4m3) codes [rows, columns] with one scale per block: the codes' values in the result's
// dtype, in which every one of them is exact, times the scale, rounded to the result's dtype (mlx-lm's sanitize of
// block-quantised checkpoints).
func (b *builder) fp8(r *view.Recipe, codes, scale mlx.Array) mlx.Array {
	sc := b.scope
	table, err := mlx.FromFloat32s(e4m3(), 256)
	sc.Fail(err)
	w := sc.TakeAxis(sc.Astype(sc.Own(table), r.Dtype), codes, 0)
	rows, columns, n := r.Shape[0], r.Shape[1], r.Block
	up := func(x int) int { return (n - x%n) % n }
	zero, err := mlx.ScalarOf(0, r.Dtype)
	sc.Fail(err)
	w = sc.Pad(w, []int{0, 1}, []int{0, 0}, []int{up(rows), up(columns)}, sc.Own(zero), "constant")
	rr, cc := rows+up(rows), columns+up(columns)
	w = sc.Reshape(w, []int{rr / n, n, cc / n, n})
	w = sc.Multiply(w, sc.ExpandDimsAxes(scale, []int{1, 3}))
	w = sc.Reshape(w, []int{rr, cc})
	w = sc.Slice(w, []int{0, 0}, []int{rows, columns}, []int{1, 1})
	return sc.Astype(w, r.Dtype)
}

// e4m3 lists the values of the 256 float8 codes: sign, 4 bits of exponent (bias 7), 3 of fraction, no infinities.
func e4m3() []float32 {
	out := make([]float32, 256)
	for code := range out {
		exponent, fraction := code>>3&15, code&7
		v := math.Ldexp(float64(fraction)/8, -6)
		switch {
		case exponent == 15 && fraction == 7:
			v = math.NaN()
		case exponent > 0:
			v = math.Ldexp(1+float64(fraction)/8, exponent-7)
		}
		if code >= 128 {
			v = -v
		}
		out[code] = float32(v)
	}
	return out
}
