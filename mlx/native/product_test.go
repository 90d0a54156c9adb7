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

// kernels are the instruction sets that this processor runs.
func kernels(t testing.TB) []string {
	var out []string
	for _, name := range []string{"avx512", "avxvnni", "avx2", "neon", "plain"} {
		w, err := native.NewWorkersOf(1, name)
		if err != nil {
			t.Logf("%s is not tested: %v", name, err)
			continue
		}
		w.Free()
		out = append(out, name)
	}
	return out
}

// onStream runs f with a scope of a stream of its own and holds it to freeing everything.
func onStream(t testing.TB, f func(s *mlx.Scope)) {
	w := mlx.NewWorker()
	defer w.Close()
	before := mlx.LiveArrays()
	require.NoError(t, w.Do(func() error {
		stream, err := mlx.NewStream(mlx.DeviceCPU)
		if err != nil {
			return err
		}
		defer stream.Free()
		s := mlx.NewScope(stream)
		f(s)
		s.Free()
		return s.Err()
	}))
	require.Equal(t, before, mlx.LiveArrays())
}

func normal(t testing.TB, s *mlx.Scope, r *rand.Rand, d mlx.Dtype, shape ...int) mlx.Array {
	n := 1
	for _, x := range shape {
		n *= x
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	a, err := mlx.FromFloat32s(v, shape...)
	require.NoError(t, err)
	return s.Astype(s.Own(a), d)
}

func quantised(s *mlx.Scope, w mlx.Array, bits, group int) native.Product {
	parts := s.Quantize(w, group, bits, "affine", mlx.Array{})
	if s.Err() != nil {
		return native.Product{}
	}
	return native.Product{Weight: parts[0], Scales: parts[1], Biases: parts[2], Bits: bits, Group: group, Tile: 4}
}

// reference is MLX's product in float32: in half precision its sums are half too.
func reference(s *mlx.Scope, x mlx.Array, p *native.Product) mlx.Array {
	wide := func(a mlx.Array) mlx.Array { return s.Astype(a, mlx.Float32) }
	return s.QuantizedMatmul(wide(x), p.Weight, wide(p.Scales), wide(p.Biases), true, p.Group, p.Bits, "affine")
}

var forms = []native.Form{native.RowsF32, native.RowsQ8, native.RowsQ16, native.PanelF32, native.PanelQ8, native.PanelQ16}

const int8Bound = 2e-2

// bound is what the classes state: of int8 for its forms, else the rounding of the dtype.
func bound(f native.Form, d mlx.Dtype) float64 {
	switch {
	case f == native.RowsQ8 || f == native.PanelQ8:
		return int8Bound
	case d == mlx.Bfloat16:
		return 1.0 / 128
	case d == mlx.Float16:
		return 1.0 / 1024
	}
	return 1e-4
}

// TestProduct compares every form and instruction set with MLX's product, over odd shapes: a few rows more or less than a
// tile, inputs that 256 does not divide and fewer than 256, odd numbers of runs among them, outputs that 16 does not divide.
func TestProduct(t *testing.T) {
	for _, set := range kernels(t) {
		t.Run(set, func(t *testing.T) {
			onStream(t, func(s *mlx.Scope) {
				workers, err := native.NewWorkersOf(2, set)
				require.NoError(t, err)
				defer workers.Free()
				r := rand.New(rand.NewPCG(1, 2))
				for _, bits := range []int{2, 3, 4, 5, 6, 8} {
					for _, group := range []int{32, 64, 128} {
						for i, inputs := range []int{group * (160/group | 1), 384, 640, 32 * group} {
							outputs, d := []int{1, 17, 40, 31}[i], []mlx.Dtype{mlx.Float32, mlx.Float16, mlx.Bfloat16, mlx.Float32}[i]
							p := quantised(s, normal(t, s, r, d, outputs, inputs), bits, group)
							p.Workers = workers
							for _, rows := range []int{1, 2, 4, 7, 17} {
								x := normal(t, s, r, d, 1, rows, inputs)
								want := s.Astype(reference(s, x, &p), d)
								for _, p.Form = range forms {
									if outputs == 1 && p.Form != native.RowsF32 && p.Form != native.PanelF32 {
										continue // its error is told beside the largest of many outputs
									}
									near(t, s, want, apply(t, s, &p, x), bound(p.Form, d), fmt.Sprintf("bits %d group %d inputs %d outputs %d rows %d %s form %d",
										bits, group, inputs, outputs, rows, d, p.Form))
								}
								s.ReleaseTo(s.Mark())
							}
						}
					}
				}
			})
		})
	}
}

// near holds max |Δ| to a part of max |want|.
func near(t *testing.T, s *mlx.Scope, want, got mlx.Array, bound float64, what string) {
	t.Helper()
	require.NoError(t, s.Err(), what)
	require.Equal(t, want.Dtype(), got.Dtype(), what)
	require.Equal(t, want.Shape(), got.Shape(), what)
	a, err := want.Float32s()
	require.NoError(t, err)
	b, err := got.Float32s()
	require.NoError(t, err)
	var most, off float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		if math.IsNaN(x) || math.IsInf(x, 0) {
			require.True(t, math.IsNaN(x) && math.IsNaN(y) || x == y, "%s: %v is wanted at %d, this is %v", what, x, i, y)
			continue
		}
		most, off = max(most, math.Abs(x)), max(off, math.Abs(x-y))
		if math.IsNaN(y) {
			off = math.Inf(1)
		}
	}
	require.LessOrEqual(t, off, bound*most, "%s: max |Δ| / max |ref| is %g", what, off/most)
}

