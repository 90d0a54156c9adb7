package compose

import (
	"fmt"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/weights/header"
)

// weightOf gives the plan's index of a port's weight: its facts from the tensors' headers and the quantisation table
// alone. lead are dims before [outputs, inputs]: the count of experts or heads.
func (c *composer) weightOf(path string, inputs, outputs int, bias bool, lead []int, at diag.Range) (int, bool) {
	if i, ok := c.weights[path]; ok {
		if i < 0 {
			return i, false
		}
		f := c.plan.Weights[i].Facts
		if f.Inputs != inputs || f.Outputs != outputs {
			c.list.Errorf("port-mismatch", at, "the weight %s is used as [%d, %d] here and as [%d, %d] elsewhere", path, inputs, outputs, f.Inputs, f.Outputs).
				Helped("one path is one weight: declare it with the same dims everywhere; a tied head has those of its embedding")
			return -1, false
		}
		return i, true
	}
	c.weights[path] = -1
	w := plan.Weight{Path: path, Tensor: -1, Scales: -1, Biases: -1, Bias: -1}
	w.Facts = plan.Facts{Storage: "dense", Inputs: inputs, Outputs: outputs, Bias: bias}
	if len(lead) > 0 {
		w.Facts.Count = lead[0]
	}
	var ok bool
	if c.recipes == nil || c.probe != nil && !c.has(path+".weight") && !c.has(path+".trellis") {
		ok = c.imagined(&w, lead)
	} else {
		ok = c.stored(&w, lead, at)
	}
	if !ok {
		return -1, false
	}
	for _, t := range w.Tensors() {
		w.Facts.Bytes += c.plan.Tensors[t].Bytes()
	}
	number, known := c.factNumbers[w.Facts]
	if !known {
		number = len(c.factNumbers)
		c.factNumbers[w.Facts] = number
	}
	c.plan.Weights, c.facts = push(c.plan.Weights, w), push(c.facts, number)
	c.weights[path] = len(c.plan.Weights) - 1
	return c.weights[path], true
}

func dimsWith(lead []int, dims ...int) []int { return append(append([]int(nil), lead...), dims...) }

