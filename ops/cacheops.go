package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// caches are the operators of models that open attention's box.
func caches() []*registry.Operator {
	return []*registry.Operator{
		{
			Name: "update_cache",
			Doc: "Appends k [B, heads, T, dim] and v [B, heads, T, value_dim] to a cache and gives all that it now holds, [B, heads, S, ..]; " +
				"a window or chunk gives a length of its own. A cache of value_dim 0 takes k alone and gives k alone. The dtype is the arrays'.",
			Inputs: []registry.Input{value("k", "[B, heads, T, dim]"), optionalValue("v", "[B, heads, T, value_dim]")},
			State:  registry.RequiredState,
			Opens:  true,
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				k, err := ranked(c, 0, "k", 4, "[B, heads, T, dim]")
				if err != nil {
					return nil, err
				}
				g, err := geometryOf(c, c.State)
				if err != nil {
					return nil, err
				}
				if (g.valueDim == 0) == c.In(1).Given {
					return nil, registry.Wrong("v", "the cache's value_dim is %d: v is %s", g.valueDim, map[bool]string{true: "not taken", false: "wanted"}[g.valueDim == 0])
				}
				if g.valueDim == 0 {
					k, _, err := updateTypes(c, c.State, k, plan.Type{Dtype: k.Dtype, Shape: k.Shape.With(3, shape.Int(0))})
					return []plan.Type{k}, err
				}
				v, err := ranked(c, 1, "v", 4, "[B, heads, T, value_dim]")
				if err != nil {
					return nil, err
				}
				k, v, err = updateTypes(c, c.State, k, v)
				return []plan.Type{k, v}, err
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				state, results := b.State, len(b.Types)
				return func(c *registry.Call, in []mlx.Array) []mlx.Array {
					kv := cacheAt(c, state)
					if kv == nil {
						return make([]mlx.Array, results)
					}
					k, v := kv.Update(c.Scope, in[0], in[1])
					return []mlx.Array{k, v}[:results]
				}, nil
			},
		},
		{
			Name: "read_cache",
			Doc: "What a cache holds, the new positions included where they are written: k [B, heads, S, dim] and v [B, heads, S, value_dim] (k alone at value_dim 0), " +
				"in the cache's dtype. It writes nothing.",
			Inputs: []registry.Input{state("cache", "the cache to read")},
			Opens:  true,
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				k, v, err := readTypes(c, c.In(0).State)
				if err != nil {
					return nil, err
				}
				if n, _ := v.Shape[3].Known(); n == 0 {
					return []plan.Type{k}, nil
				}
				return []plan.Type{k, v}, nil
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				state, results := b.States[0], len(b.Types)
				return func(c *registry.Call, _ []mlx.Array) []mlx.Array {
					kv := cacheAt(c, state)
					if kv == nil {
						return make([]mlx.Array, results)
					}
					k, v := kv.Read(c.Scope)
					return []mlx.Array{k, v}[:results]
				}, nil
			},
		},
		{
			Name: "attention_mask",
			Doc: "The causal mask of T new positions over what a cache then holds, within its window or chunk: bool [T, S], true where seen. " +
				"None at T = 1 (all is seen) unless the cache is chunked: an input that takes it counts as not given then. The facts are those before the forward.",
			Inputs:  []registry.Input{state("cache", "the cache that is attended to")},
			Outputs: []string{"mask"},
			Params:  []registry.Param{withDefault("array", "bool", "true: an array. Without one attend masks by itself", boolValue(true))},
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				if v, ok := c.Args.Lookup("array"); ok && !v.Bool {
					return nil, registry.Wrong("array", "false would be no array; leave the mask out, attend masks by itself (causal: true without a state)")
				}
				g, err := geometryOf(c, c.In(0).State)
				if err != nil {
					return nil, err
				}
				return one(dtype.Bool, shape.Shape{shape.Sym("T"), cacheLength(c, c.In(0).State, g, shape.Sym("T"))})
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				state := b.States[0]
				return func(c *registry.Call, _ []mlx.Array) []mlx.Array {
					kv := cacheAt(c, state)
					if kv == nil {
						return []mlx.Array{{}}
					}
					return []mlx.Array{c.Own(kv.Mask(c, c.T, true).Array.Clone())}
				}, nil
			},
		},
		{
			Name:    "cache_positions",
			Doc:     "The positions of the new tokens: int32 [T], offset + start and on, the offset being the cache's before the forward.",
			Inputs:  []registry.Input{state("cache", "the cache whose length counts")},
			Outputs: []string{"positions"},
			Params:  []registry.Param{withDefault("start", "int", "added to each", intValue(0))},
			Infer:   func(c *registry.Infer) ([]plan.Type, error) { return one(dtype.Int32, shape.Shape{shape.Sym("T")}) },
			Build: func(b *registry.Build) (registry.Run, error) {
				state, start := b.States[0], b.Args.Int("start")
				return func(c *registry.Call, _ []mlx.Array) []mlx.Array {
					first := c.States[state].Offset() + start
					return []mlx.Array{c.Arange(float64(first), float64(first+c.T), 1, dtype.Int32)}
				}, nil
			},
		},
		{
			Name: "mask_scores",
			Doc: "Scores with a mask put on: where a bool mask is false the dtype's lowest number, a floating mask is added; without a mask the scores as they are. " +
				"Shapes broadcast; a floating mask's dtype is promoted with the scores'.",
			Inputs:  []registry.Input{value("scores", "[.., T, S] floating"), optionalValue("mask", "bool or floating")},
			Outputs: []string{"scores"},
			Infer:   inferMaskScores, Build: buildMaskScores,
		},
	}
}

