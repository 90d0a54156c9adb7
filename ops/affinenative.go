package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/registry"
)

// buildProduct makes the constructor of a class that a native product computes.
func buildProduct(form native.Form) func(b *registry.ClassBuild) (registry.Run, error) {
	return func(b *registry.ClassBuild) (registry.Run, error) {
		w, err := oneWeight(b)
		if err != nil {
			return nil, err
		}
		p, err := nativeProduct(b, w, form)
		if err != nil {
			return nil, err
		}
		return runProducts(b, []*native.Product{p})
	}
}

// runProducts makes the products of one value ready, with what the class computes beside them.
func runProducts(b *registry.ClassBuild, members []*native.Product) (registry.Run, error) {
	p, err := ready(b, members, aroundOf(b))
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array { return p.Apply(c.Scope, in) }, nil
}

// ready makes products ready for as long as the engine lives.
func ready(b *registry.ClassBuild, members []*native.Product, a native.Around) (*native.Products, error) {
	p, err := native.NewProducts(members, a)
	if err == nil && b.Cleanup != nil {
		b.Cleanup(p.Free)
	}
	return p, err
}

// codesInRows tells whether a weight is one of mode affine whose parts kernels of ours read where they lie.
func codesInRows(w registry.Opened) (bool, error) {
	if w.Facts.Mode != "affine" || !w.Scales.Valid() || !w.Biases.Valid() || w.Scales.Dtype() != w.Biases.Dtype() {
		return false, nil
	}
	return inRowsAll(w.Weight, w.Scales, w.Biases)
}

// inRowsAll tells whether the rows of none of the arrays that there are have gaps.
func inRowsAll(arrays ...mlx.Array) (bool, error) {
	for _, a := range arrays {
		if !a.Valid() {
			continue
		}
		if rows, err := a.InRows(); !rows || err != nil {
			return false, err
		}
	}
	return true, nil
}

// aroundOf is what a class computes beside its own.
func aroundOf(b *registry.ClassBuild) native.Around {
	var a native.Around
	if b.Before != nil {
		a.Norm, a.Eps = true, float32(b.Before.Args.Float("eps"))
	}
	a.Sum = b.After != nil
	return a
}

// nativeProduct is a weight as native kernels take it: without gaps, which what a view cut out of another may have.
func nativeProduct(b *registry.ClassBuild, w registry.Opened, form native.Form) (*native.Product, error) {
	if !w.Scales.Valid() || !w.Biases.Valid() {
		return nil, fmt.Errorf("a weight of mode affine was given no scales or no zero points")
	}
	if b.Workers == nil {
		return nil, fmt.Errorf("there are no threads to compute with")
	}
	var err error
	p := &native.Product{Workers: b.Workers, Bits: w.Facts.Bits, Group: w.Facts.Group, Form: form, Tile: 4}
	if b.Args.Has("tile") {
		p.Tile = b.Args.Int("tile")
	}
	for _, part := range []struct{ to, from *mlx.Array }{{&p.Weight, &w.Weight}, {&p.Scales, &w.Scales}, {&p.Biases, &w.Biases}, {&p.Bias, &w.Bias}} {
		if *part.to, err = inRows(b, *part.from); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// inRows is the array itself where its rows have no gaps, else a copy. (MLX's contiguous copies mapped memory in any case.)
func inRows(b *registry.ClassBuild, a mlx.Array) (mlx.Array, error) {
	if !a.Valid() {
		return a, nil
	}
	if rows, err := a.InRows(); rows || err != nil {
		return a, err
	}
	dense := b.Keep(b.Scope.Contiguous(a, false))
	if err := b.Scope.Err(); err != nil {
		return dense, err
	}
	return dense, mlx.Eval(dense)
}

// affineRowsQ8 is affine.rows with activations in int8.
func affineRowsQ8() *registry.Class {
	c := affineRows()
	c.Name, c.MaxRows = "affine.rows_q8", 0
	c.Doc = "As affine.rows, with each row's activations in int8, a float32 scale for each 32 of them: products and sums of a group are whole numbers. " +
		"A row that is not finite is computed as affine.rows does."
	c.Numerics = "each activation is off by at most 1/254 of the largest of its 32: max |Δ| / max |ref| below 2e-2 by its test"
	c.Build = buildProduct(native.RowsQ8)
	return c
}

// affineRowsQ16 is affine.rows with activations in int16.
func affineRowsQ16() *registry.Class {
	c := affineRowsQ8()
	c.Name = "affine.rows_q16"
	c.Doc = "As affine.rows_q8, with activations in int16."
	c.Numerics = "each activation is off by at most 1/65534 of the largest of its 32: max |Δ| / max |ref| below 1e-4 in float32, 2^-7 in bfloat16 and 2^-10 in float16 by its test"
	c.Build = buildProduct(native.RowsQ16)
	c.Before, c.After = []string{"rms_norm"}, []string{"add"}
	return c
}

// affinePanels is for many rows: prompts.
func affinePanels() *registry.Class {
	return &registry.Class{
		Name: "affine.panels",
		Doc: "A weight of mode affine for many rows: the codes of 16 outputs at a time are unpacked into cache as float32 and multiplied with all rows there, " +
			"by fused multiply-adds in the order of the inputs; the result, bias included, is rounded once. It never makes the weight dense.",
		Kinds:    matrixKinds,
		Numerics: sumsNumerics,
		Accept:   acceptAffineMode,
		Build:    buildProduct(native.PanelF32),
		Kernels:  []string{"cpu"},
	}
}

// affinePanelsQ8 is affine.panels with activations in int8.
func affinePanelsQ8() *registry.Class {
	c := affinePanels()
	c.Name = "affine.panels_q8"
	c.Doc = "As affine.panels, with activations in int8, a float32 scale for each 32 of a row, and codes as bytes: products and sums of 32 are whole numbers. " +
		"A row that is not finite is computed in float32."
	c.Numerics = "each activation is off by at most 1/254 of the largest of its 32: max |Δ| / max |ref| below 2e-2 by its test"
	c.Build = buildProduct(native.PanelQ8)
	return c
}

// affinePanelsQ16 is affine.panels with activations in int16.
func affinePanelsQ16() *registry.Class {
	c := affinePanelsQ8()
	c.Name = "affine.panels_q16"
	c.Doc = "As affine.panels_q8, with activations in int16."
	c.Numerics = affineRowsQ16().Numerics
	c.Build = buildProduct(native.PanelQ16)
	c.Before, c.After = []string{"rms_norm"}, []string{"add"}
	return c
}
