//go:build cgo && mlx

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
)

// batched gives a saved array [T, …] the axis of one sequence.
func batched(x engine.Tensor) engine.Tensor {
	return engine.Tensor{Dtype: x.Dtype, Shape: append([]int{1}, x.Shape...), Data: x.Data}
}

// TestDrafts compares native draft entries, which mlx-lm drops, with the plain MLX calls of tools/oracle/drafts.py, bit for
// bit: the text's hidden state, the draft over the prompt moved by one, then draft tokens one by one.
func TestDrafts(t *testing.T) {
	casesOf(t, "draft", func(t *testing.T, dir string, _ oracleCase) {
		e := open(t, dir)
		want := saved(t, filepath.Join(dir, "expected.safetensors"))
		s, err := e.NewSession()
		require.NoError(t, err)
		defer s.Close()
		ctx := context.Background()
		text, err := s.Forward(ctx, engine.Inputs{Tokens: [][]int32{ids(want["prompt"])}}, "logits", "h")
		require.NoError(t, err)
		n := same(t, "text logits", want["text.logits"], text["logits"]) + same(t, "text h", want["text.h"], text["h"])
		h := text["h"]
		draft := func(what string, tokens []int32, logits, hidden engine.Tensor) {
			got, err := s.Forward(ctx, engine.Inputs{Entry: "draft", Tokens: [][]int32{tokens}, Others: map[string]engine.Tensor{"h": h}}, "logits", "h")
			require.NoError(t, err)
			n += same(t, what+" logits", logits, got["logits"]) + same(t, what+" h", hidden, got["h"])
			h = got["h"]
		}
		tokens := ids(want["tokens"])
		draft("draft", tokens, want["logits"], want["h"])
		h = batched(rows(inner(h), len(tokens)-1, len(tokens)))
		for i, id := range ids(want["step.tokens"]) {
			draft(fmt.Sprintf("draft %d", i), []int32{id}, rows(want["step.logits"], i, i+1), rows(want["step.h"], i, i+1))
		}
		require.Equal(t, len(tokens), s.Positions(), "the draft counts positions of its own")
		t.Logf("%d values equal", n)
	})
}
