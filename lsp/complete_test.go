package lsp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	protocol "github.com/tliron/glsp/protocol_3_16"
)

// until is a text up to some of its own, with a bar behind.
func until(t *testing.T, text, end string) string {
	t.Helper()
	before, _, ok := strings.Cut(text, end)
	require.True(t, ok, end)
	return before + end + "¦"
}

func TestCompletion(t *testing.T) {
	e := start(t, folder)
	head := "graphrun: v1\nkind: model\nname: m\nlet:\n  hidden: config.int('hidden')\n  rope: config.dict('rope', {})\nports: {embed: {embedding: [8, hidden]}}\nnodes:\n- h: {embed: tokens}\n"
	variant := "graphrun: v1\nkind: variant\nname: v\nof: llama\nlet: {few: 4}\nclasses: {tiled: affine.dense}\n"
	for name, c := range map[string]struct {
		text    string
		want    []string
		without []string
	}{
		"keys of a file":            {"graphrun: v1\nkind: model\nname: m\n¦", []string{"recognises", "ports", "nodes", "doc"}, []string{"name", "bind", "compiled"}},
		"keys of a variant":         {"graphrun: v1\nkind: variant\nre¦", []string{"requires", "bind"}, []string{"recognises", "kind"}},
		"before there is a kind":    {"graphrun: v1\n¦", []string{"kind", "name"}, nil},
		"kinds":                     {"graphrun: v1\nkind: ¦", []string{"model", "block", "variant", "rules"}, nil},
		"what may be called":        {head + "- x: {¦", []string{"embed", "mixer", "attention", "rms_norm", "repeat", "nodes"}, []string{"llama"}},
		"what may be called, begun": {head + "- x: {rms¦", []string{"rms_norm"}, nil},
		"arguments":                 {head + "- x: {rms_norm: h, ¦", []string{"eps", "weight", "when", "at"}, []string{"rope", "rms_norm", "sections", "embed"}},
		"arguments, closed behind":  {head + "- x: {rms_norm: h, e¦}\n- y: {exp: x}\n", []string{"eps"}, nil},
		"arguments of a block":      {head + "- x: {mixer: h, ¦", []string{"heads", "causal", "x", "at"}, []string{"eps"}},
		"inputs by name":            {head + "- x: {rope: {¦", []string{"x", "offset"}, []string{"base"}},
		"inputs":                    {head + "- x: {exp: ¦", []string{"h", "tokens", "hidden"}, []string{"embed"}},
		"inputs in a list":          {head + "- x: {add: [h, ¦", []string{"h", "tokens"}, nil},
		"states alone":              {"graphrun: v1\nkind: block\nname: b\nin: {x: [B]}\nstate: {kv: {cache: {heads: 1, dim: 1}}}\nnodes:\n- y: {rope: x, offset: ¦", []string{"kv"}, []string{"x"}},
		"a state":                   {"graphrun: v1\nkind: block\nname: b\nin: {x: [B]}\nstate: {kv: {cache: {heads: 1, dim: 1}}}\nnodes:\n- y: {attend: x, state: ¦", []string{"kv"}, nil},
		"an alias":                  {head + "- x: ¦", []string{"h", "tokens"}, []string{"embed"}},
		"results":                   {head + "- ¦", []string{"h"}, []string{"embed"}},
		"an expression":             {head + "- x: {exp: h, when: hid¦", []string{"hidden", "T", "h", "min"}, []string{"embed", "llama"}},
		"an expression in quotes":   {head + "- x: {exp: h, when: 'hidden > 4 ? hid¦", []string{"hidden"}, nil},
		"of a block's parameter":    {head + "- x: {mixer: h, heads: hid¦", []string{"hidden"}, nil},
		"of a value":                {head + "- x: {exp: h, when: h.¦", []string{"h.shape", "h.dtype"}, []string{"h.int"}},
		"of config":                 {until(t, "graphrun: v1\nkind: model\nlet:\n  a: config.", "config."), []string{"config.int", "config.strings"}, []string{"config.shape"}},
		"of a map":                  {head + "- x: {exp: h, when: rope.¦", []string{"rope.float"}, nil},
		"names of a let":            {"graphrun: v1\nkind: model\nlet:\n  a: 1\n  b: ¦", []string{"a", "config", "tensors", "pow"}, []string{"T"}},
		"in a template":             {head + "- h:\n    repeat: {i: 4}\n    at: 'layers.{¦", []string{"i", "hidden"}, nil},
		"in a template's text":      {head + "- h:\n    repeat: {i: 4}\n    at: 'lay¦", nil, []string{"i", "hidden"}},
		"keys of a body":            {head + "- h:\n    repeat: {i: 4}\n    ¦", []string{"let", "ports", "nodes", "at"}, []string{"repeat", "rms_norm"}},
		"names of an outer body":    {head + "- h:\n    repeat: {i: 4}\n    let: {odd: i % 2 == 1}\n    nodes:\n    - x: {exp: h, when: ¦", []string{"odd", "i", "hidden"}, nil},
		"kinds of port":             {"graphrun: v1\nkind: block\nname: b\nports:\n  q: {¦", []string{"linear", "mlp", "head"}, []string{"gate_up"}},
		"keys of a port":            {"graphrun: v1\nkind: block\nname: b\nports:\n  q: {mlp: [1, 2], ¦", []string{"activation", "bias", "parts"}, []string{"count", "mlp"}},
		"activations":               {"graphrun: v1\nkind: block\nname: b\nports:\n  q: {mlp: [1, 2], activation: ¦", []string{"swiglu", "gelu_approx"}, []string{"update_cache"}},
		"types of a parameter":      {"graphrun: v1\nkind: block\nname: b\nparams: {a: ¦", []string{"int", "float", "strings"}, nil},
		"dims":                      {"graphrun: v1\nkind: block\nname: b\nparams: {heads: int}\nin: {x: [B, T, hidden]}\nports: {q: {linear: [hi¦", []string{"hidden", "heads"}, nil},
		"dtypes":                    {head + "- x: {astype: h, dtype: ¦", []string{"float32", "bfloat16"}, []string{"hidden"}},
		"view steps":                {"graphrun: v1\nkind: model\nview:\n- {¦", []string{"drop", "rename", "stack"}, nil},
		"keys of a view step":       {"graphrun: v1\nkind: model\nview:\n- {rename: a, ¦", []string{"to", "when"}, []string{"axis", "rename"}},
		"facts of a tensor":         {"graphrun: v1\nkind: model\nview:\n- {drop: a, when: ¦", []string{"shape", "dtype", "name"}, nil},
		"keys of a bind line":       {variant + "bind:\n- {ports: '**', ¦", []string{"kind", "rows", "class", "when"}, []string{"ports", "states"}},
		"kinds in a bind line":      {variant + "bind:\n- {ports: '**', kind: [¦", []string{"linear", "gate_up"}, nil},
		"classes":                   {variant + "bind:\n- {ports: '**', rows: {1..4: ¦", []string{"tiled", "affine.dense", "dense"}, []string{"few"}},
		"facts of a port":           {variant + "bind:\n- {ports: '**', when: weight.¦", []string{"weight.bits", "weight.storage"}, nil},
		"models":                    {"graphrun: v1\nkind: variant\nof: ¦", []string{"llama", "tiny"}, []string{"attention"}},
		"keys of a rule":            {"graphrun: v1\nkind: rules\nrules:\n- name: a\n  ¦", []string{"assert", "each", "severity"}, []string{"name"}},
		"severities":                {"graphrun: v1\nkind: rules\nrules:\n- name: a\n  severity: ¦", []string{"error", "warning", "note"}, nil},
		"in a comment":              {head + "- x: h # some¦", nil, []string{"h"}},
		"in a broken file":          {"graphrun: v1\n]\nkind: ¦", nil, []string{"model"}},
	} {
		t.Run(name, func(t *testing.T) {
			e.t = t
			got := labels(e.choices("new.yaml", c.text))
			for _, w := range c.want {
				require.Contains(t, got, w)
			}
			for _, w := range c.without {
				require.NotContains(t, got, w)
			}
		})
	}
}

