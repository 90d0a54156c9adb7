package engine

import (
	"fmt"
	"math"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
)

// sampler turns the logits of one position into a token, on the device: mlx-lm 0.32.2's sample_utils.py, call for call,
// so that a seed gives mlx-lm's tokens. It belongs to one generation and is used on the engine's thread.
type sampler struct {
	o       GenOptions
	dtype   dtype.Dtype
	width   int // of the vocabulary
	held    []mlx.Array
	key     mlx.Array // state of the random numbers, uint32 [2]
	history mlx.Array // int32 [n]: the last tokens that the penalties look at

	zero, none, temperature, topP, minP mlx.Array
	penalty, presence, frequency        mlx.Array
	biasAt, bias                        mlx.Array // int32 [1, n], [1, n]
	low, high, chance, threshold, inf   mlx.Array
}

// newSampler makes the constants for logits of a dtype and width.
func newSampler(o GenOptions, d dtype.Dtype, width int) (*sampler, error) {
	p := &sampler{o: o, dtype: d, width: width}
	if err := p.constants(); err != nil {
		p.free()
		return nil, err
	}
	return p, nil
}

func (p *sampler) constants() error {
	if p.o.TopK >= p.width {
		return fmt.Errorf("generation: top-k %d is not below the vocabulary of %d", p.o.TopK, p.width)
	}
	if p.o.MinKeep > p.width {
		return fmt.Errorf("generation: %d tokens to keep, the vocabulary has %d", p.o.MinKeep, p.width)
	}
	for _, id := range p.o.XTCSpecial {
		if id < 0 || int(id) >= p.width {
			return fmt.Errorf("generation: token %d that XTC spares is not within the vocabulary of %d", id, p.width)
		}
	}
	var err error
	scalar := func(v float64, d dtype.Dtype) mlx.Array {
		a, e := mlx.ScalarOf(v, d)
		if e != nil && err == nil {
			err = e
		}
		p.held = append(p.held, a)
		return a
	}
	p.zero, p.none = scalar(0, p.dtype), scalar(math.Inf(-1), p.dtype)
	p.penalty, p.presence = scalar(p.o.RepetitionPenalty, p.dtype), scalar(p.o.PresencePenalty, p.dtype)
	p.frequency = scalar(-p.o.FrequencyPenalty, p.dtype)
	if len(p.o.LogitBias) > 0 && err == nil {
		err = p.makeBias()
	}
	if p.o.Temperature > 0 {
		p.temperature = scalar(1/p.o.Temperature, p.dtype)
		p.topP = scalar(p.o.TopP, dtype.Float32)
		p.minP = scalar(math.Log(p.o.MinP), p.dtype)
		p.threshold, p.inf = scalar(p.o.XTCThreshold, p.dtype), scalar(math.Inf(1), p.dtype)
		p.low, p.high = scalar(0, dtype.Float32), scalar(1, dtype.Float32)
		p.chance = scalar(p.o.XTCChance, dtype.Float32)
	}
	return err
}

func (p *sampler) makeBias() error {
	var ids []int32
	var values []float32
	for id, v := range p.o.LogitBias {
		if id < 0 || int(id) >= p.width {
			return fmt.Errorf("generation: token %d of the logit bias is not within the vocabulary of %d", id, p.width)
		}
		ids, values = append(ids, id), append(values, float32(v))
	}
	var err error
	if p.biasAt, err = mlx.FromInt32s(ids, 1, len(ids)); err != nil {
		return err
	}
	p.held = append(p.held, p.biasAt)
	if p.bias, err = mlx.FromFloat32s(values, 1, len(values)); err != nil {
		return err
	}
	p.held = append(p.held, p.bias)
	return nil
}

func (p *sampler) free() {
	mlx.FreeAll(present(append(p.held, p.key, p.history))...)
	p.held, p.key, p.history = nil, mlx.Array{}, mlx.Array{}
}

// keep makes a the sampler's in place of *old.
func keep(sc *mlx.Scope, old *mlx.Array, a mlx.Array) {
	if sc.Err() != nil {
		return
	}
	sc.Keep(a)
	sc.Own(*old)
	*old = a
}

// penalised tells whether past tokens matter.
func (p *sampler) penalised() bool {
	return p.o.RepetitionPenalty != 0 || p.o.PresencePenalty != 0 || p.o.FrequencyPenalty != 0
}

// see adds tokens, integers [1, n], to those that the penalties look at.
func (p *sampler) see(sc *mlx.Scope, tokens mlx.Array) {
	if !p.penalised() {
		return
	}
	h := sc.Astype(sc.Reshape(tokens, []int{-1}), dtype.Int32)
	if p.history.Valid() {
		h = sc.Concatenate([]mlx.Array{p.history, h})
	}
	if n := h.Size(); n > p.o.RepetitionContext {
		h = sc.Slice(h, []int{n - p.o.RepetitionContext}, []int{n}, []int{1})
	}
	keep(sc, &p.history, h)
}

// process applies the bias and the penalties to logits [1, V].
func (p *sampler) process(sc *mlx.Scope, logits mlx.Array) mlx.Array {
	if p.bias.Valid() {
		logits = sc.ScatterAddAxis(logits, p.biasAt, sc.Astype(p.bias, p.dtype), 1)
	}
	if !p.history.Valid() || !p.penalised() {
		return logits
	}
	at := sc.ExpandDims(p.history, 0)
	if p.o.RepetitionPenalty != 0 {
		seen := sc.TakeAlongAxis(logits, at, 1)
		seen = sc.Where(sc.Less(seen, p.zero), sc.Multiply(seen, p.penalty), sc.Divide(seen, p.penalty))
		logits = sc.PutAlongAxis(logits, at, seen, 1)
	}
	if p.o.PresencePenalty != 0 {
		logits = sc.PutAlongAxis(logits, at, sc.Subtract(sc.TakeAlongAxis(logits, at, 1), p.presence), 1)
	}
	if p.o.FrequencyPenalty != 0 {
		logits = sc.ScatterAddAxis(logits, at, sc.BroadcastTo(p.frequency, at.Shape()), 1)
	}
	return logits
}

// sample draws from logprobs [1, V]: uint32 [1].
func (p *sampler) sample(sc *mlx.Scope, x mlx.Array) mlx.Array {
	if p.o.Temperature == 0 {
		return sc.ArgmaxAxis(x, -1, false)
	}
	x = p.filter(sc, x)
	return sc.RandomCategorical(sc.Multiply(x, p.temperature), -1, p.draw(sc))
}

// draw takes the next key, as mlx.random does from its state.
func (p *sampler) draw(sc *mlx.Scope) mlx.Array {
	if !p.key.Valid() {
		keep(sc, &p.key, sc.RandomKey(p.o.Seed))
	}
	next, key := sc.RandomSplit(p.key)
	keep(sc, &p.key, next)
	return key
}
