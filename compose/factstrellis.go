package compose

import (
	"slices"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/trellis"
	"github.com/graphrun/graphrun/weights/header"
)

// trellisFacts are the facts of a weight whose codes the table says to be of trellis, in a layout.
func trellisFacts(f *plan.Facts, q header.Quant, layout string) trellis.Geometry {
	f.Storage, f.Bits, f.Group, f.Mode, f.Axis, f.Layout, f.Dtype = "trellis", q.Bits, q.GroupSize, q.Mode, q.Axis, layout, dtype.Float16
	return trellis.Of(q.Bits, q.GroupSize, q.Axis, layout, f.Outputs, f.Inputs)
}

// imaginedTrellis is a weight of trellis codes where no checkpoint is there, in the layout that all geometries have; one
// that cannot be coded is dense, as a converter would leave it.
func (c *composer) imaginedTrellis(w *plan.Weight, q header.Quant, add func(string, dtype.Dtype, ...int) int) bool {
	f := &w.Facts
	g := trellis.Of(q.Bits, q.GroupSize, q.Axis, trellis.Row, f.Outputs, f.Inputs)
	if g.Check() != nil || f.Count > 0 {
		w.Tensor = add(w.Path+".weight", f.Dtype, f.Outputs, f.Inputs)
	} else {
		trellisFacts(f, q, trellis.Row)
		w.Tensor, w.Scales = add(w.Path+".weight", dtype.Uint32, g.Shape()...), add(w.Path+".scales", dtype.Float16, g.Rows)
	}
	if f.Bias {
		w.Bias = add(w.Path+".bias", c.activation, f.Outputs)
	}
	return true
}

// storedTrellis holds the tensors of a weight to the geometry that the table says. Three axes are the interleaved layout.
func (c *composer) storedTrellis(w *plan.Weight, q header.Quant, lead []int, at diag.Range) bool {
	t, s := c.plan.Tensors[w.Tensor], c.plan.Tensors[w.Scales]
	layout := trellis.Row
	if len(t.Shape) == 3 {
		layout = trellis.Interleaved
	}
	g := trellisFacts(&w.Facts, q, layout)
	wrong := func(t plan.Tensor, d dtype.Dtype, want []int) {
		c.list.Errorf("shape-mismatch", at, "the tensor %s is %s %v, where %s of [%d, %d] wants %s %v%s", t.Name, t.Dtype, t.Shape, g, w.Facts.Outputs, w.Facts.Inputs, d, want, storedIn(t)).
			Helped("%s", c.quantPlace(w.Path, true))
	}
	switch err := g.Check(); {
	case len(lead) > 0:
		c.list.Errorf("quantization", at, "%s holds several matrices, and trellis codes are of one", w.Path)
	case err != nil:
		c.list.Errorf("quantization", at, "%s: %v", w.Path, err).Helped("%s", c.quantPlace(w.Path, true))
	case t.Dtype != dtype.Uint32 || !slices.Equal(t.Shape, g.Shape()):
		wrong(t, dtype.Uint32, g.Shape())
	case s.Dtype != dtype.Float16 || !slices.Equal(s.Shape, []int{g.Rows}):
		wrong(s, dtype.Float16, []int{g.Rows})
	case w.Biases >= 0:
		c.list.Errorf("quantization", at, "%s is of trellis codes and has zero points (%s), which they do not take", w.Path, c.plan.Tensors[w.Biases].Name)
	default:
		return true
	}
	return false
}
