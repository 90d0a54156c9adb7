//go:build cgo && mlx

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/engine"
)

// counts are values that were compared, each equal.
type counts struct {
	Prefill int `json:"prefill"` // logits of a whole prompt in one forward
	Decode  int `json:"decode"`  // logits of steps of one token
	Chunk   int `json:"chunk"`   // logits of a second chunk of several tokens
	Batch   int `json:"batch"`   // logits of two sequences at once: their prompts and steps
	Tokens  int `json:"tokens"`  // greedy tokens, the prompt taken in chunks of 2,048 and of 16
}

func (c counts) values() int { return c.Prefill + c.Decode + c.Chunk + c.Batch }

func (c *counts) add(o counts) {
	c.Prefill += o.Prefill
	c.Decode += o.Decode
	c.Chunk += o.Chunk
	c.Batch += o.Batch
	c.Tokens += o.Tokens
}

func forward(t *testing.T, s *engine.Session, tokens ...[]int32) engine.Tensor {
	t.Helper()
	out, err := s.Forward(context.Background(), engine.Inputs{Tokens: tokens}, "logits")
	require.NoError(t, err)
	return out["logits"]
}

// compareCase compares all that is saved for a checkpoint.
func compareCase(t *testing.T, e *engine.Engine, want map[string]engine.Tensor, prompts []string) (c counts) {
	for _, p := range prompts {
		comparePrompt(t, e, want, p, &c)
	}
	compareBatch(t, e, want, &c)
	return c
}

func comparePrompt(t *testing.T, e *engine.Engine, want map[string]engine.Tensor, p string, c *counts) {
	s, err := e.NewSession()
	require.NoError(t, err)
	defer s.Close()
	c.Prefill += same(t, p+" prefill", want[p+".prefill_logits"], forward(t, s, ids(want[p+".prompt"])))
	for i, id := range ids(want[p+".decode_in"]) {
		c.Decode += same(t, fmt.Sprintf("%s decode %d", p, i), rows(want[p+".decode_logits"], i, i+1), forward(t, s, []int32{id}))
	}
	if chunk, ok := want[p+".chunk_in"]; ok {
		c.Chunk += same(t, p+" second chunk", want[p+".chunk_logits"], forward(t, s, ids(chunk)))
	}
	for _, run := range []struct {
		name string
		step int
	}{{"gen", 2048}, {"gen16", 16}} {
		tokens, ok := want[p+"."+run.name+"_tokens"]
		if !ok {
			continue
		}
		require.NoError(t, s.Reset())
		var got []int32
		_, err := s.Generate(context.Background(), ids(want[p+".prompt"]), engine.GenOptions{MaxTokens: len(ids(tokens)), PrefillStep: run.step},
			func(tok engine.Token) error { got = append(got, tok.ID); return nil })
		require.NoError(t, err)
		require.Equal(t, ids(tokens), got, "%s %s", p, run.name)
		c.Tokens += len(got)
	}
}

func compareBatch(t *testing.T, e *engine.Engine, want map[string]engine.Tensor, c *counts) {
	prompt, ok := want["batch.prompt"]
	if !ok {
		return
	}
	s, err := e.NewSession()
	require.NoError(t, err)
	defer s.Close()
	flat, width := ids(prompt), prompt.Shape[1]
	c.Batch += same(t, "batch", want["batch.logits"], forward(t, s, flat[:width], flat[width:]))
	steps := want["batch.decode_in"]
	fed := ids(steps)
	for i := range steps.Shape[1] {
		got := forward(t, s, []int32{fed[i]}, []int32{fed[steps.Shape[1]+i]})
		for b := range 2 {
			exp := rows(inner(rows(want["batch.decode_logits"], b, b+1)), i, i+1)
			c.Batch += same(t, fmt.Sprintf("batch decode %d, sequence %d", i, b), exp, rows(got, b, b+1))
		}
	}
}
