package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

func unfusedMLP() *registry.Class {
	return &registry.Class{
		Name: "mlp.unfused",
		Doc: "down(activation(gate(x), up(x))), each part by its own class and in this order. A fused gate_up part is one product, " +
			"whose last axis is then halved: gate first. This is what mlx-lm computes.",
		Kinds:    []string{"mlp"},
		Parts:    []string{"gate_proj", "up_proj", "down_proj"},
		ExactFor: []string{"parts"},
		Accept:   func(string, map[string]plan.Facts) error { return nil }, // the parts' classes do
		Build: func(b *registry.ClassBuild) (registry.Run, error) {
			down, act := b.Parts["down_proj"], b.Activation
			if down == nil || act == nil {
				return nil, fmt.Errorf("an mlp has a down_proj and an activation")
			}
			gateUp, err := gateAndUp(b)
			if err != nil {
				return nil, err
			}
			return func(c *registry.Call, in []mlx.Array) []mlx.Array {
				pair := gateUp(c, in)
				if len(pair) != 2 {
					return []mlx.Array{{}}
				}
				return down(c, act(c, pair))
			}, nil
		},
	}
}

// gateAndUp makes the function that gives gate and up of x.
func gateAndUp(b *registry.ClassBuild) (registry.Run, error) {
	if both := b.Parts["gate_up"]; both != nil {
		return func(c *registry.Call, in []mlx.Array) []mlx.Array { return c.Split(both(c, in)[0], 2, -1) }, nil
	}
	gate, up := b.Parts["gate_proj"], b.Parts["up_proj"]
	if gate == nil || up == nil {
		return nil, fmt.Errorf("an mlp has a gate_proj and an up_proj, or one gate_up")
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{gate(c, in)[0], up(c, in)[0]}
	}, nil
}
