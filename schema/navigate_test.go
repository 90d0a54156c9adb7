package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/schema"
)

const navigated = `graphrun: v1
kind: block
name: b
params: {eps: float}
in: {x: [B, T, hidden]}
ports: {o: {linear: [hidden, hidden], bias: true}}
nodes:
- y: {rms_norm: x, eps, when: eps > 0.0}
- y: {o: y, at: 'l.{i}'}
- y: {nodes: [y: {exp: y}], repeat: {i: 4}}
out: {y: [B, T, hidden]}
`

func TestAt(t *testing.T) {
	s := build(t)
	var doc yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(navigated), &doc))
	key := func(k string) schema.Step { return schema.Step{Key: k} }
	item := func(i int) schema.Step { return schema.Step{Index: i, List: true} }
	has := func(list []*schema.Schema, name string) bool {
		for _, x := range list {
			if x.Properties.Get(name) != nil {
				return true
			}
		}
		return false
	}
	place := func(list []*schema.Schema) schema.Place {
		out := schema.Plain
		for _, x := range list {
			out = max(out, x.Place)
		}
		return out
	}
	top := s.At(doc.Content[0], nil)
	require.True(t, has(top, "compiled"))
	require.False(t, has(top, "recognises"), "that is a model's")
	call := s.At(doc.Content[0], []schema.Step{key("nodes"), item(0), key("y")})
	require.True(t, has(call, "weight"), "an input of rms_norm")
	require.True(t, has(call, "repeat"))
	require.False(t, has(call, "sections"), "a parameter of rope")
	require.Equal(t, schema.Expression, place(s.At(doc.Content[0], []schema.Step{key("nodes"), item(0), key("y"), key("when")})))
	require.Equal(t, schema.Name, place(s.At(doc.Content[0], []schema.Step{key("nodes"), item(0), key("y"), key("rms_norm")})))
	require.Equal(t, schema.Template, place(s.At(doc.Content[0], []schema.Step{key("nodes"), item(1), key("y"), key("at")})))
	body := s.At(doc.Content[0], []schema.Step{key("nodes"), item(2), key("y")})
	require.True(t, has(body, "ports"))
	require.Equal(t, schema.Expression, place(s.At(doc.Content[0], []schema.Step{key("ports"), key("o"), key("linear"), item(0)})))
	require.True(t, has(s.At(doc.Content[0], []schema.Step{key("ports"), key("o")}), "bias"))
	require.Empty(t, s.At(doc.Content[0], []schema.Step{key("name"), key("x")}))
}
