//go:build cgo && mlx

package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
)

// bothWays opens a checkpoint with the default variants twice: as it runs, and so that no step is recorded.
func bothWays(t *testing.T, path string) (recorded, plain *engine.Engine) {
	recorded = openComposed(t, path, engine.Options{Device: "cpu", Threads: 2}, false)
	plain = openComposed(t, path, engine.Options{Device: "cpu", Threads: 2}, false)
	plain.CallByCall()
	return recorded, plain
}

func newSession(t *testing.T, e *engine.Engine) *engine.Session {
	s, err := e.NewSession()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func generated(t *testing.T, s *engine.Session, prompt []int32, n int) []engine.Token {
	var out []engine.Token
	_, err := s.Generate(context.Background(), prompt, engine.GenOptions{MaxTokens: n}, func(k engine.Token) error {
		out = append(out, k)
		return nil
	})
	require.NoError(t, err)
	return out
}

// TestRecordedSteps: over caches that grow and windows that turn, recorded steps give the bits of steps call by call.
func TestRecordedSteps(t *testing.T) {
	for _, name := range []string{"llama-q4", "gemma3-q4", "lfm2-q4", "qwen3_moe-q4", "deepseek_v3-q4", "falcon_h1-q4", "smollm2"} {
		t.Run(name, func(t *testing.T) {
			n := 600
			path := func() string { return oracleDir(t, name) }
			if name == "smollm2" {
				n, path = 20, func() string { return smolLM2(t) }
			}
			recorded, plain := bothWays(t, path())
			s, p := newSession(t, recorded), newSession(t, plain)
			prompt := []int32{1, 2, 3, 4, 5, 6, 7}
			require.Equal(t, generated(t, p, prompt, n), generated(t, s, prompt, n))
			chains, primitives := s.Recorded()
			require.Positive(t, chains, "nothing is recorded")
			t.Logf("%d primitives recorded as %d chains", primitives, chains)
			require.GreaterOrEqual(t, primitives, 2*chains)
			none, _ := p.Recorded()
			require.Zero(t, none)
		})
	}
}

// TestRecordedSessions: sessions that take turns, prompts between, a cancelled generation, a reset and steps that ask for no
// output are as they are call by call.
func TestRecordedSessions(t *testing.T) {
	recorded, plain := bothWays(t, oracleDir(t, "llama-q4"))
	one := engine.Tokens(3)
	run := func(e *engine.Engine) (tokens [][]engine.Token, logits [][]byte) {
		a, b := newSession(t, e), newSession(t, e)
		say := func(s *engine.Session, prompt []int32, n int) { tokens = append(tokens, generated(t, s, prompt, n)) }
		step := func(s *engine.Session, outputs ...string) {
			out, err := s.Forward(context.Background(), one, outputs...)
			require.NoError(t, err)
			if len(outputs) > 0 {
				logits = append(logits, out["logits"].Data)
			}
		}
		for i := range 6 {
			say(a, []int32{1, 2, 3, int32(i)}, 9)
			say(b, []int32{int32(7 + i)}, 12) // one token: a step too
		}
		for range 5 {
			step(a, "logits")
		}
		for range 5 { // another program, of one position too
			step(a)
		}
		for range 5 {
			step(a, "logits")
			step(b)
		}
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		_, err := a.Generate(ctx, []int32{4, 5}, engine.GenOptions{MaxTokens: 20}, func(engine.Token) error {
			if n++; n == 8 {
				cancel()
			}
			return nil
		})
		require.NoError(t, err)
		say(a, []int32{6}, 10)
		require.NoError(t, a.Reset())
		say(a, []int32{1, 2}, 10)
		nodes := 0
		_, err = a.Trace(context.Background(), one, func(engine.Node) error { nodes++; return nil }, "logits")
		require.NoError(t, err)
		require.Positive(t, nodes)
		say(a, []int32{1}, 10)
		say(b, []int32{9, 9}, 10)
		return tokens, logits
	}
	wantTokens, wantLogits := run(plain)
	tokens, logits := run(recorded)
	require.Equal(t, wantTokens, tokens)
	require.Equal(t, wantLogits, logits)
}
