//go:build cgo && mlx

package engine_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/weights"
	"github.com/graphrun/graphrun/weights/adapter"
)

// TestRecordedAdapters: sessions that take turns under other adapters each, and one that changes its own between texts, have
// the bits of steps call by call; what is recorded without an adapter is not run with one.
func TestRecordedAdapters(t *testing.T) {
	dir := oracleDir(t, "llama-q4-adapters")
	run := func(t *testing.T, e *engine.Engine) (tokens [][]engine.Token, ran [][2]int) {
		for _, name := range []string{"all", "down"} {
			a, err := adapter.Read(filepath.Join(dir, "adapters", name), e.Plan())
			require.NoError(t, err)
			files, err := weights.OpenFiles(a.Checkpoint)
			require.NoError(t, err)
			require.NoError(t, e.Mount(context.Background(), name, a, files, 1))
			require.NoError(t, files.Close())
		}
		a, b := newSession(t, e), newSession(t, e)
		say := func(s *engine.Session, n int) {
			tokens = append(tokens, generated(t, s, []int32{1, 2, 3}, n))
			chains, primitives := s.Recorded()
			ran = append(ran, [2]int{chains, primitives})
		}
		require.NoError(t, b.Adapt("all"))
		for _, names := range [][]string{nil, {"all"}, {"down"}, {"down", "all"}, nil, {"all"}} {
			require.NoError(t, a.Reset())
			require.NoError(t, a.Adapt(names...))
			say(a, 9)
			say(b, 5)
			say(a, 5)
		}
		return tokens, ran
	}
	var want, got [][]engine.Token
	var ran [][2]int
	t.Run("call by call", func(t *testing.T) {
		e := openComposed(t, dir, engine.Options{Device: "cpu", Threads: 2}, false)
		e.CallByCall()
		want, _ = run(t, e)
	})
	t.Run("recorded", func(t *testing.T) {
		got, ran = run(t, openComposed(t, dir, engine.Options{Device: "cpu", Threads: 2}, false))
	})
	require.Equal(t, want, got)
	require.NotEqual(t, got[0], got[3], "the adapter changes nothing")
	for i, r := range ran {
		require.Positive(t, r[0], "text %d is not recorded", i)
	}
	require.Equal(t, ran[0], ran[12], "the same without adapters")
	require.NotEqual(t, ran[0], ran[3], "an adapter's ports run as if there were none")
}

// TestRecordedAnew: a recording ends where a cache gets new buffers, and another is made behind it; a forward of several
// positions, of several sequences and one that is looked into run call by call.
func TestRecordedAnew(t *testing.T) {
	recorded, plain := bothWays(t, oracleDir(t, "llama-q4"))
	s, p := newSession(t, recorded), newSession(t, plain)
	ctx := context.Background()
	forward := func(in engine.Inputs) (chains int) {
		want, err := p.Forward(ctx, in, "logits")
		require.NoError(t, err)
		got, err := s.Forward(ctx, in, "logits")
		require.NoError(t, err)
		require.Equal(t, want["logits"].Data, got["logits"].Data, "at position %d", s.Positions())
		chains, _ = s.Recorded()
		return chains
	}
	var at []int // which positions run call by call
	for i := range 520 {
		if forward(engine.Tokens(int32(i%50+1))) == 0 {
			at = append(at, i)
		}
	}
	// The first has no buffers, the second is recorded; where a cache grows (every 256 positions) it is let go of, and the
	// second step in the new buffers is recorded.
	require.Equal(t, []int{0, 1, 256, 257, 512, 513}, at)
	require.Zero(t, forward(engine.Tokens(5, 6, 7)))
	require.Zero(t, forward(engine.Tokens(5)))
	require.Zero(t, forward(engine.Tokens(5)))
	require.Positive(t, forward(engine.Tokens(5)))
	require.NoError(t, s.Reset())
	require.NoError(t, p.Reset())
	for range 4 {
		require.Zero(t, forward(engine.Inputs{Tokens: [][]int32{{3}, {4}}}))
	}
}

// TestRecordingKeepsMemoryFlat: recorded steps leave nothing behind, and recordings nothing once they are let go of.
func TestRecordingKeepsMemoryFlat(t *testing.T) {
	e := openComposed(t, oracleDir(t, "llama-q4"), engine.Options{Device: "cpu", Threads: 2}, false)
	s := newSession(t, e)
	step := func(n int) {
		for range n {
			_, err := s.Forward(context.Background(), engine.Tokens(3), "logits")
			require.NoError(t, err)
		}
	}
	var arrays, memory, kept int
	for i := range 12 {
		require.NoError(t, s.Reset())
		step(4)
		held, after := s.StateBytes(), 0
		if kept = mlx.ActiveMemory() - held; i < 2 { // angles and scratch memory are made at first
			arrays, memory = mlx.LiveArrays(), kept
		}
		require.Equal(t, arrays, mlx.LiveArrays(), "handles after recording %d", i)
		require.InDelta(t, memory, kept, 256, "bytes after recording %d", i)
		step(100)
		require.Equal(t, held, s.StateBytes())
		after = mlx.ActiveMemory() - held
		require.Equal(t, arrays, mlx.LiveArrays(), "handles after 100 steps")
		require.InDelta(t, memory, after, 256, "bytes after 100 steps")
	}
	chains, _ := s.Recorded()
	require.Positive(t, chains)
}
