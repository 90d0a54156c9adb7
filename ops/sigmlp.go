package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// mlpFused is one operator over a whole mlp of a few rows.
func mlpFused() *registry.Class {
	return &registry.Class{
		Name: "mlp.fused",
		Doc: "down(activation(gate(x), up(x))) for a few rows as one operator: gate, up and the activation in one pass, without their results in memory, " +
			"then down by the class bound to it. It knows the active adapters of its parts.",
		Kinds:    []string{"mlp"},
		MaxRows:  4,
		Parts:    []string{"down_proj"},
		Holds:    []string{"gate_proj", "up_proj"},
		Numerics: "gate and up are float32 sums that are rounded once, down is as its class has it: max |Δ| / max |ref| below 2e-2 by its contract",
		Accept: func(_ string, weights map[string]plan.Facts) error {
			if err := wants(weights, "gate_proj", "up_proj", "down_proj"); err != nil {
				return err
			}
			gate, up := weights["gate_proj"], weights["up_proj"]
			switch {
			case gate.Storage != up.Storage:
				return fmt.Errorf("gate_proj is stored as %s and up_proj as %s; one storage is wanted", gate.Storage, up.Storage)
			case gate.Storage == "trellis" && (gate.Axis != 1 || up.Axis != 1):
				return fmt.Errorf("gate_proj and up_proj are coded along axes %d and %d; axis 1 (the inputs) is wanted", gate.Axis, up.Axis)
			case gate.Storage == "affine" && (gate.Mode != "affine" || up.Mode != "affine"):
				return fmt.Errorf("gate_proj and up_proj have modes '%s' and '%s'; mode affine is wanted", gate.Mode, up.Mode)
			case gate.Bias || up.Bias:
				return fmt.Errorf("gate_proj or up_proj has a bias, which the fused pass does not add")
			}
			return nil
		},
	}
}
