package trace

import (
	"bytes"
	"errors"
	"math"
	"slices"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/engine"
)

// Comparison is in what two records differ.
type Comparison struct {
	A      string       `json:"a"`
	B      string       `json:"b"`
	Same   bool         `json:"same"`   // all that was compared is equal, bit for bit
	Nodes  int          `json:"nodes"`  // that both have
	Values int          `json:"values"` // elements of these
	OnlyA  int          `json:"only_a"` // nodes
	OnlyB  int          `json:"only_b"`
	Differ []Difference `json:"differ"` // in the order of A
}

// Difference is a node whose values are not equal.
type Difference struct {
	Node  string `json:"node"`
	By    string `json:"a_by,omitempty"`
	ByB   string `json:"b_by,omitempty"`
	Line  string `json:"a_line,omitempty"`
	LineB string `json:"b_line,omitempty"`

	Dtype  string `json:"a_dtype"`
	DtypeB string `json:"b_dtype"`
	Shape  []int  `json:"a_shape"`
	ShapeB []int  `json:"b_shape"`

	// Where shapes are alike: how many elements differ, the first of them, and the greatest difference and value.
	Count    int    `json:"values_differ,omitempty"`
	Index    []int  `json:"first_index,omitempty"`
	First    number `json:"a_first"`
	FirstB   number `json:"b_first"`
	MaxDelta number `json:"max_delta"`
	MaxValue number `json:"max_value"` // of |A|
	Mismatch string `json:"mismatch,omitempty"`
}

// ErrNothing says that two records have no node in common.
var ErrNothing = errors.New("the two have no value of the same name: nothing can be compared")

// Compare compares the nodes that both have by name, in the order of a.
func Compare(a, b *Record) (*Comparison, error) {
	c := &Comparison{A: a.Name, B: b.Name, Differ: []Difference{}}
	in := make(map[string]*Node, len(b.Nodes))
	for i := range b.Nodes {
		in[b.Nodes[i].Name] = &b.Nodes[i]
	}
	for i := range a.Nodes {
		x := &a.Nodes[i]
		y := in[x.Name]
		if y == nil {
			c.OnlyA++
			continue
		}
		c.Nodes++
		c.Values += elements(x.Value.Shape)
		if d, differ := compare(x, y); differ {
			c.Differ = append(c.Differ, d)
		}
	}
	c.OnlyB = len(b.Nodes) - c.Nodes
	if c.Nodes == 0 {
		return nil, ErrNothing
	}
	c.Same = len(c.Differ) == 0
	return c, nil
}

func compare(x, y *Node) (d Difference, differ bool) {
	a, b := &x.Value, &y.Value
	d = Difference{Node: x.Name, By: x.By, ByB: y.By, Line: x.Line, LineB: y.Line,
		Dtype: a.Dtype.String(), DtypeB: b.Dtype.String(), Shape: append([]int{}, a.Shape...), ShapeB: append([]int{}, b.Shape...)}
	switch {
	case !slices.Equal(squeezed(a.Shape), squeezed(b.Shape)):
		d.Mismatch = "shape"
		return d, true
	case a.Dtype == b.Dtype && bytes.Equal(a.Data, b.Data):
		return d, false
	}
	if a.Dtype != b.Dtype {
		d.Mismatch = "dtype"
	}
	d.measure(a, b)
	return d, true
}

// measure compares elements; of two dtypes, by their values.
func (d *Difference) measure(a, b *engine.Tensor) {
	m, n := a.Dtype.Size(), b.Dtype.Size()
	for i := range elements(a.Shape) {
		p, q := a.Data[i*m:(i+1)*m], b.Data[i*n:(i+1)*n]
		x, y := dtype.Number(a.Dtype, p), dtype.Number(b.Dtype, q)
		d.MaxValue = number(math.Max(float64(d.MaxValue), math.Abs(x)))
		if a.Dtype == b.Dtype && bytes.Equal(p, q) || a.Dtype != b.Dtype && x == y {
			continue
		}
		if d.Count++; d.Count == 1 {
			d.Index, d.First, d.FirstB = index(i, a.Shape), number(x), number(y)
		}
		delta := math.Abs(x - y)
		if x == y { // zeros of two signs; infinities
			delta = 0
		}
		d.MaxDelta = number(math.Max(float64(d.MaxDelta), delta))
	}
}

// index is the place of the i-th element.
func index(i int, shape []int) []int {
	out := make([]int, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		out[k] = i % shape[k]
		i /= shape[k]
	}
	return out
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// squeezed has no leading dims of one, as another implementation may leave the batch out.
func squeezed(shape []int) []int {
	for len(shape) > 0 && shape[0] == 1 {
		shape = shape[1:]
	}
	return shape
}

// number is a float that JSON can hold: what is not finite is a word.
type number float64

// MarshalJSON writes it.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n.json()), nil }
