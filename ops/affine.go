package ops

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
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
			"(bfloat16 in the fp modes) (mlx.nn QuantizedLinear, QuantizedEmbedding)." + inOrderDoc + expertsDoc,
		Kinds:    append(projectionKinds[:len(projectionKinds):len(projectionKinds)], "experts"),
		ExactFor: []string{"affine"},
		Accept:   acceptAffine,
		Beside:   castBytes,
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
				ours, err := newAffineRows(b, w)
				if err != nil {
					return nil, err
				}
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					if ours != nil && in[0].Dtype() == mlx.Int32 {
						return []mlx.Array{ours.Rows(c.Scope, in[0])}
					}
					return []mlx.Array{dequantizeRows(c, w, in[0])}
				}, nil
			}
			transpose, steps := b.Kind != "multi_linear" || b.Transposed, newSteps(b, w)
			ours, err := newInOrder(b, w)
			if err != nil {
				return nil, err
			}
			run := func(c *registry.Call, in []mlx.Array) []mlx.Array {
				if y, ok := ours.of(c, in[0]); ok {
					return []mlx.Array{y}
				}
				scales, biases := steps.of(c, in[0])
				return []mlx.Array{c.QuantizedMatmul(in[0], w.Weight, scales, biases, transpose, group, bits, mode)}
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

// steps are a quantised weight's scales and zero points in the dtypes of its products. quantized_matmul and gather_qmm cast
// them where the activations' dtype is wider, in every call; here each cast is made once, with the same bits.
type steps struct {
	scales, biases mlx.Array
	own            dtype.Dtype // no cast beside activations that add nothing to it
	cast           map[dtype.Dtype][2]mlx.Array
	keep           func(mlx.Array) mlx.Array
}

func newSteps(b *registry.ClassBuild, w registry.Opened) *steps {
	s := &steps{scales: w.Scales, biases: w.Biases, keep: b.Keep}
	if w.Facts.Mode == "affine" && w.Biases.Valid() { // other modes have codes for scales, which nothing casts
		s.own, s.cast = dtype.Promote(w.Scales.Dtype(), w.Biases.Dtype()), map[dtype.Dtype][2]mlx.Array{}
	}
	return s
}

// castBytes is what steps makes for activations of dtype x.
func castBytes(f plan.Facts, x dtype.Dtype) int64 {
	to := dtype.Promote(x, f.Dtype)
	if f.Mode != "affine" || to == f.Dtype || f.Group < 1 {
		return 0
	}
	return 2 * int64(max(f.Count, 1)) * int64(f.Outputs) * int64(f.Inputs/f.Group) * int64(to.Size())
}

// of gives both as products with x take them.
func (s *steps) of(c *registry.Call, x mlx.Array) (scales, biases mlx.Array) {
	if s.cast == nil {
		return s.scales, s.biases
	}
	to := dtype.Promote(x.Dtype(), s.own)
	if to == s.own {
		return s.scales, s.biases
	}
	made, have := s.cast[to]
	if !have {
		made = [2]mlx.Array{c.Astype(s.scales, to), c.Astype(s.biases, to)}
		if c.Err() != nil {
			return s.scales, s.biases
		}
		c.Keep(made[:]...)
		s.cast[to] = [2]mlx.Array{s.keep(made[0]), s.keep(made[1])}
	}
	return made[0], made[1]
}

// newAffineRows takes the weight for dequantizeRows by one kernel, with the same bits; nil where there is none.
func newAffineRows(b *registry.ClassBuild, w registry.Opened) (*native.Products, error) {
	if b.Workers == nil || w.Weight.Ndim() != 2 {
		return nil, nil
	}
	if ok, err := codesInRows(w); !ok || err != nil {
		return nil, err
	}
	p := &native.Product{Workers: b.Workers, Weight: w.Weight, Scales: w.Scales, Biases: w.Biases, Bits: w.Facts.Bits, Group: w.Facts.Group}
	return ready(b, []*native.Product{p}, native.Around{})
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