// TestProductDetails: a bias, a transposed x, NaN and infinities in some rows, outliers and a row of zeros, another dtype than the
// weight's.
func TestProductDetails(t *testing.T) {
	onStream(t, func(s *mlx.Scope) {
		workers, err := native.NewWorkers(2)
		require.NoError(t, err)
		defer workers.Free()
		r := rand.New(rand.NewPCG(3, 4))
		for _, bits := range []int{4, 8} {
			p := quantised(s, normal(t, s, r, mlx.Float16, 3000, 576), bits, 32)
			p.Workers = workers
			for _, rows := range []int{1, 6, 20} {
				values := make([]float32, rows*576)
				for i := range values {
					values[i] = float32(r.NormFloat64())
					if i%97 == 0 {
						values[i] *= 40
					}
				}
				if rows > 1 {
					values[576+5] = float32(math.Inf(1))
					values[2*576+7] = float32(math.NaN())
					values[3*576+9], values[3*576+11] = float32(math.Inf(1)), float32(math.Inf(-1))
					clear(values[4*576 : 5*576])
				}
				x, err := mlx.FromFloat32s(values, rows, 576)
				require.NoError(t, err)
				s.Own(x)
				turned := s.Transpose(s.Contiguous(s.Transpose(x), false)) // the same numbers, column by column
				want := reference(s, x, &p)
				for _, p.Form = range forms {
					p.Bias = mlx.Array{}
					what := fmt.Sprintf("bits %d rows %d form %d", bits, rows, p.Form)
					near(t, s, want, apply(t, s, &p, x), bound(p.Form, mlx.Float32), what)
					near(t, s, want, apply(t, s, &p, turned), bound(p.Form, mlx.Float32), what+" turned")
					p.Bias = normal(t, s, r, mlx.Float32, 3000)
					near(t, s, s.Add(want, p.Bias), apply(t, s, &p, x), bound(p.Form, mlx.Float32), what+" bias")
				}
			}
		}
	})
}

// TestProductRefuses: what cannot be computed is an error, not a crash.
func TestProductRefuses(t *testing.T) {
	workers, err := native.NewWorkers(1)
	require.NoError(t, err)
	defer workers.Free()
	_, err = native.NewWorkers(0)
	require.EqualError(t, err, "0 threads are none")
	_, err = native.NewWorkersOf(1, "mmx")
	require.EqualError(t, err, "this processor has no kernels mmx")
	onStream(t, func(s *mlx.Scope) {
		r := rand.New(rand.NewPCG(5, 6))
		good := quantised(s, normal(t, s, r, mlx.Float32, 8, 64), 4, 32)
		good.Workers = workers
		for _, c := range []struct {
			change func(p *native.Product, x *mlx.Array)
			err    string
		}{
			{func(p *native.Product, _ *mlx.Array) { p.Bits = 7 }, "7 bits in groups of 32 are not taken: 2, 3, 4, 5, 6 or 8 in groups of 32, 64 or 128 are"},
			{func(p *native.Product, _ *mlx.Array) { p.Bits = 8 }, "codes of 8 bits in rows of 8 words do not go with 2 groups of 32"},
			{func(p *native.Product, _ *mlx.Array) { p.Scales = mlx.Array{} }, "scales is an absent array"},
			{func(p *native.Product, _ *mlx.Array) { p.Biases = p.Weight }, "scales and biases are not alike"},
			{func(p *native.Product, _ *mlx.Array) { p.Bias = p.Weight }, "bias is neither float32 nor float16 nor bfloat16"},
			{func(_ *native.Product, x *mlx.Array) { *x = normal(t, s, r, mlx.Float32, 1, 32) }, "x has rows of 32, the weight takes 64"},
			{func(p *native.Product, x *mlx.Array) { *x = p.Weight }, "x has rows of 8, the weight takes 64"},
		} {
			p, x := good, normal(t, s, r, mlx.Float32, 1, 64)
			c.change(&p, &x)
			ready, err := native.NewProducts([]*native.Product{&p}, native.Around{})
			if err == nil {
				require.False(t, ready.Apply(s, []mlx.Array{x})[0].Valid())
				err = s.ResetErr()
				ready.Free()
			}
			require.EqualError(t, err, c.err)
		}
	})
}

