package ops

import (
	"math"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// ssmChunk is how many tokens mlx-lm turns into one product.
const ssmChunk = 256

func ssm() *registry.Operator {
	perHead := "[heads]"
	return &registry.Operator{
		Name: "ssm_update",
		Doc: "Selective state space (Mamba-2): per token and head S = exp(dt A) S + dt x b^T; y = S c + D x, with A = -exp(A_log) and " +
			"dt = clip(softplus(dt + dt_bias), limit) in float32. x [B, T, heads, P], b and c [B, T, groups, N], heads a multiple of groups, dt [B, T, heads]; " +
			"y [B, T, heads, P] in the promoted dtype of x and D. The state S [B, heads, P, N] is float32. Tokens are taken 256 at a time as one masked product " +
			"(structured state-space duality), one token alone likewise: bits depend on how a prompt is cut, as mlx-lm's do. (mlx_lm/models/ssm.py, ssm_attn, " +
			"which mlx-lm takes but for single tokens on Metal; Dao and Gu 2024.)",
		Inputs: []registry.Input{value("x", "[B, T, heads, P]"), value("b", "[B, T, groups, N]"), value("c", "[B, T, groups, N]"), value("dt", "[B, T, heads]"),
			{Name: "A_log", Doc: perHead, Kind: registry.Weight}, {Name: "D", Doc: perHead, Kind: registry.Weight}, {Name: "dt_bias", Doc: perHead, Kind: registry.Weight}},
		Outputs: []string{"y"}, State: registry.RequiredState,
		Params: []registry.Param{required("limit", "floats", "least and most time step")},
		Infer:  inferSSM, Build: buildSSM,
	}
}

func inferSSM(c *registry.Infer) ([]plan.Type, error) {
	in, err := headed(c, "x", "b", "c")
	if err != nil {
		return nil, err
	}
	x, b, read := in[0], in[1], in[2]
	heads, groups := dimOf(x, 2), dimOf(b, 2)
	switch {
	case !b.Shape.Equal(read.Shape):
		return nil, registry.Wrong("c", "%s is not b's shape, %s", read.Shape, b.Shape)
	case heads%groups != 0:
		return nil, registry.Wrong("x", "has %s, which is no multiple of b's %s", count(heads, "head", "heads"), count(groups, "group", "groups"))
	}
	dt, err := array(c, 3, "dt")
	if err != nil {
		return nil, err
	}
	if err := floating("dt", dt); err != nil {
		return nil, err
	}
	if !dt.Shape.Equal(x.Shape[:3]) {
		return nil, registry.Wrong("dt", "%s is wanted, one step per token and head; this is %s", x.Shape[:3], dt.Shape)
	}
	if err := checkLimit(floatsOf(c.Args, "limit")); err != nil {
		return nil, err
	}
	d := x.Dtype
	for _, name := range []string{"A_log", "D", "dt_bias"} {
		w, err := c.Weight(name, shape.Of(heads), x.Dtype)
		if err != nil {
			return nil, err
		}
		if err := floating(name, w); err != nil {
			return nil, err
		}
		if name == "D" {
			d = dtype.Promote(d, w.Dtype)
		}
	}
	if err := carriesFloat32(c, shape.Shape{x.Shape[0], x.Shape[2], x.Shape[3], b.Shape[3]}); err != nil {
		return nil, err
	}
	return one(d, x.Shape)
}

func checkLimit(limit []float64) error {
	if len(limit) != 2 {
		return registry.Wrong("limit", "has %s; the least and the most time step are wanted", count(len(limit), "number", "numbers"))
	}
	if !(limit[0] <= limit[1]) || math.IsInf(limit[0], 1) {
		return registry.Wrong("limit", "from %v to %v there is no time step", limit[0], limit[1])
	}
	return nil
}

func floatsOf(args plan.Args, name string) []float64 {
	v, _ := args.Lookup(name)
	out := make([]float64, len(v.List))
	for i, e := range v.List {
		out[i] = scalarNumber(e)
	}
	return out
}

func buildSSM(b *registry.Build) (registry.Run, error) {
	limit := floatsOf(b.Args, "limit")
	bounds := make([]mlx.Array, 3)
	for i, n := range []float64{0, limit[0], limit[1]} {
		a, err := scalarOf(b, n, dtype.Float32)
		if err != nil {
			return nil, err
		}
		bounds[i] = a
	}
	steps, err := compiledSteps(b, "ssm_update.dt", func(s *mlx.Scope, in []mlx.Array) []mlx.Array {
		dt := s.Logaddexp(s.Add(s.Astype(in[0], dtype.Float32), in[1]), bounds[0])
		return []mlx.Array{s.Clip(dt, bounds[1], bounds[2])}
	})
	if err != nil {
		return nil, err
	}
	x, in := b.Inputs[0].Type, b.Inputs[1].Type
	g := ssmSizes{heads: dimOf(x, 2), width: dimOf(x, 3), groups: dimOf(in, 2), state: dimOf(in, 3)}
	state := b.State
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		a, dt := arrayAt(c, state), steps(c.Scope, []mlx.Array{in[3], in[6]})
		if a == nil || len(dt) != 1 {
			return []mlx.Array{{}}
		}
		var s mlx.Array // none at first: adding zeros would make -0 of sums that are 0 into 0
		if !fresh(a) {
			s = a.Value(c.Scope, in[0].Dim(0))
		}
		y, last := g.scan(c.Scope, in, dt[0], s)
		a.Set(c.Scope, last)
		return []mlx.Array{y}
	}, nil
}

