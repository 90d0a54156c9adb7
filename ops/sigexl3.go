package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	codec "github.com/graphrun/graphrun/trellis"
)

// tilesStored says what the storage is, for every class of it.
const tilesStored = " Weights are exllamav3's (EXL3): trellis codes of 1 to 8 bits in tiles of 16 x 16 with 16 bits of state, inputs and outputs filled up to multiples of 128, " +
	"and W = diag(suh) H W' H diag(svh), where W' is what the codes stand for in float16 and H the Hadamard matrix over each 128, divided by the root of 128."

// tilesClasses are signatures: nothing computes this storage yet.
func tilesClasses() []*registry.Class {
	class := func(name, doc, numerics string, rows int, needs string, accept func(role string, f plan.Facts) error) *registry.Class {
		return &registry.Class{
			Name: name, Doc: doc + tilesStored, Kinds: matrixKinds, MaxRows: rows, Needs: needs, Numerics: numerics,
			Accept: func(kind string, weights map[string]plan.Facts) error {
				for _, role := range sortedRoles(weights) {
					f := weights[role]
					if f.Storage != codec.TileStorage {
						return fmt.Errorf("%s is stored as %s; %s is wanted", role, f.Storage, codec.TileStorage)
					}
					if err := acceptKind(kind, role, f); err != nil {
						return err
					}
					if accept != nil {
						if err := accept(role, f); err != nil {
							return err
						}
					}
				}
				return nil
			},
		}
	}
	const bound = ": max |Δ| / max |ref| below 2e-3 by its contract"
	exact := class(codec.TileStorage, "The stored meaning of tiles, at any number of rows: (H ((H (x · suh)) W')) · svh, plus a bias, in float32, rounded once to x's dtype. "+
		"x is filled up with zeros, results beyond the outputs are left out.", "", 0, "", nil)
	exact.ExactFor = []string{codec.TileStorage}
	return []*registry.Class{
		exact,
		class("exl3.gemv", "A few rows: codes are decoded where they are multiplied, both rotations in the same kernel.",
			"operands are float16, sums float32"+bound, 8, "gpu", func(role string, f plan.Facts) error {
				if f.Bits < 2 || f.Bits > 4 {
					return fmt.Errorf("%s has %d bits; 2, 3 or 4 are wanted", role, f.Bits)
				}
				return nil
			}),
		class("exl3.gemm", "Some rows on a matrix unit, 16 at a time: codes are decoded into its operands, both rotations in the same kernel.",
			"operands are float16, sums float32"+bound, 144, "gpu", nil),
		class("exl3.expand", "Many rows: the weight is made dense for each call, rotations and scales included, and multiplied with x as it is.",
			"the dense weight is rounded to float16"+bound, 0, "", nil),
	}
}
