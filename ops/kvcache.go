package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// cacheStep is by how many positions caches grow (mlx_lm/models/cache.py).
const cacheStep = 256

func cacheKind() *registry.StateKind {
	return &registry.StateKind{
		Name: "cache",
		Doc: "Keys [B, heads, positions, dim] and values [B, heads, positions, value_dim] of the positions taken so far: all of them, the last `window`, " +
			"or those of the current `chunk`. Grown by 256 positions at a time, in the dtype of what is first written or in the one that a variant's `scheme` says. " +
			"Tokens are taken back by cutting the last positions off (rollback `trim`; of a window `window`: as far as what they pushed out is still held).",
		Fields: []registry.Param{
			required("heads", "int", "heads of keys and values"),
			required("dim", "int", "entries of a key"),
			optional("value_dim", "int", "entries of a value; none: as dim. 0: keys only"),
			withDefault("window", "int", "positions that attention sees; 0: all", intValue(0)),
			withDefault("chunk", "int", "positions of a chunk that attends to itself alone; 0: none", intValue(0)),
		},
		New: func(decl plan.State) (registry.StateValue, error) {
			g, err := newGeometry(decl)
			if err != nil {
				return nil, err
			}
			switch {
			case g.window > 0:
				return &rotatingCache{kvArrays: kvArrays{geometry: g}}, nil
			case g.chunk > 0:
				return &chunkedCache{kvArrays: kvArrays{geometry: g}}, nil
			}
			return &fullCache{kvArrays{geometry: g}}, nil
		},
		Rollback: func(decl plan.State) registry.Rollback {
			if decl.Args.Int("window") > 0 {
				return registry.Rollback{Self: "window", Choices: []string{"snapshot"}}
			}
			return registry.Rollback{Self: "trim", Choices: []string{"snapshot"}}
		},
		Bytes: func(decl plan.State) (perPosition, fixed int64) {
			g, err := newGeometry(decl)
			if err != nil {
				return 0, 0
			}
			n := int64(g.heads) * rowBytes(g.dim+g.valueDim, decl)
			switch {
			case g.window > 0:
				return 0, n * int64(g.window)
			case g.chunk > 0:
				return 0, n * int64(g.chunk)
			}
			return n, 0
		},
	}
}

// rowBytes is what so many entries of a position take: affine codes have a float16 scale and zero point a group.
func rowBytes(entries int, decl plan.State) int64 {
	if decl.Scheme == "affine" && decl.Group > 0 {
		return int64(entries*decl.Bits)/8 + 4*int64(entries/decl.Group)
	}
	return int64(entries) * int64(decl.Holds().Size())
}

// geometry is a cache's declaration.
type geometry struct {
	heads, dim, valueDim, window, chunk int
	scheme                              string // the dtype that is held; "": that of what is written
}

// holds is the dtype in which something is held.
func (g geometry) holds(d mlx.Dtype) mlx.Dtype {
	if held, ok := dtype.Parse(g.scheme); ok {
		return held
	}
	return d
}

// mostEntriesOfRow bounds heads * dim, so that no declaration overflows a size.
const mostEntriesOfRow = 1 << 24

func newGeometry(decl plan.State) (geometry, error) {
	g := geometry{heads: decl.Args.Int("heads"), dim: decl.Args.Int("dim"), window: decl.Args.Int("window"), chunk: decl.Args.Int("chunk")}
	if _, ok := dtype.Parse(decl.Scheme); ok {
		g.scheme = decl.Scheme
	}
	if g.valueDim = g.dim; decl.Args.Has("value_dim") {
		g.valueDim = decl.Args.Int("value_dim")
	}
	switch {
	case g.heads < 1 || g.heads > mostEntriesOfRow:
		return g, fmt.Errorf("a cache has 1 head or more, not %d", g.heads)
	case g.dim < 1 || g.dim > mostEntriesOfRow/g.heads:
		return g, fmt.Errorf("%d heads of dim %d are no cache; dim is from 1 to %d", g.heads, g.dim, mostEntriesOfRow/g.heads)
	case g.valueDim < 0 || g.valueDim > mostEntriesOfRow/g.heads:
		return g, fmt.Errorf("value_dim %d is not from 0 to %d", g.valueDim, mostEntriesOfRow/g.heads)
	case g.window < 0 || g.chunk < 0:
		return g, fmt.Errorf("window %d and chunk %d are 0 or more", g.window, g.chunk)
	case g.window > 0 && g.chunk > 0:
		return g, fmt.Errorf("window %d and chunk %d: a cache has one of them", g.window, g.chunk)
	}
	return g, nil
}

// kvArrays is what all caches have: the arrays that they own, and their length.
type kvArrays struct {
	geometry
	keys, values mlx.Array    // null before the first update; values also where value_dim is 0
	wide         [2]mlx.Dtype // of what keys and values are made of, where a scheme narrows them
	offset       int          // positions taken
	start        int          // offset when the forward began
	held         int          // how often the arrays have been others
}

func (c *kvArrays) Begin()      { c.start = c.offset }
func (c *kvArrays) Offset() int { return c.start }
func (c *kvArrays) Reset()      { c.Free(); c.offset, c.start = 0, 0 }