// TestProducts: several products of one value, with a norm before them or a sum after one, have the bits of the products,
// norm and sum by themselves: over odd shapes, weights of several widths, a bias, values that are not finite.
func TestProducts(t *testing.T) {
	for _, set := range kernels(t) {
		t.Run(set, func(t *testing.T) {
			onStream(t, func(s *mlx.Scope) {
				workers, err := native.NewWorkersOf(2, set)
				require.NoError(t, err)
				defer workers.Free()
				r := rand.New(rand.NewPCG(7, 8))
				for i, inputs := range []int{64, 192, 576, 1056} {
					d := []mlx.Dtype{mlx.Float32, mlx.Bfloat16, mlx.Float16, mlx.Float32}[i]
					gain := normal(t, s, r, []mlx.Dtype{mlx.Float32, mlx.Bfloat16, mlx.Float32, mlx.Bfloat16}[i], inputs)
					var members []*native.Product
					for k, bits := range []int{4, 8, 4, 5} {
						p := quantised(s, normal(t, s, r, d, []int{3, 20, 65, 131}[k], inputs), bits, 32)
						p.Workers = workers
						if k == 2 {
							p.Bias = normal(t, s, r, d, 65)
						}
						members = append(members, &p)
					}
					kept := s.Mark()
					for _, rows := range []int{1, 2, 3, 5, 16, 17} {
						x := normal(t, s, r, d, 1, rows, inputs)
						if rows == 5 {
							x = s.Multiply(x, s.Own(floats(t, []float32{1, float32(math.Inf(1)), float32(math.NaN()), 0, 1}, 1, 5, 1)))
							x = s.Astype(x, d)
						}
						normed := workers.RMSNorm(s, x, gain, 1e-5)
						for _, form := range forms {
							for _, p := range members {
								p.Form = form
							}
							what := fmt.Sprintf("inputs %d rows %d %s form %d", inputs, rows, d, form)
							got := several(t, s, members, []mlx.Array{x}, native.Around{})
							after := several(t, s, members, []mlx.Array{x, gain}, native.Around{Norm: true, Eps: 1e-5})
							for k, p := range members {
								plain, product := apply(t, s, p, x), apply(t, s, p, normed)
								same(t, s, plain, got[k], what)
								same(t, s, product, after[k], what+" norm")
								residual := normal(t, s, r, product.Dtype(), 1, rows, product.Dim(2))
								sum := several(t, s, members[k:k+1], []mlx.Array{x, gain, residual}, native.Around{Norm: true, Eps: 1e-5, Sum: true})
								same(t, s, s.Add(residual, product), sum[0], what+" norm and sum")
								residual = s.Astype(residual, plain.Dtype())
								sum = several(t, s, members[k:k+1], []mlx.Array{x, residual}, native.Around{Sum: true})
								same(t, s, s.Add(plain, residual), sum[0], what+" sum")
							}
						}
						s.ReleaseTo(kept)
					}
				}
			})
		})
	}
}

// several are the products of one value.
func several(t testing.TB, s *mlx.Scope, members []*native.Product, in []mlx.Array, a native.Around) []mlx.Array {
	t.Helper()
	p, err := native.NewProducts(members, a)
	require.NoError(t, err)
	defer p.Free()
	return p.Apply(s, in)
}

func apply(t testing.TB, s *mlx.Scope, p *native.Product, x mlx.Array) mlx.Array {
	t.Helper()
	return several(t, s, []*native.Product{p}, []mlx.Array{x}, native.Around{})[0]
}

