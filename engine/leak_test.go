//go:build cgo && mlx

package engine_test

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/mlx"
)

// resident is the process's resident memory in bytes, 0 where it is not known.
func resident() int {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.Atoi(string(bytes.Fields(data)[1]))
	if err != nil {
		return 0
	}
	return pages * os.Getpagesize()
}

// Decoding with every part of the sampler, 2,000 steps of one model and 160 of each further kind of state: after a warm-up
// MLX holds the weights and the states, which grow with the text, and nothing else; neither it nor the process grows
// beside them.
func TestDecodingKeepsMemoryFlat(t *testing.T) {
	for name, c := range map[string]struct{ warm, steps int }{"llama-f32": {300, 2000}, "qwen3_5-q4": {60, 160}, "qwen3_moe-q4": {60, 160},
		"gemma3-bf16": {60, 160}, "mamba2-bf16": {60, 160}} {
		t.Run(name, func(t *testing.T) { decodesFlat(t, name, c.warm, c.steps) })
	}
}

func decodesFlat(t *testing.T, name string, warm, steps int) {
	const every = 20
	e := openModel(t, oracleDir(t, name), engine.Options{})
	s, err := e.NewSession()
	require.NoError(t, err)
	o := engine.GenOptions{MaxTokens: steps + 1, Temperature: 0.9, TopP: 0.95, MinP: 0.01, TopK: 40, RepetitionPenalty: 1.1, FrequencyPenalty: 0.1}
	n := 0
	var active, live, rss, states [2]int
	stats, err := s.Generate(context.Background(), []int32{1, 2, 3, 4, 5}, o, func(engine.Token) error {
		if n++; n < warm || n%every != 0 {
			return nil
		}
		i := min(1, n/every-warm/every)
		held := s.StateBytes()
		active[i], live[i], rss[i], states[i] = mlx.ActiveMemory()-held, mlx.LiveArrays(), resident()-held, held
		// A thread of MLX may let go of a scalar a moment after the step.
		require.InDelta(t, active[0], active[i], 256, "bytes that MLX holds beside the states, step %d", n)
		require.Equal(t, live[0], live[i], "live handles, step %d", n)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, steps+1, stats.GeneratedTokens) // before the last one no step is ahead
	t.Logf("step %d: MLX %d bytes, states %d, RSS %d, %d handles; step %d: MLX %d, states %d, RSS %d, %d handles; %.0f tokens/s",
		warm, active[0], states[0], rss[0], live[0], steps, active[1], states[1], rss[1], live[1], stats.DecodeTokensPerSec)
	require.Less(t, rss[1]-rss[0], 8<<20, "resident bytes beside the states after the warm-up")
}
