package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// splitParams are those of a class that shares its channels with a Neural Engine.
func splitParams(shared string) []registry.Param {
	return []registry.Param{
		required("fraction", "float", "share of "+shared+" for the Neural Engine, rounded to 64 channels, which both sides keep at least"),
		withDefault("slices", "int", "equal slices that the program's reduction is cut into, added left to right in float16", intValue(8)),
		optional("rest", "class", "the class of the other channels; left out: the exact class of the storage"),
		optional("share", "string", "group of splits that use the same buffers, since they never run at once; facts of the weight are names in it: '{inputs}x{outputs}'"),
	}
}

const aneNumerics = "inputs, weights and results of the Neural Engine's share are float16, its partial sums too: max |Δ| / max |ref| below 2e-2 by its contract"

func acceptSplit(args plan.Args) error {
	if f := args.Float("fraction"); !(f > 0 && f < 1) {
		return registry.Wrong("fraction", "a share lies between 0 and 1; this is %v", f)
	}
	if n := args.Int("slices"); n < 1 {
		return registry.Wrong("slices", "one slice at least; this is %d", n)
	}
	return nil
}

// aneAffineSplit computes part of a projection's outputs on a Neural Engine while the GPU computes the rest.
func aneAffineSplit() *registry.Class {
	return &registry.Class{
		Name: "ane.affine_split",
		Doc: "Output channels [0, n) on the Neural Engine, the rest by another class on the GPU meanwhile, put together on the last axis. " +
			"Its program is made for the one row count that it is bound to, and its weights are dequantised into the program's buffers at every call.",
		Kinds:  []string{"linear"},
		OneRow: true, Needs: "ane",
		Params:     splitParams("the output channels"),
		Numerics:   aneNumerics,
		AcceptArgs: acceptSplit,
		Accept: func(kind string, weights map[string]plan.Facts) error {
			if err := acceptAffineMode(kind, weights); err != nil {
				return err
			}
			f := weights["weight"]
			if f.Bias {
				return fmt.Errorf("weight has a bias, which the split does not add")
			}
			return acceptChannels("outputs", f.Outputs)
		},
	}
}

// aneMLPSplit computes part of an mlp's inner channels on a Neural Engine, end to end.
func aneMLPSplit() *registry.Class {
	gateUp, down := acceptTrellis(1, "row"), acceptTrellis(0, "row", "interleaved")
	return &registry.Class{
		Name: "ane.mlp_split",
		Doc: "Inner channels [0, n) of gate, up and down on the Neural Engine end to end, the rest by the exact classes on the GPU meanwhile; the two results are added in x's dtype. " +
			"Its program is made for the one row count that it is bound to, and filled from the codes at every call.",
		Kinds:  []string{"mlp"},
		OneRow: true, Needs: "ane",
		Params:      splitParams("the inner channels"),
		Numerics:    aneNumerics,
		Activations: []string{"swiglu"},
		AcceptArgs:  acceptSplit,
		Accept: func(_ string, weights map[string]plan.Facts) error {
			if err := wants(weights, "gate_proj", "up_proj", "down_proj"); err != nil {
				return err
			}
			for _, role := range []string{"gate_proj", "up_proj"} {
				if err := gateUp("linear", map[string]plan.Facts{role: weights[role]}); err != nil {
					return err
				}
			}
			if err := down("linear", map[string]plan.Facts{"down_proj": weights["down_proj"]}); err != nil {
				return err
			}
			return acceptChannels("inner channels", weights["gate_proj"].Outputs)
		},
	}
}

// acceptChannels: both sides of a split keep 64 channels at least.
func acceptChannels(what string, n int) error {
	if n < 128 {
		return fmt.Errorf("%d %s; a split has 64 on each side at least", n, what)
	}
	return nil
}
