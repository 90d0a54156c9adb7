package ops

import (
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/registry"
)

// chunkedCache lets go, when a forward begins, of what lies more than a chunk back (mlx-lm's ChunkedKVCache). The mask
// does the rest: a position sees its own chunk only.
type chunkedCache struct {
	kvArrays
	first int // position of the first row that is held
	trim  int // rows at the front to cut off at the next use; a forward begins without a scope
}

func (c *chunkedCache) Reset() { c.kvArrays.Reset(); c.first, c.trim = 0, 0 }

func (c *chunkedCache) Begin() {
	c.kvArrays.Begin()
	if !c.keys.Valid() {
		return
	}
	if extra := c.offset - c.first - c.chunk; extra > 0 {
		c.first += extra
		c.trim += extra
	}
}

// cut does the trim that is due.
func (c *chunkedCache) cut(s *mlx.Scope) bool {
	if c.trim == 0 {
		return s.Err() == nil
	}
	used := c.trim + c.offset - c.first
	if !c.hold(s, whole(s, c.keys, c.trim, used), whole(s, c.values, c.trim, used)) {
		return false
	}
	c.trim = 0
	return true
}

func (c *chunkedCache) Update(s *mlx.Scope, k, v mlx.Array) (mlx.Array, mlx.Array) {
	if !c.cut(s) {
		return mlx.Array{}, mlx.Array{}
	}
	k, v = c.narrow(s, k, v)
	n, used := k.Dim(2), c.offset-c.first
	keys, values := c.keys, c.values
	if !keys.Valid() || used+n > keys.Dim(2) {
		keys, values = grown(s, c.keys, rowsOf(k), used, n), grown(s, c.values, rowsOf(v), used, n)
	}
	if !c.put(s, keys, values, k, v, used) {
		return mlx.Array{}, mlx.Array{}
	}
	c.offset += n
	return c.Read(s)
}

func (c *chunkedCache) Read(s *mlx.Scope) (mlx.Array, mlx.Array) {
	if !c.cut(s) {
		return mlx.Array{}, mlx.Array{}
	}
	return c.upTo(s, c.offset-c.first)
}

// Mask is always an array.
func (c *chunkedCache) Mask(call *registry.Call, t int, _ bool) registry.Mask {
	return registry.Mask{Array: chunkMask(call, t, c.start, c.first, c.chunk)}
}
