package ops

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// matrixKinds are the ports of one matrix that multiplies.
var matrixKinds = []string{"linear", "head"}

// sumsNumerics is the contract of classes that read codes and sum in float32. In half precision MLX's own sums are half too, on the
// CPU, and further off.
const sumsNumerics = "sums are float32 in another order than quantized_matmul's: max |Δ| / max |ref| of its results in float32 below 1e-5 in float32, 2^-7 in bfloat16 " +
	"and 2^-10 in float16 by its test"

// affineRows is for a few rows: decoding, and checking a draft.
func affineRows() *registry.Class {
	return &registry.Class{
		Name: "affine.rows",
		Doc: "A weight of mode affine for a few rows: the codes are read where they are, each is scale * code + zero in float32, the sum is float32 too, and the " +
			"result, bias included, is rounded once. Up to 4 rows share a reading of the codes.",
		Kinds:    matrixKinds,
		MaxRows:  16,
		Params:   []registry.Param{withDefault("tile", "int", "rows that share one pass over the codes: 4, or 1 where less is said", intValue(4))},
		Numerics: sumsNumerics,
		Build:    buildProduct(native.RowsF32),
		Kernels:  []string{"cpu"},
		Accept:   acceptAffineMode,
		AcceptArgs: func(args plan.Args) error {
			if n := args.Int("tile"); n < 1 || n > 16 {
				return registry.Wrong("tile", "a tile is of 1 to 16 rows; this is %d", n)
			}
			return nil
		},
	}
}

// affineMMA is for a few rows on a matrix unit.
func affineMMA() *registry.Class {
	return &registry.Class{
		Name: "affine.mma",
		Doc: "A weight of mode affine, 3 or 4 bits in groups of 64, on a matrix unit: tiles of 8 by 8 with float32 sums, rows filled up to 8. " +
			"Inputs divide by 256, outputs by 8. On the CPU it is affine.rows in tiles of 4.",
		Kinds:    matrixKinds,
		MaxRows:  8,
		Numerics: sumsNumerics,
		Build:    buildProduct(native.RowsF32),
		Kernels:  []string{"cpu"},
		KernelOf: "affine.rows",
		Accept: func(kind string, weights map[string]plan.Facts) error {
			if err := acceptAffineMode(kind, weights); err != nil {
				return err
			}
			f := weights["weight"]
			switch {
			case f.Bits != 3 && f.Bits != 4:
				return fmt.Errorf("weight has %d bits; 3 or 4 are wanted", f.Bits)
			case f.Group != 64:
				return fmt.Errorf("weight has groups of %d; groups of 64 are wanted", f.Group)
			}
			return acceptMultiples("weight", f, 256, 8)
		},
	}
}

// denseRows is for a few rows of a large dense matrix.
func denseRows() *registry.Class {
	return &registry.Class{
		Name: "dense.rows",
		Doc: "A dense weight for a few rows: float32 sums over the weight in its own dtype, read once for all rows, the result rounded once. " +
			"It is for matrices that MLX would widen or read row by row, as a large output head.",
		Kinds:    matrixKinds,
		MaxRows:  4,
		Numerics: "float32 sums in another order than matmul's: max |Δ| / max |ref| below 1e-2 in bfloat16 by its contract",
		Accept:   acceptDense,
	}
}

// acceptAffineMode takes weights of mode affine with zero points.
func acceptAffineMode(kind string, weights map[string]plan.Facts) error {
	if err := acceptAffine(kind, weights); err != nil {
		return err
	}
	for _, role := range sortedRoles(weights) {
		if f := weights[role]; f.Mode != "affine" {
			return fmt.Errorf("%s has mode '%s'; mode affine is wanted", role, f.Mode)
		}
	}
	return nil
}

// acceptMultiples holds a matrix to what a kernel's tiles divide.
func acceptMultiples(role string, f plan.Facts, inputs, outputs int) error {
	switch {
	case f.Inputs%inputs != 0:
		return fmt.Errorf("%s has %d inputs, which %d does not divide", role, f.Inputs, inputs)
	case f.Outputs%outputs != 0:
		return fmt.Errorf("%s has %d outputs, which %d does not divide", role, f.Outputs, outputs)
	}
	return nil
}

// wants asks for roles of a port, in words.
func wants(weights map[string]plan.Facts, roles ...string) error {
	for _, role := range roles {
		if _, ok := weights[role]; !ok {
			return fmt.Errorf("there is no %s; the port has %s", role, strings.Join(sortedRoles(weights), ", "))
		}
	}
	return nil
}
