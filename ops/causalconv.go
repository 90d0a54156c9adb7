package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

func causalConv() *registry.Operator {
	return &registry.Operator{
		Name: "causal_conv",
		Doc: "Depthwise causal convolution over the tokens: y[t, c] = sum over j of w[c, j] x[t - K + 1 + j, c]. x [B, T, C] floating, weight [C, K, 1]; " +
			"y [B, T, C] in the promoted dtype of both. The state [B, K - 1, C] has the last K - 1 rows of x of the forwards before, in x's dtype, zeros at first; K is " +
			"read from it. A bias is added by a line of its own (mx.conv1d over the state and x joined; mlx_lm/models/qwen3_next.py).",
		Inputs:  []registry.Input{value("x", "[B, T, C]"), {Name: "weight", Doc: "[C, K, 1]", Kind: registry.Weight}},
		Outputs: []string{"y"}, State: registry.RequiredState,
		Infer: inferCausalConv, Build: buildCausalConv,
	}
}

func inferCausalConv(c *registry.Infer) ([]plan.Type, error) {
	x, err := tokens(c)
	if err != nil {
		return nil, err
	}
	channels, err := known("x", x.Shape[2], "the last axis")
	if err != nil {
		return nil, err
	}
	held, err := arrayDims(c)
	if err != nil {
		return nil, err
	}
	if len(held) != 3 || !held[0].Equal(x.Shape[0]) || !held[2].Equal(x.Shape[2]) {
		return nil, registry.Wrong("state", "%s is an array of %s; [%s, K - 1, %s] is wanted", c.State.Path, held, x.Shape[0], x.Shape[2])
	}
	keep, err := known("state", held[1], "K - 1")
	if err != nil {
		return nil, err
	}
	w, err := c.Weight("weight", shape.Of(channels, keep+1, 1), x.Dtype)
	if err != nil {
		return nil, err
	}
	if err := floating("weight", w); err != nil {
		return nil, err
	}
	return one(dtype.Promote(x.Dtype, w.Dtype), x.Shape)
}

// tokens is the first input, [B, T, C] floating.
func tokens(c *registry.Infer) (plan.Type, error) {
	x, err := ranked(c, 0, "x", 3, "[B, T, C]")
	if err == nil {
		err = floating("x", x)
	}
	return x, err
}

func buildCausalConv(b *registry.Build) (registry.Run, error) {
	state, d := b.State, b.Inputs[0].Type.Dtype
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		a, size := arrayAt(c, state), in[0].Shape()
		if a == nil || len(size) != 3 {
			return []mlx.Array{{}}
		}
		keep := in[1].Dim(1) - 1
		rows := in[0]
		if keep > 0 {
			rows = c.ConcatenateAxis([]mlx.Array{carried(c, a, d, size[0], keep, size[2]), in[0]}, 1)
			// A copy: a slice would hold on to the whole chunk.
			a.Set(c.Scope, c.Contiguous(along(c.Scope, rows, 1, size[1], size[1]+keep), false))
		}
		return []mlx.Array{c.Conv1d(rows, in[1], 1, 0, 1, size[2])}
	}, nil
}

func tokenShift() *registry.Operator {
	return &registry.Operator{
		Name: "token_shift",
		Doc: "Each token's predecessor: y[t] = x[t - 1], and y[0] the last token of the forward before. x [B, T, C] floating; y like x. " +
			"The state [B, 1, C] is the last token in x's dtype, zeros at first (mlx_lm/models/rwkv7.py, TokenShift).",
		Inputs:  []registry.Input{value("x", "[B, T, C]")},
		Outputs: []string{"y"}, State: registry.RequiredState,
		Infer: func(c *registry.Infer) ([]plan.Type, error) {
			x, err := tokens(c)
			if err != nil {
				return nil, err
			}
			if err := carries(c, x.Shape.With(1, shape.Int(1))); err != nil {
				return nil, err
			}
			return one(x.Dtype, x.Shape)
		},
		Build: func(b *registry.Build) (registry.Run, error) {
			state, d := b.State, b.Inputs[0].Type.Dtype
			return func(c *registry.Call, in []mlx.Array) []mlx.Array {
				a, size := arrayAt(c, state), in[0].Shape()
				if a == nil || len(size) != 3 {
					return []mlx.Array{{}}
				}
				y := carried(c, a, d, size[0], 1, size[2])
				if size[1] > 1 {
					y = c.ConcatenateAxis([]mlx.Array{y, along(c.Scope, in[0], 1, 0, size[1]-1)}, 1)
				}
				a.Set(c.Scope, c.Contiguous(along(c.Scope, in[0], 1, size[1]-1, size[1]), false))
				return []mlx.Array{y}
			}, nil
		},
	}
}
