//go:build cgo && mlx

package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTrace(t *testing.T) {
	ctx := context.Background()
	_, s := newTiny(t, tinyPlan(), Options{Device: "cpu"})
	want, err := s.Forward(ctx, Tokens(3, 1, 4), "logits")
	require.NoError(t, err)
	require.NoError(t, s.Reset())

	var paths []string
	var last Tensor
	got, err := s.Trace(ctx, Tokens(3, 1, 4), func(n Node) error {
		paths = append(paths, n.Call.Path)
		last = n.Value
		return nil
	}, "logits")
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, []string{"model.embed_tokens", "model.layers.0", "model.layers.0", "lm_head"}, paths)
	require.Equal(t, want["logits"], last)

	full := errors.New("disk full")
	_, err = s.Trace(ctx, Tokens(5), func(Node) error { return full }, "logits")
	require.ErrorIs(t, err, full)
	require.NoError(t, s.Reset())
	told := len(paths)
	_, err = s.Forward(ctx, Tokens(3, 1, 4), "logits")
	require.NoError(t, err)
	require.Len(t, paths, told, "a forward is not traced")
}
