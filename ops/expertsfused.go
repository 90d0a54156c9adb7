package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// expertsFused is the chosen experts of all rows in one kernel.
func expertsFused() *registry.Class {
	return &registry.Class{
		Name: "experts.fused",
		Doc: "Experts of mode affine in one kernel, of any number of rows. Activations are int16 as in affine.rows_q16. Rows are taken by expert, so that each expert's " +
			"codes are read once for all its rows: where these lie for up to 16 of them, unpacked as affine.panels_q16 does for more." + expertsDoc,
		Kinds:       []string{"experts"},
		Activations: []string{"swiglu"},
		Kernels:     []string{"cpu"},
		Accept:      acceptExpertsAffine,
		Build:       buildExpertsFused,
		Numerics: "the bits of affine.rows_q16 and affine.panels_q16 with the native swiglu between them; against the class affine with everything in float32 " +
			"max |Δ| / max |ref| below 2e-4 in float32, 2^-6 in bfloat16 and 2^-9 in float16 by its test",
	}
}

// acceptExpertsAffine takes experts all of whose weights have mode affine.
func acceptExpertsAffine(_ string, weights map[string]plan.Facts) error {
	if err := acceptExperts("affine", weights); err != nil {
		return err
	}
	for _, role := range sortedRoles(weights) {
		switch f := weights[role]; {
		case f.Storage != "affine":
			return fmt.Errorf("%s is stored as %s; affine is wanted of all", role, f.Storage)
		case f.Mode != "affine":
			return fmt.Errorf("%s has mode '%s'; mode affine is wanted", role, f.Mode)
		}
	}
	return nil
}

func buildExpertsFused(b *registry.ClassBuild) (registry.Run, error) {
	if b.Workers == nil {
		return nil, fmt.Errorf("its kernel is for the CPU")
	}
	e := &native.Experts{Workers: b.Workers}
	var err error
	part := func(role string, run, runs int) native.Stack {
		w, e := stackOf(b, role)
		if err == nil && e != nil {
			err = fmt.Errorf("%s: %w", role, e)
		}
		w.Run, w.Runs = run, runs
		return w
	}
	if _, both := b.Weights["gate_up"]; both {
		e.Gate = part("gate_up", 0, 2)
		e.Up = e.Gate
		e.Up.Run = 1
	} else {
		e.Gate, e.Up = part("gate_proj", 0, 1), part("up_proj", 0, 1)
	}
	e.Down = part("down_proj", 0, 1)
	if err != nil {
		return nil, err
	}
	e.Count = b.Weights["down_proj"].Weight.Dim(0)
	ready, err := e.Ready()
	if err != nil {
		return nil, err
	}
	if b.Cleanup != nil {
		b.Cleanup(ready.Free)
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{ready.Apply(c.Scope, in[0], in[1])}
	}, nil
}

// stackOf is a stacked weight as the kernel takes it: the matrices one below the other, without gaps.
func stackOf(b *registry.ClassBuild, role string) (native.Stack, error) {
	w, ok := b.Weights[role]
	if !ok || !w.Weight.Valid() || !w.Scales.Valid() || !w.Biases.Valid() {
		return native.Stack{}, fmt.Errorf("it was given no codes, no scales or no zero points")
	}
	if n := w.Weight.Ndim(); n != 3 {
		return native.Stack{}, fmt.Errorf("it has %s; [count, out, in] is wanted", count(n, "axis", "axes"))
	}
	s := native.Stack{Bits: w.Facts.Bits, Group: w.Facts.Group}
	for _, a := range []struct{ to, from *mlx.Array }{{&s.Codes, &w.Weight}, {&s.Scales, &w.Scales}, {&s.Biases, &w.Biases}} {
		rows, err := inRows(b, *a.from)
		if err != nil {
			return s, err
		}
		if *a.to = b.Keep(b.Scope.Reshape(rows, []int{-1, rows.Dim(-1)})); b.Scope.Err() != nil {
			return s, b.Scope.Err()
		}
	}
	var err error
	s.Bias, err = inRows(b, w.Bias)
	return s, err
}
