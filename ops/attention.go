package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

func attention() []*registry.Operator {
	return []*registry.Operator{{
		Name: "attend",
		Doc: "Scaled dot-product attention: softmax(scale * q k^T + mask) v. q [B, heads, T, D], k [B, kv_heads, N, D], v [B, kv_heads, N, Dv], " +
			"floating; heads a multiple of kv_heads; y [B, heads, T, Dv] in the promoted dtype. With a state k and v are appended and all that the state " +
			"holds is read, masked causally within its window or chunk unless `causal: false`; without k and v the state is only read. " +
			"Without a state the arrays are what is read, and nothing is masked unless `causal: true`. A mask of one's own (bool, or added to the scores; " +
			"[.., T, N]) takes the place of the causal one. sinks [heads] are logits that take part in the softmax alone. " +
			"(MLX fast.scaled_dot_product_attention; Vaswani et al. 2017.)",
		Inputs: []registry.Input{
			value("q", "[B, heads, T, D]"), optionalValue("k", "[B, kv_heads, N, D]"), optionalValue("v", "[B, kv_heads, N, Dv]"),
			optionalValue("mask", "bool or floating, broadcasts to [B, heads, T, N]"), optionalValue("sinks", "[heads]"),
		},
		Outputs: []string{"y"},
		Params: []registry.Param{required("scale", "float", "of the scores, usually D^-0.5"),
			optional("causal", "bool", "mask what lies ahead; true with a state, false without where it is not said")},
		State: registry.OptionalState,
		Infer: inferAttend, Build: buildAttend, Native: nativeAttend,
		Joint:          attendJoint(),
		NativeNumerics: "scores, softmax and sums in float32, rounded once: max |Δ| / max |ref| below 1e-5 in float32",
	}}
}

func inferAttend(c *registry.Infer) ([]plan.Type, error) {
	q, err := ranked(c, 0, "q", 4, "[B, heads, T, D]")
	if err != nil {
		return nil, err
	}
	k, v, err := attended(c)
	if err != nil {
		return nil, err
	}
	for i, t := range []plan.Type{q, k, v} {
		if err := floating([]string{"q", "k", "v"}[i], t); err != nil {
			return nil, err
		}
	}
	heads, err := known("q", q.Shape[1], "the heads axis")
	if err != nil {
		return nil, err
	}
	kvHeads, err := known("k", k.Shape[1], "the heads axis")
	if err != nil {
		return nil, err
	}
	switch {
	case kvHeads == 0 || heads%kvHeads != 0:
		return nil, registry.Wrong("q", "has %d heads, which is no multiple of k's %d", heads, kvHeads)
	case !q.Shape[0].Equal(k.Shape[0]) || !k.Shape[0].Equal(v.Shape[0]):
		return nil, registry.Wrong("k", "q %s, k %s and v %s are not of one B", q.Shape, k.Shape, v.Shape)
	case !q.Shape[3].Equal(k.Shape[3]):
		return nil, registry.Wrong("k", "%s has entries of %s; q %s has %s", k.Shape, k.Shape[3], q.Shape, q.Shape[3])
	case !k.Shape[1].Equal(v.Shape[1]) || !k.Shape[2].Equal(v.Shape[2]):
		return nil, registry.Wrong("v", "%s does not go with k %s: heads and positions must be equal", v.Shape, k.Shape)
	}
	d := dtype.Promote(dtype.Promote(q.Dtype, k.Dtype), v.Dtype)
	if err := checkMask(c, d, shape.Shape{q.Shape[0], q.Shape[1], q.Shape[2], k.Shape[2]}); err != nil {
		return nil, err
	}
	if s := c.In(4); s.Given {
		if !s.Type.Shape.Equal(shape.Of(heads)) {
			return nil, registry.Wrong("sinks", "%s is wanted, one logit per head; this is %s", shape.Of(heads), s.Type.Shape)
		}
		if dtype.Promote(s.Type.Dtype, d) != d {
			return nil, registry.Wrong("sinks", "%s does not go into %s, the dtype of the result; astype makes it one that does", s.Type.Dtype, d)
		}
	}
	return one(d, q.Shape.With(3, v.Shape[3]))
}

// attended are the keys and values that attend reads.
func attended(c *registry.Infer) (k, v plan.Type, err error) {
	if c.In(1).Given != c.In(2).Given {
		arg := map[bool]string{true: "v", false: "k"}[c.In(1).Given]
		return k, v, registry.Wrong(arg, "is not given; k and v come together")
	}
	if !c.In(1).Given {
		if c.State == nil {
			return k, v, registry.Wrong("k", "is not given and there is no state to read; give k and v, or state")
		}
		return readTypes(c, c.State)
	}
	if k, err = ranked(c, 1, "k", 4, "[B, kv_heads, N, D]"); err != nil {
		return
	}
	if v, err = ranked(c, 2, "v", 4, "[B, kv_heads, N, Dv]"); err != nil {
		return
	}
	if c.State != nil {
		return updateTypes(c, c.State, k, v)
	}
	return k, v, nil
}

// checkMask checks input 3 against the scores' shape.
func checkMask(c *registry.Infer, d dtype.Dtype, scores shape.Shape) error {
	m := c.In(3)
	if !m.Given {
		return nil
	}
	if m.Type.Dtype != dtype.Bool && dtype.Promote(m.Type.Dtype, d) != d {
		return registry.Wrong("mask", "%s does not go into %s, the dtype of the result; bool or a dtype that does is wanted", m.Type.Dtype, d)
	}
	if got, err := shape.Broadcast(m.Type.Shape, scores); err != nil || !got.Equal(scores) {
		return registry.Wrong("mask", "%s does not broadcast to the scores' %s", m.Type.Shape, scores)
	}
	return nil
}

func buildAttend(b *registry.Build) (registry.Run, error) {
	scale, state, masked := float32(b.Args.Float("scale")), b.State, b.Inputs[3].Given
	causal := b.Args.Bool("causal")
	if state < 0 {
		return func(c *registry.Call, in []mlx.Array) []mlx.Array {
			mode := ""
			if causal && !masked && in[0].Dim(2) > 1 {
				mode = "causal"
			}
			return []mlx.Array{c.FastScaledDotProductAttention(in[0], in[1], in[2], scale, mode, in[3], in[4], false)}
		}, nil
	}
	if !b.Args.Has("causal") {
		causal = true
	}
	writes := b.Inputs[1].Given
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		kv := cacheAt(c, state)
		if kv == nil {
			return []mlx.Array{{}}
		}
		mask := registry.Mask{Array: in[3]}
		if causal && !masked {
			mask = kv.Mask(c, in[0].Dim(2), false)
		}
		k, v := in[1], in[2]
		if writes {
			k, v = kv.Update(c.Scope, k, v)
		} else {
			k, v = kv.Read(c.Scope)
		}
		y := c.FastScaledDotProductAttention(in[0], k, v, scale, mask.Mode, mask.Array, in[4], false)
		return []mlx.Array{y}
	}, nil
}
