package trellis

import "fmt"

// StateBits is L, the bits of a state.
const StateBits = 12

// Code is the name of the code that states stand for.
const Code = "1mad"

// Layouts of the codes.
const (
	Row         = "row"
	Interleaved = "interleaved"
)

// Geometry says how a matrix is coded.
type Geometry struct {
	Bits    int    // k, of a symbol: 2, 3 or 4
	Block   int    // T, weights of a block
	Axis    int    // 1: S is [out, in], 0: [in, out]
	Layout  string // of the codes: Row or Interleaved
	Rows    int    // of S
	Columns int    // of S, the coded axis
}

// Of is the geometry of a weight [outputs, inputs].
func Of(bits, block, axis int, layout string, outputs, inputs int) Geometry {
	if axis == 0 {
		outputs, inputs = inputs, outputs
	}
	return Geometry{bits, block, axis, layout, outputs, inputs}
}

// Check says why a matrix cannot be coded so, or nil.
func (g Geometry) Check() error {
	switch {
	case g.Bits < 2 || g.Bits > 4:
		return fmt.Errorf("trellis codes of %d bits; 2, 3 and 4 are read", g.Bits)
	case g.Axis != 0 && g.Axis != 1:
		return fmt.Errorf("trellis axis %d; it is 0 (coded along the outputs) or 1 (along the inputs)", g.Axis)
	case g.Block < 64 || g.Block > 1024 || g.Block%32 != 0:
		return fmt.Errorf("trellis blocks of %d weights; a block has a multiple of 32, from 64 to 1024", g.Block)
	case g.Rows < 1 || g.Columns < 1:
		return fmt.Errorf("a matrix of %d x %d has no weights", g.Rows, g.Columns)
	case g.Columns%g.Block != 0:
		return fmt.Errorf("%d %s are no multiple of trellis blocks of %d", g.Columns, g.coded(), g.Block)
	case g.Layout != Row && g.Layout != Interleaved:
		return fmt.Errorf("trellis layout %q; there are %s and %s", g.Layout, Row, Interleaved)
	case g.Layout == Interleaved && (g.Bits != 3 || g.Block != 256 || g.Axis != 0):
		return fmt.Errorf("the interleaved layout is for 3 bits, blocks of 256 and axis 0; these are %d bits, blocks of %d, axis %d", g.Bits, g.Block, g.Axis)
	case g.Layout == Interleaved && g.Columns%512 != 0:
		return fmt.Errorf("%d outputs are no multiple of 512, which the interleaved layout takes", g.Columns)
	}
	return nil
}

func (g Geometry) coded() string {
	if g.Axis == 0 {
		return "outputs"
	}
	return "inputs"
}

// BlockWords is the number of words of a block.
func (g Geometry) BlockWords() int { return g.Block * g.Bits / 32 }

// Words is the number of words of the matrix.
func (g Geometry) Words() int { return g.Rows * (g.Columns / g.Block) * g.BlockWords() }

// Shape is the shape of the codes.
func (g Geometry) Shape() []int {
	if g.Layout == Interleaved {
		return []int{g.Columns / 512, g.Rows, 2 * g.BlockWords()}
	}
	return []int{g.Rows, g.Columns * g.Bits / 32}
}

// At is the index of a block's first word.
func (g Geometry) At(row, block int) int {
	if g.Layout == Interleaved {
		return ((block/2)*g.Rows+row)*2*g.BlockWords() + block%2*g.BlockWords()
	}
	return (row*(g.Columns/g.Block) + block) * g.BlockWords()
}

func (g Geometry) String() string {
	return fmt.Sprintf("trellis %d bits block %d axis %d %s", g.Bits, g.Block, g.Axis, g.Layout)
}
