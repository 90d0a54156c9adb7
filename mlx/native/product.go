package native

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native/kernels"
)

// Form is how a product with an affine weight is computed.
type Form int

const (
	RowsF32  Form = iota // each output's codes are read in place once for a tile of rows; activations in float32
	RowsQ8               // the same with activations as whole numbers of 8 bits, a scale for each 32
	RowsQ16              // of 16 bits
	PanelF32             // codes of 16 outputs are unpacked into cache, where all rows are multiplied
	PanelQ8
	PanelQ16
	InOrder // each sum in the order of the inputs and nothing fused, as MLX's own CPU kernels have it: the same bits
)

// InOrderRuns tells whether this processor has the kernels of InOrder.
func InOrderRuns() bool { return kernels.InOrder() }

// Product is a product with a weight in MLX's affine layout of 2, 3, 4, 5, 6 or 8 bits in groups of 32, 64 or 128; in the form
// InOrder also with a matrix of float16 or bfloat16 and x of the same: Bits is 16 then.
type Product struct {
	Workers                      *Workers
	Weight, Scales, Biases, Bias mlx.Array // contiguous; Bias [outputs] may be absent
	Bits, Group                  int
	Form                         Form
	Tile                         int // rows that share a reading of the codes, in the forms of rows: 4 or more share it four at a time, less do not
}

// Around is what Products compute besides: before them a root-mean-square norm of x, after a single one a sum. Each is
// rounded as if it stood by itself.
type Around struct {
	Norm bool
	Eps  float32
	Sum  bool
}

// maxMembers bounds the products of one value.
const maxMembers = 16

// Products are those of one value with several weights, made ready: x is made whole numbers once, the rows of all weights
// are shared out to the threads at once, and MLX's graph does not hold the weights.
type Products struct {
	handle  uintptr
	members int
	around  Around
}

// NewProducts takes weights of one length of rows, of one form and tile, and evaluates them. The caller frees what it gets;
// primitives that still wait to be evaluated keep it until they have run.
func NewProducts(members []*Product, a Around) (*Products, error) {
	if len(members) == 0 || len(members) > maxMembers {
		return nil, fmt.Errorf("%d products of one value; 1 to %d are taken", len(members), maxMembers)
	}
	var arrays []mlx.Array
	for _, p := range members {
		arrays = append(arrays, p.Weight, p.Scales, p.Biases, p.Bias)
	}
	if err := evaluated(arrays); err != nil {
		return nil, err
	}
	h, err := newProducts(members)
	if err != nil {
		return nil, err
	}
	return &Products{h, len(members), a}, nil
}

// evaluated computes those arrays that are there.
func evaluated(arrays []mlx.Array) error {
	return mlx.Eval(slices.DeleteFunc(arrays, func(a mlx.Array) bool { return !a.Valid() })...)
}

// Free lets the weights go once nothing needs them.
func (p *Products) Free() {
	if p.handle != 0 {
		freeProducts(p.handle)
		p.handle = 0
	}
}

// Rows gives rows of the one weight, which has no bias, by their numbers (int32 [..]): [.., inputs] in the dtype of the
// scales, the bits that MLX's take and dequantize give.
func (p *Products) Rows(s *mlx.Scope, numbers mlx.Array) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return p.rows(s, numbers)
}

// Apply gives x [.., inputs] w^T + bias, [.., outputs], of each weight in turn, in the promoted dtype of x (the norm's result),
// scales and bias; sums are float32 and rounded once. A row of activations that is not finite is computed in float32
// whatever the form. in is x, the norm's gain where there is a norm (an absent array: 1), and what is added where there is a
// sum, of the product's shape and dtype.
func (p *Products) Apply(s *mlx.Scope, in []mlx.Array) []mlx.Array {
	if s.Err() != nil {
		return make([]mlx.Array, p.members)
	}
	var gain, residual mlx.Array
	if p.around.Norm {
		gain = in[1]
	}
	if p.around.Sum {
		residual = in[len(in)-1]
	}
	return p.products(s, in[0], gain, residual)
}

// Gather takes the one weight, of the form InOrder and with codes, as count matrices one below the other: x [.., 1, inputs] is
// multiplied by those that indices name (uint32 or int32), [.., 1, outputs of one]. The axes of x before the last two are
// broadcast to those of indices.
func (p *Products) Gather(s *mlx.Scope, count int, x, indices mlx.Array) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return p.gather(s, count, x, s.Contiguous(indices, false))
}
