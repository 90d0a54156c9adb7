//go:build cgo && mlx

package engine

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/mlx"
)

// collect gathers what Generate gives out.
func collect(to *[]int32) func(Token) error {
	return func(t Token) error {
		*to = append(*to, t.ID)
		return nil
	}
}

// inBothWays runs a test with plain evaluation and with the pipeline of a GPU.
func inBothWays(t *testing.T, f func(t *testing.T, s *Session)) {
	for name, async := range map[string]bool{"plain": false, "pipelined": true} {
		t.Run(name, func(t *testing.T) {
			e, s := newTiny(t, tinyPlan(), Options{})
			e.async = async
			f(t, s)
		})
	}
}

func TestGenerateIsGreedyOverAnyChunks(t *testing.T) {
	prompt := []int32{3, 1, 6, 6, 2}
	inBothWays(t, func(t *testing.T, s *Session) {
		for _, step := range []int{0, 1, 2, 3, 4, 100} {
			require.NoError(t, s.Reset())
			var got []int32
			var progress [][2]int
			stats, err := s.Generate(context.Background(), prompt, GenOptions{MaxTokens: 6, PrefillStep: step,
				OnProgress: func(done, total int) { progress = append(progress, [2]int{done, total}) }}, collect(&got))
			require.NoError(t, err)
			require.Equal(t, tinyGreedy(prompt, 6), got, "prefill step %d", step)
			require.Equal(t, Length, stats.Reason)
			require.Equal(t, int32(-1), stats.StopID)
			require.Equal(t, 5, stats.PromptTokens)
			require.Equal(t, 6, stats.GeneratedTokens)
			require.Equal(t, [2]int{0, 5}, progress[0])
			require.Equal(t, [2]int{5, 5}, progress[len(progress)-1])
			require.Positive(t, stats.FirstTokenSeconds)
			require.Positive(t, stats.PeakMemory)
		}
	})
}

func TestGenerateGoesOn(t *testing.T) {
	inBothWays(t, func(t *testing.T, s *Session) {
		ctx := context.Background()
		text := []int32{3, 1}
		for _, more := range [][]int32{{4}, {5, 2, 2}, {0, 6}} {
			text = append(text, more...)
			prompt := more
			if len(text) == 3 {
				prompt = text
			}
			var got []int32
			_, err := s.Generate(ctx, prompt, GenOptions{MaxTokens: 3}, collect(&got))
			require.NoError(t, err)
			require.Equal(t, tinyGreedy(text, 3), got)
			text = append(text, got...)
		}
	})
}

func TestGenerateStops(t *testing.T) {
	prompt := []int32{3, 1, 6}
	want := tinyGreedy(prompt, 4)
	failure := errors.New("the pipe is closed")
	inBothWays(t, func(t *testing.T, s *Session) {
		ctx := context.Background()
		var got []int32
		stop := want[2]
		first := 0
		for want[first] != stop {
			first++
		}
		stats, err := s.Generate(ctx, prompt, GenOptions{StopIDs: []int32{stop}}, collect(&got))
		require.NoError(t, err)
		require.Equal(t, Stopped, stats.Reason)
		require.Equal(t, stop, stats.StopID)
		require.Equal(t, want[:first], got, "the stop token is not given out")
		require.Equal(t, first+1, stats.GeneratedTokens)
		got = nil
		_, err = s.Generate(ctx, []int32{5}, GenOptions{MaxTokens: 2}, collect(&got))
		require.NoError(t, err)
		text := append(append(append([]int32{}, prompt...), want[:first+1]...), 5)
		require.Equal(t, tinyGreedy(text, 2), got, "the stop token is taken")

		for _, c := range []error{ErrStop, failure} {
			require.NoError(t, s.Reset())
			n := 0
			stats, err = s.Generate(ctx, prompt, GenOptions{}, func(Token) error {
				if n++; n == 2 {
					return c
				}
				return nil
			})
			if c == failure {
				require.ErrorIs(t, err, failure)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, Stopped, stats.Reason)
			require.Equal(t, 2, stats.GeneratedTokens)
		}
	})
}

