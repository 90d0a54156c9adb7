package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// trellisStored says how the codes of a row lie, for every class of this storage.
const trellisStored = " Weights are trellis codes of 2, 3 or 4 bits in blocks of T symbols of a stored row, one float16 scale a row: " +
	"axis 1 stores [out, in] and codes along the inputs, axis 0 stores [in, out] and codes along the outputs."

// What the classes of the two contracts may differ by from trellis.packed and trellis; the test holds them to it.
const (
	packedNumerics = "the contract of trellis.packed (code × scale in float32) with its sums in another order: max |Δ| / max |ref| at most 1e-5 in float32, " +
		"2^-7 in bfloat16 and 2^-10 in float16, where a result is rounded to the other neighbour"
	storedNumerics = "the contract of trellis (weights in bfloat16) with its sums in another order: max |Δ| / max |ref| at most 1e-5 in float32, " +
		"2^-7 in bfloat16 and 2^-10 in float16, where a result is rounded to the other neighbour"
	pairNumerics = "the contract of gate_up.unfused over two trellis.packed with its sums in another order: max |Δ| / max |ref| at most 1e-5 in float32, " +
		"2^-6 in bfloat16 and 2^-9 in float16"
)

// trellis is the exact class of the storage: what its codes mean, and what the others are held to.
func trellis() *registry.Class {
	return &registry.Class{
		Name: "trellis",
		Doc: "The stored meaning of trellis codes, at any number of rows and on any device: each weight is bfloat16(value × scale), value = integer code / 147.800537109375 and " +
			"its product with the scale both rounded to float32 before. Then x W^T in float32, rounded once to x's dtype. The weight is expanded for each call. " +
			"mlx-lm has no such storage, so exact means this." + trellisStored,
		Kinds:    []string{"linear"},
		ExactFor: []string{"trellis"},
		Accept:   acceptTrellis(anyAxis, "row", "interleaved"),
		Build:    trellisExpanded(true),
	}
}

// trellisPacked is what the classes that use codes as they are decoded are held to.
func trellisPacked() *registry.Class {
	return &registry.Class{
		Name: "trellis.packed",
		Doc: "The reference of the classes that multiply by codes as they decode them: trellis without the rounding of weights to bfloat16, " +
			"at any number of rows and on any device. For checking them, not for speed." + trellisStored,
		Kinds: []string{"linear"},
		Numerics: "weights are value × scale in float32, which trellis rounds to bfloat16: max |Δ| / max |ref| at most 2^-8 of the products' sum without signs, " +
			"about 2e-3 of the largest result over the shapes of the class's test",
		Accept: acceptTrellis(anyAxis, "row", "interleaved"),
		Build:  trellisExpanded(false),
	}
}

const anyAxis = -1

// trellisLinear is a class of one matrix of trellis codes.
func trellisLinear(name, doc, numerics string, form native.TrellisForm, rows, axis int, layouts ...string) *registry.Class {
	return &registry.Class{
		Name: name, Doc: doc + trellisStored, Kinds: []string{"linear"}, MaxRows: rows, Numerics: numerics, Accept: acceptTrellis(axis, layouts...),
		Build: trellisProduct(form), Kernels: []string{"cpu"},
	}
}

// trellisExpand is a class that makes the whole weight dense for each call.
func trellisExpand(name, doc string, axis int, layouts ...string) *registry.Class {
	return &registry.Class{
		Name: name, Doc: doc + trellisStored, Kinds: []string{"linear"}, Accept: acceptTrellis(axis, layouts...), Build: trellisExpanded(true),
		KernelOf: "trellis",
		Numerics: "that of trellis: on the CPU the same bits",
	}
}

// trellisPair is a class of gate and up with the activation between them.
func trellisPair(name, doc string, form native.TrellisForm, rows int, accept func(gate, up plan.Facts) error) *registry.Class {
	take := acceptTrellis(1, "row")
	return &registry.Class{
		Name: name, Doc: doc + trellisStored, Kinds: []string{"gate_up"}, MaxRows: rows, Numerics: pairNumerics, Activations: []string{"swiglu"},
		Build: trellisSwiglu(form), Kernels: []string{"cpu"},
		Accept: func(kind string, weights map[string]plan.Facts) error {
			if err := wants(weights, "gate_proj", "up_proj"); err != nil {
				return err
			}
			if err := take(kind, weights); err != nil {
				return err
			}
			gate, up := weights["gate_proj"], weights["up_proj"]
			switch {
			case gate.Inputs != up.Inputs || gate.Outputs != up.Outputs:
				return fmt.Errorf("gate_proj is [%d, %d] and up_proj [%d, %d]; equal shapes are wanted", gate.Outputs, gate.Inputs, up.Outputs, up.Inputs)
			case gate.Group != up.Group:
				return fmt.Errorf("gate_proj has blocks of %d and up_proj of %d; equal blocks are wanted", gate.Group, up.Group)
			case accept != nil:
				return accept(gate, up)
			}
			return nil
		},
	}
}

