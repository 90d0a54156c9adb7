package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// projectionKinds are the ports of one weight.
var projectionKinds = []string{"linear", "head", "embedding", "multi_linear"}

func dense() *registry.Class {
	return &registry.Class{
		Name: "dense",
		Doc: "A weight of numbers as they are, [out, in]: x W^T, with a bias addmm(bias, x, W^T) in one product (its bits are not those of a product and a sum); " +
			"embedding rows are taken by index; of a multi_linear [count, out, in] each head has its matrix. The dtypes of x and W are promoted (mlx.nn Linear, Embedding)." + inOrderDoc + expertsDoc +
			" On the CPU, where gather_mm takes float32 only, half-precision experts are multiplied in float32 and the result is rounded once.",
		Kinds:    append(projectionKinds[:len(projectionKinds):len(projectionKinds)], "experts"),
		ExactFor: []string{"dense"},
		Accept:   acceptDense,
		Build: func(b *registry.ClassBuild) (registry.Run, error) {
			if b.Kind == "experts" {
				return experts(b)
			}
			w, err := oneWeight(b)
			if err != nil {
				return nil, err
			}
			switch {
			case b.Kind == "embedding":
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					return []mlx.Array{c.TakeAxis(w.Weight, in[0], 0)}
				}, nil
			case b.Kind == "multi_linear" && !b.Transposed:
				return product(w.Weight), nil
			}
			last := w.Weight.Ndim() - 1
			if last < 1 {
				return nil, fmt.Errorf("the weight has %s; a matrix is wanted", count(last+1, "axis", "axes"))
			}
			turned := b.Scope.Swapaxes(w.Weight, last-1, last)
			if err := b.Scope.Err(); err != nil {
				return nil, err
			}
			turned = b.Keep(turned)
			ours, err := newInOrder(b, w)
			if err != nil {
				return nil, err
			}
			return func(c *registry.Call, in []mlx.Array) []mlx.Array {
				if y, ok := ours.of(c, in[0]); ok {
					return []mlx.Array{y}
				}
				if w.Bias.Valid() {
					return []mlx.Array{c.Addmm(w.Bias, in[0], turned, 1, 1)}
				}
				return []mlx.Array{c.Matmul(in[0], turned)}
			}, nil
		},
	}
}

func product(w mlx.Array) registry.Run {
	return func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.Matmul(in[0], w)} }
}

func acceptDense(kind string, weights map[string]plan.Facts) error {
	if kind == "experts" {
		return acceptExperts("dense", weights)
	}
	for _, role := range sortedRoles(weights) {
		f := weights[role]
		if f.Storage != "dense" {
			return fmt.Errorf("%s is stored as %s; dense takes dense weights", role, f.Storage)
		}
		if err := acceptNumbers(role, f); err != nil {
			return err
		}
		if err := acceptKind(kind, role, f); err != nil {
			return err
		}
	}
	return nil
}

func acceptNumbers(role string, f plan.Facts) error {
	if !f.Dtype.IsFloat() {
		return fmt.Errorf("%s is %s; a floating dtype is wanted", role, f.Dtype)
	}
	return nil
}

// acceptKind checks what holds for every class of one weight.
func acceptKind(kind, role string, f plan.Facts) error {
	if kind == "multi_linear" && f.Count < 1 {
		return fmt.Errorf("%s is one matrix; a multi_linear port has one per head, [count, out, in]", role)
	}
	if f.Bias && (kind == "embedding" || kind == "multi_linear") {
		return fmt.Errorf("%s has a bias, which a port of kind %s does not add", role, kind)
	}
	return nil
}

// oneWeight is the weight of a port that has one.
func oneWeight(b *registry.ClassBuild) (registry.Opened, error) {
	w, ok := b.Weights["weight"]
	if !ok || !w.Weight.Valid() {
		return w, fmt.Errorf("a port of kind %s was given no weight", b.Kind)
	}
	return w, nil
}
