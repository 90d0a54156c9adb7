//go:build !(cgo && mlx)

package native

import (
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/trellis"
)

func chooseCodes(trellis.Geometry, []float32, []float32, []uint32, bool) (float64, error) {
	return 0, mlx.ErrNoMLX
}
