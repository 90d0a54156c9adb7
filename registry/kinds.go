package registry

// PortKind is a kind of port: how it is declared and called.
type PortKind struct {
	Name   string
	Doc    string
	Dims   []string // what its list holds
	Keys   []string // other keys of its declaration
	Inputs []string // of a call
	Params []Param  // of a call
}

// PortKinds are the kinds of the language. They belong to it, as `repeat` does: a class fills them, none adds one.
var PortKinds = map[string]*PortKind{
	"linear":       {"linear", "One matrix [out, in], and a bias [out] where asked for.", []string{"in", "out"}, []string{"bias", "at"}, []string{"x"}, nil},
	"head":         {"head", "The matrix [vocab, in] that makes logits; tied, it is the embedding's.", []string{"in", "vocab"}, []string{"bias", "tied", "when_tied", "at"}, []string{"x"}, nil},
	"embedding":    {"embedding", "Rows [rows, width], taken by index.", []string{"rows", "width"}, []string{"at"}, []string{"indices"}, nil},
	"multi_linear": {"multi_linear", "One matrix [out, in] per head: [count, out, in].", []string{"in", "out"}, []string{"count", "at"}, []string{"x"}, []Param{{Name: "transposed", Type: "bool", Doc: "false: multiply by the matrices as they lie"}}},
	"mlp":          {"mlp", "gate and up [width, in], an activation, down [in, width].", []string{"in", "width"}, []string{"activation", "bias", "parts", "at"}, []string{"x"}, nil},
	"gate_up":      {"gate_up", "The pair of an mlp before its down projection, activation included.", []string{"in", "width"}, nil, []string{"x"}, nil},
	"experts":      {"experts", "An mlp per expert: gate and up [count, width, in], down [count, in, width].", []string{"in", "width"}, []string{"activation", "bias", "count", "parts", "at"}, []string{"x", "indices"}, nil},
}
