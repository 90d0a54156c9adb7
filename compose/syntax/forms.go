package syntax

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

// forms show how what has a name in messages is written.
var forms = map[string]string{
	"a graph file":                "graphrun: v1",
	"let":                         "let: {hidden: config.int('hidden_size')}",
	"params":                      "params: {heads: int, window: {int: 0}}",
	"in":                          "in: {x: [B, T, hidden]}",
	"an input":                    "x: [B, T, hidden]",
	"out":                         "out: {y: [B, T, hidden]}",
	"an output":                   "y: [B, T, hidden]",
	"shape":                       "shape: [B, T, hidden]",
	"a weight":                    "sinks: {shape: [heads], dtype: float32}",
	"a weight's shape":            "sinks: [heads]",
	"ports":                       "ports: {q_proj: {linear: [hidden, heads * head_dim]}}",
	"a port":                      "q_proj: {linear: [hidden, heads * head_dim]}",
	"weights":                     "weights: {sinks: [heads]}",
	"state":                       "state: {kv: {cache: {heads: kv_heads, dim: head_dim}}}",
	"a state":                     "kv: {cache: {heads: kv_heads, dim: head_dim}}",
	"cache":                       "cache: {heads: kv_heads, dim: head_dim}",
	"array":                       "array: [B, heads, dim]",
	"parts":                       "parts: {gate: w1, up: w3, down: w2}",
	"activation":                  "activation: swiglu",
	"nodes":                       "nodes:\n- h: {add: [h, r]}",
	"a node":                      "- h: {add: [h, r]}",
	"a call":                      "{rms_norm: h, weight: norm.weight, eps}",
	"repeat":                      "repeat: {i: layers}",
	"collect":                     "collect: {taps: h}",
	"entries":                     "entries: {embed: {nodes: [h: {embed_tokens: tokens}], out: {h: [B, T, hidden]}}}",
	"an entry":                    "embed: {nodes: [h: {embed_tokens: tokens}], out: {h: [B, T, hidden]}}",
	"examples":                    "examples: [examples/tiny.json]",
	"view":                        "view:\n- {drop: '**.inv_freq'}",
	"a view step":                 "- {drop: '**.inv_freq'}",
	"classes":                     "classes: {rows: {affine.rows: {tile: 4}}}",
	"a class":                     "{affine.rows: {tile: 4}}",
	"the class's parameters":      "{affine.rows: {tile: 4}}",
	"set":                         "set:\n- {at: 'model.layers.*.mlp', scale: 2.0}",
	"a line of set":               "- {at: 'model.layers.*.mlp', scale: 2.0}",
	"bind":                        "bind:\n- {ports: '**.down_proj', class: affine.dense}",
	"a bind line":                 "- {ports: '**.down_proj', class: affine.dense}",
	"rows":                        "rows: {1..8: affine.rows, else: affine.dense}",
	"states":                      "states:\n- {states: '**.kv', rollback: snapshot}",
	"a line of states":            "- {states: '**.kv', rollback: snapshot}",
	"read":                        "read: {rows: {1: kv.decode4}}",
	"submit":                      "submit: {rows: {1..8: {schedule_every: 4}}}",
	"a line of submit":            "1..8: {schedule_every: 4}",
	"verify_cost":                 "verify_cost: {1: 1.0, 4: 1.7}",
	"rules":                       "rules:\n- {name: few-layers, assert: plan.ports.size() < 100}",
	"a rule":                      "- {name: few-layers, assert: plan.ports.size() < 100}",
	"when":                        "when: layers > 1",
	"unless":                      "unless: layers > 1",
	"recognises":                  "recognises: config.string('model_type') == 'llama'",
	"requires":                    "requires: device.kind == 'gpu'",
	"bias":                        "bias: true",
	"count":                       "count: heads",
	"when_tied":                   "when_tied: tie",
	"tied":                        "tied: model.embed_tokens",
	"at":                          "at: 'model.layers.{i}'",
	"dtype":                       "dtype: float32",
	"optional":                    "optional: true",
	"default":                     "default: true",
	"compiled":                    "compiled: shapeless",
	"extends":                     "extends: llama",
	"of":                          "of: llama",
	"kind":                        "kind: model",
	"name":                        "name: tiny",
	"doc":                         "doc: What it is, in a sentence.",
	"imports":                     "imports: [blocks]",
	"each":                        "each: plan.ports",
	"as":                          "as: p",
	"assert":                      "assert: p.bytes < 100 * MiB",
	"message":                     "message: '{p.path} holds {p.bytes / MiB} MiB'",
	"severity":                    "severity: warning",
	"rollback":                    "rollback: snapshot",
	"scheme":                      "scheme: float16",
	"native":                      "native: [rope]",
	"the activation's parameters": "activation: {swiglu_oai: {limit: 7.0}}",
}

// help shows how something is written.
func help(d *diag.Diagnostic, what string) {
	if form := forms[what]; form != "" {
		d.Helped("write it as in `%s`", strings.ReplaceAll(form, "\n", " "))
	}
}

// wanted reports a node that is of another kind than its place takes.
func (p *parser) wanted(n *yaml.Node, what string, kind yaml.Kind) {
	have := source.KindName(n)
	if kind == yaml.SequenceNode {
		d := p.list.Errorf("want-list", p.at(n), "%s is a list; this is %s", what, article(have))
		if n.Kind == yaml.MappingNode && strings.Contains(forms[what], "\n- ") {
			d.Helped("begin each item with a dash: `%s`", strings.SplitN(forms[what], "\n", 2)[1])
			return
		}
		help(d, what)
		return
	}
	d := p.list.Errorf("want-mapping", p.at(n), "%s is a mapping; this is %s", what, article(have))
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 && source.Deref(n.Content[0]).Kind == yaml.MappingNode {
		d.Helped("leave out the dashes: a mapping's lines are `key: value`")
	}
	help(d, what)
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// amongAll advises on a word of a fixed list: the one that was meant, else all that there are.
func amongAll(word string, all []string, what string) string {
	if near := diag.DidYouMean(word, all); near != "" {
		return near
	}
	return what + ": " + strings.Join(all, ", ")
}

// missingValue reports a key without the value that it needs.
func (p *parser) missingValue(k Word, format string, args ...any) {
	help(p.list.Errorf("missing-value", k.At, format, args...), k.Text)
}

// misspelt tells whether a mapping has a key that means another, which is then not missing but reported as unknown.
func misspelt(pairs []pair, key string, valid []string) bool {
	for _, kv := range pairs {
		if !contains(valid, kv.key.Text) && diag.Nearest(kv.key.Text, valid) == key {
			return true
		}
	}
	return false
}

// missingKey reports a key that must be there.
func (p *parser) missingKey(at diag.Range, what, key string) *diag.Diagnostic {
	return p.list.Errorf("missing-key", at, "%s has no key %s", what, key)
}
