package engine

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
)

// MLX keeps freed buffers for reuse; mlx-lm gives them back every so many tokens.
const clearEvery = 256

// drawn is a token on the device.
type drawn struct {
	id      mlx.Array // uint32 [1]
	logprob mlx.Array // [1]
}

// turn gives the n-th token, and tells whether there may be another. It has submitted the step after it first, as mlx-lm
// does, so that the device does not wait for Go. On the CPU the first token is computed alone, by plain eval: reading it
// would wait for the step ahead, and an error of async_eval can end the process there, so what has never run is not left
// to it; later tokens run the same program. On the engine's thread.
func (g *generation) turn(n int) (t Token, more bool, err error) {
	s := g.s
	if !g.ahead.id.Valid() {
		tokens, err := g.tokens(g.next)
		if err != nil {
			return t, false, err
		}
		if err := g.submit(tokens, g.seen, s.engine.async); err != nil {
			return t, false, err
		}
		g.next, g.seen = nil, nil
	}
	more = (g.o.MaxTokens == 0 || n+1 < g.o.MaxTokens) && (g.limit == 0 || s.taken[g.table.counter] < g.limit)
	this := g.ahead
	g.ahead = drawn{}
	defer mlx.FreeAll(this.id, this.logprob)
	ahead := more && (s.engine.async || n > 0)
	if ahead {
		id := s.scope.Reshape(s.scope.Astype(this.id, mlx.Int32), []int{1, 1})
		if err := g.submit(id, nil, true); err != nil {
			return t, false, err
		}
	}
	if t, err = this.read(); err != nil {
		s.broken = err
		return t, false, err
	}
	if !ahead {
		g.next = []int32{t.ID}
		g.seen = g.next
	}
	if n%clearEvery == 0 {
		err = mlx.ClearCache()
	}
	return t, more, err
}

// submit builds the forward of one token [1, 1] and the draw from its logits, and evaluates both, or starts to.
// seen are the tokens that the penalties look at from now on; nil: the token itself.
func (g *generation) submit(token mlx.Array, seen []int32, async bool) error {
	s, sc, p := g.s, g.s.scope, g.sampler
	if p.penalised() {
		tokens := token
		if seen != nil {
			a, err := mlx.FromInt32s(seen[max(0, len(seen)-g.o.RepetitionContext):])
			if err != nil {
				return err
			}
			tokens = sc.Own(a)
		}
		p.see(sc, tokens)
	}
	results, program, err := s.step(g.table, []mlx.Array{token}, 1, 1)
	if err != nil {
		return err
	}
	logits := p.process(sc, sc.SqueezeAxis(results[program.index(logitsOutput)], 1))
	d := s.engine.draw(sc, p, logits)
	if err := sc.ResetErr(); err != nil {
		s.broken = fmt.Errorf("sampling: %w", err)
		sc.Free()
		return s.broken
	}
	if seen == nil && (g.stats.StepNodes == 0 || g.stats.StepChains < len(s.ran)) {
		g.stats.StepNodes = native.Nodes(s.left([]mlx.Array{d.id, d.logprob})...)
		g.stats.StepChains, g.stats.StepRecorded = s.recorded()
	}
	sc.Keep(d.id, d.logprob)
	sc.Free()
	g.ahead = d
	all := append([]mlx.Array{d.id, d.logprob}, s.ran...)
	if async {
		err = mlx.AsyncEval(all...)
	} else {
		err = mlx.Eval(all...)
	}
	s.forget()
	if err != nil {
		s.broken = fmt.Errorf("at position %d: %w", s.taken[g.table.counter], err)
		return s.broken
	}
	return nil
}

// draw chooses a token by logits [1, V].
func (e *Engine) draw(sc *mlx.Scope, p *sampler, logits mlx.Array) drawn {
	if p.o.Temperature == 0 && e.ours() {
		id, logprob := e.workers.Likeliest(sc, logits)
		return drawn{id, logprob}
	}
	logprobs := e.logprobs(sc, logits)
	id := p.sample(sc, logprobs)
	return drawn{id, sc.Take(logprobs, id)}
}

// ours tells whether the plan takes the CPU's own kernels.
func (e *Engine) ours() bool { return e.workers != nil && len(e.plan.Native) > 0 }

// logprobs are the log probabilities of logits [1, V]: as mlx-lm computes them or, where the plan takes the CPU's own
// kernels, by one of those.
func (e *Engine) logprobs(sc *mlx.Scope, logits mlx.Array) mlx.Array {
	if e.ours() {
		return e.workers.LogSoftmax(sc, logits)
	}
	return sc.Subtract(logits, sc.Logsumexp(logits, true))
}

func (d drawn) read() (Token, error) {
	id, err := d.id.ItemInt()
	if err != nil {
		return Token{}, err
	}
	lp, err := d.logprob.ItemFloat()
	return Token{ID: int32(id), Logprob: float32(lp)}, err
}
