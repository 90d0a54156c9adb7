package ops

import (
	"math"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
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
	freqs, err := sc.frequencies(b)
	if err != nil {
		return nil, err
	}
	dims := b.Args.Int("dims")
	rates := make([]float32, dims/2)
	for i := range rates {
		rates[i] = float32(sc.positions * math.Pow(b.Args.Float("base"), -2*float64(i)/float64(dims)))
	}
	if freqs.Valid() {
		f, err := freqs.Float32s()
		if err != nil {
			return nil, err
		}
		for i := range rates {
			rates[i] = float32(sc.positions / float64(f[i]))
		}
	}
	w, state := b.Workers, b.States[1]
	neighbours := b.Args.Bool("traditional") && sc.kind != "longrope"
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{w.Rope(c.Scope, in[0], rates, neighbours, c.States[state].Offset())}
	}, nil
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
	a := &native.Attention{Workers: b.Workers, Scale: float32(b.Args.Float("scale"))}
	state := b.State
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		cache, ok := c.States[state].(*fullCache)
		if !ok || cache.valueDim == 0 {
			return exact(c, in) // a window's or a chunk's cache: decided by the state's declaration, the same in each forward
		}
		return []mlx.Array{cache.attend(c, a, in[0], in[1], in[2], 2)}
	}, nil
}

// attend appends and reads in one call. axis is that of positions in q, k and v.
//
// It writes into the buffers' own memory though a step that is still running may read them. That is right because a cache's
// buffers are its own (grown makes them), each array that was taken from them shows positions before offset alone, and
// forwards run one after another on one stream.
func (c *fullCache) attend(call *registry.Call, a *native.Attention, q, k, v mlx.Array, axis int) mlx.Array {
	n, s := k.Dim(axis), call.Scope
	keys, values := c.keys, c.values
	if !keys.Valid() || c.offset+n > keys.Dim(2) {
		keys, values = grown(s, c.keys, k, c.offset, n), grown(s, c.values, v, c.offset, n)
	}
	y, newKeys, newValues := a.Append(s, q, k, v, keys, values, native.Place{Position: c.offset, At: c.offset, Seen: c.offset + 1})
	if !c.hold(s, newKeys, newValues) {
		return mlx.Array{}
	}
	c.offset += n
	return y
}
