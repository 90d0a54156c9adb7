package schema_test

import (
	"bytes"
	"strconv"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/graphs"
	"github.com/graphrun/graphrun/ops"
	"github.com/graphrun/graphrun/schema"
)

func build(t testing.TB) *schema.Schema {
	t.Helper()
	r, err := ops.Default()
	require.NoError(t, err)
	s, err := schema.New(r, graphs.Files)
	require.NoError(t, err)
	return s
}

// compile gives the validator of another hand for our schema; it also holds the schema to the dialect's own.
func compile(t testing.TB, s *schema.Schema) *jsonschema.Schema {
	t.Helper()
	data, err := s.JSON()
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("graph.json", doc))
	out, err := c.Compile("graph.json")
	require.NoError(t, err)
	return out
}

var once struct {
	sync.Once
	validator *jsonschema.Schema
}

// whole is the validator of all kinds of file, compiled once for all tests.
func whole(t *testing.T) *jsonschema.Schema {
	t.Helper()
	once.Do(func() { once.validator = compile(t, build(t)) })
	require.NotNil(t, once.validator)
	return once.validator
}

// plain is a YAML text as JSON has it; an error where it is not YAML.
func plain(text []byte) (any, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return nil, err
	}
	if len(n.Content) == 0 {
		return nil, nil
	}
	return value(n.Content[0], 0), nil
}

func value(n *yaml.Node, depth int) any {
	if depth > 64 {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return value(n.Alias, depth+1)
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = value(n.Content[i+1], depth+1)
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, c := range n.Content {
			out[i] = value(c, depth+1)
		}
		return out
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true"
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return i
		}
	case "!!float":
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return f
		}
	}
	return n.Value
}
