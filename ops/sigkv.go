package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// kvReads are the classes that read a cache of quantised keys and values.
func kvReads() []*registry.Class {
	numerics := "scores and sums are float32 over dequantised keys and values, which attention over the stored cache rounds to the activations' dtype first: " +
		"max |Δ| / max |ref| below 1e-2 by its contract"
	kinds := []string{registry.StateRead}
	return []*registry.Class{
		{Name: "kv.decode4", Doc: "Attention of one new position over a cache in 4 bits, groups of 64, in one kernel: no mask, and no cache in the activations' dtype.",
			Kinds: kinds, MaxRows: 1, Needs: "gpu", Numerics: numerics, Accept: acceptCache4},
		{Name: "kv.folded", Doc: "Attention of any number of new positions over a cache in 4 bits, groups of 64: the query heads of one key head are folded into its rows.",
			Kinds: kinds, Needs: "gpu", Numerics: numerics, Accept: acceptCache4},
	}
}

func acceptCache4(_ string, state map[string]plan.Facts) error {
	f := state["state"]
	switch {
	case f.Storage != "affine":
		return fmt.Errorf("the cache is stored as %s; affine, 4 bits in groups of 64, is wanted", f.Storage)
	case f.Bits != 4 || f.Group != 64:
		return fmt.Errorf("the cache has %d bits in groups of %d; 4 bits in groups of 64 are wanted", f.Bits, f.Group)
	}
	return nil
}
