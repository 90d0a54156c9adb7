package ops

import (
	"math"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// What operators have beside their exact form: the device's own kernels, of which a variant's `native` names those to be
// taken. A constructor gives nil where its kernel does not serve the call.

func nativeRMSNorm(b *registry.Build) (registry.Run, error) {
	w, eps := b.Workers, float32(b.Args.Float("eps"))
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{w.RMSNorm(c.Scope, in[0], in[1], eps)}
	}, nil
}

func nativeSwiGLU(b *registry.Build) (registry.Run, error) {
	w := b.Workers
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{w.SwiGLU(c.Scope, in[0], in[1])}
	}, nil
}

func nativeRope(b *registry.Build) (registry.Run, error) {
	if len(b.Inputs[0].Type.Shape) != 4 || len(b.Inputs) > 2 && b.Inputs[2].Given {
		return nil, nil
	}
	sc, err := parseScaling(b.Args)
	if err != nil || sc.gain != 1 || sc.kind == "dynamic" {
		return nil, err
	}
	rates, err := sc.rates(b)
	if err != nil {
		return nil, err
	}
	w, state, neighbours := b.Workers, b.States[1], sc.neighbours(b.Args)
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{w.Rope(c.Scope, in[0], rates, neighbours, c.States[state].Offset(), state)}
	}, nil
}

// rates are the angles of a position's pairs, for position 1.
func (sc scaling) rates(b *registry.Build) ([]float32, error) {
	freqs, err := sc.frequencies(b)
	if err != nil {
		return nil, err
	}
	dims := b.Args.Int("dims")
	rates := make([]float32, dims/2)
	for i := range rates {
		rates[i] = float32(sc.positions * math.Pow(b.Args.Float("base"), -2*float64(i)/float64(dims)))
	}
	if !freqs.Valid() {
		return rates, nil
	}
	f, err := freqs.Float32s()
	if err != nil {
		return nil, err
	}
	for i := range rates {
		rates[i] = float32(sc.positions / float64(f[i]))
	}
	return rates, nil
}

// neighbours tells whether pairs are (2i, 2i + 1): longrope always pairs halves, as mlx-lm's SuScaledRoPE does.
func (sc scaling) neighbours(args plan.Args) bool {
	return args.Bool("traditional") && sc.kind != "longrope"
}

// nativeAttend serves causal attention that appends to a cache of all positions, without a mask or sinks of its own.
func nativeAttend(b *registry.Build) (registry.Run, error) {
	plain := b.State >= 0 && b.Inputs[1].Given && !b.Inputs[3].Given && !b.Inputs[4].Given && (!b.Args.Has("causal") || b.Args.Bool("causal"))
	if !plain || b.Inputs[1].Type.Dtype != b.Inputs[2].Type.Dtype {
		return nil, nil
	}
	exact, err := buildAttend(b)
	if err != nil {
		return nil, err
	}
	a := &native.Attention{Workers: b.Workers, Scale: float32(b.Args.Float("scale")), State: b.State}
	state := b.State
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		cache, ok := c.States[state].(*fullCache)
		if !ok || cache.valueDim == 0 {
			return exact(c, in) // a window's or a chunk's cache: decided by the state's declaration, the same in each forward
		}
		return []mlx.Array{cache.attend(c, a, in[0], in[1], in[2])}
	}, nil
}
