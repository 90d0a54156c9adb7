package lsp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
	protocol "github.com/tliron/glsp/protocol_3_16"

	"github.com/graphrun/graphrun/lsp"
)

const tiny = `graphrun: v1
kind: model
name: tiny
recognises: config.string('model_type') == 'tiny'
let:
  hidden: config.int('hidden')
  vocab: config.int('vocab')
  layers: config.int('layers')
ports:
  embed: {embedding: [vocab, hidden]}
  head: {head: [hidden, vocab]}
nodes:
- h: {embed: tokens}
- h:
    repeat: {i: layers}
    at: 'layers.{i}'
    ports: {mlp: {mlp: [hidden, hidden * 2], activation: swiglu}}
    nodes:
    - x: {rms_norm: h, weight: norm.weight, eps: 1e-5}
    - r: {mixer: x, at: mixer, heads: 4}
    - h: {add: [h, r]}
    - r: {mlp: h}
    - h: {add: [h, r]}
- logits: {head: h}
examples: [tiny.json]
`

const mixer = `graphrun: v1
kind: block
name: mixer
doc: Mixes positions.
params:
  heads: int          # of keys and values
  causal: {bool: true}
in: {x: [B, T, hidden]}
ports:
  qkv: {linear: [hidden, hidden * 3]}
state:
  kv: {cache: {heads, dim: hidden / heads}}
nodes:
- y: {qkv: x}
- q, k, v: {split: y, axis: -1, parts: 3}
- q, k, v: {split_heads: [q, k, v], count: heads}
- q, k, v: {swap_heads: [q, k, v]}
- y: {attend: {q, k, v}, state: kv, scale: 1.0, causal}
- y: {merge_heads: y}
out: {y: [B, T, hidden]}
`

var folder = map[string]string{
	"tiny.yaml":  tiny,
	"mixer.yaml": mixer,
	"tiny.json":  `{"model_type": "tiny", "hidden": 64, "vocab": 128, "layers": 2}`,
}

func TestLifecycle(t *testing.T) {
	e := start(t, folder)
	require.Equal(t, "graphrun", e.init.ServerInfo.Name)
	data, err := json.Marshal(e.init.Capabilities)
	require.NoError(t, err)
	for _, want := range []string{"hoverProvider", "completionProvider", "definitionProvider", "documentFormattingProvider", "codeActionProvider", `"openClose":true`} {
		require.Contains(t, string(data), want)
	}
	var failed *jsonrpc2.Error
	require.ErrorAs(t, e.conn.Call(context.Background(), "textDocument/rename", map[string]any{}, nil), &failed)
	require.EqualValues(t, jsonrpc2.CodeMethodNotFound, failed.Code)
	require.Error(t, e.conn.Call(context.Background(), protocol.MethodTextDocumentHover, map[string]any{"position": "nowhere"}, nil))
	e.call(protocol.MethodShutdown, nil, nil)
	e.notify(protocol.MethodExit, nil)
	require.NoError(t, <-e.done)
}

func TestExitWithoutShutdown(t *testing.T) {
	e := start(t, folder)
	e.notify(protocol.MethodExit, nil)
	require.ErrorIs(t, <-e.done, lsp.ErrNotShutDown)
}

func TestEndOfInput(t *testing.T) {
	e := start(t, folder)
	require.NoError(t, e.conn.Close())
	require.NoError(t, <-e.done)
}

func TestDiagnosticsOfTheTextInTheEditor(t *testing.T) {
	e := start(t, folder)
	e.open("tiny.yaml", tiny)
	require.Empty(t, e.findings("tiny.yaml", 1))

	e.change("tiny.yaml", strings.Replace(tiny, "eps: 1e-5", "epz: 1e-5", 1), 2)
	found := e.findings("tiny.yaml", 2)
	require.Len(t, found, 1)
	require.Equal(t, "unknown-parameter", found[0].Code)
	require.Equal(t, protocol.Position{Line: 18, Character: 44}, found[0].Range.Start)
	require.Equal(t, protocol.Position{Line: 18, Character: 47}, found[0].Range.End)
	require.Contains(t, found[0].Message, "did you mean eps?")
	require.Equal(t, "graphrun", found[0].Source)

	var actions []protocol.CodeAction
	e.call(protocol.MethodTextDocumentCodeAction, map[string]any{"textDocument": map[string]any{"uri": e.uri("tiny.yaml")}, "range": found[0].Range,
		"context": map[string]any{"diagnostics": found}}, &actions)
	require.Len(t, actions, 1)
	require.Equal(t, "eps", actions[0].Edit.Changes[e.uri("tiny.yaml")][0].NewText)

	e.change("tiny.yaml", strings.Replace(tiny, "hidden * 2]", "hidden * 2", 1), 3)
	found = e.findings("tiny.yaml", 3)
	require.NotEmpty(t, found)
	require.Equal(t, "yaml-syntax", found[0].Code)

	e.change("tiny.yaml", tiny, 4)
	require.Empty(t, e.findings("tiny.yaml", 4))
}

