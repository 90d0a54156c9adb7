package view

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/weights/header"
)

// Op is what a recipe does with its inputs. Names are MLX's.
type Op string

const (
	OpSource      Op = "source"      // Tensor as it is stored
	OpAdd         Op = "add"         // input + Number, which takes the input's element type
	OpMultiply    Op = "multiply"    // input * Number, likewise
	OpClip        Op = "clip"        // input between Low and High, likewise
	OpAstype      Op = "astype"      // input's numbers as Dtype
	OpView        Op = "view"        // input's bytes as Dtype; the last dim grows or shrinks
	OpReshape     Op = "reshape"     // to Shape
	OpTranspose   Op = "transpose"   // Axes
	OpMoveaxis    Op = "moveaxis"    // Axes: from, to
	OpSlice       Op = "slice"       // along Axis, from Start to before Stop by Stride
	OpContiguous  Op = "contiguous"  // in row-major order
	OpStack       Op = "stack"       // along a new first axis
	OpConcatenate Op = "concatenate" // along Axis

	// What derived weights are made with.
	OpProduct    Op = "product"        // of two inputs, broadcast
	OpSum        Op = "sum"            // of two inputs, broadcast
	OpConstant   Op = "constant"       // Numbers, each as often as Repeats says
	OpFP8        Op = "fp8_dequantize" // float8 (e4m3) codes with a scale per Block x Block
	OpDequantize Op = "dequantize"     // weight, scales and (affine) biases, as Quant says
	OpQuantize   Op = "quantize"       // the Part-th result of quantising as Quant says
)

// Recipe says how an array is made. It is a tree; the inputs of one weight's recipe may be shared with another's.
type Recipe struct {
	Op     Op
	Inputs []*Recipe
	Tensor *header.Tensor // of Source

	Number              float64 // of OpAdd and OpMultiply
	Low, High           float64 // of OpClip
	Axes                []int   // of OpTranspose and OpMoveaxis, from 0 up
	Axis                int     // of OpSlice and OpConcatenate, from 0 up
	Start, Stop, Stride int     // of OpSlice

	Numbers []float64     // of OpConstant
	Repeats []int         // likewise; nil: once each
	Block   int           // of OpFP8
	Quant   *header.Quant // of OpDequantize and OpQuantize
	Part    int           // of OpQuantize: 0 weight, 1 scales, 2 biases

	Shape []int // of the result, outermost first
	Dtype dtype.Dtype
}

// FromTensor is the recipe of a stored tensor itself.
func FromTensor(t *header.Tensor) *Recipe {
	return &Recipe{Op: OpSource, Tensor: t, Shape: t.Shape, Dtype: t.Dtype}
}

// Sources calls f for each stored tensor that the recipe needs, in order; a tensor that is needed twice comes twice.
func (r *Recipe) Sources(f func(*header.Tensor)) {
	if r.Op == OpSource {
		f(r.Tensor)
	}
	for _, in := range r.Inputs {
		in.Sources(f)
	}
}

// Bytes is the size of the result in memory.
func (r *Recipe) Bytes() int64 {
	n := int64(r.Dtype.Size())
	for _, d := range r.Shape {
		n *= int64(d)
	}
	return n
}

// MarshalJSON writes the fields that the operation has; of a stored tensor, its name, file and place.
func (r *Recipe) MarshalJSON() ([]byte, error) {
	m := map[string]any{"op": r.Op, "shape": append([]int{}, r.Shape...), "dtype": r.Dtype}
	if len(r.Inputs) > 0 {
		m["inputs"] = r.Inputs
	}
	switch r.Op {
	case OpSource:
		m["tensor"], m["file"], m["offset"], m["size"], m["stored"] = r.Tensor.Name, r.Tensor.File, r.Tensor.Offset, r.Tensor.Size, r.Tensor.Stored
		if r.Tensor.Codec != "" {
			m["codec"] = r.Tensor.Codec
		}
	case OpAdd, OpMultiply:
		m["number"] = r.Number
	case OpClip:
		m["low"], m["high"] = r.Low, r.High
	case OpTranspose, OpMoveaxis:
		m["axes"] = r.Axes
	case OpSlice:
		m["axis"], m["start"], m["stop"], m["stride"] = r.Axis, r.Start, r.Stop, r.Stride
	case OpConcatenate:
		m["axis"] = r.Axis
	case OpConstant:
		m["numbers"], m["repeats"] = r.Numbers, r.Repeats
	case OpFP8:
		m["block"] = r.Block
	case OpDequantize:
		m["quant"] = r.Quant
	case OpQuantize:
		m["quant"], m["part"] = r.Quant, r.Part
	}
	return json.Marshal(m)
}

func derive(op Op, in *Recipe) *Recipe {
	return &Recipe{Op: op, Inputs: []*Recipe{in}, Shape: in.Shape, Dtype: in.Dtype}
}

// arithmetic is OpAdd or OpMultiply with a weak scalar: an integer array becomes float32 first, as in MLX.
func arithmetic(op Op, in *Recipe, number float64) (*Recipe, error) {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return nil, fmt.Errorf("%s: %v is not a finite number", op, number)
	}
	r := derive(op, floating(in))
	r.Number = number
	return r, nil
}

