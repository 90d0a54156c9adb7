package ops

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// quantMode is what MLX's quantised kernels take in a mode (mlx/ops.cpp, quantize).
type quantMode struct {
	bits, groups []int
	biases       bool // zero points beside the scales
}

var quantModes = map[string]quantMode{
	"affine": {[]int{2, 3, 4, 5, 6, 8}, []int{32, 64, 128}, true},
	"mxfp4":  {[]int{4}, []int{32}, false},
	"mxfp8":  {[]int{8}, []int{32}, false},
	"nvfp4":  {[]int{4}, []int{16}, false},
}

func affine() *registry.Class {
	return &registry.Class{
		Name: "affine",
		Doc: "A weight in MLX's quantised layout, of any mode: affine with 2, 3, 4, 5, 6 or 8 bits in groups of 32, 64 or 128, mxfp4 and mxfp8 (32), nvfp4 (16). " +
			"quantized_matmul, then a bias as a sum of its own; embedding rows, scales and zero points are taken by index and dequantised in the scales' dtype " +
			"(bfloat16 in the fp modes) (mlx.nn QuantizedLinear, QuantizedEmbedding)." + expertsDoc,
		Kinds:    append(projectionKinds[:len(projectionKinds):len(projectionKinds)], "experts"),
		ExactFor: []string{"affine"},
		Accept:   acceptAffine,
		Build: func(b *registry.ClassBuild) (registry.Run, error) {
			if b.Kind == "experts" {
				return experts(b)
			}
			w, err := oneWeight(b)
			if err != nil {
				return nil, err
			}
			if !w.Scales.Valid() {
				return nil, fmt.Errorf("a quantised weight was given no scales")
			}
			group, bits, mode := w.Facts.Group, w.Facts.Bits, w.Facts.Mode
			if b.Kind == "embedding" {
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					return []mlx.Array{dequantizeRows(c, w, in[0])}
				}, nil
			}
			transpose := b.Kind != "multi_linear" || b.Transposed
			run := func(c *registry.Call, in []mlx.Array) []mlx.Array {
				return []mlx.Array{c.QuantizedMatmul(in[0], w.Weight, w.Scales, w.Biases, transpose, group, bits, mode)}
			}
			if !w.Bias.Valid() {
				return run, nil
			}
			return func(c *registry.Call, in []mlx.Array) []mlx.Array {
				return []mlx.Array{c.Add(run(c, in)[0], w.Bias)}
			}, nil
		},
	}
}

// dequantizeRows takes rows of a quantised matrix by index.
func dequantizeRows(c *registry.Call, w registry.Opened, indices mlx.Array) mlx.Array {
	biases := w.Biases
	if biases.Valid() {
		biases = c.TakeAxis(biases, indices, 0)
	}
	return c.Dequantize(c.TakeAxis(w.Weight, indices, 0), c.TakeAxis(w.Scales, indices, 0), biases,
		w.Facts.Group, w.Facts.Bits, w.Facts.Mode, mlx.Array{}, mlx.Opt[mlx.Dtype]{})
}

func acceptAffine(kind string, weights map[string]plan.Facts) error {
	if kind == "experts" {
		return acceptExperts("affine", weights)
	}
	for _, role := range sortedRoles(weights) {
		f := weights[role]
		if f.Storage != "affine" {
			return fmt.Errorf("%s is stored as %s; affine takes weights in MLX's quantised layout", role, f.Storage)
		}
		if err := acceptQuantised(role, f); err != nil {
			return err
		}
		if err := acceptKind(kind, role, f); err != nil {
			return err
		}
	}
	return nil
}

// acceptQuantised checks the quantisation against what MLX's kernels take.
func acceptQuantised(role string, f plan.Facts) error {
	m, ok := quantModes[f.Mode]
	switch {
	case !ok:
		return fmt.Errorf("%s has mode '%s'; affine, mxfp4, mxfp8 and nvfp4 are accepted", role, f.Mode)
	case !slices.Contains(m.bits, f.Bits):
		return fmt.Errorf("%s has %d bits; mode %s takes %s", role, f.Bits, f.Mode, either(m.bits))
	case !slices.Contains(m.groups, f.Group):
		return fmt.Errorf("%s has groups of %d; mode %s takes %s", role, f.Group, f.Mode, either(m.groups))
	case f.Inputs%f.Group != 0:
		return fmt.Errorf("%s has %d inputs, which groups of %d do not divide", role, f.Inputs, f.Group)
	}
	return nil
}

// either lists numbers as a choice: "2, 3 or 4".
func either(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprint(n)
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func sortedRoles(weights map[string]plan.Facts) []string {
	out := make([]string, 0, len(weights))
	for role := range weights {
		out = append(out, role)
	}
	sort.Strings(out)
	return out
}
