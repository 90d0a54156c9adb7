package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// trellisStored says how the codes of a row lie, for every class of this storage.
const trellisStored = " Weights are trellis codes of 2, 3 or 4 bits in blocks of T symbols of a stored row, one float16 scale a row: " +
	"axis 1 stores [out, in] and codes along the inputs, axis 0 stores [in, out] and codes along the outputs."

// The two contracts of trellis weights.
const (
	packedNumerics = "weights are float32 code × scale, never rounded, sums are float32: its weights differ from the class trellis by bfloat16's rounding, " +
		"max |Δ| / max |ref| below 2e-2 by its contract"
	expandedNumerics = "weights are bfloat16 as the class trellis has them; sums in another order: max |Δ| / max |ref| below 1e-2 by its contract"
)

// trellis is the exact class of the storage: what its codes mean, and what the others are held to.
func trellis() *registry.Class {
	return &registry.Class{
		Name: "trellis",
		Doc: "The stored meaning of trellis codes: the weight is bfloat16(code / 147.800537109375 × scale), then x W^T by matmul at any number of rows. " +
			"mlx-lm has no such storage, so exact means this." + trellisStored,
		Kinds:    []string{"linear"},
		ExactFor: []string{"trellis"},
		Accept:   acceptTrellis(anyAxis, "row", "interleaved"),
	}
}

const anyAxis = -1

// trellisLinear is a class of one matrix of trellis codes.
func trellisLinear(name, doc, numerics string, rows, axis int, layouts ...string) *registry.Class {
	return &registry.Class{Name: name, Doc: doc + trellisStored, Kinds: []string{"linear"}, MaxRows: rows, Numerics: numerics, Accept: acceptTrellis(axis, layouts...)}
}

// trellisPair is a class of gate and up with the activation between them.
func trellisPair(name, doc, numerics string, rows int, accept func(gate, up plan.Facts) error) *registry.Class {
	take := acceptTrellis(1, "row")
	return &registry.Class{
		Name: name, Doc: doc + trellisStored, Kinds: []string{"gate_up"}, MaxRows: rows, Numerics: numerics, Activations: []string{"swiglu"},
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
	downMMA := trellisLinear("trellis.down_mma", "trellis.down on a matrix unit: tiles of 8 by 8, rows filled up to 8. Blocks of 256; outputs divide by 256.",
		packedNumerics, 8, 0, "row", "interleaved")
	takeDown := downMMA.Accept
	downMMA.Accept = func(kind string, weights map[string]plan.Facts) error {
		if err := takeDown(kind, weights); err != nil {
			return err
		}
		return mma("weight", weights["weight"], 1, 256)
	}
	fused := trellisPair("trellis.gate_up_fused", "activation(gate(x), up(x)) in one pass over both codes, each weight code × scale as it is read.",
		packedNumerics, 4, nil)
	tail := withDefault("tail", "string", "the activation where gate and up differ in bits: split rounds its steps as MLX's own operators do, fused once", stringValue("split"))
	tail.OneOf = []string{"split", "fused"}
	fused.Params = []registry.Param{tail}
	return []*registry.Class{
		trellis(),
		trellisLinear("trellis.reduce", "Packed codes for a few rows, coded along the inputs: each output is a dot product over the codes as they are read.",
			packedNumerics, 4, 1, "row"),
		trellisLinear("trellis.scatter", "Packed codes for a few rows, coded along the outputs: each input row adds to all outputs; the splits of the inputs are summed in float32.",
			packedNumerics, 4, 0, "row", "interleaved"),
		trellisLinear("trellis.expand_reduce", "The weight is expanded to bfloat16 for each call and let go after it, then x W^T.", expandedNumerics, 0, 1, "row"),
		trellisLinear("trellis.expand_scatter", "The weight is expanded to bfloat16 for each call as it lies, [in, out], and let go after it, then x W.",
			expandedNumerics, 0, 0, "row", "interleaved"),
		trellisLinear("trellis.down", "A down projection for a few rows, reassociated: Σ code × (x · scale / 147.8), so that a row's scale enters once.",
			packedNumerics, 4, 0, "row", "interleaved"),
		downMMA,
		trellisPair("trellis.gate_up", "activation(gate(x), up(x)) for a few rows in one kernel, reassociated: (Σ code × x) · scale / 147.8. Gate and up may differ in bits.",
			packedNumerics, 4, nil),
		trellisPair("trellis.gate_up_mma", "trellis.gate_up on a matrix unit: tiles of 8 by 8, rows filled up to 8. Outputs divide by 8, inputs by 256.",
			packedNumerics, 8, func(gate, up plan.Facts) error {
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
