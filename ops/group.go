package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

func unfusedGroup() *registry.Class {
	return &registry.Class{
		Name:     "group.unfused",
		Doc:      "The members of a group one by one, each by its own class.",
		Kinds:    []string{"group"},
		Parts:    []string{}, // the group's own
		ExactFor: []string{"parts"},
		Accept:   func(string, map[string]plan.Facts) error { return nil }, // the members' classes do
		Build: func(b *registry.ClassBuild) (registry.Run, error) {
			var members []registry.Run
			for _, role := range b.Roles {
				members = append(members, b.Parts[role])
			}
			return func(c *registry.Call, in []mlx.Array) []mlx.Array {
				out := make([]mlx.Array, len(members))
				for i, run := range members {
					out[i] = run(c, in)[0]
				}
				return out
			}, nil
		},
	}
}

// affineGroupQ16 is affine.rows_q16 for several weights at once.
func affineGroupQ16() *registry.Class {
	rows := affineRowsQ16()
	return &registry.Class{
		Name: "affine.group_q16",
		Doc: "The members of a group, weights of mode affine, as affine.rows_q16 has each and with its bits: the activations are made whole numbers once, and the " +
			"rows of all members are shared out to the threads at once.",
		Kinds:    []string{"group"},
		Numerics: rows.Numerics,
		Accept:   acceptAffineMode,
		Build:    buildGroup(native.RowsQ16),
		Kernels:  []string{"cpu"},
		Before:   rows.Before,
	}
}

// affineGroupPanelsQ16 is affine.panels_q16 for several weights at once.
func affineGroupPanelsQ16() *registry.Class {
	c := affineGroupQ16()
	c.Name = "affine.group_panels_q16"
	c.Doc = "As affine.group_q16, as affine.panels_q16 has each member: for many rows."
	c.Build = buildGroup(native.PanelQ16)
	return c
}

// buildGroup makes the constructor of a class that native products of one value compute.
func buildGroup(form native.Form) func(b *registry.ClassBuild) (registry.Run, error) {
	return func(b *registry.ClassBuild) (registry.Run, error) {
		var members []*native.Product
		for _, role := range b.Roles {
			w, ok := b.Weights[role]
			if !ok {
				return nil, fmt.Errorf("there is no weight %s", role)
			}
			p, err := nativeProduct(b, w, form)
			if err != nil {
				return nil, err
			}
			members = append(members, p)
		}
		return runProducts(b, members)
	}
}