func trellisClasses() []*registry.Class {
	mma := func(role string, f plan.Facts, inputs, outputs int) error {
		if f.Group != 256 {
			return fmt.Errorf("%s has blocks of %d; blocks of 256 are wanted", role, f.Group)
		}
		return acceptMultiples(role, f, inputs, outputs)
	}
	downMMA := trellisLinear("trellis.down_mma", "trellis.down with a tile of weights decoded once for all rows: on a matrix unit 8 by 8, on the CPU 16 columns for up to 6 rows. "+
		"Blocks of 256; outputs divide by 256.", packedNumerics, native.PackedTile, 8, 0, "row", "interleaved")
	takeDown := downMMA.Accept
	downMMA.Accept = func(kind string, weights map[string]plan.Facts) error {
		if err := takeDown(kind, weights); err != nil {
			return err
		}
		return mma("weight", weights["weight"], 1, 256)
	}
	down := trellisLinear("trellis.down", "A down projection for a few rows. On the CPU it is trellis.scatter.", packedNumerics, native.Packed, 4, 0, "row", "interleaved")
	down.KernelOf = "trellis.scatter"
	fused := trellisPair("trellis.gate_up_fused", "trellis.gate_up with a choice of how the activation is rounded.", native.Packed, 4, nil)
	tail := withDefault("tail", "string", "the activation where gate and up differ in bits: split rounds its steps as MLX's own operators do, fused once", stringValue("split"))
	tail.OneOf = []string{"split", "fused"}
	fused.Params = []registry.Param{tail}
	tiled := trellisLinear("trellis.tiled", "Some rows, coded along the inputs: 4 outputs' weights of a block are decoded into cache, in bfloat16, and multiplied with all rows.",
		storedNumerics, native.StoredTile, 32, 1, "row")
	splitK := trellisLinear("trellis.split_k", "Some rows, coded along the outputs: the inputs are split in runs of 512; in each, a tile of weights is decoded into cache, in bfloat16, "+
		"and multiplied with all rows, and the runs' sums are added in float32.", storedNumerics, native.StoredTile, 32, 0, "row", "interleaved")
	tiled.MinRows, splitK.MinRows = 5, 5
	return []*registry.Class{
		trellis(), trellisPacked(),
		trellisLinear("trellis.reduce", "Packed codes for a few rows, coded along the inputs: each output is a dot product over the codes as they are decoded, (Σ code × x) · scale / 147.8.",
			packedNumerics, native.Packed, 4, 1, "row"),
		trellisLinear("trellis.scatter", "Packed codes for a few rows, coded along the outputs: each input adds code × (x · scale / 147.8) to all outputs, the inputs in runs of 512 whose sums are "+
			"added in float32.", packedNumerics, native.Packed, 4, 0, "row", "interleaved"),
		trellisExpand("trellis.expand_reduce", "trellis for codes along the inputs: the weight is expanded for each call and let go after it, then x W^T.", 1, "row"),
		trellisExpand("trellis.expand_scatter", "trellis for codes along the outputs: the weight is expanded for each call as it lies, [in, out], and let go after it, then x W.", 0, "row", "interleaved"),
		down, downMMA, tiled, splitK,
		trellisPair("trellis.gate_up", "silu(gate(x)) · up(x) for a few rows in one kernel: both products as trellis.reduce, rounded to x's dtype; the sigmoid in float32, rounded once, then the two products. "+
			"Gate and up may differ in bits.", native.Packed, 4, nil),
		trellisPair("trellis.gate_up_mma", "trellis.gate_up with a tile of weights decoded once for all rows. Outputs divide by 8, inputs by 256; blocks of 256.", native.PackedTile, 8,
			func(gate, up plan.Facts) error {
				if err := mma("gate_proj", gate, 256, 8); err != nil {
					return err
				}
				return mma("up_proj", up, 256, 8)
			}),
		fused,
	}
}

// acceptTrellis takes trellis codes of an axis and these layouts.
func acceptTrellis(axis int, layouts ...string) func(kind string, weights map[string]plan.Facts) error {
	return func(kind string, weights map[string]plan.Facts) error {
		for _, role := range sortedRoles(weights) {
			if err := acceptCodes(role, weights[role], axis, layouts); err != nil {
				return err
			}
			if err := acceptKind(kind, role, weights[role]); err != nil {
				return err
			}
		}
		return nil
	}
}

// acceptCodes checks one weight of trellis codes.
func acceptCodes(role string, f plan.Facts, axis int, layouts []string) error {
	known := false
	for _, l := range layouts {
		known = known || l == f.Layout
	}
	switch {
	case f.Storage != "trellis":
		return fmt.Errorf("%s is stored as %s; trellis codes are wanted", role, f.Storage)
	case f.Bits < 2 || f.Bits > 4:
		return fmt.Errorf("%s has %d bits; 2, 3 or 4 are wanted", role, f.Bits)
	case axis != anyAxis && f.Axis != axis:
		return fmt.Errorf("%s is coded along axis %d (%s); axis %d (%s) is wanted", role, f.Axis, axisText[f.Axis], axis, axisText[axis])
	case !known:
		return fmt.Errorf("%s has the layout %s; %s is wanted", role, f.Layout, choice(layouts))
	case f.Bias:
		return fmt.Errorf("%s has a bias, which classes of trellis codes do not add", role)
	}
	return nil
}

var axisText = map[int]string{0: "the outputs", 1: "the inputs"}

func choice(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return words[0] + " or " + words[1]
}
