//go:build cgo && mlx

package native_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
)

// planted are values that are no numbers, in the rows of x that they stand in.
var planted = [][]float64{{math.Inf(1)}, {math.NaN()}, {math.Inf(-1)}, {math.Inf(1), math.Inf(-1)}, {math.Inf(1), math.Inf(1)}}

// plant puts into some rows of x [rows, width] what is no number: into the last, and from there into every third.
func plant(t *testing.T, s *mlx.Scope, r *rand.Rand, x mlx.Array) mlx.Array {
	t.Helper()
	v, err := x.Float32s()
	require.NoError(t, err)
	rows, width := x.Dim(0), x.Dim(1)
	for row := rows - 1; row >= 0; row -= 3 {
		for _, bad := range planted[r.IntN(len(planted))] {
			v[row*width+r.IntN(width)] = float32(bad)
		}
	}
	return s.Astype(s.Own(floats(t, v, rows, width)), x.Dtype())
}

// TestProductOfWhatIsNotFinite: where MLX's product is NaN or an infinity so is ours, in every form, at 1 to 17 rows; the other
// rows are as near as ever. Neither the inputs fill a block nor the outputs a vector.
func TestProductOfWhatIsNotFinite(t *testing.T) {
	for _, set := range kernels(t) {
		t.Run(set, func(t *testing.T) {
			onStream(t, func(s *mlx.Scope) {
				workers, err := native.NewWorkersOf(2, set)
				require.NoError(t, err)
				defer workers.Free()
				r := rand.New(rand.NewPCG(41, 42))
				for i, bits := range []int{2, 3, 4, 5, 6, 8} {
					group, d := []int{32, 64}[i%2], []mlx.Dtype{mlx.Float32, mlx.Bfloat16, mlx.Float16}[i%3]
					p := quantised(s, normal(t, s, r, d, []int{13, 21, 67}[i%3], []int{5, 9, 23}[i/2]*group), bits, group)
					p.Workers = workers
					kept := s.Mark()
					for rows := 1; rows <= 17; rows++ {
						x := plant(t, s, r, normal(t, s, r, d, rows, p.Scales.Dim(1)*group))
						want := s.Astype(reference(s, x, &p), d)
						what := fmt.Sprintf("%d bits, %d rows of %s", bits, rows, d)
						for _, p.Form = range forms {
							near(t, s, want, apply(t, s, &p, x), bound(p.Form, d), fmt.Sprintf("%s, form %d", what, p.Form))
						}
						if p.Form = native.InOrder; native.InOrderRuns() {
							want = s.QuantizedMatmul(x, p.Weight, p.Scales, p.Biases, true, group, bits, "affine")
							near(t, s, want, apply(t, s, &p, x), 0, what+" in order")
						}
						s.ReleaseTo(kept)
					}
				}
			})
		})
	}
}

// TestGatherOfWhatIsNotFinite: products in order of rows with the matrices that they name are MLX's; those of a matrix that
// there is not are NaN.
func TestGatherOfWhatIsNotFinite(t *testing.T) {
	if !native.InOrderRuns() {
		t.Skip("this processor has no AVX2")
	}
	workers, err := native.NewWorkers(2)
	require.NoError(t, err)
	defer workers.Free()
	onStream(t, func(s *mlx.Scope) {
		const count, outputs, inputs = 5, 19, 288
		r := rand.New(rand.NewPCG(43, 44))
		for i, bits := range []int{2, 3, 4, 5, 6, 8} {
			d := []mlx.Dtype{mlx.Float32, mlx.Bfloat16, mlx.Float16}[i%3]
			p := quantised(s, normal(t, s, r, d, count*outputs, inputs), bits, 32)
			p.Workers, p.Form = workers, native.InOrder
			products, err := native.NewProducts([]*native.Product{&p}, native.Around{})
			require.NoError(t, err)
			stacked := func(a mlx.Array) mlx.Array { return s.Reshape(a, []int{count, outputs, -1}) }
			for _, rows := range []int{1, 6, 17} {
				named := make([]int32, rows)
				for k := range named {
					named[k] = int32(r.IntN(count))
				}
				indices, err := mlx.FromInt32s(named, rows)
				require.NoError(t, err)
				x := s.Reshape(plant(t, s, r, normal(t, s, r, d, rows, inputs)), []int{rows, 1, inputs})
				want := s.GatherQMM(x, stacked(p.Weight), stacked(p.Scales), stacked(p.Biases), mlx.Array{}, s.Astype(s.Own(indices), mlx.Uint32), true, 32, bits, "affine", false)
				near(t, s, want, products.Gather(s, count, x, indices), 0, fmt.Sprintf("%d bits, %d rows", bits, rows))
				named[rows-1] = count
				far, err := mlx.FromInt32s(named, rows)
				require.NoError(t, err)
				got, err := products.Gather(s, count, x, s.Own(far)).Float32s()
				require.NoError(t, err)
				for _, v := range got[(rows-1)*outputs:] {
					require.True(t, math.IsNaN(float64(v)))
				}
			}
			products.Free()
		}
	})
}