func clipTo(in *Recipe, low, high float64) (*Recipe, error) {
	if math.IsInf(low, 0) || math.IsInf(high, 0) || !(low <= high) {
		return nil, fmt.Errorf("clip: %v to %v is no range of finite numbers", low, high)
	}
	r := derive(OpClip, floating(in))
	r.Low, r.High = low, high
	return r, nil
}

func floating(in *Recipe) *Recipe {
	if in.Dtype.IsFloat() || in.Dtype == dtype.Complex64 {
		return in
	}
	return astype(in, dtype.Float32)
}

func astype(in *Recipe, d dtype.Dtype) *Recipe {
	r := derive(OpAstype, in)
	r.Dtype = d
	return r
}

func viewAs(in *Recipe, d dtype.Dtype) (*Recipe, error) {
	if len(in.Shape) == 0 && d.Size() != in.Dtype.Size() {
		return nil, fmt.Errorf("view: a scalar of %s has no bytes of %s", in.Dtype, d)
	}
	r := derive(OpView, in)
	r.Dtype = d
	if d.Size() == in.Dtype.Size() {
		return r, nil
	}
	last := len(in.Shape) - 1
	bytes := in.Shape[last] * in.Dtype.Size()
	if bytes%d.Size() != 0 {
		return nil, fmt.Errorf("view: the last dim of %v has %d bytes, no multiple of %s's %d", in.Shape, bytes, d, d.Size())
	}
	r.Shape = slices.Clone(in.Shape)
	r.Shape[last] = bytes / d.Size()
	return r, nil
}

// reshape takes one -1 for what is left.
func reshape(in *Recipe, shape []int) (*Recipe, error) {
	total, known, free := elements(in.Shape), 1, -1
	out := slices.Clone(shape)
	for i, d := range shape {
		switch {
		case d == -1 && free < 0:
			free = i
		case d < 0:
			return nil, fmt.Errorf("reshape: %v is no shape (one -1 may stand for what is left)", shape)
		case d > 0 && known > math.MaxInt/d:
			return nil, fmt.Errorf("reshape: %v is too large", shape)
		default:
			known *= d
		}
	}
	if free >= 0 {
		if known == 0 || total%known != 0 {
			return nil, fmt.Errorf("reshape: %v has %d elements, which %v does not divide", in.Shape, total, shape)
		}
		out[free], known = total/known, total
	}
	if known != total {
		return nil, fmt.Errorf("reshape: %v has %d elements, %v has %d", in.Shape, total, shape, known)
	}
	r := derive(OpReshape, in)
	r.Shape = out
	return r, nil
}

func transpose(in *Recipe, axes []int) (*Recipe, error) {
	if len(axes) != len(in.Shape) {
		return nil, fmt.Errorf("transpose: %v names %d axes, shape %v has %d", axes, len(axes), in.Shape, len(in.Shape))
	}
	r := derive(OpTranspose, in)
	r.Axes, r.Shape = make([]int, len(axes)), make([]int, len(axes))
	seen := make([]bool, len(axes))
	for i, a := range axes {
		a, err := axisOf(a, len(axes))
		if err != nil {
			return nil, fmt.Errorf("transpose: %w", err)
		}
		if seen[a] {
			return nil, fmt.Errorf("transpose: %v names axis %d twice", axes, a)
		}
		seen[a] = true
		r.Axes[i], r.Shape[i] = a, in.Shape[a]
	}
	return r, nil
}

func moveaxis(in *Recipe, from, to int) (*Recipe, error) {
	rank := len(in.Shape)
	from, err := axisOf(from, rank)
	if err == nil {
		to, err = axisOf(to, rank)
	}
	if err != nil {
		return nil, fmt.Errorf("moveaxis: %w", err)
	}
	r := derive(OpMoveaxis, in)
	r.Axes = []int{from, to}
	r.Shape = slices.Insert(slices.Delete(slices.Clone(in.Shape), from, from+1), to, in.Shape[from])
	return r, nil
}

// axisOf counts a negative axis from the end.
func axisOf(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, fmt.Errorf("no axis %d in an array of %d dims", axis, rank)
	}
	return (axis + rank) % rank, nil
}

func slice(in *Recipe, axis, start, stop, stride int) *Recipe {
	r := derive(OpSlice, in)
	r.Axis, r.Start, r.Stop, r.Stride = axis, start, stop, stride
	r.Shape = slices.Clone(in.Shape)
	r.Shape[axis] = (stop - start + stride - 1) / stride
	return r
}

// gather is OpStack or OpConcatenate of arrays that fit.
func gather(op Op, parts []*Recipe, axis int) (*Recipe, error) {
	first := parts[0]
	r := &Recipe{Op: op, Inputs: parts, Dtype: first.Dtype, Axis: axis}
	if op == OpStack {
		r.Shape = append([]int{len(parts)}, first.Shape...)
	} else {
		r.Shape = slices.Clone(first.Shape)
		r.Shape[axis] = 0
	}
	for i, p := range parts {
		want := slices.Clone(first.Shape)
		if op == OpConcatenate && len(p.Shape) == len(want) {
			want[axis] = p.Shape[axis]
			r.Shape[axis] += p.Shape[axis]
		}
		if !slices.Equal(p.Shape, want) || p.Dtype != first.Dtype {
			return nil, fmt.Errorf("part %d is %s %v, which does not go with part 0, %s %v", i, p.Dtype, p.Shape, first.Dtype, first.Shape)
		}
	}
	return r, nil
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
