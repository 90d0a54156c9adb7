package expr

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/plan"
)

// names is a scope over Go values.
type names map[string]Value

func (n names) TypeOf(name string) (*Type, bool) { v, ok := n[name]; return v.Type, ok }

func (n names) ValueOf(name string) (Value, error) {
	v, ok := n[name]
	if !ok {
		return Value{}, fmt.Errorf("no value for %s", name)
	}
	return v, nil
}

func (n names) Names() (out []string) {
	for k := range n {
		out = append(out, k)
	}
	return out
}

var config = map[string]any{
	"hidden_size": int64(2048), "num_attention_heads": int64(32), "rms_norm_eps": 1e-5, "rope_theta": int64(10000),
	"head_dim": nil, "tie_word_embeddings": true, "model_type": "llama", "layer_types": []any{"full_attention", "sliding_attention"},
	"text_config": map[string]any{"hidden_size": 4.0, "rope_scaling": map[string]any{"factor": 8.0}}, "width": int64(7),
	"fraction": 1.5,
}

func scope() names {
	return names{"config": Config("config.json", config, nil), "heads": Of(32), "eps": Of(1e-5), "kind": Of("sliding"), "tie": Of(true),
		"types": Of([]string{"a", "b"}), "i": Of(1), "sizes": Of([]int{3, 9, 2}),
		"x": Array([]Dim{{Symbolic: "B"}, {Symbolic: "T"}, {Known: 64}}, "bfloat16")}
}

func TestEval(t *testing.T) {
	e, err := New(func(p string) ([]Tensor, error) {
		return []Tensor{{"model.a.weight", []int{2, 3}, "float16"}}, nil
	})
	require.NoError(t, err)
	for src, want := range map[string]string{
		"3": "3", "heads": "32", "heads * 2 + 1": "65", "heads / 4": "8", "1.5 * heads": "48", "eps": "1e-05", "-heads": "-32",
		"pow(64, -0.5)": "0.125", "max(heads, 64)": "64", "min(sizes)": "2", "max(1, 2.5)": "2.5", "floor(2.5)": "2",
		"abs(-3)": "3", "kind == 'sliding'": "true", "kind != \"sliding\"": "false", "tie ? 1 : 2": "1", "types[i]": "b",
		"config.int('hidden_size')": "2048", "config.int('missing', heads)": "32", "config.int('head_dim', config.int('hidden_size') / heads)": "64",
		"config.int('hidden_size', config.int('absent'))": "2048", // the default is evaluated only where it is needed
		"config.float('rope_theta')":                      "10000", "config.bool('tie_word_embeddings', false)": "true",
		"config.string('model_type') in ['llama', 'mistral']": "true", "config.has('head_dim')": "false", "config.is_null('head_dim')": "true",
		"config.dict('text_config').int('hidden_size')": "4", "config.dict('none', {}).float('x', 2)": "2",
		"size(config.strings('layer_types', [])) > 0":     "true",
		"config.dict('text_config').dict('rope_scaling')": `{"factor":8}`, "config.ints('width')": "[7]",
		"x.dtype == 'bfloat16'": "true", "x.shape[2]": "64", "size(x.shape)": "3",
		"size(tensors('**'))": "1", "tensors('**').exists(t, t.shape[0] == 2 && t.dtype == 'float16')": "true",
		"[1, 2].map(k, k * 2)": "[2,4]", "lists.range(3)": "[0,1,2]", "'a' + 'b'": "ab",
	} {
		v, bad := e.Eval(src, scope())
		if bad != nil {
			t.Errorf("%s: %v", src, bad)
			continue
		}
		require.Equal(t, want, v.Plan().Text(), src)
	}
}

