package native

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
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
)

// Product is a product with a weight in MLX's affine layout of 2, 3, 4, 5, 6 or 8 bits in groups of 32, 64 or 128.
type Product struct {
	Workers                      *Workers
	Weight, Scales, Biases, Bias mlx.Array // contiguous; Bias [outputs] may be absent
	Bits, Group                  int
	Form                         Form
	Tile                         int // rows that share a reading of the codes, in the forms of rows: 4 or more share it four at a time, less do not
}

// Apply gives x [.., inputs] w^T + bias, [.., outputs], in the promoted dtype of x, scales and bias; sums are float32 and
// rounded once. A row of activations that is not finite is
// computed in float32 whatever the form.
func (p *Product) Apply(s *mlx.Scope, x mlx.Array) mlx.Array {
	return Products(s, []*Product{p}, []mlx.Array{x}, Around{})[0]
}

// Around is what Products computes besides: before them a root-mean-square norm of x, after a single one a sum. Each is
// rounded as if it stood by itself.
type Around struct {
	Norm bool
	Eps  float32
	Sum  bool
}

// maxMembers bounds the products of one value.
const maxMembers = 16

// Products gives Apply of every member, of one form and tile: x is made whole numbers once, and the rows of all weights are
// shared out to the threads at once. in is x, the norm's gain where there is a norm (an absent array: 1), and what is added
// where there is a sum, of the product's shape and dtype.
func Products(s *mlx.Scope, members []*Product, in []mlx.Array, a Around) []mlx.Array {
	var gain, residual mlx.Array
	if a.Norm {
		gain = in[1]
	}
	if a.Sum {
		residual = in[len(in)-1]
	}
	switch {
	case s.Err() != nil:
		return make([]mlx.Array, len(members))
	case len(members) == 0 || len(members) > maxMembers:
		s.Fail(fmt.Errorf("%d products of one value; 1 to %d are taken", len(members), maxMembers))
		return make([]mlx.Array, len(members))
	}
	return products(s, members, in[0], gain, residual, a)
}
