package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/registry"
)

// maskKey tells masks of one forward apart: layers with the same numbers share an array.
type maskKey struct{ t, offset, window, chunk, first int }

// causalMask is bool [t, offset + t]: row i sees positions up to offset + i, the last window of them where window > 0
// (mlx_lm/models/base.py, create_causal_mask).
func causalMask(c *registry.Call, t, offset, window int) mlx.Array {
	return remembered(c, maskKey{t: t, offset: offset, window: window}, func() mlx.Array {
		columns := c.Arange(0, float64(offset+t), 1, dtype.Int32)
		rows := columns
		if offset > 0 {
			rows = c.Arange(float64(offset), float64(offset+t), 1, dtype.Int32)
		}
		rows, columns = c.ExpandDims(rows, 1), c.ExpandDims(columns, 0)
		mask := c.GreaterEqual(rows, columns)
		if window == 0 {
			return mask
		}
		n, err := mlx.ScalarOf(float64(window), dtype.Int32)
		c.Fail(err)
		return c.BitwiseAnd(mask, c.Less(rows, c.Add(columns, c.Own(n))))
	})
}

// chunkMask is bool [t, offset + t - first]: a row sees positions of its own chunk up to itself; the columns begin at
// position first (mlx_lm/models/llama4.py).
func chunkMask(c *registry.Call, t, offset, first, chunk int) mlx.Array {
	return remembered(c, maskKey{t, offset, 0, chunk, first}, func() mlx.Array {
		columns := c.Arange(float64(first), float64(offset+t), 1, dtype.Int32)
		rows := c.ExpandDims(c.Arange(float64(offset), float64(offset+t), 1, dtype.Int32), 1)
		n, err := mlx.ScalarOf(float64(chunk), dtype.Int32)
		c.Fail(err)
		c.Own(n)
		near := c.Equal(c.FloorDivide(columns, n), c.FloorDivide(rows, n))
		return c.BitwiseAnd(near, c.LessEqual(columns, rows))
	})
}

func remembered(c *registry.Call, key maskKey, make func() mlx.Array) mlx.Array {
	a, _ := shared(c.Memo, any(key), func() (mlx.Array, error) { a := make(); return a, c.Err() })
	return a
}
