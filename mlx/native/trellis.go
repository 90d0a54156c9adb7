package native

import (
	"fmt"

	"github.com/graphrun/graphrun/trellis"
)

// EncodeTrellis chooses the codes of rows of a matrix, float32 in row order: each row is divided by its scale and its
// blocks coded one by one, so rows may be shared among goroutines. codes gets the rows one after the other, in the row
// layout, whatever g's layout is; g.Rows does not count. errors gets each row's sum of squared differences of the weights.
func EncodeTrellis(g trellis.Geometry, rows, scales []float32, codes []uint32, errors []float64) error {
	return encodeTrellis(g, rows, scales, codes, errors, false)
}

func encodeTrellis(g trellis.Geometry, rows, scales []float32, codes []uint32, errors []float64, plain bool) error {
	g.Rows, g.Layout = len(scales), trellis.Row
	if err := g.Check(); err != nil {
		return err
	}
	if len(rows) != g.Rows*g.Columns || len(codes) != g.Words() || len(errors) != g.Rows {
		return fmt.Errorf("%d weights and %d words; %d rows of %d have %d and %d", len(rows), len(codes), g.Rows, g.Columns, g.Rows*g.Columns, g.Words())
	}
	return chooseCodes(g, rows, scales, codes, errors, plain)
}