// cacheAt is the call's cache of keys and values; nil, with the error in the scope, where the state is none.
func cacheAt(c *registry.Call, state int) registry.KV {
	if kv, ok := c.States[state].(registry.KV); ok {
		return kv
	}
	c.Fail(fmt.Errorf("the state is no cache of keys and values but %T", c.States[state]))
	return nil
}

func geometryOf(c *registry.Infer, st *plan.State) (geometry, error) {
	if st == nil {
		return geometry{}, registry.Wrong("state", "no state is given; a cache is wanted")
	}
	if st.Kind != "cache" {
		return geometry{}, registry.Wrong("state", "%s is of kind %s; a cache is wanted", st.Path, st.Kind)
	}
	g, err := newGeometry(*st)
	if err != nil {
		return g, registry.Wrong("state", "%v", err)
	}
	return g, nil
}

// cacheLength is how many positions are read after t were appended.
func cacheLength(c *registry.Infer, st *plan.State, g geometry, t shape.Dim) shape.Dim {
	if g.window == 0 && g.chunk == 0 && t.Equal(shape.Sym("T")) {
		return shape.Sym("S")
	}
	return c.Fresh(st)
}

// updateTypes checks what is appended against the cache's declaration, and is what is then read.
func updateTypes(c *registry.Infer, st *plan.State, k, v plan.Type) (plan.Type, plan.Type, error) {
	g, err := geometryOf(c, st)
	if err != nil {
		return k, v, err
	}
	for i, t := range []plan.Type{k, v} {
		arg, dim := "k", g.dim
		if i == 1 {
			arg, dim = "v", g.valueDim
		}
		want := shape.Shape{k.Shape[0], shape.Int(g.heads), k.Shape[2], shape.Int(dim)}
		if !t.Shape.Equal(want) {
			return k, v, registry.Wrong(arg, "%s does not go into the cache %s, which takes %s", t.Shape, st.Path, want)
		}
	}
	n := cacheLength(c, st, g, k.Shape[2])
	k.Shape, v.Shape = k.Shape.With(2, n), v.Shape.With(2, n)
	return k, v, nil
}

func readTypes(c *registry.Infer, st *plan.State) (k, v plan.Type, err error) {
	g, err := geometryOf(c, st)
	if err != nil {
		return k, v, err
	}
	n := cacheLength(c, st, g, shape.Sym("T"))
	k = plan.Type{Dtype: st.Dtype, Shape: shape.Shape{shape.Sym("B"), shape.Int(g.heads), n, shape.Int(g.dim)}}
	v = plan.Type{Dtype: st.Dtype, Shape: k.Shape.With(3, shape.Int(g.valueDim))}
	return k, v, nil
}

func inferMaskScores(c *registry.Infer) ([]plan.Type, error) {
	scores, err := array(c, 0, "scores")
	if err != nil {
		return nil, err
	}
	if err := floating("scores", scores); err != nil {
		return nil, err
	}
	m := c.In(1)
	if !m.Given {
		return one(scores.Dtype, scores.Shape)
	}
	s, e := shape.Broadcast(scores.Shape, m.Type.Shape)
	if e != nil {
		return nil, registry.Wrong("mask", "%v", e)
	}
	if m.Type.Dtype == dtype.Bool {
		return one(scores.Dtype, s)
	}
	return one(dtype.Promote(scores.Dtype, m.Type.Dtype), s)
}

func buildMaskScores(b *registry.Build) (registry.Run, error) {
	d := b.Inputs[0].Type.Dtype
	none := func(c *registry.Call, in []mlx.Array) []mlx.Array { return []mlx.Array{c.Own(in[0].Clone())} }
	if !b.Inputs[1].Given {
		return none, nil
	}
	if b.Inputs[1].Type.Dtype != dtype.Bool {
		return func(c *registry.Call, in []mlx.Array) []mlx.Array {
			if !in[1].Valid() {
				return none(c, in)
			}
			return []mlx.Array{c.Add(in[0], in[1])}
		}, nil
	}
	lowest, err := scalarOf(b, lowestOf(d), d)
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		if !in[1].Valid() {
			return none(c, in)
		}
		return []mlx.Array{c.Where(in[1], in[0], lowest)}
	}, nil
}

// lowestOf is the least finite number of a floating dtype.
func lowestOf(d dtype.Dtype) float64 {
	switch d {
	case dtype.Float16:
		return -65504
	case dtype.Bfloat16:
		return -0x1.fep127
	case dtype.Float64:
		return -0x1.fffffffffffffp1023
	}
	return -0x1.fffffep127
}
