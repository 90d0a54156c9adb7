package quantize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/trellis"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// task is a weight that is made anew, or a tensor that is kept.
type task struct {
	path     string
	format   string           // Trellis, Affine, Fused or Keep
	from     *view.Recipe     // of Trellis, S in float32; of Affine and Fused, the weight in its own dtype; of Keep, the tensor
	merges   []merge          // of Fused
	opened   bool             // of Fused: it was quantised and is dense from now on
	geometry trellis.Geometry // of Trellis
	quant    header.Quant     // of what is made
	weights  int64            // how many are made anew
	outputs  []*output
}

// output is a tensor of the new checkpoint.
type output struct {
	name    string
	element string // as the file names it
	shape   []int
	bytes   int64
	shard   int
	offset  int64 // in the shard's file
}

// weight is a weight of the source.
type weight struct {
	path  string
	shape []int // [.., outputs, inputs]
	parts []*header.Tensor
	quant *header.Quant // nil: dense
}

// chooser makes the tasks of a plan.
type chooser struct {
	ck          *header.Checkpoint
	plan        *Plan
	bits, group int
	list        *diag.List
	matched     []bool
	faults      map[fault]*faulty
}

// fault is what a line asks of some weights and cannot be had: it is told once.
type fault struct {
	line *Line
	text string
}

type faulty struct {
	d    *diag.Diagnostic
	path string // of the weight that is named
	more int    // weights beside it
}

func (c *chooser) wrong(line *Line, path string, err error) {
	key := fault{line, err.Error()}
	if f := c.faults[key]; f != nil {
		f.more++
		f.d.Message = fmt.Sprintf("%s and %d more: %s", f.path, f.more, key.text)
		return
	}
	if c.faults == nil {
		c.faults = map[fault]*faulty{}
	}
	d := c.list.Errorf("quantization", line.At, "%s: %v", path, err).Helped("leave such weights out, or write `where_it_fits: true`")
	c.faults[key] = &faulty{d: d, path: path}
}

func (c *chooser) tasks() []*task {
	c.matched = make([]bool, len(c.plan.Lines))
	taken := map[string]bool{}
	var out []*task
	for i := range c.ck.Tensors {
		path, ok := strings.CutSuffix(c.ck.Tensors[i].Name, ".weight")
		if !ok {
			continue
		}
		w, ok := c.weight(path, &c.ck.Tensors[i])
		if !ok {
			continue
		}
		line := c.lineOf(path)
		if line == nil || line.Format == Keep {
			continue
		}
		t, err := c.task(w, line)
		switch {
		case err != nil && line.Fits:
		case err != nil:
			c.wrong(line, path, err)
		default:
			out = append(out, t)
			for _, p := range w.parts {
				taken[p.Name] = true
			}
		}
	}
	out = append(out, c.kept(taken)...)
	for i, m := range c.matched {
		if !m && !c.plan.Lines[i].Fits {
			c.list.Errorf("bind-no-match", c.plan.Lines[i].At, "no weight of the checkpoint matches %s", patternText(&c.plan.Lines[i]))
		}
	}
	return out
}

// kept are the tensors that no task makes anew.
func (c *chooser) kept(taken map[string]bool) []*task {
	var out []*task
	for i := range c.ck.Tensors {
		if t := &c.ck.Tensors[i]; !taken[t.Name] {
			element := t.Stored
			if c.ck.Format != "safetensors" {
				element = header.ElementName(t.Dtype)
			}
			out = append(out, &task{path: t.Name, format: Keep, from: view.FromTensor(t), outputs: []*output{{name: t.Name, element: element, shape: t.Shape, bytes: t.Bytes()}}})
		}
	}
	return out
}

func patternText(l *Line) string {
	out := make([]string, len(l.Patterns))
	for i, p := range l.Patterns {
		out[i] = p.String()
	}
	return strings.Join(out, ", ")
}

// weight reads how a weight is stored. What is no number, has one axis or is packed in a way that is not unpacked here is
// none to make anew.
func (c *chooser) weight(path string, t *header.Tensor) (weight, bool) {
	w := weight{path: path, shape: t.Shape, parts: []*header.Tensor{t}}
	for _, part := range []string{"scales", "biases"} {
		if p, ok := c.ck.Lookup(path + "." + part); ok {
			w.parts = append(w.parts, p)
		}
	}
	if len(t.Shape) < 2 {
		return w, false
	}
	if len(w.parts) == 1 {
		return w, t.Dtype.IsFloat()
	}
	q, ok := c.ck.Quantization.For(path)
	if !ok || q.Bits <= 0 || q.Mode == header.Trellis {
		return w, false
	}
	w.quant = &q
	last := len(t.Shape) - 1
	w.shape = slices.Clone(t.Shape)
	w.shape[last] = t.Shape[last] * 32 / q.Bits
	return w, true
}