func TestCompletionItem(t *testing.T) {
	e := start(t, folder)
	items := e.choices("new.yaml", "graphrun: v1\nkind: block\nin: {x: [B]}\nnodes:\n- y: {doc: '😀', rms_norm: x, e¦ps}\n")
	i := 0
	for i < len(items) && items[i].Label != "eps" {
		i++
	}
	require.Less(t, i, len(items))
	edit, ok := items[i].TextEdit.(map[string]any)
	if !ok {
		require.IsType(t, protocol.TextEdit{}, items[i].TextEdit)
		edit = map[string]any{"newText": items[i].TextEdit.(protocol.TextEdit).NewText}
		r := items[i].TextEdit.(protocol.TextEdit).Range
		require.Equal(t, protocol.Position{Line: 4, Character: 30}, r.Start)
		require.Equal(t, protocol.Position{Line: 4, Character: 31}, r.End)
	}
	require.Equal(t, "eps", edit["newText"])
	require.NotNil(t, items[i].Documentation)
}

func TestDefinition(t *testing.T) {
	e := start(t, folder)
	at := func(text, old, new string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, new, 1)
	}
	for name, c := range map[string]struct{ file, text, where, rest string }{
		"port":                   {"tiny.yaml", at(tiny, "{embed: tokens", "{em¦bed: tokens"), "tiny.yaml", "embed: {embedding"},
		"port of a body":         {"tiny.yaml", at(tiny, "r: {mlp: h}", "r: {m¦lp: h}"), "tiny.yaml", "mlp: {mlp: ["},
		"block":                  {"tiny.yaml", at(tiny, "{mixer: x", "{mi¦xer: x"), "mixer.yaml", "mixer"},
		"parameter of a block":   {"tiny.yaml", at(tiny, "heads: 4", "hea¦ds: 4"), "mixer.yaml", "heads: int"},
		"value":                  {"tiny.yaml", at(tiny, "add: [h, r]", "add: [h, ¦r]"), "tiny.yaml", "r: {mixer"},
		"value of an outer body": {"tiny.yaml", at(tiny, "{rms_norm: h", "{rms_norm: ¦h"), "tiny.yaml", "h: {embed"},
		"let":                    {"tiny.yaml", at(tiny, "[vocab, hidden]", "[vo¦cab, hidden]"), "tiny.yaml", "vocab: config"},
		"let in an expression":   {"tiny.yaml", at(tiny, "hidden * 2", "hid¦den * 2"), "tiny.yaml", "hidden: config"},
		"index":                  {"tiny.yaml", at(tiny, "{i}'", "{¦i}'"), "tiny.yaml", "i: layers}"},
		"one of several results": {"mixer.yaml", at(mixer, "attend: {q, k, v}", "attend: {q, k, v¦}"), "mixer.yaml", "v: {swap_heads"},
		"key without value":      {"mixer.yaml", at(mixer, "scale: 1.0, causal", "scale: 1.0, caus¦al"), "mixer.yaml", "causal: {bool"},
		"state":                  {"mixer.yaml", at(mixer, "state: kv", "state: k¦v"), "mixer.yaml", "kv: {cache"},
		"dim":                    {"mixer.yaml", at(mixer, "linear: [hidden", "linear: [hid¦den"), "mixer.yaml", "hidden]"},
		"shipped block":          {"s.yaml", "graphrun: v1\nkind: block\nname: s\nin: {x: [B]}\nnodes:\n- y: {atten¦tion: x}\nout: {y: [B]}\n", "attention.yaml", "attention"},
		"shipped model":          {"v.yaml", "graphrun: v1\nkind: variant\nname: v\nof: [lla¦ma]\n", "llama.yaml", "llama"},
		"class":                  {"v.yaml", "graphrun: v1\nkind: variant\nname: v\nof: llama\nclasses: {tiled: dense}\nbind: [{ports: a, rows: {1: ti¦led}}]\n", "v.yaml", "tiled: dense"},
		"operator":               {"tiny.yaml", at(tiny, "{rms_norm: h", "{rms¦_norm: h"), "", ""},
		"nothing there":          {"tiny.yaml", at(tiny, "graphrun: v1", "graphrun: ¦v1"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e.t = t
			file, rest := e.definition(c.file, c.text)
			if c.where == "" {
				require.Empty(t, file)
				return
			}
			require.True(t, strings.HasSuffix(file, c.where), file)
			require.True(t, strings.HasPrefix(rest, c.rest), rest)
		})
	}
}

func TestFormatting(t *testing.T) {
	e := start(t, folder)
	ask := func(text string) []protocol.TextEdit {
		e.open("f.yaml", text)
		var edits []protocol.TextEdit
		e.call(protocol.MethodTextDocumentFormatting, map[string]any{"textDocument": map[string]any{"uri": e.uri("f.yaml")}, "options": map[string]any{}}, &edits)
		return edits
	}
	edits := ask("kind: rules\ngraphrun: v1\nname: r\nrules: [ ]")
	require.Len(t, edits, 1)
	require.Equal(t, "graphrun: v1\nkind: rules\nname: r\nrules: []\n", edits[0].NewText)
	require.Equal(t, protocol.Position{Line: 3, Character: 10}, edits[0].Range.End)
	require.Empty(t, ask(tiny))
	require.Empty(t, ask("kind: ["))
}
