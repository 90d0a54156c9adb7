package reference_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
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
	l := library(t)
	for name, want := range map[string]string{
		"operator rope":        "rope(x, offset; dims, base, traditional = false, scaling = {}, max_position = 0) -> y",
		"operator attend":      "attend(q, k?, v?, mask?, sinks?; scale, causal?) -> y",
		"operator concatenate": "concatenate(x…; axis) -> y",
		"class mlp.unfused":    "mlp.unfused",
		"state cache":          "cache(heads, dim, value_dim?, window = 0, chunk = 0)",
		"port experts":         "experts(x, indices) -> y",
		"model llama":          "llama(tokens) -> logits",
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
