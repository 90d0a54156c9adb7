package engine

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
)

// filter applies top-p, min-p, XTC and top-k, in mlx-lm's order, to logprobs [1, V]: what is out becomes -inf.
func (p *sampler) filter(sc *mlx.Scope, x mlx.Array) mlx.Array {
	if p.o.TopP > 0 && p.o.TopP < 1 {
		x = p.applyTopP(sc, x)
	}
	if p.o.MinP != 0 {
		x = p.applyMinP(sc, x)
	}
	if p.o.XTCChance > 0 {
		x = p.applyXTC(sc, x)
	}
	if p.o.TopK > 0 {
		x = p.applyTopK(sc, x)
	}
	return x
}

// applyTopP drops the tokens below the first at which the probability of those above reaches p; equals of it stay.
func (p *sampler) applyTopP(sc *mlx.Scope, x mlx.Array) mlx.Array {
	sorted := sc.SortAxis(x, -1)
	probs := sc.Exp(sc.Astype(sorted, dtype.Float32))
	above := sc.CumsumAxis(probs, -1, true, false, mlx.Opt[mlx.Dtype]{})
	first := func(a mlx.Array) mlx.Array { return sc.Slice(a, []int{0, 0}, []int{1, 1}, []int{1, 1}) }
	total := sc.Add(first(above), first(probs))
	dropped := sc.SumAxis(sc.GreaterEqual(above, sc.Multiply(p.topP, total)), -1, true)
	threshold := sc.TakeAlongAxis(sorted, dropped, -1)
	return sc.Where(sc.Less(x, threshold), p.none, x)
}

// applyMinP drops the tokens that are less than p times as likely as the likeliest, but not the MinKeep likeliest.
func (p *sampler) applyMinP(sc *mlx.Scope, x mlx.Array) mlx.Array {
	out := sc.Less(x, sc.Add(sc.MaxAxis(x, -1, true), p.minP))
	if keep := p.o.MinKeep; keep > 1 {
		top := sc.ArgpartitionAxis(x, -keep, -1)
		top = sc.Slice(top, []int{0, p.width - keep}, []int{1, p.width}, []int{1, 1})
		out = sc.PutAlongAxis(out, top, sc.Zeros(nil, dtype.Bool), -1)
	}
	return sc.Where(out, p.none, x)
}

// applyXTC drops, with a probability, all tokens above a threshold but the least likely of them.
func (p *sampler) applyXTC(sc *mlx.Scope, x mlx.Array) mlx.Array {
	probs := sc.SoftmaxAxis(x, -1, false)
	least := sc.MinAxis(sc.Where(sc.Greater(probs, p.threshold), probs, p.inf), -1, true)
	out := sc.Greater(probs, least)
	if len(p.o.XTCSpecial) > 0 {
		ids, err := mlx.FromInt32s(p.o.XTCSpecial, 1, len(p.o.XTCSpecial))
		if err != nil {
			sc.Fail(err)
			return x
		}
		out = sc.PutAlongAxis(out, sc.Own(ids), sc.Zeros(nil, dtype.Bool), -1)
	}
	draw := sc.RandomUniform(p.low, p.high, nil, dtype.Float32, p.draw(sc))
	return sc.Where(sc.Greater(draw, p.chance), x, sc.Where(out, p.none, x))
}

// applyTopK drops all but the k likeliest tokens; of equals at the edge the partition keeps some.
func (p *sampler) applyTopK(sc *mlx.Scope, x mlx.Array) mlx.Array {
	k := p.o.TopK
	order := sc.ArgpartitionAxis(sc.Negative(x), k-1, -1)
	rest := sc.Slice(order, []int{0, k}, []int{1, p.width}, []int{1, 1})
	return sc.PutAlongAxis(x, rest, p.none, -1)
}
