package compose_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/compose"
	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/weights/header"
)

const optionalInput = `graphrun: v1
kind: model
name: optional
recognises: config.string('model_type') == 'optional'
let: {hidden: config.int('hidden')}
ports: {embed: {embedding: [32, hidden]}, head: {head: [hidden, 32], tied: embed}}
in:
  tokens: {shape: [B, T], dtype: int32}
  extra: {shape: [B, T, hidden], optional: true}
nodes:
- h: {embed: tokens}
- h: {add: [h, extra], when: given.extra}
- h: {negative: h, when: T > 1}
- logits: {head: h}
`

// An entry has programs with and without each optional input, for every guard.
func TestOptionalInputsOfAnEntry(t *testing.T) {
	file := filepath.Join(t.TempDir(), "optional.yaml")
	require.NoError(t, os.WriteFile(file, []byte(optionalInput), 0o644))
	reg, err := ops.Default()
	require.NoError(t, err)
	config := &header.Config{Path: "config.json", Values: map[string]any{"model_type": "optional", "hidden": int64(64)}}
	r, err := compose.Compose(context.Background(), compose.Request{Graph: file, Shipped: graphs.Files, Registry: reg, Config: config})
	require.NoError(t, err)
	require.Empty(t, r.Diagnostics.Sorted())
	calls := map[string]int{}
	for _, g := range r.Plan.Programs {
		if len(g.Results) == 0 {
			continue
		}
		key := g.Guards[0].Operator
		for _, in := range g.Inputs {
			key += " " + in.Name
		}
		calls[key] = len(g.Calls)
	}
	require.Equal(t, map[string]int{"> tokens extra": 4, "<= tokens extra": 3, "> tokens": 3, "<= tokens": 2}, calls)
}
