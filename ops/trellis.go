package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/registry"
)

// coded is a weight of trellis codes for the CPU's kernels; nil where there are none.
func coded(b *registry.ClassBuild, role string) (*native.Trellis, error) {
	w, ok := b.Weights[role]
	if !ok || !w.Weight.Valid() || !w.Scales.Valid() {
		return nil, fmt.Errorf("a port of kind %s was given no trellis codes for its %s, or no scales", b.Kind, role)
	}
	if b.Workers == nil {
		return nil, nil
	}
	return &native.Trellis{Workers: b.Workers, Codes: w.Weight, Scales: w.Scales, Bits: w.Facts.Bits, Block: w.Facts.Group, Axis: w.Facts.Axis}, nil
}

func onCPU(w *native.Trellis, err error) (*native.Trellis, error) {
	if err == nil && w == nil {
		return nil, fmt.Errorf("its kernel is for the CPU")
	}
	return w, err
}

// trellisProduct makes the constructor of a class over one weight's packed codes.
func trellisProduct(form native.TrellisForm) func(*registry.ClassBuild) (registry.Run, error) {
	return func(b *registry.ClassBuild) (registry.Run, error) {
		w, err := onCPU(coded(b, "weight"))
		if err != nil {
			return nil, err
		}
		return func(c *registry.Call, in []mlx.Array) []mlx.Array {
			return []mlx.Array{w.Product(c.Scope, form, in[0])}
		}, nil
	}
}

// trellisSwiglu makes the constructor of a class over gate, up and the activation between them.
func trellisSwiglu(form native.TrellisForm) func(*registry.ClassBuild) (registry.Run, error) {
	return func(b *registry.ClassBuild) (registry.Run, error) {
		gate, err := onCPU(coded(b, "gate_proj"))
		if err != nil {
			return nil, err
		}
		up, err := onCPU(coded(b, "up_proj"))
		if err != nil {
			return nil, err
		}
		split := b.Args.String("tail") == "split" && gate.Bits != up.Bits
		return func(c *registry.Call, in []mlx.Array) []mlx.Array {
			return []mlx.Array{gate.Swiglu(c.Scope, form, up, split, in[0])}
		}, nil
	}
}

// trellisExpanded makes the constructor of a class that expands the weight for each call: rounded to bfloat16, as it is
// stored, or not. The expansion is the CPU's kernel where there is one, else MLX's operations; the bits are the same.
func trellisExpanded(rounded bool) func(*registry.ClassBuild) (registry.Run, error) {
	return func(b *registry.ClassBuild) (registry.Run, error) {
		w, err := coded(b, "weight")
		if err != nil {
			return nil, err
		}
		expand := func(c *registry.Call) mlx.Array { return w.Expand(c.Scope, rounded) }
		if w == nil {
			plain, err := newPlainTrellis(b, "weight")
			if err != nil {
				return nil, err
			}
			expand = func(c *registry.Call) mlx.Array { return plain.expand(c.Scope, rounded) }
		}
		axis := b.Weights["weight"].Facts.Axis
		return func(c *registry.Call, in []mlx.Array) []mlx.Array {
			s := expand(c)
			if axis == 1 {
				s = c.Transpose(s)
			}
			y := c.Matmul(c.Astype(in[0], mlx.Float32), s)
			return []mlx.Array{c.Astype(y, in[0].Dtype())}
		}, nil
	}
}
