package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

func gatedDelta() *registry.Operator {
	return &registry.Operator{
		Name: "gated_delta_update",
		Doc: "Gated delta rule: per token S = S g; S = S + (v - S k) beta k^T; y = S q. q and k [B, T, key heads, Dk], v [B, T, heads, Dv], heads a multiple of " +
			"key heads (each serves that many in a row), decay g [B, T, heads] or per channel [B, T, heads, Dk], beta [B, T, heads]; y [B, T, heads, Dv] in q's dtype. " +
			"The state S [B, heads, Dv, Dk] is float32, zeros at first. q and k come normalised and scaled. (mlx_lm/models/gated_delta.py, the path of plain " +
			"operators, one step per token, which mlx-lm takes on the CPU and on CUDA; on Metal it has a kernel of other bits. Yang et al. 2024.)",
		Inputs: []registry.Input{value("q", "[B, T, key heads, Dk]"), value("k", "[B, T, key heads, Dk]"), value("v", "[B, T, heads, Dv]"),
			value("g", "[B, T, heads] or [B, T, heads, Dk]"), value("beta", "[B, T, heads]")},
		Outputs: []string{"y"}, State: registry.RequiredState,
		Infer: inferGatedDelta, Build: buildGatedDelta,
	}
}

func inferGatedDelta(c *registry.Infer) ([]plan.Type, error) {
	in, err := headed(c, "q", "k", "v")
	if err != nil {
		return nil, err
	}
	q, k, v := in[0], in[1], in[2]
	if !q.Shape.Equal(k.Shape) {
		return nil, registry.Wrong("k", "%s is not q's shape, %s", k.Shape, q.Shape)
	}
	keyHeads, heads := dimOf(q, 2), dimOf(v, 2)
	if heads%keyHeads != 0 {
		return nil, registry.Wrong("v", "has %s, which is no multiple of q's %d", count(heads, "head", "heads"), keyHeads)
	}
	perHead := v.Shape[:3]
	for i, name := range []string{"g", "beta"} {
		t, err := array(c, 3+i, name)
		if err != nil {
			return nil, err
		}
		if err := floating(name, t); err != nil {
			return nil, err
		}
		perChannel := append(perHead[:3:3], q.Shape[3])
		switch {
		case t.Shape.Equal(perHead):
		case i == 0 && t.Shape.Equal(perChannel):
		case i == 0:
			return nil, registry.Wrong(name, "%s is neither a decay per head, %s, nor per channel, %s", t.Shape, perHead, perChannel)
		default:
			return nil, registry.Wrong(name, "%s is wanted, one number per head; this is %s", perHead, t.Shape)
		}
	}
	if err := carriesFloat32(c, shape.Shape{v.Shape[0], v.Shape[2], v.Shape[3], q.Shape[3]}); err != nil {
		return nil, err
	}
	return one(q.Dtype, v.Shape)
}

func buildGatedDelta(b *registry.Build) (registry.Run, error) {
	q, v := b.Inputs[0].Type, b.Inputs[2].Type
	keyHeads, keyDim, heads, valueDim := dimOf(q, 2), dimOf(q, 3), dimOf(v, 2), dimOf(v, 3)
	perChannel := len(b.Inputs[3].Type.Shape) == 4
	name := "gated_delta_update"
	if perChannel {
		name += ".channel"
	}
	run, err := compiledSteps(b, name, deltaStep(perChannel))
	if err != nil {
		return nil, err
	}
	state := b.State
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		a := arrayAt(c, state)
		if a == nil {
			return []mlx.Array{{}}
		}
		s := carried(c, a, dtype.Float32, in[0].Dim(0), heads, valueDim, keyDim)
		q, k := in[0], in[1]
		if n := heads / keyHeads; n > 1 {
			q, k = c.RepeatAxis(q, n, -2), c.RepeatAxis(k, n, -2)
		}
		y, last := overTime(c, run, []mlx.Array{q, k, in[2], in[3], in[4]}, s)
		a.Set(c.Scope, last)
		return []mlx.Array{y}
	}, nil
}

// deltaStep is one token: q, k [B, H, Dk], v [B, H, Dv], g [B, H] or [B, H, Dk], beta [B, H], state [B, H, Dv, Dk].
func deltaStep(perChannel bool) step {
	return func(s *mlx.Scope, in []mlx.Array) []mlx.Array {
		q, k, v, g, beta, state := in[0], in[1], in[2], in[3], in[4], in[5]
		if perChannel {
			g = s.ExpandDims(g, -2)
		} else {
			g = s.ExpandDimsAxes(g, []int{-2, -1})
		}
		row := s.ExpandDims(k, -2)
		state = s.Multiply(state, g)
		memory := s.SumAxis(s.Multiply(state, row), -1, false)
		delta := s.Multiply(s.Subtract(v, memory), s.ExpandDims(beta, -1))
		state = s.Add(state, s.Multiply(row, s.ExpandDims(delta, -1)))
		y := s.SumAxis(s.Multiply(state, s.ExpandDims(q, -2)), -1, false)
		return []mlx.Array{s.Astype(y, q.Dtype()), state}
	}
}