func (c *kvArrays) Arrays() []mlx.Array {
	var out []mlx.Array
	for _, a := range []mlx.Array{c.keys, c.values} {
		if a.Valid() {
			out = append(out, a)
		}
	}
	return out
}

func (c *kvArrays) Free() {
	mlx.FreeAll(c.keys, c.values)
	c.keys, c.values = mlx.Array{}, mlx.Array{}
	c.held++
}

// hold makes new arrays the cache's and lets the old ones go: MLX writes into their memory if, when the forward is
// evaluated, nobody else holds them. After an error the old ones stay.
func (c *kvArrays) hold(s *mlx.Scope, k, v mlx.Array) bool {
	if s.Err() != nil {
		return false
	}
	s.Keep(k, v)
	c.Free()
	c.keys, c.values = k, v
	return true
}

// narrow is what the cache holds of new keys and values.
func (c *kvArrays) narrow(s *mlx.Scope, k, v mlx.Array) (mlx.Array, mlx.Array) {
	if c.scheme == "" {
		return k, v
	}
	c.wide[0] = k.Dtype()
	k = s.Astype(k, c.holds(k.Dtype()))
	if v.Valid() {
		c.wide[1] = v.Dtype()
		v = s.Astype(v, c.holds(v.Dtype()))
	}
	return k, v
}

// put writes k and v at a position of buffers that are the cache's or were made for it.
func (c *kvArrays) put(s *mlx.Scope, keys, values, k, v mlx.Array, at int) bool {
	newKeys, newValues := putAlong(s, keys, k, 2, at), mlx.Array{}
	if v.Valid() {
		newValues = putAlong(s, values, v, 2, at)
	}
	return c.hold(s, newKeys, newValues)
}

// upTo is the first n positions of what the cache holds, in the dtype in which they were written.
func (c *kvArrays) upTo(s *mlx.Scope, n int) (mlx.Array, mlx.Array) {
	if !c.keys.Valid() {
		s.Fail(fmt.Errorf("the cache is read before anything was written to it"))
		return mlx.Array{}, mlx.Array{}
	}
	k, v := whole(s, c.keys, 0, n), whole(s, c.values, 0, n)
	if c.scheme != "" {
		if k = s.Astype(k, c.wide[0]); v.Valid() {
			v = s.Astype(v, c.wide[1])
		}
	}
	return k, v
}

// whole is positions first to last of an array [B, heads, positions, dim]; null of null.
func whole(s *mlx.Scope, a mlx.Array, first, last int) mlx.Array {
	if !a.Valid() {
		return a
	}
	return along(s, a, 2, first, last)
}

// cacheRows is what a buffer holds of each position: [batch, heads, .., dim]. The zero value holds nothing.
type cacheRows struct {
	batch, heads, dim int
	dtype             mlx.Dtype
}

// rowsOf is what an array [B, heads, T, dim] has.
func rowsOf(a mlx.Array) cacheRows {
	if !a.Valid() {
		return cacheRows{}
	}
	size := a.Shape()
	return cacheRows{size[0], size[1], size[3], a.Dtype()}
}

// zeros makes n positions; null of nothing.
func (r cacheRows) zeros(s *mlx.Scope, n int) mlx.Array {
	if r == (cacheRows{}) {
		return mlx.Array{}
	}
	return s.Zeros([]int{r.batch, r.heads, n, r.dim}, r.dtype)
}

// grown is a buffer for n more positions after prev: whole steps of zeros, behind what is used of the old one.
func grown(s *mlx.Scope, old mlx.Array, like cacheRows, prev, n int) mlx.Array {
	fresh := like.zeros(s, (cacheStep+n-1)/cacheStep*cacheStep)
	if !old.Valid() {
		return fresh
	}
	used := old
	if prev%cacheStep != 0 {
		used = whole(s, old, 0, prev)
	}
	return s.ConcatenateAxis([]mlx.Array{used, fresh}, 2)
}

// fullCache keeps every position (mlx-lm's KVCache).
type fullCache struct{ kvArrays }

func (c *fullCache) Update(s *mlx.Scope, k, v mlx.Array) (mlx.Array, mlx.Array) {
	k, v = c.narrow(s, k, v)
	n := k.Dim(2)
	keys, values := c.room(s, rowsOf(k), rowsOf(v), n)
	if !c.put(s, keys, values, k, v, c.offset) {
		return mlx.Array{}, mlx.Array{}
	}
	c.offset += n
	return c.Read(s)
}

// room is the buffers with room for n more positions.
func (c *fullCache) room(s *mlx.Scope, k, v cacheRows, n int) (keys, values mlx.Array) {
	if c.keys.Valid() && c.offset+n <= c.keys.Dim(2) {
		return c.keys, c.values
	}
	return grown(s, c.keys, k, c.offset, n), grown(s, c.values, v, c.offset, n)
}

func (c *fullCache) Read(s *mlx.Scope) (mlx.Array, mlx.Array) { return c.upTo(s, c.offset) }

func (c *fullCache) Mask(call *registry.Call, t int, array bool) registry.Mask {
	switch {
	case t == 1:
		return registry.Mask{}
	case array:
		return registry.Mask{Array: causalMask(call, t, c.start, 0)}
	}
	return registry.Mask{Mode: "causal"}
}
