package native

import "github.com/graphrun/graphrun/mlx"

// TrellisForm is whose weights a product takes, and how.
type TrellisForm int

const (
	Packed     TrellisForm = iota // code * scale in float32, used as it is decoded; more than 4 rows as PackedTile
	PackedTile                    // the same, a tile of weights decoded once for all rows
	StoredTile                    // bfloat16(value * scale), a tile of weights decoded once for all rows
)

// Trellis is a weight of trellis codes for products on the CPU.
type Trellis struct {
	Workers           *Workers
	Codes, Scales     mlx.Array // contiguous
	Bits, Block, Axis int
}

// Product gives x [.., inputs] W^T, [.., outputs], in x's dtype; sums are float32 and rounded once.
func (w *Trellis) Product(s *mlx.Scope, form TrellisForm, x mlx.Array) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return w.product(s, form, x)
}

// Swiglu gives silu(x gate^T) * (x up^T), [.., outputs], in x's dtype; both weights are coded along their inputs. Gate and
// up are float32 sums that are rounded to x's dtype first. split rounds every step of the sigmoid and the products as MLX's
// operators do; else the sigmoid is rounded once, and each of the two products.
func (w *Trellis) Swiglu(s *mlx.Scope, form TrellisForm, up *Trellis, split bool, x mlx.Array) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return w.swiglu(s, form, up, split, x)
}

// Expand gives the stored matrix S in float32, rounded to bfloat16 or not.
func (w *Trellis) Expand(s *mlx.Scope, rounded bool) mlx.Array {
	if s.Err() != nil {
		return mlx.Array{}
	}
	return w.expand(s, rounded)
}
