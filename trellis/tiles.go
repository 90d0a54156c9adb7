package trellis

import "fmt"

// TileStorage is the name of the storage that has tiles (exllamav3's checkpoints), apart from that of rows.
const TileStorage = "exl3"

// TileLayout is the layout of its codes.
const TileLayout = "tiles"

// TileWeights is the number of weights of a tile, 16 inputs by 16 outputs.
const TileWeights = 256

// TilePad is what inputs and outputs are filled up to a multiple of, with zeros, before they are coded.
const TilePad = 128

// Codes that the states of a tile, of 16 bits, stand for. The tensors say which: MUL1 and MCG have a marker of their name.
const (
	Code3Inst = "3inst"
	CodeMCG   = "mcg"
	CodeMUL1  = "mul1"
)

// Tiles says how a matrix is coded in tiles: each of 256 states in a ring, the first L - K bits of one those of the one
// before, with a rotation and scales on both sides.
type Tiles struct {
	Bits    int // K, of a symbol: 1 to 8
	Code    string
	Inputs  int // of the weight, without what fills it up
	Outputs int
}

// Padded are the inputs and outputs of the codes.
func (g Tiles) Padded() (inputs, outputs int) { return padded(g.Inputs), padded(g.Outputs) }

func padded(n int) int { return (n + TilePad - 1) / TilePad * TilePad }

// Check says why a matrix cannot be coded so, or nil.
func (g Tiles) Check() error {
	switch {
	case g.Bits < 1 || g.Bits > 8:
		return fmt.Errorf("exl3 tiles of %d bits; there are 1 to 8", g.Bits)
	case g.Code != Code3Inst && g.Code != CodeMCG && g.Code != CodeMUL1:
		return fmt.Errorf("the code %q; exl3 tiles have %s, %s and %s", g.Code, Code3Inst, CodeMCG, CodeMUL1)
	case g.Inputs < 1 || g.Outputs < 1:
		return fmt.Errorf("a matrix of %d x %d has no weights", g.Outputs, g.Inputs)
	}
	return nil
}

// Shape is the shape of the codes, int16.
func (g Tiles) Shape() []int {
	inputs, outputs := g.Padded()
	return []int{inputs / 16, outputs / 16, TileWeights * g.Bits / 16}
}

func (g Tiles) String() string { return fmt.Sprintf("%s %d bits %s", TileStorage, g.Bits, g.Code) }