type ssmSizes struct{ heads, width, groups, state int }

// scan computes all tokens, in chunks: in are x, b, c, dt, A_log, D, dt_bias, dt the time steps [B, T, heads].
func (g ssmSizes) scan(s *mlx.Scope, in []mlx.Array, dt, state mlx.Array) (y, last mlx.Array) {
	x, b, c, skip := in[0], in[1], in[2], in[5]
	batch, tokens := x.Dim(0), x.Dim(1)
	rate := s.Negative(s.Astype(s.Exp(in[4]), dtype.Float32))
	decay := s.Multiply(dt, s.Reshape(rate, []int{1, 1, -1}))
	scaled := s.Multiply(s.Reshape(dt, []int{batch, tokens, g.heads, 1}), x)
	var ys []mlx.Array
	for first := 0; first < tokens; first += ssmChunk {
		stop := min(first+ssmChunk, tokens)
		cut := func(a mlx.Array) mlx.Array { return along(s, a, 1, first, stop) }
		y, state = g.chunk(s, cut(scaled), cut(decay), cut(b), cut(c), state, x.Dtype())
		if s.Err() != nil {
			return mlx.Array{}, mlx.Array{}
		}
		ys = append(ys, y)
	}
	direct := s.Multiply(x, s.Reshape(skip, []int{1, 1, g.heads, 1}))
	return s.Add(s.ConcatenateAxis(ys, 1), direct), state
}

// chunk is ssm_attn's step: x [B, L, heads, P] times dt, decay [B, L, heads] the exponents, b and c [B, L, groups, N].
func (g ssmSizes) chunk(s *mlx.Scope, x, decay, b, c, state mlx.Array, d dtype.Dtype) (y, next mlx.Array) {
	batch, length, repeats := x.Dim(0), x.Dim(1), g.heads/g.groups
	b = s.TransposeAxes(b, []int{0, 2, 3, 1})
	scores := s.RepeatAxis(s.Matmul(s.Swapaxes(c, 1, 2), b), repeats, 1)
	between := s.Exp(segmentSums(s, s.Swapaxes(decay, 1, 2), length))
	weights := s.Tril(s.Multiply(scores, between), 0)
	y = s.Swapaxes(s.Matmul(weights, s.Swapaxes(x, 1, 2)), 1, 2)

	toEnd := s.TransposeAxes(along(s, between, 2, length-1, length), []int{0, 3, 1, 2})
	b = s.Swapaxes(s.RepeatAxis(b, repeats, 1), 2, 3)
	left := s.Swapaxes(s.Swapaxes(s.Multiply(x, toEnd), 1, 2), 2, 3)
	next = s.Matmul(left, b)
	if state.Valid() {
		since := s.Exp(s.CumsumAxis(decay, -2, false, true, mlx.Opt[mlx.Dtype]{}))
		whole := s.Reshape(along(s, since, 1, length-1, length), []int{batch, g.heads, 1, 1})
		next = s.Add(next, s.Multiply(whole, state))
		c = s.Reshape(c, []int{batch, length, g.groups, 1, g.state, 1})
		held := s.Reshape(state, []int{batch, 1, g.groups, repeats, g.width, g.state})
		before := s.Flatten(s.SqueezeAxis(s.Matmul(held, c), -1), 2, 3)
		y = s.Add(y, s.Multiply(s.ExpandDims(since, -1), before))
	}
	return s.Astype(y, d), next
}

// segmentSums gives, of x [.., L], the sums of x from j + 1 to i at [.., i, j], 0 above the diagonal.
func segmentSums(s *mlx.Scope, x mlx.Array, length int) mlx.Array {
	wide := s.Tril(s.RepeatAxis(s.ExpandDims(x, -1), length, -1), -1)
	return s.CumsumAxis(wide, -2, false, true, mlx.Opt[mlx.Dtype]{})
}
