package ops

import (
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/registry"
)

// rotatingCache keeps the last `window` positions: a ring once it is full, in time order after a step of several (mlx-lm's
// RotatingKVCache with keep 0). What is read after single steps is in ring order: attention does not care.
type rotatingCache struct {
	kvArrays
	index    int  // where the next position goes
	straight bool // the buffers are in row order and nobody else's
}

func (c *rotatingCache) Reset() { c.kvArrays.Reset(); c.index, c.straight = 0, false }

func (c *rotatingCache) Update(s *mlx.Scope, k, v mlx.Array) (mlx.Array, mlx.Array) {
	if k, v = c.narrow(s, k, v); s.Err() != nil {
		return mlx.Array{}, mlx.Array{}
	}
	if n := k.Dim(2); n != 1 {
		return c.append(s, k, v, n)
	}
	return c.turn(s, k, v)
}

// append puts several positions behind the old ones in time order; window - 1 old ones stay, so that the first new one
// still sees its whole window.
func (c *rotatingCache) append(s *mlx.Scope, k, v mlx.Array, n int) (mlx.Array, mlx.Array) {
	keys, values := c.ordered(s, c.keys, k), c.ordered(s, c.values, v)
	if !c.hold(s, keys, values) {
		return mlx.Array{}, mlx.Array{}
	}
	c.offset += n
	c.index, c.straight = c.keys.Dim(2), false
	return c.Read(s)
}

// ordered is the last window - 1 of the old positions in time order, and the new ones behind them.
func (c *rotatingCache) ordered(s *mlx.Scope, old, fresh mlx.Array) mlx.Array {
	if !old.Valid() {
		return s.Own(fresh.Clone())
	}
	size := old.Dim(2)
	// Pieces of old by position, in time order.
	pieces := [][2]int{{0, c.index}}
	if c.index < size && c.index < c.offset {
		pieces = [][2]int{{c.index, size}, {0, c.index}}
	}
	length := 0
	for _, p := range pieces {
		length += p[1] - p[0]
	}
	drop := max(length-c.window+1, 0)
	var list []mlx.Array
	for _, p := range pieces {
		cut := min(drop, p[1]-p[0])
		drop -= cut
		if p[0] += cut; p[0] < p[1] {
			list = append(list, whole(s, old, p[0], p[1]))
		}
	}
	return s.ConcatenateAxis(append(list, fresh), 2)
}

// turn writes one position: into new room until the window is reached, then over the oldest.
func (c *rotatingCache) turn(s *mlx.Scope, k, v mlx.Array) (mlx.Array, mlx.Array) {
	keys, values, index := c.room(s, rowsOf(k), rowsOf(v))
	if !c.put(s, keys, values, k, v, index) {
		return mlx.Array{}, mlx.Array{}
	}
	c.offset++
	c.index = index + 1
	return c.Read(s)
}

// room is the buffers with a place for one position more, and the place.
func (c *rotatingCache) room(s *mlx.Scope, k, v cacheRows) (keys, values mlx.Array, index int) {
	keys, values, index = c.keys, c.values, c.index
	size := keys.Dim(2)
	if !keys.Valid() || c.offset >= size && size < c.window {
		room := min(cacheStep, c.window-c.offset)
		keys, values = widened(s, keys, k, room), widened(s, values, v, room)
		size, index = size+room, c.offset
	}
	if extra := size - c.window; extra > 0 {
		keys, values = dropFront(s, keys, extra, size), dropFront(s, values, extra, size)
		index = c.window
	}
	if index == c.window {
		index = 0
	}
	return keys, values, index
}

// widened is old with room more positions of zeros behind it.
func widened(s *mlx.Scope, old mlx.Array, like cacheRows, room int) mlx.Array {
	fresh := like.zeros(s, room)
	if !old.Valid() {
		return fresh
	}
	return s.ConcatenateAxis([]mlx.Array{old, fresh}, 2)
}

// dropFront is the array without its first n positions, copied as mlx-lm does it: a view would hold on to all.
func dropFront(s *mlx.Scope, a mlx.Array, n, size int) mlx.Array {
	if !a.Valid() {
		return a
	}
	return s.ConcatenateAxis([]mlx.Array{whole(s, a, 0, 0), whole(s, a, n, size)}, 2)
}

func (c *rotatingCache) Read(s *mlx.Scope) (mlx.Array, mlx.Array) {
	return c.upTo(s, min(c.offset, c.keys.Dim(2)))
}

// Mask is none for one position: all that the ring holds is seen. For several, the old positions that can still be seen
// are the last window - 1.
func (c *rotatingCache) Mask(call *registry.Call, t int, array bool) registry.Mask {
	if t == 1 {
		return registry.Mask{}
	}
	old := min(c.window-1, c.start)
	if array || old+t > c.window {
		return registry.Mask{Array: causalMask(call, t, old, c.window)}
	}
	return registry.Mask{Mode: "causal"}
}