func floats(t testing.TB, v []float32, shape ...int) mlx.Array {
	a, err := mlx.FromFloat32s(v, shape...)
	require.NoError(t, err)
	return a
}

// same holds two arrays to equal bits; NaN is any.
func same(t *testing.T, s *mlx.Scope, want, got mlx.Array, what string) {
	t.Helper()
	near(t, s, want, got, 0, what)
}

// TestProductsRefuse: what does not go together is an error.
func TestProductsRefuse(t *testing.T) {
	workers, err := native.NewWorkers(1)
	require.NoError(t, err)
	defer workers.Free()
	onStream(t, func(s *mlx.Scope) {
		r := rand.New(rand.NewPCG(9, 10))
		p := quantised(s, normal(t, s, r, mlx.Float32, 8, 64), 4, 32)
		p.Workers = workers
		x := normal(t, s, r, mlx.Float32, 1, 64)
		for _, c := range []struct {
			n   int
			in  []mlx.Array
			a   native.Around
			err string
		}{
			{0, []mlx.Array{x}, native.Around{}, "0 products of one value; 1 to 16 are taken"},
			{17, []mlx.Array{x}, native.Around{}, "17 products of one value; 1 to 16 are taken"},
			{1, []mlx.Array{x, normal(t, s, r, mlx.Float32, 63)}, native.Around{Norm: true}, "the gain has not the length of x's last axis"},
			{1, []mlx.Array{x, normal(t, s, r, mlx.Float32, 2, 8)}, native.Around{Sum: true}, "the residual is not of the product's shape and dtype"},
			{1, []mlx.Array{x, normal(t, s, r, mlx.Float16, 1, 8)}, native.Around{Sum: true}, "the residual is not of the product's shape and dtype"},
			{2, []mlx.Array{x, normal(t, s, r, mlx.Float32, 1, 8)}, native.Around{Sum: true}, "the residual is not of the product's shape and dtype"},
		} {
			members := make([]*native.Product, c.n)
			for i := range members {
				members[i] = &p
			}
			ready, err := native.NewProducts(members, c.a)
			if err == nil {
				ready.Apply(s, c.in)
				err = s.ResetErr()
				ready.Free()
			}
			require.EqualError(t, err, c.err)
		}
	})
}

// TestRows: the bits of take and dequantize, for row numbers in any order of memory.
func TestRows(t *testing.T) {
	w, err := native.NewWorkers(2)
	require.NoError(t, err)
	defer w.Free()
	onStream(t, func(s *mlx.Scope) {
		r := rand.New(rand.NewPCG(31, 32))
		numbers, err := mlx.FromInt32s([]int32{0, 39, 7, 7, -1, 20}, 2, 3)
		require.NoError(t, err)
		s.Own(numbers)
		for _, bits := range []int{2, 3, 4, 5, 6, 8} {
			for _, d := range []mlx.Dtype{mlx.Float32, mlx.Float16, mlx.Bfloat16} {
				p := quantised(s, normal(t, s, r, d, 40, 256), bits, 64)
				p.Workers = w
				products, err := native.NewProducts([]*native.Product{&p}, native.Around{})
				require.NoError(t, err)
				for _, n := range []mlx.Array{numbers, s.Transpose(numbers)} {
					want := s.Dequantize(s.TakeAxis(p.Weight, n, 0), s.TakeAxis(p.Scales, n, 0), s.TakeAxis(p.Biases, n, 0), 64, bits, "affine", mlx.Array{}, mlx.Opt[mlx.Dtype]{})
					same(t, s, want, products.Rows(s, n), fmt.Sprintf("%d bits, %s", bits, d))
				}
				products.Free()
			}
		}
		p := quantised(s, normal(t, s, r, mlx.Float32, 40, 256), 4, 64)
		p.Workers = w
		products, err := native.NewProducts([]*native.Product{&p}, native.Around{})
		require.NoError(t, err)
		defer products.Free()
		products.Rows(s, normal(t, s, r, mlx.Float32, 3))
		require.ErrorContains(t, s.ResetErr(), "row numbers are not int32")
		far, err := mlx.FromInt32s([]int32{40}, 1)
		require.NoError(t, err)
		require.ErrorContains(t, mlx.Eval(products.Rows(s, s.Own(far))), "row 40 of a weight of 40")
	})
}
