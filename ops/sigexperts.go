package ops

import (
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// expertsRows is for a few rows of a mixture.
func expertsRows() *registry.Class {
	return &registry.Class{
		Name:     "experts.rows",
		Doc:      "Experts of mode affine for a few rows: each expert's codes are read once for all its rows, with float32 sums as affine.rows has them." + expertsDoc,
		Kinds:    []string{"experts"},
		MaxRows:  16,
		Numerics: "sums are float32 in another order than gather_qmm's: max |Δ| / max |ref| below 1e-2 by its contract",
		Accept:   acceptExpertsAffine,
	}
}

// expertsStreamed reads experts from the checkpoint as they are asked for.
func expertsStreamed() *registry.Class {
	return &registry.Class{
		Name: "experts.streamed",
		Doc: "Experts that are read from the checkpoint when a token asks for them, into slots of memory, and computed with as they are stored. " +
			"A hit is computed where it lies; a miss takes a working slot, at most that many at once; what is asked again moves to a resident slot." + expertsDoc,
		Kinds: []string{"experts"},
		Params: []registry.Param{
			withDefault("working", "int", "slots for what is being read, of all layers together", intValue(64)),
			optional("resident", "int", "slots that each layer keeps; left out: as the memory budget allows, one at least"),
			withDefault("pinned", "int", "experts of each layer that never leave", intValue(0)),
			withDefault("read_ahead", "int", "reads that may wait in the queue", intValue(4096)),
			withDefault("direct_io", "bool", "read past the system's page cache", boolValue(false)),
		},
		Numerics: "the bits of the resident class: the same products over the same weights, in waves of the working slots",
		Accept: func(_ string, weights map[string]plan.Facts) error {
			if err := acceptExperts("dense", weights); err == nil {
				return nil
			}
			return acceptExperts("affine", weights)
		},
		AcceptArgs: func(args plan.Args) error {
			for _, p := range []struct {
				name  string
				least int
			}{{"working", 1}, {"resident", 1}, {"pinned", 0}, {"read_ahead", 0}} {
				if v, given := args.Lookup(p.name); given && v.Int < int64(p.least) {
					return registry.Wrong(p.name, "%d at least; this is %d", p.least, v.Int)
				}
			}
			return nil
		},
	}
}