// TestDiagnosticsOfABlockBeside checks a model with a block that is open and not saved: the finding is the block's.
func TestDiagnosticsOfABlockBeside(t *testing.T) {
	e := start(t, folder)
	e.open("mixer.yaml", strings.Replace(mixer, "parts: 3", "parts: 5", 1))
	require.Empty(t, e.findings("mixer.yaml", 1), "alone nothing is wrong with it")
	e.open("tiny.yaml", tiny)
	found := e.findings("mixer.yaml", 0)
	require.NotEmpty(t, found)
	require.EqualValues(t, 14, found[0].Range.Start.Line)

	e.notify(protocol.MethodTextDocumentDidClose, map[string]any{"textDocument": map[string]any{"uri": e.uri("tiny.yaml")}})
	require.Empty(t, e.findings("tiny.yaml", 0))
}

// TestFilesThatAreNotSaved composes a model with a block and a config that only the editor has.
func TestFilesThatAreNotSaved(t *testing.T) {
	e := start(t, map[string]string{"mixer.yaml": mixer, "tiny.json": folder["tiny.json"]})
	renamed := strings.Replace(mixer, "name: mixer", "name: blend", 1)
	e.open("blend.yaml", renamed)
	require.Empty(t, e.findings("blend.yaml", 1))
	model := strings.Replace(tiny, "{mixer: x", "{blend: x", 1)
	e.open("tiny.yaml", model)
	require.Empty(t, e.findings("tiny.yaml", 1))
	e.change("tiny.yaml", strings.Replace(model, "{blend: x", "{blent: x", 1), 2)
	found := e.findings("tiny.yaml", 2)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Message, "did you mean blend?")
	e.open("tiny.json", strings.Replace(folder["tiny.json"], "hidden", "width", 1))
	e.change("tiny.yaml", model, 3)
	found = e.findings("tiny.yaml", 3)
	require.Len(t, found, 1)
	require.Equal(t, "config-value", found[0].Code)
}

func TestDiagnosticsOfVariantsAndRules(t *testing.T) {
	e := start(t, map[string]string{})
	const variant = "graphrun: v1\nkind: variant\nname: v\nof: llama\nbind:\n- {ports: '**.q_prj', class: affine.dense}\n"
	e.open("v.yaml", variant)
	found := e.findings("v.yaml", 1)
	require.Len(t, found, 1)
	require.Equal(t, "bind-no-match", found[0].Code)
	const rules = "graphrun: v1\nkind: rules\nname: r\nrules:\n- {name: a, each: plan.ports, as: p, assert: p.kindd == 'linear'}\n"
	e.open("r.yaml", rules)
	found = e.findings("r.yaml", 1)
	require.Len(t, found, 1)
	require.Equal(t, "unknown-field", found[0].Code)
	e.change("r.yaml", strings.Replace(rules, "kindd", "kind", 1), 2)
	require.Empty(t, e.findings("r.yaml", 2), "what a rule finds in a model that nobody named is not told")
}

// TestExamplesOfVariantsAndRules composes them for the examples that they name.
func TestExamplesOfVariantsAndRules(t *testing.T) {
	const config = `{"model_type": "llama", "hidden_size": 64, "vocab_size": 128, "num_hidden_layers": 2, "intermediate_size": 96, "num_attention_heads": 4, "rms_norm_eps": 1e-5}`
	e := start(t, map[string]string{"c.json": config})
	const variant = "graphrun: v1\nkind: variant\nname: v\nof: llama\nbind:\n- {ports: 'model.layers.3.mlp.down_proj', class: dense}\nexamples: [c.json]\n"
	e.open("v.yaml", variant)
	found := e.findings("v.yaml", 1)
	require.Len(t, found, 1)
	require.Equal(t, "bind-no-match", found[0].Code, "the example has two layers")
	e.change("v.yaml", strings.Replace(variant, "layers.3", "layers.1", 1), 2)
	require.Empty(t, e.findings("v.yaml", 2))
	e.open("r.yaml", "graphrun: v1\nkind: rules\nname: r\nrules:\n- {name: few, each: plan.ports, as: p, assert: p.kind != 'mlp', message: '{p.path}'}\nexamples: [c.json]\n")
	found = e.findings("r.yaml", 1)
	require.NotEmpty(t, found)
	require.Equal(t, "rule", found[0].Code)
}

