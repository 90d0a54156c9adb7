package ops

import (
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

func wkv7() *registry.Operator {
	of := "[B, T, heads, D]"
	return &registry.Operator{
		Name: "wkv7",
		Doc: "RWKV-7's recurrence: per token S = S diag(w) + v k^T + (S a) b^T; y = S r. All six inputs [B, T, heads, D] floating: receptance r, decay w, key k, value v, " +
			"removal a and b; y [B, T, heads, D] in r's dtype. The state S [B, heads, D, D] begins as zeros of r's dtype. (mlx_lm/models/rwkv7.py, the path of plain " +
			"operators, which mlx-lm takes on the CPU and on CUDA; on Metal it has a kernel of other bits. Peng et al. 2025.)",
		Inputs:  []registry.Input{value("r", of), value("w", of), value("k", of), value("v", of), value("a", of), value("b", of)},
		Outputs: []string{"y"}, State: registry.RequiredState,
		Infer: func(c *registry.Infer) ([]plan.Type, error) {
			names := []string{"r", "w", "k", "v", "a", "b"}
			in, err := headed(c, names...)
			if err != nil {
				return nil, err
			}
			r := in[0]
			for i, t := range in {
				if !t.Shape.Equal(r.Shape) {
					return nil, registry.Wrong(names[i], "%s is not r's shape, %s", t.Shape, r.Shape)
				}
			}
			if err := carries(c, shape.Shape{r.Shape[0], r.Shape[2], r.Shape[3], r.Shape[3]}); err != nil {
				return nil, err
			}
			return one(r.Dtype, r.Shape)
		},
		Build: func(b *registry.Build) (registry.Run, error) {
			run, err := compiledSteps(b, "wkv7", wkv7Step)
			if err != nil {
				return nil, err
			}
			state, r := b.State, b.Inputs[0].Type
			heads, dim := dimOf(r, 2), dimOf(r, 3)
			return func(c *registry.Call, in []mlx.Array) []mlx.Array {
				a := arrayAt(c, state)
				if a == nil {
					return []mlx.Array{{}}
				}
				y, last := overTime(c, run, in, carried(c, a, r.Dtype, in[0].Dim(0), heads, dim, dim))
				a.Set(c.Scope, last)
				return []mlx.Array{c.SqueezeAxis(c.Astype(y, r.Dtype), -1)}
			}, nil
		},
	}
}

// wkv7Step is one token: r, w, k, v, a, b [B, H, D], state [B, H, D, D]; y is a column, [B, H, D, 1].
func wkv7Step(s *mlx.Scope, in []mlx.Array) []mlx.Array {
	r, w, k, v, a, b, state := in[0], in[1], in[2], in[3], in[4], in[5], in[6]
	column := func(x mlx.Array) mlx.Array { return s.ExpandDims(x, -1) }
	row := func(x mlx.Array) mlx.Array { return s.ExpandDims(x, -2) }
	removed := s.Matmul(s.Matmul(state, column(a)), row(b))
	state = s.Add(s.Add(s.Multiply(state, row(w)), s.Matmul(column(v), row(k))), removed)
	return []mlx.Array{s.Matmul(state, column(r)), state}
}
