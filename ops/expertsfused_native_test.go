//go:build cgo && mlx

package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/registry"
)

type expertsCase struct {
	name       string
	bits       [3]int // of gate, up and down
	group      int
	bias, both bool
	width, ins int
}

func (r trellisRig) expertWeights(d dtype.Dtype, c expertsCase, n int) map[string]registry.Opened {
	part := func(seed, bits, out, in int) registry.Opened {
		w := quantised(r.rig, r.normal(d, seed, n, out, in), "affine", bits, c.group)
		if c.bias {
			w.Bias, w.Facts.Bias = r.normal(d, seed+7, n, out), true
		}
		return w
	}
	down := part(3, c.bits[2], c.ins, c.width)
	if c.both {
		return map[string]registry.Opened{"gate_up": part(1, c.bits[0], 2*c.width, c.ins), "down_proj": down}
	}
	return map[string]registry.Opened{"gate_proj": part(1, c.bits[0], c.width, c.ins), "up_proj": part(2, c.bits[1], c.width, c.ins), "down_proj": down}
}

// plainExperts is the class affine in float32, by MLX's products.
func (r trellisRig) plainExperts(weights map[string]registry.Opened, x, indices mlx.Array) mlx.Array {
	wide := map[string]registry.Opened{}
	for role, w := range weights {
		wide[role] = r.widened(w)
	}
	return r.experts("affine", wide)(r.call, []mlx.Array{r.scope.Astype(x, mlx.Float32), indices})[0]
}

func (r trellisRig) fusedExperts(weights map[string]registry.Opened, x, indices mlx.Array) mlx.Array {
	return r.bind("experts.fused", "experts", weights, nil)(r.call, []mlx.Array{x, indices})[0]
}

// TestFusedExperts holds experts.fused to its contract: every width of codes and group, biases, gate and up in one weight,
// widths that 16 and 256 do not divide, and rows of an expert from none to more than are multiplied in place.
func TestFusedExperts(t *testing.T) {
	bounds := map[dtype.Dtype]float64{dtype.Float32: 2e-4, dtype.Bfloat16: 1.0 / 64, dtype.Float16: 1.0 / 512}
	const count, each = 5, 2
	for _, kernels := range []string{"", "plain"} {
		for i, d := range []dtype.Dtype{dtype.Float32, dtype.Bfloat16, dtype.Float16} {
			for j, c := range []expertsCase{
				{"4 bits", [3]int{4, 4, 4}, 32, false, false, 352, 192}, {"2, 3 and 5 bits, biases", [3]int{2, 3, 5}, 32, true, false, 96, 416},
				{"6 and 8 bits", [3]int{6, 4, 8}, 64, false, false, 192, 320}, {"in one weight", [3]int{4, 4, 6}, 64, true, true, 320, 64},
				{"groups of 128", [3]int{8, 8, 4}, 128, false, false, 128, 384},
			} {
				r := newTrellisRig(t, kernels)
				weights := r.expertWeights(d, c, count)
				for _, rows := range []int{1, 2, 5, 17, 64} {
					if kernels == "plain" && rows != 2 && rows != 17 {
						continue
					}
					x, indices := r.normal(d, 10*i+j+rows, 1, rows, c.ins), chosen(r.rig, 1, rows, each, count)
					want := r.scope.Astype(r.plainExperts(weights, x, indices), d)
					r.near(want, r.fusedExperts(weights, x, indices), bounds[d], fmt.Sprintf("%s, %d rows of %s, kernels %q", c.name, rows, d, kernels))
					r.call.Scope.Free()
				}
			}
		}
	}
}

// TestFusedExpertsNotFinite: a row with a NaN or an infinity is as the class affine has it, and the others are as without it.
func TestFusedExpertsNotFinite(t *testing.T) {
	for _, rows := range []int{3, 40} {
		r := newTrellisRig(t, "")
		c := expertsCase{bits: [3]int{4, 4, 4}, group: 32, width: 96, ins: 64}
		weights := r.expertWeights(dtype.Float32, c, 3)
		x, indices := r.normal(dtype.Float32, 1, 1, rows, c.ins), chosen(r.rig, 1, rows, 2, 3)
		right := numbersOf(t, r.fusedExperts(weights, x, indices))
		values := numbersOf(t, x)
		values[c.ins+3], values[2*c.ins+9] = float32(math.NaN()), float32(math.Inf(1))
		odd, err := mlx.FromFloat32s(values, 1, rows, c.ins)
		require.NoError(t, err)
		r.scope.Own(odd)
		want, got := numbersOf(t, r.plainExperts(weights, odd, indices)), numbersOf(t, r.fusedExperts(weights, odd, indices))
		for i := range got {
			row := i / (2 * c.ins)
			if row != 1 && row != 2 {
				require.Equal(t, right[i], got[i])
			} else if finite := want[i]-want[i] == 0; !finite {
				require.False(t, got[i]-got[i] == 0, "%v is wanted, this is %v", want[i], got[i])
			}
		}
		r.call.Scope.Free()
	}
}
