package view

import (
	"fmt"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/weights/header"
)

// Derive makes new tensors of others by nodes: the first source finds, the others are named by its captures, and where
// one of them is missing the match is skipped. A quantised source is dequantised first, and what is made of it is
// quantised alike.
type Derive struct {
	From []Source
	To   []Target
	When When
	// Make gives the targets' recipes of the sources', by name.
	Make func(m Match, in map[string]*Recipe) (map[string]*Recipe, error)
}

// Source is a tensor that a derivation takes, under the name that its nodes use.
type Source struct {
	Name    string
	Pattern *pattern.Pattern
}

// Target is a tensor that a derivation makes.
type Target struct {
	Name string
	To   string
}

func (d Derive) apply(s *state) {
	if len(d.From) == 0 {
		return
	}
	var changes []change
	for _, f := range s.hits([]*pattern.Pattern{d.From[0].Pattern}, d.When) {
		c, field, ok, err := d.one(s, f)
		if err != nil {
			s.fail(field, 0, f.Name, err)
		} else if ok {
			changes = append(changes, c)
		}
	}
	s.commit("to", changes)
}

func (d Derive) one(s *state, first *family) (out change, field string, ok bool, err error) {
	out = change{put: map[string]*Recipe{}, by: first}
	in := map[string]*Recipe{}
	var quant *header.Quant
	var modules []string
	for _, src := range d.From {
		name, err := pattern.Fill(src.Pattern.String(), first.Captures)
		if err != nil {
			return out, "", false, err
		}
		t := s.tensors[name]
		if t == nil {
			return out, "", false, nil
		}
		f := &family{Match: Match{pattern.Captures{Name: name}, t.Shape, t.Dtype}}
		f.base, f.parts = s.familyOf(name)
		for _, p := range f.parts {
			out.take = append(out.take, f.base+p)
		}
		in[src.Name] = t
		if f.quantised() {
			q, listed := s.q.ByPath[f.module()]
			if !listed && s.q.Default != nil {
				q, listed = *s.q.Default, true
			}
			if !listed {
				return out, "", false, fmt.Errorf("the quantization table does not say how %s is quantised", name)
			}
			parts := make([]*Recipe, len(f.parts))
			for i, p := range f.parts {
				parts[i] = s.tensors[f.base+p]
			}
			if in[src.Name], err = dequantized(parts, q); err != nil {
				return out, "", false, err
			}
			quant, modules = &q, append(modules, f.module())
		}
	}
	made, err := d.Make(first.Match, in)
	if err != nil {
		return out, "", false, err
	}
	var targets []string
	for _, to := range d.To {
		r := made[to.Name]
		if r == nil {
			return out, "to", false, fmt.Errorf("no node gives %s", to.Name)
		}
		name, err := pattern.Fill(to.To, first.Captures)
		if err != nil {
			return out, "to", false, err
		}
		if quant == nil {
			out.put[name] = r
			continue
		}
		targets = append(targets, module(name))
		parts, err := quantized(r, *quant)
		if err != nil {
			return out, "to", false, fmt.Errorf("%s: %w", name, err)
		}
		for i, p := range []string{"weight", "scales", "biases"}[:len(parts)] {
			out.put[partOf(name, p)] = parts[i]
		}
	}
	if len(modules) > 0 {
		out.table = map[string][]string{modules[0]: targets}
	}
	return out, "", true, nil
}

// dequantized is the dense weight of its parts: weight, scales and, of affine ones, biases.
func dequantized(parts []*Recipe, q header.Quant) (*Recipe, error) {
	w, scales := parts[0], parts[1]
	if q.Mode == header.Trellis {
		return nil, fmt.Errorf("it is stored as %s, which a derivation does not take apart", q)
	}
	last := len(w.Shape) - 1
	if last < 0 || q.Bits <= 0 || w.Shape[last]*32%q.Bits != 0 {
		return nil, fmt.Errorf("%v is no shape of a weight with %s", w.Shape, q)
	}
	r := &Recipe{Op: OpDequantize, Inputs: parts, Quant: &q, Shape: append([]int(nil), w.Shape...), Dtype: scales.Dtype}
	r.Shape[last] = w.Shape[last] * 32 / q.Bits
	if q.Mode != "affine" {
		r.Dtype = dtype.Bfloat16
	}
	return r, nil
}