func TestErrors(t *testing.T) {
	e, err := New(nil)
	require.NoError(t, err)
	for _, c := range []struct {
		src, code, message, help string
		offset                   int
	}{
		{"haeds + 1", "unknown-name", "haeds is not a name here", "did you mean heads?", 0},
		{"1 + haeds", "unknown-name", "haeds is not a name here", "did you mean heads?", 4},
		{"heads / 3", "expression-value", "32 / 3 is not a whole number (with heads = 32)", "", 0},
		{"heads / 0", "expression-value", "division by zero: 32 / 0 (with heads = 32)", "", 0},
		{"heads == 1.0", "expression-type", "== does not take (int, float)", "the two sides of == want one type: write 0.0 for 0", 6},
		{"heads +", "expression-syntax", "", "", -1},
		{"x.shpae", "unknown-field", "x has no field shpae", "did you mean shape?", 2},
		{"x.shape[1] * 2", "expression-value", "this dim is T, which is not known when a file is composed", "", 0},
		{"config.int('hiden_size')", "config-value", "config.json has no hiden_size; want an int", "it has hidden_size", 11},
		{"config.int('fraction')", "config-value", "fraction in config.json is 1.5 (a number with a fraction or exponent); want an int", "", 11},
		{"config.int('head_dim')", "config-value", "head_dim is null in config.json; want an int", "", 11},
		{"config.dict('text_config').int('nope')", "config-value", "config.json has no text_config.nope; want an int", "", 31},
		{"config.itn('a')", "unknown-function", "there is no function itn", "did you mean int?", 10},
		{"9223372036854775807 + heads", "expression-value", "integer overflow (with heads = 32)", "", 0},
		{"lists.range(4000).map(a, lists.range(4000).map(b, a * b)).size()", "expression-cost", "", "", -1},
	} {
		_, bad := e.Eval(c.src, scope())
		require.NotNil(t, bad, c.src)
		require.Equal(t, c.code, bad.Code, "%s: %s", c.src, bad.Message)
		if c.message != "" {
			require.Equal(t, c.message, bad.Message, c.src)
		}
		if c.help != "" {
			require.Equal(t, c.help, bad.Help, c.src)
		}
		if c.offset >= 0 {
			require.Equal(t, c.offset, bad.Offset, c.src)
		}
	}
}

func TestDim(t *testing.T) {
	e, err := New(nil)
	require.NoError(t, err)
	for src, want := range map[string]string{"B": "B", "T + 1": "T + 1", "2 * (S - T)": "2*S - 2*T", "heads * 2": "64", "heads * T": "32*T", "S - heads": "S - 32"} {
		d, bad := e.Dim(src, scope())
		require.Nil(t, bad, src)
		require.Equal(t, want, d.String(), src)
	}
	for _, src := range []string{"B * T", "pow(T, 2)", "eps", "T / 2"} {
		_, bad := e.Dim(src, scope())
		require.NotNil(t, bad, src)
	}
}

func TestCondition(t *testing.T) {
	e, err := New(nil)
	require.NoError(t, err)
	none := func(Comparison) (bool, bool) { return false, false }
	open := func(src, want string) {
		_, on, bad := e.Condition(src, scope(), none)
		require.Nil(t, bad, src)
		require.NotNil(t, on, src)
		require.Equal(t, want, on.On.String(), src)
	}
	open("T == 1", "T == 1")
	open("heads < S", "S > 32")
	open("tie && T == 1", "T == 1")
	open("!(S > heads * 2)", "S > 64")
	for src, want := range map[string]bool{"tie": true, "tie || T == 1": true, "T == 1 && !tie": false, "kind == 'full'": false} {
		v, on, bad := e.Condition(src, scope(), none)
		require.Nil(t, bad, src)
		require.Nil(t, on, src)
		require.Equal(t, want, v, src)
	}
	for _, src := range []string{"T * 2 > 3", "T + 1", "heads", "T == S", "(T == 1) == tie"} {
		_, _, bad := e.Condition(src, scope(), none)
		require.NotNil(t, bad, src)
	}
}

func TestUnasked(t *testing.T) {
	e, err := New(nil)
	require.NoError(t, err)
	asked := map[string]bool{}
	s := names{"config": Config("config.json", map[string]any{"a": int64(1), "b": int64(2), "inner": map[string]any{"c": int64(1), "d": int64(1)}, "rope": map[string]any{"x": int64(1)}}, asked)}
	for _, src := range []string{"config.int('a')", "config.dict('inner').int('c')"} {
		_, bad := e.Eval(src, s)
		require.Nil(t, bad)
	}
	v, bad := e.Eval("config.dict('rope')", s)
	require.Nil(t, bad)
	require.Equal(t, plan.Map, v.Plan().Kind) // taken over whole: all its keys count as asked
	require.Equal(t, []string{"b", "inner.d"}, Unasked(map[string]any{"a": int64(1), "b": int64(2), "inner": map[string]any{"c": int64(1), "d": int64(1)}, "rope": map[string]any{"x": int64(1)}}, asked))
}

func TestEachCompiledOnce(t *testing.T) {
	e, err := New(nil)
	require.NoError(t, err)
	for range 50 {
		_, bad := e.Eval("heads * 2", scope())
		require.Nil(t, bad)
		_, bad = e.Eval("kind == 'x'", scope())
		require.Nil(t, bad)
	}
	require.Equal(t, 2, e.Compiled())
}
