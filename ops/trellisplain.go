package ops

import (
	endian "encoding/binary"
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/registry"
	codec "github.com/graphrun/graphrun/trellis"
)

// plainTrellis decodes trellis codes by MLX's operations, on any device. Every step is exact: integers, a table of the
// values, one product with the scale.
type plainTrellis struct {
	codes, scales mlx.Array
	geometry      codec.Geometry
	*trellisTables
}

// trellisTables are what the codes of one width and block are decoded with.
type trellisTables struct {
	values      mlx.Array // [4096], of the states
	first, next mlx.Array // [T], the word in which a weight's state begins, and the one after it in the ring
	right, left mlx.Array // [T], how far the two are shifted
	spans       mlx.Array // [T], all ones where the state needs the next word, else zero
	mask        mlx.Array // []
}

type tablesKey struct{ bits, block int }

func newPlainTrellis(b *registry.ClassBuild, role string) (*plainTrellis, error) {
	w := b.Weights[role]
	f := w.Facts
	g := codec.Of(f.Bits, f.Group, f.Axis, f.Layout, f.Outputs, f.Inputs)
	if err := g.Check(); err != nil {
		return nil, err
	}
	p := &plainTrellis{codes: w.Weight, scales: w.Scales, geometry: g}
	key := tablesKey{g.Bits, g.Block}
	if t, ok := b.Memo[key].(*trellisTables); ok {
		p.trellisTables = t
		return p, nil
	}
	t, err := newTables(b, g)
	if err != nil {
		return nil, fmt.Errorf("tables of trellis codes: %w", err)
	}
	if b.Memo != nil {
		b.Memo[key] = t
	}
	p.trellisTables = t
	return p, nil
}

func newTables(b *registry.ClassBuild, g codec.Geometry) (*trellisTables, error) {
	const states = 1 << codec.StateBits
	values := make([]float32, states)
	for s := range values {
		values[s] = codec.Value(uint32(s))
	}
	words := g.BlockWords()
	column := func(of func(word, shift int) uint32) []byte {
		var out []byte
		for t := range g.Block {
			at := (g.Block - 1 - t) * g.Bits
			out = endian.NativeEndian.AppendUint32(out, of(at/32, at%32))
		}
		return out
	}
	spans := func(shift int) bool { return shift+codec.StateBits > 32 }
	var err error
	keep := func(a mlx.Array, e error) mlx.Array {
		if e != nil {
			err = e
			return mlx.Array{}
		}
		return b.Keep(a)
	}
	list := func(of func(word, shift int) uint32) mlx.Array {
		return keep(mlx.FromBytes(column(of), []int{g.Block}, mlx.Uint32))
	}
	return &trellisTables{
		values: keep(mlx.FromFloat32s(values, states)),
		first:  list(func(word, _ int) uint32 { return uint32(word) }),
		next:   list(func(word, _ int) uint32 { return uint32((word + 1) % words) }),
		right:  list(func(_, shift int) uint32 { return uint32(shift) }),
		left: list(func(_, shift int) uint32 {
			if spans(shift) {
				return uint32(32 - shift)
			}
			return 0
		}),
		spans: list(func(_, shift int) uint32 {
			if spans(shift) {
				return 0xffffffff
			}
			return 0
		}),
		mask: keep(mlx.FromBytes(endian.NativeEndian.AppendUint32(nil, states-1), nil, mlx.Uint32)),
	}, err
}

// expand gives S [rows, columns] in float32.
func (p *plainTrellis) expand(s *mlx.Scope, rounded bool) mlx.Array {
	g := p.geometry
	codes := p.codes
	if g.Layout == codec.Interleaved {
		codes = s.TransposeAxes(codes, []int{1, 0, 2})
	}
	codes = s.Reshape(codes, []int{g.Rows, g.Columns / g.Block, g.BlockWords()})
	low := s.RightShift(s.TakeAxis(codes, p.first, 2), p.right)
	high := s.BitwiseAnd(s.LeftShift(s.TakeAxis(codes, p.next, 2), p.left), p.spans)
	states := s.BitwiseAnd(s.BitwiseOr(low, high), p.mask)
	values := s.Reshape(s.TakeAxis(p.values, states, 0), []int{g.Rows, g.Columns})
	w := s.Multiply(values, s.ExpandDims(s.Astype(p.scales, mlx.Float32), 1))
	if rounded {
		w = s.Astype(s.Astype(w, mlx.Bfloat16), mlx.Float32)
	}
	return w
}
