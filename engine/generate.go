package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
)

// logitsOutput is the output that a text is generated from, [B, T, vocab].
const logitsOutput = "logits"

// generation is one call of Generate.
type generation struct {
	s       *Session
	o       GenOptions
	stats   Stats
	clock   clock
	chunks  *table // without outputs
	table   *table // with logits
	sampler *sampler
	limit   int     // positions; 0: none
	next    []int32 // tokens for the next forward
	seen    []int32 // tokens that the penalties have not been told of
	ahead   drawn   // submitted and not read
}

// Generate takes the prompt and generates tokens until a stop token, a limit, the end of ctx or an error of emit. The
// prompt is cut as mlx-lm cuts it: chunks of PrefillStep without outputs, then its last token alone. emit (which may
// be nil) runs on the caller's goroutine, is not told the stop token, and must not use the session.
//
// Afterwards the session stands as if it had taken the prompt and every token generated, the stop token included, so
// that the next prompt goes on from there. A cancelled context is no error: what was generated stays, and the reason
// says so. After an error the session must be reset.
func (s *Session) Generate(ctx context.Context, prompt []int32, o GenOptions, emit func(Token) error) (Stats, error) {
	var stats Stats
	err := s.alone(func() error {
		o, err := o.filled()
		if err != nil {
			return err
		}
		g := &generation{s: s, o: o, clock: clock{start: time.Now()}}
		defer func() { stats = g.stats }()
		defer g.finish()
		if err := g.prepare(prompt); err != nil {
			return err
		}
		return g.run(ctx, emit)
	})
	return stats, err
}

// prepare checks the prompt and finds the programs.
func (g *generation) prepare(prompt []int32) error {
	return g.s.engine.do(func() (err error) {
		s, e := g.s, g.s.engine
		g.stats.StopID = -1
		g.stats.PromptTokens = len(prompt)
		g.limit = e.options.Context
		if g.o.ContextLimit > 0 && (g.limit == 0 || g.o.ContextLimit < g.limit) {
			g.limit = g.o.ContextLimit
		}
		g.next = slices.Concat(s.pending, prompt)
		switch {
		case len(prompt) == 0:
			return errors.New("the prompt has no tokens")
		case s.batch > 1:
			return fmt.Errorf("the session holds %d sequences; a text is generated in a session of one", s.batch)
		}
		given := []string{tokenInput}
		if g.chunks, err = find(s.tables, textEntry, given, nil); err != nil {
			return err
		}
		if g.table, err = find(s.tables, textEntry, given, []string{logitsOutput}); err != nil {
			return err
		}
		if taken := s.taken[g.table.counter]; g.limit > 0 && taken+len(g.next) > g.limit {
			return fmt.Errorf("the prompt has %d tokens and %d positions are taken, the context is %d", len(g.next), taken, g.limit)
		}
		p := g.table.choices[0].program
		if err := checkTokens([][]int32{g.next}, p.inputs[0].limit); err != nil {
			return fmt.Errorf("the prompt: %w", err)
		}
		logits := p.output(logitsOutput)
		width, ok := 0, len(logits.Shape) == 3
		if ok {
			width, ok = logits.Shape[2].Known()
		}
		if !ok {
			return fmt.Errorf("a text is generated from logits [B, T, vocab], the plan has %s", logits.Shape)
		}
		if g.sampler, err = newSampler(g.o, logits.Dtype, width); err != nil {
			return err
		}
		g.seen = g.next
		s.pending = nil
		return mlx.ResetPeakMemory()
	})
}

// run is the loop over chunks and tokens.
func (g *generation) run(ctx context.Context, emit func(Token) error) error {
	total := len(g.next)
	g.progress(0, total)
	for len(g.next) > 1 {
		if ctx.Err() != nil {
			g.stats.Reason = Cancelled
			return nil
		}
		if err := g.s.engine.do(g.chunk); err != nil {
			return err
		}
		g.progress(total-len(g.next), total)
	}
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			g.stats.Reason = Cancelled
			return nil
		}
		var t Token
		var more bool
		err := g.s.engine.do(func() (err error) {
			t, more, err = g.turn(n)
			return err
		})
		if err != nil {
			return err
		}
		if n == 0 {
			g.clock.first = time.Now()
			g.progress(total, total)
		} else if n == 1 {
			g.clock.second = time.Now()
		}
		g.stats.GeneratedTokens++
		if slices.Contains(g.o.StopIDs, t.ID) {
			g.stats.Reason, g.stats.StopID = Stopped, t.ID
			return nil
		}
		if emit != nil {
			if err := emit(t); err != nil {
				g.stats.Reason = Stopped
				if errors.Is(err, ErrStop) {
					return nil
				}
				return err
			}
		}
		if !more {
			g.stats.Reason = Length
			if g.o.MaxTokens == 0 || g.stats.GeneratedTokens < g.o.MaxTokens {
				g.stats.Reason = Full
			}
			return nil
		}
	}
}

func (g *generation) progress(done, total int) {
	if g.o.OnProgress != nil {
		g.o.OnProgress(done, total)
	}
}

// chunk takes a part of the prompt, all but its last token at most. On the engine's thread.
func (g *generation) chunk() error {
	n := min(g.o.PrefillStep, len(g.next)-1)
	tokens, err := g.tokens(g.next[:n])
	if err != nil {
		return err
	}
	s := g.s
	if _, _, err := s.step(g.chunks, []mlx.Array{tokens}, 1, n); err != nil {
		return err
	}
	s.scope.Free()
	if err := s.evaluate(g.chunks, n, s.left(nil)); err != nil {
		return err
	}
	g.next = g.next[n:]
	return mlx.ClearCache()
}

func (g *generation) tokens(ids []int32) (mlx.Array, error) {
	a, err := mlx.FromInt32s(ids, 1, len(ids))
	return g.s.scope.Own(a), err
}

// finish frees what the generation held and leaves to the session what no forward has taken.
func (g *generation) finish() {
	g.clock.finish(&g.stats)
	_ = g.s.engine.do(func() error {
		if g.sampler == nil {
			return nil // it did not begin
		}
		g.s.pending = g.next
		mlx.FreeAll(present([]mlx.Array{g.ahead.id, g.ahead.logprob})...)
		g.sampler.free()
		g.stats.PeakMemory = int64(mlx.PeakMemory())
		return nil
	})
}

// output is a result of a program by name.
func (p *program) output(name string) (n plan.Named) {
	if i := p.index(name); i >= 0 {
		return p.source.Results[i]
	}
	return n
}

// index finds a result by name; -1: there is none.
func (p *program) index(name string) int {
	return slices.IndexFunc(p.results, func(r result) bool { return r.name == name })
}
