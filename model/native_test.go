//go:build cgo && mlx

package model

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/text"
)

const checkpoint = "../.deps/checkpoints/SmolLM2-135M-Instruct.Q4_1.gguf"

func TestModel(t *testing.T) {
	if _, err := os.Stat(checkpoint); err != nil {
		t.Skip("the default checkpoint is not there (tools/checkpoint.sh fetches it)")
	}
	ctx := context.Background()
	arrays := mlx.LiveArrays()
	var last, total int64
	m, err := Open(ctx, Options{Checkpoint: checkpoint, OnWeights: func(d, n int64) { last, total = d, n }})
	require.NoError(t, err)
	require.Positive(t, total)
	require.Equal(t, total, last)
	require.Equal(t, "llama", m.Name())
	require.Empty(t, m.Findings().List)
	require.Empty(t, m.Warnings())
	france := []text.Message{{Role: "user", Content: "What is the capital of France?"}}

	t.Run("chat", func(t *testing.T) {
		var pieces []string
		r, err := m.Chat(ctx, france, Settings{}, func(s string) error { pieces = append(pieces, s); return nil })
		require.NoError(t, err)
		require.Equal(t, "The capital of France is Paris.", r.Text)
		require.Greater(t, len(pieces), 3)
		require.Equal(t, engine.Stopped, r.Reason)
		require.EqualValues(t, 2, r.StopID)
		require.Len(t, r.Tokens, 7)
	})
	t.Run("stop text", func(t *testing.T) {
		r, err := m.Chat(ctx, france, Settings{Stop: []string{"France is"}}, nil)
		require.NoError(t, err)
		require.Equal(t, "The capital of ", r.Text)
		require.Equal(t, "France is", r.StopText)
		require.Equal(t, engine.Stopped, r.Reason)
	})
	t.Run("whole characters", func(t *testing.T) {
		s := Settings{IgnoreStops: true, GenOptions: engine.GenOptions{MaxTokens: 12}}
		_, err := m.Complete(ctx, "日本語のテキスト: 東京は", s, func(s string) error {
			require.True(t, utf8.ValidString(s))
			return nil
		})
		require.NoError(t, err)
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(ctx)
		r, err := m.Complete(ctx, "Once upon a time", Settings{}, func(string) error { cancel(); return nil })
		require.NoError(t, err)
		require.Equal(t, engine.Cancelled, r.Reason)
		require.NotEmpty(t, r.Text)
	})
	t.Run("refused piece", func(t *testing.T) {
		full := errors.New("disk full")
		_, err := m.Complete(ctx, "Once upon a time", Settings{}, func(string) error { return full })
		require.ErrorIs(t, err, full)
	})
	t.Run("sample ids", func(t *testing.T) {
		ids, err := m.SampleIDs(5)
		require.NoError(t, err)
		r, err := m.Generate(ctx, ids, Settings{IgnoreStops: true, GenOptions: engine.GenOptions{MaxTokens: 2}}, nil)
		require.NoError(t, err)
		require.Len(t, r.Tokens, 2)
	})
	m.Close()
	m.Close()
	require.Equal(t, arrays, mlx.LiveArrays(), "arrays are left after Close")
}

func TestOpenFindings(t *testing.T) {
	if _, err := os.Stat(checkpoint); err != nil {
		t.Skip("the default checkpoint is not there (tools/checkpoint.sh fetches it)")
	}
	graph := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, os.WriteFile(graph, []byte("graphrun: v1\nkind: model\nname: mine\nrecognises: 'true'\nnodes:\n- logits: {hed: tokens}\n"), 0o644))
	_, err := Open(context.Background(), Options{Checkpoint: checkpoint, Graph: graph})
	var found *Findings
	require.ErrorAs(t, err, &found)
	require.Equal(t, "unknown-callee", found.List[0].Code)
	line, ok := found.Source(graph, 6)
	require.True(t, ok)
	require.Equal(t, "- logits: {hed: tokens}", line)
}

// A folder without a tokenizer is refused before its weights are opened, unless nobody asks for text.
func TestOpenWithoutTokenizer(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config.json": `{"model_type": "none"}`, "model.safetensors": "\x02\x00\x00\x00\x00\x00\x00\x00{}", "tokenizer.model": "",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	_, err := Open(context.Background(), Options{Checkpoint: dir})
	require.ErrorContains(t, err, "there is no tokenizer.json, and tokenizer.model alone is not supported")
	var found *Findings
	_, err = Open(context.Background(), Options{Checkpoint: dir, IDsOnly: true})
	require.ErrorAs(t, err, &found)
	require.Equal(t, "no-model", found.List[0].Code)
}
