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

// TestAttentionTakesIn: norms, rotation, the views of heads and the merge give the bits that they give as calls of their own.
func TestAttentionTakesIn(t *testing.T) {
	const batch, heads, kvHeads, size, room = 2, 6, 2, 64, 512
	rates := make([]float32, size/4)
	for i := range rates {
		rates[i] = float32(math.Pow(10000, -2*float64(i)/(size/2)))
	}
	type layout struct {
		name   string
		of     [3]int
		merged bool
	}
	layouts := []layout{{"rows", [3]int{heads, kvHeads, kvHeads}, true}, {"heads last", [3]int{native.HeadsLast, kvHeads, native.HeadsLast}, false},
		{"heads first", [3]int{}, true}}
	for _, set := range kernels(t) {
		for _, d := range []mlx.Dtype{mlx.Float32, mlx.Bfloat16, mlx.Float16} {
			for _, gain := range []mlx.Dtype{mlx.Float32, mlx.Bfloat16} {
				t.Run(fmt.Sprintf("%s/%s with gains of %s", set, d, gain), func(t *testing.T) {
					onStream(t, func(s *mlx.Scope) {
						w, err := native.NewWorkersOf(2, set)
						require.NoError(t, err)
						defer w.Free()
						r := rand.New(rand.NewPCG(13, 14))
						gains := [2]mlx.Array{normal(t, s, r, gain, size), {}}
						stored := d
						if gain != d {
							stored = mlx.Float32
						}
						for i, l := range layouts {
							// A prompt, single steps past a span of keys, and a few rows.
							keys, values := s.Zeros([]int{batch, kvHeads, room, size}, stored), s.Zeros([]int{batch, kvHeads, room, size}, stored)
							wantKeys, wantValues := s.Copy(keys), s.Copy(values)
							at := 0
							for _, n := range []int{3, 130, 1, 5} {
								rows := func(h int) mlx.Array { return normal(t, s, r, d, batch, n, h*size) }
								q, k, v := rows(heads), rows(kvHeads), s.Astype(rows(kvHeads), stored)
								apart := func(x mlx.Array, h int) mlx.Array { return s.Reshape(x, []int{batch, n, h, size}) }
								place := native.Place{Position: at, At: at, Seen: at + 1}
								kGain := gains[i%2]
								if stored != d {
									kGain = gains[0]
								}
								q4, k4 := w.RMSNorm(s, apart(q, heads), gains[0], 1e-5), w.RMSNorm(s, apart(k, kvHeads), kGain, 1e-6)
								first := func(x mlx.Array) mlx.Array { return s.TransposeAxes(x, []int{0, 2, 1, 3}) }
								turn := func(x mlx.Array) mlx.Array { return w.Rope(s, first(x), rates, true, at, 0) }
								plain := native.Attention{Workers: w, Scale: 0.125}
								var want mlx.Array
								want, wantKeys, wantValues = plain.Append(s, turn(q4), turn(k4), first(apart(v, kvHeads)), wantKeys, wantValues, place)
								if l.merged {
									want = s.Reshape(first(want), []int{batch, n, heads * size})
								}
								lie := func(x mlx.Array, h, of int) mlx.Array {
									switch of {
									case native.HeadsLast:
										return apart(x, h)
									case native.HeadsFirst:
										return first(apart(x, h))
									}
									return x
								}
								a := native.Attention{Workers: w, Scale: 0.125, Layout: l.of, Merged: l.merged, Rates: rates, Neighbours: true,
									Q: native.HeadNorm{On: true, Gain: gains[0], Eps: 1e-5}, K: native.HeadNorm{On: true, Gain: kGain, Eps: 1e-6}}
								var y mlx.Array
								y, keys, values = a.Append(s, lie(q, heads, l.of[0]), lie(k, kvHeads, l.of[1]), lie(v, kvHeads, l.of[2]), keys, values, place)
								require.NoError(t, s.Err())
								what := fmt.Sprintf("%s, %d rows at %d", l.name, n, at)
								near(t, s, want, y, 0, what)
								near(t, s, wantKeys, keys, 0, what+": keys")
								near(t, s, wantValues, values, 0, what+": values")
								at += n
							}
						}
					})
				})
			}
		}
	}
}