func sameDims(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// imagined is a weight where no checkpoint is there: as the graph needs it, stored as the config's table says.
func (c *composer) imagined(w *plan.Weight, lead []int) bool {
	f := &w.Facts
	f.Dtype = c.activation
	add := func(name string, d dtype.Dtype, dims ...int) int {
		i, known := c.tensorIndex[name]
		switch {
		case known:
		case c.recipes != nil:
			i, _ = c.tensor(name, diag.Range{})
		default:
			i = len(c.plan.Tensors)
			c.plan.Tensors = push(c.plan.Tensors, plan.Tensor{Name: name})
		}
		c.plan.Tensors[i].Shape, c.plan.Tensors[i].Dtype = dims, d
		return i
	}
	q, quantised := c.quant.For(w.Path)
	if quantised && q.Mode == header.Trellis {
		return c.imaginedTrellis(w, q, add)
	}
	if quantised && q.GroupSize > 0 && f.Inputs%q.GroupSize == 0 {
		f.Storage, f.Bits, f.Group, f.Mode = "affine", q.Bits, q.GroupSize, q.Mode
		w.Tensor = add(w.Path+".weight", dtype.Uint32, dimsWith(lead, f.Outputs, f.Inputs*q.Bits/32)...)
		groups := dimsWith(lead, f.Outputs, f.Inputs/q.GroupSize)
		if q.Mode == "affine" {
			w.Scales, w.Biases = add(w.Path+".scales", f.Dtype, groups...), add(w.Path+".biases", f.Dtype, groups...)
		} else {
			w.Scales = add(w.Path+".scales", dtype.Uint8, groups...)
		}
	} else {
		w.Tensor = add(w.Path+".weight", f.Dtype, dimsWith(lead, f.Outputs, f.Inputs)...)
	}
	if f.Bias {
		w.Bias = add(w.Path+".bias", c.activation, dimsWith(lead, f.Outputs)...)
	}
	return true
}

// stored is a weight of the checkpoint.
func (c *composer) stored(w *plan.Weight, lead []int, at diag.Range) bool {
	f := &w.Facts
	if !c.has(w.Path+".weight") && c.has(w.Path+".trellis") {
		return c.storedTiles(w, lead, at)
	}
	var ok bool
	if w.Tensor, ok = c.tensor(w.Path+".weight", at); !ok {
		return false
	}
	t := c.plan.Tensors[w.Tensor]
	if f.Bias {
		if w.Bias, ok = c.tensor(w.Path+".bias", at); !ok {
			return false
		}
		if b := c.plan.Tensors[w.Bias]; b.Recipe != nil && !sameDims(b.Shape, dimsWith(lead, f.Outputs)) {
			c.list.Errorf("shape-mismatch", at, "the tensor %s is %v, where %v is wanted%s", b.Name, b.Shape, dimsWith(lead, f.Outputs), storedIn(b))
			return false
		}
	}
	if !c.has(w.Path + ".scales") {
		want := dimsWith(lead, f.Outputs, f.Inputs)
		if !sameDims(t.Shape, want) {
			d := c.list.Errorf("shape-mismatch", at, "the tensor %s is %v, where %v is wanted%s", t.Name, t.Shape, want, storedIn(t))
			switch n := len(t.Shape); {
			case t.Dtype == dtype.Uint32:
				d.Helped("it looks quantised, and there is no %s.scales", w.Path)
			case n == 2 && len(want) == 2 && t.Shape[0] == want[1] && t.Shape[1] == want[0]:
				d.Helped("it is stored the other way round: turn it in the view, as in `- {each: '%s', do: [{transpose: [1, 0]}]}`", generalised(t.Name))
			case n == 2 && len(want) == 2:
				d.Helped("[outputs, inputs] is the shape of a dense weight: this one has %d outputs of %d inputs", t.Shape[0], t.Shape[1])
			}
			return false
		}
		if !t.Dtype.IsFloat() {
			c.list.Errorf("dtype-mismatch", at, "the tensor %s is %s; a dense weight is of a float dtype%s", t.Name, t.Dtype, storedIn(t)).
				Helped("if it is quantised, %s.scales is missing; else convert it in the view, as in `- {each: '%s', do: [{astype: float32}]}`", w.Path, generalised(t.Name))
			return false
		}
		f.Dtype = t.Dtype
		return true
	}
	w.Scales, _ = c.tensor(w.Path+".scales", at)
	if c.has(w.Path + ".biases") {
		w.Biases, _ = c.tensor(w.Path+".biases", at)
	}
	return c.quantised(w, lead, at)
}

// quantised reads how a weight is quantised: the table's entry for its path, else from the shapes, as mlx-lm does.
func (c *composer) quantised(w *plan.Weight, lead []int, at diag.Range) bool {
	f := &w.Facts
	t, s := c.plan.Tensors[w.Tensor], c.plan.Tensors[w.Scales]
	q, listed := c.quant.ByPath[w.Path]
	if d := c.quant.Default; !listed && d != nil && d.Mode == header.Trellis {
		q, listed = *d, true
	}
	if q.Mode == header.Trellis {
		return c.storedTrellis(w, q, lead, at)
	}
	if !listed {
		if len(s.Shape) == 1 && len(t.Shape) > 1 {
			c.list.Errorf("quantization", at, "%s has one scale a row, as trellis codes have, and the quantization table has no entry for it%s", w.Path, storedIn(s)).
				Helped("an entry is {\"bits\": 3, \"group_size\": 256, \"mode\": \"trellis\", \"trellis\": {\"L\": 12, \"code\": \"1mad\", \"axis\": 1}}")
			return false
		}
		var err error
		if q, err = header.InferQuant(t.Shape, s.Shape, s.Dtype, f.Inputs); err != nil {
			c.list.Errorf("quantization", at, "%s: %v", w.Path, err)
			return false
		}
	}
	f.Storage, f.Bits, f.Group, f.Mode, f.Dtype = "affine", q.Bits, q.GroupSize, q.Mode, s.Dtype
	if s.Dtype == dtype.Uint8 {
		f.Dtype = c.activation
	}
	bad := func(t plan.Tensor, want []int) bool {
		if sameDims(t.Shape, want) {
			return false
		}
		d := c.list.Errorf("shape-mismatch", at, "the tensor %s is %v, where %s of [%d, %d] wants %v%s", t.Name, t.Shape, q, f.Outputs, f.Inputs, want, storedIn(t))
		if where := c.quantPlace(w.Path, listed); where != "" {
			d.Helped("%s", where)
		}
		return true
	}
	if q.Bits <= 0 || q.GroupSize <= 0 || f.Inputs%q.GroupSize != 0 || f.Inputs*q.Bits%32 != 0 {
		c.list.Errorf("quantization", at, "%s: %s does not divide %d inputs", w.Path, q, f.Inputs)
		return false
	}
	if bad(t, dimsWith(lead, f.Outputs, f.Inputs*q.Bits/32)) || bad(s, dimsWith(lead, f.Outputs, f.Inputs/q.GroupSize)) {
		return false
	}
	switch {
	case q.Mode == "affine" && w.Biases < 0:
		c.missingTensor(w.Path+".biases", at)
		return false
	case q.Mode == "affine" && bad(c.plan.Tensors[w.Biases], dimsWith(lead, f.Outputs, f.Inputs/q.GroupSize)):
		return false
	}
	return true
}

func (c *composer) quantPlace(path string, listed bool) string {
	if listed {
		return fmt.Sprintf("the quantization table's entry for %s says so", path)
	}
	return "the quantization table has no entry for it: bits and group are from the tensors' shapes"
}
