package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// affineDense is affine's arithmetic in another order: the weight is made dense first.
func affineDense() *registry.Class {
	return &registry.Class{
		Name: "affine.dense",
		Doc: "A quantised weight, dequantised in its scales' dtype for each call and then multiplied: x @ dequantize(w).T, plus a bias as a sum of its own. " +
			"It takes the memory of one dense weight while it runs, and pays off where many rows share it.",
		Kinds: []string{"linear", "head"},
		Numerics: "dequantised values are rounded to the scales' dtype before the product, which quantized_matmul does not do: " +
			"max |Δ| / max |ref| of the sums in float32 at most 2^-6 in bfloat16, 2^-9 in float16 and 1e-5 in float32, over the shapes of the class's test",
		Accept: acceptAffine,
		Build: func(b *registry.ClassBuild) (registry.Run, error) {
			w, err := oneWeight(b)
			if err != nil {
				return nil, err
			}
			if !w.Scales.Valid() {
				return nil, fmt.Errorf("a quantised weight was given no scales")
			}
			f := w.Facts
			return func(c *registry.Call, in []mlx.Array) []mlx.Array {
				dense := c.Dequantize(w.Weight, w.Scales, w.Biases, f.Group, f.Bits, f.Mode, mlx.Array{}, mlx.Opt[mlx.Dtype]{})
				y := c.Matmul(in[0], c.Transpose(dense))
				if w.Bias.Valid() {
					y = c.Add(y, w.Bias)
				}
				return []mlx.Array{y}
			}, nil
		},
	}
}

// gateUpUnfused is the exact class of a gate_up port of two weights.
func gateUpUnfused() *registry.Class {
	return &registry.Class{
		Name:     "gate_up.unfused",
		Doc:      "activation(gate(x), up(x)), each part by its own class and in this order.",
		Kinds:    []string{"gate_up"},
		Parts:    []string{"gate_proj", "up_proj"},
		ExactFor: []string{"parts"},
		Accept:   func(string, map[string]plan.Facts) error { return nil }, // the parts' classes do
		Build: func(b *registry.ClassBuild) (registry.Run, error) {
			pair, err := gateAndUp(b)
			if err != nil {
				return nil, err
			}
			act := b.Activation
			if act == nil {
				return nil, fmt.Errorf("a gate_up has an activation")
			}
			return func(c *registry.Call, in []mlx.Array) []mlx.Array {
				both := pair(c, in)
				if len(both) != 2 {
					return []mlx.Array{{}}
				}
				return act(c, both)
			}, nil
		},
	}
}

// mlpGateDown is a form over the gate_up port and the down projection.
func mlpGateDown() *registry.Class {
	return &registry.Class{
		Name:     "mlp.gate_down",
		Doc:      "down(gate_up(x)): the pair, activation included, by the class bound to the port's gate_up, then down by its own. With exact parts it is mlp.unfused.",
		Kinds:    []string{"mlp"},
		Parts:    []string{"gate_up", "down_proj"},
		Numerics: "that of its parts: with exact parts the bits of mlp.unfused",
		Accept:   func(string, map[string]plan.Facts) error { return nil },
		Build: func(b *registry.ClassBuild) (registry.Run, error) {
			pair, down := b.Parts["gate_up"], b.Parts["down_proj"]
			if pair == nil || down == nil {
				return nil, fmt.Errorf("mlp.gate_down takes a gate_up and a down_proj")
			}
			return func(c *registry.Call, in []mlx.Array) []mlx.Array { return down(c, pair(c, in)) }, nil
		},
	}
}