// quantized are the parts of a dense weight.
func quantized(r *Recipe, q header.Quant) ([]*Recipe, error) {
	last := len(r.Shape) - 1
	if last < 1 || q.GroupSize <= 0 || r.Shape[last]%q.GroupSize != 0 || r.Shape[last]*q.Bits%32 != 0 {
		return nil, fmt.Errorf("%v cannot be quantised with %s", r.Shape, q)
	}
	part := func(i, width int, d dtype.Dtype) *Recipe {
		shape := append([]int(nil), r.Shape...)
		shape[last] = width
		return &Recipe{Op: OpQuantize, Inputs: []*Recipe{r}, Quant: &q, Part: i, Shape: shape, Dtype: d}
	}
	groups := r.Shape[last] / q.GroupSize
	w := part(0, r.Shape[last]*q.Bits/32, dtype.Uint32)
	if q.Mode != "affine" {
		return []*Recipe{w, part(1, groups, dtype.Uint8)}, nil
	}
	return []*Recipe{w, part(1, groups, r.Dtype), part(2, groups, r.Dtype)}, nil
}

// The operations that a derivation's nodes may use, each checked as the steps' own are.

// Reshaped takes one -1 for what is left.
func Reshaped(in *Recipe, shape []int) (*Recipe, error) { return reshape(in, shape) }

// Transposed has its axes in another order.
func Transposed(in *Recipe, axes []int) (*Recipe, error) { return transpose(in, axes) }

// Moved has one axis moved.
func Moved(in *Recipe, from, to int) (*Recipe, error) { return moveaxis(in, from, to) }

// Sliced is a range of one axis.
func Sliced(in *Recipe, axis, start, stop int) (*Recipe, error) {
	a, err := axisOf(axis, len(in.Shape))
	if err != nil {
		return nil, err
	}
	if start < 0 || stop < start || stop > in.Shape[a] {
		return nil, fmt.Errorf("%d to %d is no range of the %d of axis %d", start, stop, in.Shape[a], a)
	}
	return slice(in, a, start, stop, 1), nil
}

// Scaled is in times a weak scalar, Shifted in plus one.
func Scaled(in *Recipe, by float64) (*Recipe, error) { return arithmetic(OpMultiply, in, by) }

// Shifted is in plus a weak scalar.
func Shifted(in *Recipe, by float64) (*Recipe, error) { return arithmetic(OpAdd, in, by) }

// Cast is in with another dtype.
func Cast(in *Recipe, d dtype.Dtype) *Recipe { return astype(in, d) }

// Combined is the product or sum of two arrays, broadcast.
func Combined(op Op, a, b *Recipe) (*Recipe, error) {
	long, short := a.Shape, b.Shape
	if len(short) > len(long) {
		long, short = short, long
	}
	shape := append([]int(nil), long...)
	for i := range short {
		k := len(long) - len(short) + i
		switch {
		case short[i] == long[k] || short[i] == 1:
		case long[k] == 1:
			shape[k] = short[i]
		default:
			return nil, fmt.Errorf("%v and %v do not broadcast", a.Shape, b.Shape)
		}
	}
	return &Recipe{Op: op, Inputs: []*Recipe{a, b}, Shape: shape, Dtype: dtype.Promote(a.Dtype, b.Dtype)}, nil
}

// Constant is a list of numbers, each as often as repeats says (nil: once).
func Constant(numbers []float64, repeats []int, d dtype.Dtype) (*Recipe, error) {
	n := len(numbers)
	if repeats != nil {
		if len(repeats) != len(numbers) {
			return nil, fmt.Errorf("%d repeats for %d numbers", len(repeats), len(numbers))
		}
		n = 0
		for _, r := range repeats {
			if r < 0 || r > 1<<24 {
				return nil, fmt.Errorf("%d is no number of repeats", r)
			}
			n += r
		}
	}
	return &Recipe{Op: OpConstant, Numbers: numbers, Repeats: repeats, Shape: []int{n}, Dtype: d}, nil
}

// FP8 dequantises float8 codes with one scale per block x block.
func FP8(codes, scale *Recipe, block int, d dtype.Dtype) (*Recipe, error) {
	if len(codes.Shape) != 2 || len(scale.Shape) != 2 || block < 1 || codes.Dtype != dtype.Uint8 {
		return nil, fmt.Errorf("codes %v %s with scales %v: both are matrices, and codes are uint8", codes.Shape, codes.Dtype, scale.Shape)
	}
	for i := range 2 {
		if (codes.Shape[i]+block-1)/block != scale.Shape[i] {
			return nil, fmt.Errorf("codes %v in blocks of %d want scales [%d, %d], these are %v", codes.Shape, block, (codes.Shape[0]+block-1)/block, (codes.Shape[1]+block-1)/block, scale.Shape)
		}
	}
	return &Recipe{Op: OpFP8, Inputs: []*Recipe{codes, scale}, Block: block, Shape: codes.Shape, Dtype: d}, nil
}
