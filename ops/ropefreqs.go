package ops

import (
	"encoding/json"
	"math"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/registry"
)

// frequencies makes fast.rope's freqs [dims/2] in float32 on the device, by the calls of mlx_lm/models/rope_utils.py:
// doubles on the host would round otherwise. Null where fast.rope's own base serves.
func (sc scaling) frequencies(b *registry.Build) (mlx.Array, error) {
	f := &freqs{Scope: b.Scope, b: b, dims: b.Args.Int("dims"), base: b.Args.Float("base")}
	var make func(*freqs) mlx.Array
	switch sc.kind {
	case "llama3":
		make = sc.llama3
	case "yarn":
		make = sc.yarn
	case "longrope":
		make = sc.longrope
	case "proportional":
		make = sc.proportional
	default:
		return mlx.Array{}, nil
	}
	text, err := json.Marshal(b.Args)
	if err != nil {
		return mlx.Array{}, err
	}
	return shared(b.Memo, freqsKey(text), func() (mlx.Array, error) {
		out := make(f)
		if f.err != nil {
			return mlx.Array{}, f.err
		}
		if err := b.Scope.Err(); err != nil {
			return mlx.Array{}, err
		}
		return b.Keep(out), nil
	})
}

type freqsKey string

// freqs writes the arithmetic of frequencies: x is an array, n a Python number beside it.
type freqs struct {
	*mlx.Scope
	b    *registry.Build
	dims int
	base float64
	err  error
}

func (f *freqs) num(n float64) mlx.Array { return f.typed(n, dtype.Float32) }

func (f *freqs) typed(n float64, d dtype.Dtype) mlx.Array {
	a, err := scalarOf(f.b, n, d)
	if err != nil && f.err == nil {
		f.err = err
	}
	return a
}

// plain is base ** (arange(0, stop, 2) / dims), the arange in dtype d.
func (f *freqs) plain(stop int, d dtype.Dtype) mlx.Array {
	steps := f.Arange(0, float64(stop), 2, d)
	return f.Power(f.num(f.base), f.Divide(steps, f.typed(float64(f.dims), d)))
}

func (sc scaling) llama3(f *freqs) mlx.Array {
	lowest, highest := sc.original/sc.lowFactor, sc.original/sc.highFactor
	freqs := f.plain(f.dims, dtype.Int32)
	lengths := f.Multiply(f.num(2*math.Pi), freqs)
	freqs = f.Where(f.Greater(lengths, f.num(lowest)), f.Multiply(freqs, f.num(sc.factor)), freqs)
	medium := f.BitwiseAnd(f.Greater(lengths, f.num(highest)), f.Less(lengths, f.num(lowest)))
	smooth := f.Divide(f.Subtract(f.Divide(f.num(sc.original), lengths), f.num(sc.lowFactor)), f.num(sc.highFactor-sc.lowFactor))
	between := f.Divide(freqs, f.Add(f.Divide(f.Subtract(f.num(1), smooth), f.num(sc.factor)), smooth))
	return f.Where(medium, between, freqs)
}

func (sc scaling) yarn(f *freqs) mlx.Array {
	extra := f.plain(f.dims, dtype.Float32)
	inter := f.Multiply(f.num(sc.factor), extra)
	ramp := f.Divide(f.Subtract(f.Arange(0, float64(f.dims/2), 1, dtype.Float32), f.num(sc.low)), f.num(sc.high-sc.low))
	mask := f.Subtract(f.num(1), f.Clip(ramp, f.num(0), f.num(1)))
	return f.Divide(f.Multiply(inter, extra),
		f.Add(f.Multiply(inter, mask), f.Multiply(extra, f.Subtract(f.num(1), mask))))
}

func (sc scaling) longrope(f *freqs) mlx.Array {
	factors := make([]mlx.Array, len(sc.long))
	for i, x := range sc.long {
		factors[i] = f.num(x)
	}
	factor := factors[0]
	if len(factors) > 1 {
		factor = f.StackAxis(factors, 0)
	}
	return f.Multiply(factor, f.plain(f.dims, dtype.Float32))
}

// proportional leaves the last dims - rotated unrotated: their frequency is infinite.
func (sc scaling) proportional(f *freqs) mlx.Array {
	rotated := f.Multiply(f.num(sc.factor), f.plain(sc.rotated, dtype.Float32))
	rest := f.Full([]int{(f.dims - sc.rotated) / 2}, f.num(math.Inf(1)), dtype.Float32)
	return f.ConcatenateAxis([]mlx.Array{rotated, rest}, 0)
}
