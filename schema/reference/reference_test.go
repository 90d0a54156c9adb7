package reference_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/schema/reference"
)

func library(t *testing.T) *reference.Library {
	t.Helper()
	r, err := ops.Default()
	require.NoError(t, err)
	l, err := reference.New(r, graphs.Files)
	require.NoError(t, err)
	return l
}

func TestEveryNameIsFound(t *testing.T) {
	l := library(t)
	r, err := ops.Default()
	require.NoError(t, err)
	require.Len(t, l.Of(reference.Operator), len(r.Operators()))
	require.Len(t, l.Of(reference.Class), len(r.Classes()))
	require.Len(t, l.Of(reference.State), len(r.States()))
	for _, kind := range []reference.Kind{reference.Operator, reference.Class, reference.State, reference.Port, reference.Block, reference.Model} {
		require.NotEmpty(t, l.Of(kind), kind)
		for _, e := range l.Of(kind) {
			require.NotEmpty(t, e.Summary(), e.Name)
			require.NotContains(t, e.Summary(), "\n")
			require.Contains(t, e.Signature(), e.Name)
			found := l.Find(e.Name)
			require.NotEmpty(t, found, e.Name)
			require.Len(t, l.Find(string(kind)+" "+e.Name), 1, e.Name)
			var b strings.Builder
			require.NoError(t, e.Fprint(&b, 80))
			require.Contains(t, b.String(), string(kind)+" "+e.Name)
			require.NotEmpty(t, e.Markdown())
			data, err := json.Marshal(e)
			require.NoError(t, err)
			require.Contains(t, string(data), `"name":"`+e.Name+`"`)
		}
	}
}

func TestSignature(t *testing.T) {
	half := plan.Value{Kind: plan.Float, Float: 0.5}
	operator := reference.OfOperator(&registry.Operator{
		Name: "turn", Doc: "Turns. By an angle.",
		Inputs: []registry.Input{
			{Name: "x", Doc: "[B, T]"}, {Name: "offset", Kind: registry.State}, {Name: "weight", Kind: registry.Weight, Optional: true},
			{Name: "more", Variadic: true},
		},
		Outputs: []string{"y"},
		Params: []registry.Param{{Name: "dims", Type: "int"}, {Name: "base", Type: "float", Default: &half}, {Name: "axis", Type: "int", Optional: true},
			{Name: "order", Type: "string", Default: &plan.Value{Kind: plan.String, Str: "any"}, OneOf: []string{"any", "sequential"}}},
		State: registry.RequiredState,
	})
	require.Equal(t, "turn(x, offset, weight?, more…; dims, base = 0.5, axis?, order = any) -> y", operator.Signature())
	require.Equal(t, []string{"- y: {turn: [x, more, y], offset: kv, weight: norm.weight, state: own, dims}"}, operator.Example)
	var b strings.Builder
	require.NoError(t, operator.Fprint(&b, 60))
	require.Equal(t, `operator turn(x, offset, weight?, more…; dims, base = 0.5, axis?, order = any) -> y
  Turns. By an angle.

inputs
  x       value             [B, T]
  offset  state
  weight  weight, optional
  more    values

parameters
  dims   int, required
  base   float, 0.5 by default
  axis   int, optional
  order  string, any by default  (any, sequential)

state
  The call names a state: `+"`state: kv`"+`.

example
  - y: {turn: [x, more, y], offset: kv, weight: norm.weight, state: own, dims}
`, b.String())

	class := reference.OfClass(&registry.Class{Name: "fast", Doc: "Fast.", Kinds: []string{"linear", "head"}, MaxRows: 16, Numerics: "near",
		Params: []registry.Param{{Name: "tile", Type: "int"}}})
	require.Equal(t, "fast(tile)", class.Signature())
	require.Equal(t, "1..16", class.Fact("rows"))
	require.Equal(t, []string{"- {ports: '**', kind: linear, rows: {1..16: {fast: {tile: …}}}}"}, class.Example)

	l := library(t)
	for name, want := range map[string]string{
		"class mlp.unfused": "mlp.unfused",
		"port experts":      "experts(x, indices) -> y",
		"model llama":       "llama(tokens) -> logits",
	} {
		found := l.Find(name)
		require.Len(t, found, 1, name)
		require.Equal(t, want, found[0].Signature())
	}
}

func TestUnknownNames(t *testing.T) {
	l := library(t)
	require.Empty(t, l.Find("ropee"))
	require.ErrorContains(t, l.Unknown("ropee"), "did you mean rope?")
	require.ErrorContains(t, l.Unknown("atention"), "did you mean attention?")
	require.NotContains(t, l.Unknown("something else").Error(), "did you mean")
}

const block = `graphrun: v1
kind: block
name: mixer
doc: Mixes. In two sentences.
params:
  heads: int                    # of keys
  base: {float: 'pow(10, 4)'}
  sections: {ints: [11, 'n * 2']}
  groups: int
in:
  x: [B, T, groups * heads, groups]
  positions: {shape: [3, B, T], dtype: int32, optional: true}
state: {kv: {cache: {heads, dim: 4}}}
nodes:
- y: {exp: x}
out: {y: [B, T, '...'], w: {optional: true}}
`

func TestReadBlock(t *testing.T) {
	e, err := reference.Read("mixer.yaml", []byte(block))
	require.NoError(t, err)
	require.Equal(t, reference.Block, e.Kind)
	require.Equal(t, "Mixes", e.Summary())
	require.Equal(t, "mixer(x, positions?; heads, base = pow(10, 4), sections = [11, n * 2], groups?) -> y, w?", e.Signature())
	require.Equal(t, "of keys", e.Params[0].Doc)
	require.Equal(t, "int32 [3, B, T]", e.Inputs[1].Doc)
	require.True(t, e.Params[3].Bound)
	require.Equal(t, []string{"- y: {mixer: x, heads}"}, e.Example)
	text, ok := e.Param("base")
	require.True(t, ok)
	require.Contains(t, text, "pow(10, 4) by default")
	_, ok = e.Param("bas")
	require.False(t, ok)
}

func TestShippedFilesMustBeRight(t *testing.T) {
	r, err := ops.Default()
	require.NoError(t, err)
	for name, text := range map[string]string{
		"name of the file": block,
		"not a graph file": "a: b\n",
		"no YAML":          "{",
	} {
		_, err := reference.New(r, fstest.MapFS{"blocks/other.yaml": {Data: []byte(text)}})
		require.Error(t, err, name)
	}
}

func TestMarkdownIsEscaped(t *testing.T) {
	e := reference.Entry{Kind: reference.Operator, Name: "x", Doc: "a * b <b> `code * x` [c] and a ` alone"}
	require.NotContains(t, e.Markdown(), "<b>")
	e.Doc = "`a * b`"
	require.Contains(t, e.Markdown(), "`a * b`")
}