func TestGenerateCancelled(t *testing.T) {
	prompt := []int32{3, 1, 6, 2, 2, 5}
	inBothWays(t, func(t *testing.T, s *Session) {
		t.Run("between tokens", func(t *testing.T) {
			require.NoError(t, s.Reset())
			ctx, cancel := context.WithCancel(context.Background())
			var got []int32
			stats, err := s.Generate(ctx, prompt, GenOptions{}, func(t Token) error {
				if got = append(got, t.ID); len(got) == 3 {
					cancel()
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, Cancelled, stats.Reason)
			require.Equal(t, tinyGreedy(prompt, 3), got)
			got = nil
			_, err = s.Generate(context.Background(), []int32{1}, GenOptions{MaxTokens: 1}, collect(&got))
			require.NoError(t, err)
			text := append(append(append([]int32{}, prompt...), tinyGreedy(prompt, 3)...), 1)
			require.Equal(t, tinyGreedy(text, 1), got, "the session goes on after what was generated")
		})
		t.Run("between chunks", func(t *testing.T) {
			require.NoError(t, s.Reset())
			ctx, cancel := context.WithCancel(context.Background())
			stats, err := s.Generate(ctx, prompt, GenOptions{PrefillStep: 2, OnProgress: func(done, _ int) {
				if done == 2 {
					cancel()
				}
			}}, nil)
			require.NoError(t, err)
			require.Equal(t, Cancelled, stats.Reason)
			require.Zero(t, stats.GeneratedTokens)
			require.Equal(t, 2, s.Positions())
			var got []int32
			_, err = s.Generate(context.Background(), []int32{4}, GenOptions{MaxTokens: 1}, collect(&got))
			require.NoError(t, err)
			require.Equal(t, tinyGreedy(append(append([]int32{}, prompt...), 4), 1), got, "the rest of the prompt is taken first")
		})
	})
}

func TestGenerateContextLimit(t *testing.T) {
	inBothWays(t, func(t *testing.T, s *Session) {
		ctx := context.Background()
		var got []int32
		stats, err := s.Generate(ctx, []int32{1, 2, 3}, GenOptions{ContextLimit: 5}, collect(&got))
		require.NoError(t, err)
		require.Equal(t, Full, stats.Reason)
		require.Equal(t, tinyGreedy([]int32{1, 2, 3}, 3), got, "the token after the last position is still given out")
		_, err = s.Generate(ctx, []int32{1}, GenOptions{ContextLimit: 5}, nil)
		require.ErrorContains(t, err, "the prompt has 2 tokens and 5 positions are taken, the context is 5")
	})
}

func TestGenerateErrors(t *testing.T) {
	for name, c := range map[string]struct {
		prompt []int32
		o      GenOptions
		want   string
	}{
		"empty":       {nil, GenOptions{}, "the prompt has no tokens"},
		"vocabulary":  {[]int32{1, 70}, GenOptions{}, "the prompt: token 70 at position 1 of sequence 0 is not within the vocabulary of 7"},
		"top-k":       {[]int32{1}, GenOptions{Temperature: 1, TopK: 7}, "top-k 7 is not below the vocabulary of 7"},
		"temperature": {[]int32{1}, GenOptions{Temperature: -1}, "temperature -1 is not 0 or more"},
		"several":     {[]int32{1}, GenOptions{TopP: 2, MinP: math.NaN()}, "top-p 2 is not in [0, 1]; min-p NaN is not in [0, 1]"},
		"bias":        {[]int32{1}, GenOptions{LogitBias: map[int32]float64{9: 1}}, "token 9 of the logit bias"},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newTiny(t, tinyPlan(), Options{})
			arrays := mlx.LiveArrays()
			_, err := s.Generate(context.Background(), c.prompt, c.o, nil)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, arrays, mlx.LiveArrays())
			_, err = s.Generate(context.Background(), []int32{1}, GenOptions{MaxTokens: 1}, nil)
			require.NoError(t, err, "a refused call leaves the session usable")
		})
	}
}

func TestGenerateRefusesTwoCallers(t *testing.T) {
	_, s := newTiny(t, tinyPlan(), Options{})
	ctx := context.Background()
	_, err := s.Generate(ctx, []int32{1}, GenOptions{MaxTokens: 1}, func(Token) error {
		_, err := s.Forward(ctx, Tokens(1))
		require.ErrorIs(t, err, ErrBusy)
		require.ErrorIs(t, s.Reset(), ErrBusy)
		return nil
	})
	require.NoError(t, err)
}

// Sessions take turns step by step and do not touch each other's states.
func TestSessionsShareAnEngine(t *testing.T) {
	e, _ := newTiny(t, tinyPlan(), Options{})
	texts := [][]int32{{1, 2, 3}, {6, 5}, {4}}
	errs := make(chan error, len(texts))
	for _, text := range texts {
		go func() {
			s, err := e.NewSession()
			if err != nil {
				errs <- err
				return
			}
			defer s.Close()
			var got []int32
			_, err = s.Generate(context.Background(), text, GenOptions{MaxTokens: 40}, collect(&got))
			for i, id := range tinyGreedy(text, 40) {
				if err == nil && got[i] != id {
					err = errors.New("another session's token")
				}
			}
			errs <- err
		}()
	}
	for range texts {
		require.NoError(t, <-errs)
	}
}

func TestGenerateSampledIsSeeded(t *testing.T) {
	inBothWays(t, func(t *testing.T, s *Session) {
		draw := func(o GenOptions) []int32 {
			require.NoError(t, s.Reset())
			var got []int32
			o.MaxTokens, o.Temperature = 30, 8
			_, err := s.Generate(context.Background(), []int32{3, 1, 6}, o, collect(&got))
			require.NoError(t, err)
			return got
		}
		a := draw(GenOptions{Seed: 7, TopP: 0.95, MinP: 0.01, TopK: 5, RepetitionPenalty: 1.2})
		require.Equal(t, a, draw(GenOptions{Seed: 7, TopP: 0.95, MinP: 0.01, TopK: 5, RepetitionPenalty: 1.2}))
		require.NotEqual(t, a, draw(GenOptions{Seed: 8, TopP: 0.95, MinP: 0.01, TopK: 5, RepetitionPenalty: 1.2}))
		draw(GenOptions{XTCChance: 0.5, XTCSpecial: []int32{1}, PresencePenalty: 1, FrequencyPenalty: 0.5, LogitBias: map[int32]float64{1: 2}})
	})
}

func TestLogprobs(t *testing.T) {
	_, s := newTiny(t, tinyPlan(), Options{})
	text := []int32{3, 1}
	_, err := s.Generate(context.Background(), text, GenOptions{MaxTokens: 5}, func(tok Token) error {
		logits, sum := tinyLogits(text), 0.0
		for _, l := range logits {
			sum += math.Exp(float64(l))
		}
		require.InDelta(t, float64(logits[tok.ID])-math.Log(sum), float64(tok.Logprob), 1e-4)
		text = append(text, tok.ID)
		return nil
	})
	require.NoError(t, err)
}