func TestHover(t *testing.T) {
	e := start(t, folder)
	at := func(text, old, new string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, new, 1)
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"operator":          {"tiny.yaml", at(tiny, "rms_norm: h", "rms_n¦orm: h"), "**operator** `rms_norm(x, weight?; eps) -> y`"},
		"parameter":         {"tiny.yaml", at(tiny, "eps: 1e-5", "ep¦s: 1e-5"), "parameter of operator rms_norm: `eps` (float, required)"},
		"input":             {"tiny.yaml", at(tiny, "weight: norm", "wei¦ght: norm"), "input of operator rms_norm"},
		"block beside":      {"tiny.yaml", at(tiny, "{mixer: x", "{mix¦er: x"), "**block** `mixer(x; heads, causal = true) -> y`"},
		"block's parameter": {"tiny.yaml", at(tiny, "heads: 4", "he¦ads: 4"), "of keys and values"},
		"port":              {"tiny.yaml", at(tiny, "{embed: tokens", "{em¦bed: tokens"), "A port of kind `embedding`"},
		"value":             {"tiny.yaml", at(tiny, "{add: [h, r]}", "{add: [h, ¦r]}"), "r: {mixer: x, at: mixer, heads: 4}"},
		"let":               {"tiny.yaml", at(tiny, "[hidden, hidden * 2]", "[hidden, hid¦den * 2]"), "let `hidden`"},
		"index":             {"tiny.yaml", at(tiny, "'layers.{i}'", "'layers.{¦i}'"), "index `i`"},
		"key of a call":     {"tiny.yaml", at(tiny, "repeat: {i", "rep¦eat: {i"), "Runs the call for each index"},
		"key of a file":     {"tiny.yaml", at(tiny, "recognises", "recog¦nises"), "Whether this model is meant"},
		"kind of port":      {"tiny.yaml", at(tiny, "{head: [hidden", "{he¦ad: [hidden"), "The matrix [vocab, in] that makes logits"},
		"key of a port":     {"tiny.yaml", at(tiny, "activation: ", "acti¦vation: "), "What is between gate and up"},
		"activation":        {"tiny.yaml", at(tiny, ": swiglu", ": swi¦glu"), "**operator** `swiglu"},
		"function":          {"tiny.yaml", at(tiny, "config.int('layers')", "config.i¦nt('layers')"), "A whole number of config.json"},
		"config":            {"tiny.yaml", at(tiny, "config.int('layers')", "co¦nfig.int('layers')"), "config.json"},
		"weight":            {"tiny.yaml", at(tiny, "norm.weight", "norm.we¦ight"), "`layers.{i}.norm.weight`"},
		"state":             {"mixer.yaml", at(mixer, "state: kv", "state: k¦v"), "state `kv`"},
		"field of a state":  {"mixer.yaml", at(mixer, "{heads, dim", "{he¦ads, dim"), "heads of keys and values"},
		"parameter's type":  {"mixer.yaml", at(mixer, "heads: int", "hea¦ds: int"), "parameter `heads`"},
		"nothing":           {"tiny.yaml", at(tiny, "name: tiny", "name: ti¦ny"), ""},
		"class":             {"v.yaml", "graphrun: v1\nkind: variant\nname: v\nof: llama\nbind:\n- {ports: '**', class: aff¦ine.dense}\n", "**class** `affine.dense`"},
		"fact":              {"v.yaml", "graphrun: v1\nkind: variant\nname: v\nof: llama\nbind:\n- {ports: '**', class: dense, when: weight.bi¦ts == 4}\n", "`bits`"},
		"model":             {"v.yaml", "graphrun: v1\nkind: variant\nname: v\nof: lla¦ma\n", "**model** `llama(tokens) -> logits`"},
		"wide characters":   {"w.yaml", "graphrun: v1\nkind: block\nname: w\ndoc: x\nin: {x: [B]}\nnodes:\n- y: {exp: x, doc: '😀', wh¦en: a}\nout: {y: [B]}\n", "Where false the node is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			e.t = t
			got := e.hover(c.file, c.text)
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, c.want)
		})
	}
}
