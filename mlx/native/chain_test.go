//go:build cgo && mlx

package native_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
)

// step is what a chain is recorded of: rows of a table by their numbers, a norm with a product, a residual, attention over a
// cache.
type step struct {
	w             *native.Workers
	table, linear *native.Products
	attention     native.Attention
}

const (
	stepRows = 40 // of the table
	stepSize = 64 // of a row, and of the one head
	stepRoom = 32 // positions of the cache
)

func newStep(t *testing.T, s *mlx.Scope, w *native.Workers) *step {
	r := rand.New(rand.NewPCG(51, 52))
	made := func(outputs int, a native.Around) *native.Products {
		p := quantised(s, normal(t, s, r, mlx.Float32, outputs, stepSize), 4, 32)
		p.Workers, p.Form = w, native.RowsQ8
		products, err := native.NewProducts([]*native.Product{&p}, a)
		require.NoError(t, err)
		t.Cleanup(products.Free)
		return products
	}
	return &step{w: w, table: made(stepRows, native.Around{}), linear: made(stepSize, native.Around{Norm: true, Eps: 1e-5}),
		attention: native.Attention{Workers: w, Scale: 0.25, State: 1}}
}

// calls runs the step's calls for a number [1, 1] at a position: what each was given and made, and the buffers.
func (p *step) calls(s *mlx.Scope, number, keys, values mlx.Array, at int) ([]native.Ends, [2]mlx.Array) {
	x := p.table.Rows(s, number)
	y := p.linear.Apply(s, []mlx.Array{x, {}})[0]
	z := s.Add(x, y)
	head := s.Reshape(z, []int{1, 1, 1, stepSize})
	a, keys, values := p.attention.Append(s, head, head, head, keys, values, native.Place{Position: at, At: at, Seen: at + 1})
	return []native.Ends{{Name: "the table", In: []mlx.Array{number}, Out: []mlx.Array{x}}, {Name: "the product", In: []mlx.Array{x}, Out: []mlx.Array{y}},
		{Name: "the sum", In: []mlx.Array{x, y}, Out: []mlx.Array{z}}, {Name: "attention", In: []mlx.Array{z}, Out: []mlx.Array{a}}}, [2]mlx.Array{keys, values}
}

func (p *step) buffers(t *testing.T, s *mlx.Scope) [2]mlx.Array {
	keys, values := s.Zeros([]int{1, 1, stepRoom, stepSize}, mlx.Float32), s.Zeros([]int{1, 1, stepRoom, stepSize}, mlx.Float32)
	require.NoError(t, mlx.Eval(keys, values))
	return [2]mlx.Array{keys, values}
}

func numberOf(t *testing.T, s *mlx.Scope, n int) mlx.Array {
	a, err := mlx.FromInt32s([]int32{int32(n)}, 1, 1)
	require.NoError(t, err)
	return s.Own(a)
}

// record makes a chain of a step at position 0, which is not computed.
func (p *step) record(t *testing.T, s *mlx.Scope, buffers [2]mlx.Array) *native.Chain {
	number := numberOf(t, s, 0)
	calls, held := p.calls(s, number, buffers[0], buffers[1], 0)
	require.NoError(t, s.Err())
	require.Equal(t, []int{native.Pure, native.Pure, native.Pure, 1}, native.Calls(buffers[:], calls))
	out := calls[3].Out
	c, err := native.NewChain(p.w, buffers[:], []mlx.Array{number}, out, held[:], calls)
	require.NoError(t, err)
	require.Equal(t, 4, c.Nodes())
	return c
}

func (p *step) places(at int) []native.Place {
	return []native.Place{{}, {Position: at, At: at, Seen: at + 1}}
}

// TestChain: a chain gives the bits of its calls at any place, and writes to the very buffers; what a run cannot compute is an
// error that names the call, which the runs after it do not see; runs leave nothing behind.
func TestChain(t *testing.T) {
	w, err := native.NewWorkers(2)
	require.NoError(t, err)
	defer w.Free()
	onStream(t, func(s *mlx.Scope) {
		p := newStep(t, s, w)
		mine, theirs := p.buffers(t, s), p.buffers(t, s)
		c := p.record(t, s, mine)
		kept := s.Mark()
		arrays, memory := mlx.LiveArrays(), mlx.ActiveMemory()
		for at := range stepRoom {
			number := at * 7 % stepRows
			if at%5 == 3 { // of a number that there is not: the position stays free
				y := c.Run(s, []mlx.Array{numberOf(t, s, stepRows+at)}, p.places(at))
				require.NoError(t, s.Err())
				require.EqualError(t, mlx.Eval(y...), fmt.Sprintf("eval: the table: row %d of a weight of %d", stepRows+at, stepRows))
			}
			calls, held := p.calls(s, numberOf(t, s, number), theirs[0], theirs[1], at)
			want := calls[3].Out[0]
			require.NoError(t, mlx.Eval(want, held[0], held[1]))
			got := c.Run(s, []mlx.Array{numberOf(t, s, number)}, p.places(at))
			require.NoError(t, s.Err())
			same(t, s, want, got[0], fmt.Sprintf("position %d", at))
			same(t, s, theirs[0], mine[0], "keys")
			same(t, s, theirs[1], mine[1], "values")
			s.ReleaseTo(kept)
			require.Equal(t, arrays, mlx.LiveArrays())
			require.LessOrEqual(t, mlx.ActiveMemory(), memory+64, "bytes after position %d", at)
		}
		last := c.Run(s, []mlx.Array{numberOf(t, s, 1)}, p.places(3))
		c.Free() // a run that waits ends well
		require.NoError(t, mlx.Eval(last...))
	})
}

// TestChainRefuses: other inputs than it was recorded with, states that it is not told of, and what is no native primitive.
func TestChainRefuses(t *testing.T) {
	w, err := native.NewWorkers(1)
	require.NoError(t, err)
	defer w.Free()
	onStream(t, func(s *mlx.Scope) {
		p := newStep(t, s, w)
		buffers := p.buffers(t, s)
		c := p.record(t, s, buffers)
		defer c.Free()
		c.Run(s, []mlx.Array{s.Zeros([]int{1, 2}, mlx.Int32)}, p.places(0))
		require.EqualError(t, s.ResetErr(), "an input of a chain is of another shape or dtype than when it was recorded")
		c.Run(s, []mlx.Array{s.Zeros([]int{1, 1}, mlx.Float32)}, p.places(0))
		require.EqualError(t, s.ResetErr(), "an input of a chain is of another shape or dtype than when it was recorded")
		c.Run(s, []mlx.Array{numberOf(t, s, 0)}, p.places(0)[:1])
		require.EqualError(t, s.ResetErr(), "a chain is told of fewer states than it uses")

		number := numberOf(t, s, 0)
		x := p.table.Rows(s, number)
		foreign, wide := s.Exp(x), s.Add(x, s.Zeros([]int{3, 1, stepSize}, mlx.Float32)) // broadcast: no sum of one shape
		ends := func(out mlx.Array) native.Ends { return native.Ends{In: []mlx.Array{number}, Out: []mlx.Array{out}} }
		require.Equal(t, []int{native.Pure, native.Foreign, native.Foreign}, native.Calls(nil, []native.Ends{ends(x), ends(foreign), ends(wide)}))
		_, err := native.NewChain(w, nil, []mlx.Array{number}, []mlx.Array{foreign}, nil, nil)
		require.EqualError(t, err, "something else than a native primitive is met")
		_, err = native.NewChain(w, nil, nil, []mlx.Array{x}, nil, nil)
		require.Error(t, err, "its input is not given")
	})
}
