package native

import "github.com/graphrun/graphrun/mlx"

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
	if s.Err() != nil {
		return mlx.Array{}
	}
	return p.call(s, x)
}
