package view

import (
	"fmt"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/pattern"
)

// Match is a tensor that a step's pattern matched, as that step sees it.
type Match struct {
	pattern.Captures
	Shape []int
	Dtype dtype.Dtype
}

// When decides whether a step applies to a match; nil is always.
type When func(Match) (bool, error)

// Ints and Floats give a step's numbers for a match.
type (
	Ints   func(Match) ([]int, error)
	Floats func(Match) ([]float64, error)
)

// FixedInts and FixedFloats are numbers that no match changes.
func FixedInts(n ...int) Ints { return func(Match) ([]int, error) { return n, nil } }

func FixedFloats(x ...float64) Floats { return func(Match) ([]float64, error) { return x, nil } }

// Step is one step of a view.
type Step interface{ apply(*state) }

// Drop takes tensors out of the checkpoint.
type Drop struct {
	From []*pattern.Pattern
	As   string // the entry whose tensors they are; kept aside under it
	When When
}

// Rename gives tensors other names.
type Rename struct {
	From []*pattern.Pattern
	To   string
	When When
}

// Each changes tensors where they stand.
type Each struct {
	From []*pattern.Pattern
	Do   []Change
	When When
}

// Split cuts tensors along an axis into parts.
type Split struct {
	From       []*pattern.Pattern
	Axis       int
	Sizes      Ints // nil: parts of equal size
	Interleave bool // part i is every len(Into)-th slice from i on
	Into       []string
	When       When
}

// Stack puts tensors that differ in one capture, an index from 0 up, together along a new first axis.
type Stack struct {
	From []*pattern.Pattern
	Over string
	To   string
	When When
}

// Join puts tensors end to end along an axis. The first pattern finds, the others name the further parts by its captures.
type Join struct {
	From []*pattern.Pattern
	Axis int
	To   string
	When When
}

// Change is one operation of Each; the constructors below make them.
type Change struct {
	op     Op
	dtype  dtype.Dtype
	ints   Ints
	floats Floats
}

func NewAdd(x Floats) Change         { return Change{op: OpAdd, floats: x} }
func NewMultiply(x Floats) Change    { return Change{op: OpMultiply, floats: x} }
func NewClip(lowHigh Floats) Change  { return Change{op: OpClip, floats: lowHigh} }
func NewAstype(d dtype.Dtype) Change { return Change{op: OpAstype, dtype: d} }
func NewView(d dtype.Dtype) Change   { return Change{op: OpView, dtype: d} }
func NewReshape(shape Ints) Change   { return Change{op: OpReshape, ints: shape} }
func NewTranspose(axes Ints) Change  { return Change{op: OpTranspose, ints: axes} }
func NewMoveaxis(fromTo Ints) Change { return Change{op: OpMoveaxis, ints: fromTo} }

func (c Change) of(in *Recipe, m Match) (*Recipe, error) {
	var ints []int
	var floats []float64
	var err error
	if c.ints != nil {
		ints, err = c.ints(m)
	} else if c.floats != nil {
		floats, err = c.floats(m)
	}
	if err != nil {
		return nil, err
	}
	if want := map[Op]int{OpAdd: 1, OpMultiply: 1, OpClip: 2, OpMoveaxis: 2}[c.op]; want > 0 && want != len(ints)+len(floats) {
		return nil, fmt.Errorf("%s takes %d numbers, not %d", c.op, want, len(ints)+len(floats))
	}
	switch c.op {
	case OpAdd, OpMultiply:
		return arithmetic(c.op, in, floats[0])
	case OpClip:
		return clipTo(in, floats[0], floats[1])
	case OpAstype:
		return astype(in, c.dtype), nil
	case OpView:
		return viewAs(in, c.dtype)
	case OpReshape:
		return reshape(in, ints)
	case OpTranspose:
		return transpose(in, ints)
	case OpMoveaxis:
		return moveaxis(in, ints[0], ints[1])
	}
	return nil, fmt.Errorf("each cannot %q", c.op)
}