func (c *chooser) lineOf(path string) *Line {
	var out *Line
	for i := range c.plan.Lines {
		l := &c.plan.Lines[i]
		for _, p := range l.Patterns {
			if p.Matches(path) {
				out, c.matched[i] = l, true
			}
		}
	}
	return out
}

func (c *chooser) task(w weight, line *Line) (*task, error) {
	bits := line.Bits
	if bits == 0 {
		bits = c.bits
	}
	if line.Format == Trellis {
		return c.trellisTask(w, line, bits)
	}
	group := line.Group
	if group == 0 {
		group = c.group
	}
	return c.affineTask(w, bits, group)
}

func (c *chooser) trellisTask(w weight, line *Line, bits int) (*task, error) {
	if len(w.shape) != 2 {
		return nil, fmt.Errorf("it is %v; trellis codes are of one matrix", w.shape)
	}
	axis, layout := line.Axis, line.Layout
	if axis < 0 {
		axis = 1
	}
	if layout == "" {
		layout = trellis.Row
	}
	g := trellis.Of(bits, line.Block, axis, layout, w.shape[0], w.shape[1])
	if g.Block == 0 {
		if g.Block = 256; g.Columns%256 != 0 {
			g.Block = 64
		}
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	from := w.dense(true)
	if axis == 0 {
		from = &view.Recipe{Op: view.OpTranspose, Inputs: []*view.Recipe{from}, Axes: []int{1, 0}, Shape: []int{w.shape[1], w.shape[0]}, Dtype: dtype.Float32}
		from = &view.Recipe{Op: view.OpContiguous, Inputs: []*view.Recipe{from}, Shape: from.Shape, Dtype: dtype.Float32}
	}
	return &task{
		path: w.path, format: Trellis, from: from, geometry: g, weights: int64(g.Rows) * int64(g.Columns),
		quant: header.Quant{Mode: header.Trellis, Bits: bits, GroupSize: g.Block, Axis: axis},
		outputs: []*output{
			{name: w.path + ".weight", element: "U32", shape: g.Shape(), bytes: 4 * int64(g.Words())},
			{name: w.path + ".scales", element: "F16", shape: []int{g.Rows}, bytes: 2 * int64(g.Rows)},
		},
	}, nil
}

func (c *chooser) affineTask(w weight, bits, group int) (*task, error) {
	last := len(w.shape) - 1
	inputs := w.shape[last]
	if inputs%group != 0 || inputs*bits%32 != 0 {
		return nil, fmt.Errorf("%d inputs are no multiple of groups of %d", inputs, group)
	}
	q := header.Quant{Mode: "affine", Bits: bits, GroupSize: group}
	from := w.dense(false)
	t := &task{path: w.path, format: Affine, from: from, quant: q, weights: elements(w.shape)}
	for i, part := range []string{"weight", "scales", "biases"} {
		shape, d := slices.Clone(w.shape), from.Dtype
		if shape[last] = inputs / group; i == 0 {
			shape[last], d = inputs*bits/32, dtype.Uint32
		}
		t.outputs = append(t.outputs, &output{name: w.path + "." + part, element: header.ElementName(d), shape: shape, bytes: elements(shape) * int64(d.Size())})
	}
	return t, nil
}

// dense is the weight's numbers: in its own dtype or, wide, in float32, where scales and zero points become that first.
func (w weight) dense(wide bool) *view.Recipe {
	parts := make([]*view.Recipe, len(w.parts))
	for i, t := range w.parts {
		parts[i] = view.FromTensor(t)
	}
	as := func(r *view.Recipe) *view.Recipe {
		if !wide || r.Dtype == dtype.Float32 {
			return r
		}
		return &view.Recipe{Op: view.OpAstype, Inputs: []*view.Recipe{r}, Shape: r.Shape, Dtype: dtype.Float32}
	}
	if w.quant == nil {
		return as(parts[0])
	}
	affine := w.quant.Mode == "affine"
	d := dtype.Bfloat16 // what MLX makes of the other modes
	if affine {
		for i := 1; i < len(parts); i++ {
			parts[i] = as(parts[i])
		}
		d = parts[1].Dtype
	}
	r := &view.Recipe{Op: view.OpDequantize, Inputs: parts, Quant: w.quant, Shape: w.shape, Dtype: d}
	return as(r)
}

func elements(shape []int) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	return n
}
