package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// mlpFused is a whole mlp of a few rows in one kernel.
func mlpFused() *registry.Class {
	return &registry.Class{
		Name: "mlp.fused",
		Doc: "down(silu(gate(x)) · up(x)) for a few rows in one kernel, of affine weights and of trellis codes, mixed or not. The input is quantised once for gate and up, the " +
			"activation once for down; gate and up are not written to memory. The sums of adapters are added in the same kernel, to each product before it is rounded.",
		Kinds:       []string{"mlp"},
		MaxRows:     16,
		Activations: []string{"swiglu"},
		Adapters:    true,
		Before:      []string{"rms_norm"},
		After:       []string{"add"},
		Kernels:     []string{"cpu"},
		Accept:      acceptFused,
		Build:       func(b *registry.ClassBuild) (registry.Run, error) { return buildMLP(b, false) },
		Numerics: "the bits of mlp.unfused over affine.rows_q16, trellis.reduce and trellis.scatter with the native swiglu between them; against mlp.unfused over affine and trellis.packed " +
			"max |Δ| / max |ref| below 2e-4 in float32, 2^-6 in bfloat16 and 2^-9 in float16 by its test, with adapters too",
	}
}

// mlpPanels is a whole mlp of many rows in one kernel.
func mlpPanels() *registry.Class {
	c := mlpFused()
	c.Name = "mlp.panels_q16"
	c.Doc = "down(silu(gate(x)) · up(x)) for many rows in one kernel, of affine weights: codes are unpacked 16 outputs at a time and multiplied with all rows. What gate and up " +
		"give is activated and quantised for down while it is in cache, 32 columns at a time, and is not written to memory. The sums of adapters are added in the same " +
		"kernel, to each product before it is rounded."
	c.MaxRows = 0
	c.Accept = acceptPanels
	c.Build = func(b *registry.ClassBuild) (registry.Run, error) { return buildMLP(b, true) }
	c.Numerics = "the bits of mlp.unfused over affine.panels_q16 with the native swiglu between them; against mlp.unfused over affine max |Δ| / max |ref| below 2e-4 in float32, " +
		"2^-6 in bfloat16 and 2^-9 in float16 by its test, with adapters too"
	return c
}

func acceptPanels(kind string, weights map[string]plan.Facts) error {
	for role, f := range weights {
		if f.Storage == "trellis" {
			return fmt.Errorf("%s is stored as trellis; affine weights are taken", role)
		}
	}
	return acceptFused(kind, weights)
}

func acceptFused(_ string, weights map[string]plan.Facts) error {
	roles := []string{"gate_proj", "up_proj", "down_proj"}
	if _, both := weights["gate_up"]; both {
		roles = []string{"gate_up", "down_proj"}
	}
	if err := wants(weights, roles...); err != nil {
		return err
	}
	for _, role := range roles {
		f := weights[role]
		var err error
		switch f.Storage {
		case "affine":
			if f.Mode != "affine" {
				return fmt.Errorf("%s has mode '%s'; mode affine is wanted", role, f.Mode)
			}
			err = acceptQuantised(role, f)
		case "trellis":
			axis := anyAxis
			if role == "gate_up" {
				axis = 1 // its outputs are halved
			}
			err = acceptCodes(role, f, axis, []string{"row", "interleaved"})
		default:
			return fmt.Errorf("%s is stored as %s; affine weights and trellis codes are taken", role, f.Storage)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func buildMLP(b *registry.ClassBuild, panels bool) (registry.Run, error) {
	if b.Workers == nil {
		return nil, fmt.Errorf("its kernel is for the CPU")
	}
	m := &native.MLP{Workers: b.Workers, Panels: panels, Around: aroundOf(b)}
	var err error
	part := func(role string, half, halves int) native.Matrix {
		w, e := fusedPart(b, role, half, halves)
		if err == nil && e != nil {
			err = fmt.Errorf("%s: %w", role, e)
		}
		return w
	}
	if _, both := b.Weights["gate_up"]; both {
		m.Gate, m.Up = part("gate_up", 0, 2), part("gate_up", 1, 2)
	} else {
		m.Gate, m.Up = part("gate_proj", 0, 1), part("up_proj", 0, 1)
	}
	m.Down = part("down_proj", 0, 1)
	if err != nil {
		return nil, err
	}
	ready, err := m.Ready()
	if err != nil {
		return nil, err
	}
	if b.Cleanup != nil {
		b.Cleanup(ready.Free)
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{ready.Apply(c.Scope, in...)} }, nil
}

// fusedPart is a weight, or one of the runs of outputs that it is cut into, as the kernel takes it: without gaps.
func fusedPart(b *registry.ClassBuild, role string, run, runs int) (native.Matrix, error) {
	w, ok := b.Weights[role]
	if !ok || !w.Weight.Valid() || !w.Scales.Valid() {
		return native.Matrix{}, fmt.Errorf("it was given no codes or no scales")
	}
	if w.Facts.Storage == "affine" && !w.Biases.Valid() {
		return native.Matrix{}, fmt.Errorf("a weight of mode affine was given no zero points")
	}
	m := native.Matrix{Bits: w.Facts.Bits, Group: w.Facts.Group, Axis: w.Facts.Axis}
	for _, a := range []struct{ to, from *mlx.Array }{{&m.Codes, &w.Weight}, {&m.Scales, &w.Scales}, {&m.Biases, &w.Biases}, {&m.Bias, &w.Bias}} {
		if !a.from.Valid() {
			continue
		}
		piece := *a.from
		if runs > 1 {
			start, stop := make([]int, piece.Ndim()), piece.Shape()
			start[0], stop[0] = stop[0]/runs*run, stop[0]/runs*(run+1)
			ones := make([]int, len(start))
			for i := range ones {
				ones[i] = 1
			}
			if piece = b.Keep(b.Scope.Slice(piece, start, stop, ones)); b.Scope.Err() != nil {
				return m, b.Scope.Err()
			}
		}
		var err error
		if *a.to, err = inRows(b, piece); err != nil {
			return m, err
		}
	}
	for _, f := range b.Factors[role] {
		m.Sums = append(m.Sums, native.LowRank{A: f.A, B: f.B, First: w.Facts.Outputs / runs * run, Scale: float32(f.Scale)})
	}
	return m, nil
}
