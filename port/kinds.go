// Package port lists the kinds of port that the language has: how each is declared and called. They belong to the
// language, as `repeat` does: a class fills them, none adds one.
package port

import "sort"

// Kind is a kind of port.
type Kind struct {
	Name       string
	Doc        string
	Dims       []string // what its list holds
	Keys       []string // other keys of its declaration
	Inputs     []string // of a call
	Transposed bool     // a call takes `transposed`: false multiplies by the matrices as they lie
	Derived    string   // how a port of a kind that is never declared comes about
}

// Kinds by name.
var Kinds = map[string]*Kind{
	"linear":       {"linear", "One matrix [out, in], and a bias [out] where asked for.", []string{"in", "out"}, []string{"bias", "at"}, []string{"x"}, false, ""},
	"head":         {"head", "The matrix [vocab, in] that makes logits; tied, it is the embedding's.", []string{"in", "vocab"}, []string{"bias", "tied", "when_tied", "at"}, []string{"x"}, false, ""},
	"embedding":    {"embedding", "Rows [rows, width], taken by index.", []string{"rows", "width"}, []string{"at"}, []string{"indices"}, false, ""},
	"multi_linear": {"multi_linear", "One matrix [out, in] per head: [count, out, in].", []string{"in", "out"}, []string{"count", "at"}, []string{"x"}, true, ""},
	"mlp":          {"mlp", "gate and up [width, in], an activation, down [in, width].", []string{"in", "width"}, []string{"activation", "bias", "parts", "at"}, []string{"x"}, false, ""},
	"gate_up":      {"gate_up", "The pair of an mlp before its down projection, activation included.", []string{"in", "width"}, nil, []string{"x"}, false, "PORT.gate_up of an mlp"},
	"group":        {"group", "Linear ports that read one value, side by side: a result each.", []string{"in", "out"}, nil, []string{"x"}, false, "a name of `groups`"},
	"experts":      {"experts", "An mlp per expert: gate and up [count, width, in], down [count, in, width].", []string{"in", "width"}, []string{"activation", "bias", "count", "parts", "at"}, []string{"x", "indices"}, false, ""},
}

// Declared lists the kinds that a file may declare, by name.
func Declared() []string { return names(func(k *Kind) bool { return k.Derived == "" }) }

// Bound lists the kinds that a variant may bind: those that are declared, then the others.
func Bound() []string {
	return append(Declared(), names(func(k *Kind) bool { return k.Derived != "" })...)
}

func names(which func(*Kind) bool) []string {
	var out []string
	for name, k := range Kinds {
		if which(k) {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}