// TestAttentionWritesInPlace: a step that is built while the one before it still runs copies no buffer, and both give what
// attention over all rows gives.
func TestAttentionWritesInPlace(t *testing.T) {
	w, err := native.NewWorkers(2)
	require.NoError(t, err)
	defer w.Free()
	onStream(t, func(s *mlx.Scope) {
		const heads, room, size, steps = 4, 2048, 64, 6
		r := rand.New(rand.NewPCG(11, 12))
		a := native.Attention{Workers: w, Scale: 0.125}
		x := normal(t, s, r, mlx.Float32, 1, heads, 1000+steps, size)
		keys, values := s.Zeros([]int{1, heads, room, size}, mlx.Float32), s.Zeros([]int{1, heads, room, size}, mlx.Float32)
		cut := func(first, last int) mlx.Array {
			return s.Slice(x, []int{0, 0, first, 0}, []int{1, heads, last, size}, []int{1, 1, 1, 1})
		}
		past := cut(0, 1000)
		y, keys, values := a.Append(s, past, past, past, keys, values, native.Place{Seen: 1})
		require.NoError(t, mlx.Eval(y, keys, values))
		active := mlx.ActiveMemory()
		require.NoError(t, mlx.ResetPeakMemory())
		var got []mlx.Array
		for i := 1000; i < 1000+steps; i++ {
			row := cut(i, i+1)
			y, keys, values = a.Append(s, row, row, row, keys, values, native.Place{At: i, Seen: i + 1})
			require.NoError(t, mlx.AsyncEval(y))
			got = append(got, y)
		}
		require.NoError(t, mlx.Eval(append(got, keys)...))
		require.Less(t, mlx.PeakMemory()-active, heads*room*size*4, "a buffer is copied")
		want := s.FastScaledDotProductAttention(x, x, x, 0.125, "causal", mlx.Array{}, mlx.Array{}, false)
		near(t, s, s.Slice(want, []int{0, 0, 1000, 0}, []int{1, heads, 1000 + steps, size}, []int{1, 1, 1, 1}), s.ConcatenateAxis(got, 2), 2e-5, "attend")
	})
}

// TestAttentionShapes: groups of query heads, lengths of rows that fill no vector, several rows, spans that end anywhere, and
// caches narrower than what is written give what MLX's attention gives over the same keys and values.
func TestAttentionShapes(t *testing.T) {
	const kvHeads, room = 2, 320
	cases := []struct{ group, size, value, past, rows int }{
		{1, 64, 64, 0, 1}, {3, 64, 64, 128, 1}, {3, 64, 64, 299, 1}, {4, 64, 128, 127, 1}, {5, 20, 36, 130, 2}, {2, 8, 4, 5, 3},
		{8, 128, 64, 257, 1}, {16, 12, 48, 200, 1}, {3, 64, 64, 250, 7}, {1, 60, 20, 120, 13}, {3, 64, 64, 100, 40},
	}
	for _, set := range kernels(t) {
		for _, stored := range []mlx.Dtype{mlx.Float32, mlx.Float16, mlx.Bfloat16} {
			t.Run(fmt.Sprintf("%s/%s", set, stored), func(t *testing.T) {
				w, err := native.NewWorkersOf(2, set)
				require.NoError(t, err)
				defer w.Free()
				onStream(t, func(s *mlx.Scope) {
					r := rand.New(rand.NewPCG(15, 16))
					none, err := mlx.FromFloat32s([]float32{float32(math.NaN())})
					require.NoError(t, err)
					nan := s.Own(none)
					for _, c := range cases {
						a := native.Attention{Workers: w, Scale: 0.3}
						draw := func(heads, n, size int) mlx.Array { return normal(t, s, r, mlx.Float32, 2, heads, n, size) }
						keys, values := draw(kvHeads, c.past+c.rows, c.size), draw(kvHeads, c.past+c.rows, c.value)
						q := draw(kvHeads*c.group, c.rows, c.size)
						cut := func(x mlx.Array, first int) mlx.Array {
							d := x.Shape()
							return s.Slice(x, []int{0, 0, first, 0}, []int{2, kvHeads, c.past + c.rows, d[3]}, []int{1, 1, 1, 1})
						}
						buffer := func(x mlx.Array) mlx.Array {
							empty := s.Full([]int{2, kvHeads, room, x.Dim(3)}, nan, stored) // nobody may look behind
							return s.SliceUpdate(empty, s.Astype(x, stored), []int{0, 0, 0, 0}, []int{2, kvHeads, c.past + c.rows, x.Dim(3)}, []int{1, 1, 1, 1})
						}
						y, gotKeys, _ := a.Append(s, q, cut(keys, c.past), cut(values, c.past), buffer(keys), buffer(values),
							native.Place{Position: c.past, At: c.past, Seen: c.past + 1})
						held := func(x mlx.Array) mlx.Array { return s.Astype(s.Astype(x, stored), mlx.Float32) }
						want := s.FastScaledDotProductAttention(q, held(keys), held(values), 0.3, "causal", mlx.Array{}, mlx.Array{}, false)
						require.NoError(t, s.Err())
						near(t, s, want, y, 1e-5, fmt.Sprintf("%+v", c))
						shape := keys.Shape()
						near(t, s, s.Astype(keys, stored), s.Slice(gotKeys, []int{0, 0, 0, 0}, shape, []int{1, 1, 1, 1}), 0, fmt.Sprintf("keys of %+v", c))
					}
				})
			})
		}
	}
}