// TestAttentionOfWhatIsNotFinite: a query, key or value that is no number makes of those who see it what it makes in MLX's
// attention, over one span of keys and several, for few queries and many.
func TestAttentionOfWhatIsNotFinite(t *testing.T) {
	const heads, kvHeads = 6, 2
	for _, set := range kernels(t) {
		t.Run(set, func(t *testing.T) {
			onStream(t, func(s *mlx.Scope) {
				w, err := native.NewWorkersOf(2, set)
				require.NoError(t, err)
				defer w.Free()
				r := rand.New(rand.NewPCG(45, 46))
				for i, size := range []int{64, 80, 96, 128, 20} {
					for _, rows := range []int{1, 7, 17} {
						past := []int{3, 200, 128, 300, 31}[i]
						for _, c := range []struct {
							what string // of q, k or v
							at   int    // row, of q; position, of k and v
							bad  float64
						}{
							{"nothing", 0, 0}, {"q", rows - 1, math.NaN()}, {"q", 0, math.Inf(1)}, {"k", 1, math.NaN()}, {"k", past + rows - 1, math.NaN()},
							{"k", 2, math.Inf(1)}, {"k", 0, math.Inf(-1)}, {"v", 2, math.NaN()}, {"v", 1, math.Inf(1)}, {"v", past + rows - 1, math.Inf(-1)},
						} {
							draw := func(name string, heads, n int) mlx.Array {
								x := normal(t, s, r, mlx.Float32, 1, heads, n, size)
								if c.what != name {
									return x
								}
								v, err := x.Float32s()
								require.NoError(t, err)
								v[c.at*size+size/3] = float32(c.bad) // of the first head
								return s.Own(floats(t, v, 1, heads, n, size))
							}
							q, k, v := draw("q", heads, rows), draw("k", kvHeads, past+rows), draw("v", kvHeads, past+rows)
							buffer := func(x mlx.Array) mlx.Array {
								return s.ConcatenateAxis([]mlx.Array{x, s.Zeros([]int{1, kvHeads, 9, size}, mlx.Float32)}, 2)
							}
							fresh := func(x mlx.Array) mlx.Array {
								return s.Slice(x, []int{0, 0, past, 0}, x.Shape(), []int{1, 1, 1, 1})
							}
							y, _, _ := (&native.Attention{Workers: w, Scale: 0.125}).Append(s, q, fresh(k), fresh(v), buffer(k), buffer(v),
								native.Place{Position: past, At: past, Seen: past + 1})
							// A value that is no number is NaN too where it is masked, times 0, if it is computed with at all.
							want := s.FastScaledDotProductAttention(q, k, v, 0.125, "causal", mlx.Array{}, mlx.Array{}, false)
							var alone []mlx.Array
							for n := range rows {
								upTo := func(x mlx.Array) mlx.Array {
									return s.Slice(x, []int{0, 0, 0, 0}, []int{1, kvHeads, past + n + 1, size}, []int{1, 1, 1, 1})
								}
								row := s.Slice(q, []int{0, 0, n, 0}, []int{1, heads, n + 1, size}, []int{1, 1, 1, 1})
								alone = append(alone, s.FastScaledDotProductAttention(row, upTo(k), upTo(v), 0.125, "", mlx.Array{}, mlx.Array{}, false))
							}
							want = s.Where(s.Isnan(y), want, s.ConcatenateAxis(alone, 2))
							near(t, s, want, y, 2e-5, fmt.Sprintf("heads of %d, %d rows after %d, %v in %s at %d", size, rows, past, c.bad, c.what, c.at))
						}
					}
				}
			})
		})
	}
}
