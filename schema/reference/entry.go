package reference

import "strings"

// Kind is what a name stands for.
type Kind string

const (
	Operator Kind = "operator"
	Class    Kind = "class"
	State    Kind = "state"
	Port     Kind = "port"
	Block    Kind = "block"
	Model    Kind = "model"
	Variant  Kind = "variant"
	Rules    Kind = "rules"
)

// Entry is what is known of a name.
type Entry struct {
	Kind    Kind     `json:"kind"`
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	Inputs  []Item   `json:"inputs,omitempty"`
	Outputs []Item   `json:"outputs,omitempty"`
	Params  []Item   `json:"params,omitempty"`
	State   string   `json:"state,omitempty"` // whether a call takes `state:`: optional, required; map (of a block)
	Each    bool     `json:"each,omitempty"`  // `a, b: {op: [a, b]}` is one node per name
	Facts   []Fact   `json:"facts,omitempty"`
	Example []string `json:"example,omitempty"`
	File    string   `json:"file,omitempty"`
}

// Item is an input, a result or a parameter.
type Item struct {
	Name     string   `json:"name"`
	Type     string   `json:"type,omitempty"` // of an input: value, weight, state, dtype
	Doc      string   `json:"doc,omitempty"`
	Default  *string  `json:"default,omitempty"` // as a file writes it
	Optional bool     `json:"optional,omitempty"`
	Variadic bool     `json:"variadic,omitempty"`
	Bound    bool     `json:"bound,omitempty"` // a parameter that the inputs' shapes give
	OneOf    []string `json:"oneOf,omitempty"`

	defaultJSON any
}

// Required tells whether a parameter must be given.
func (i Item) Required() bool { return i.Default == nil && !i.Optional && !i.Bound }

// DefaultJSON is the default as JSON has it; nil where it is an expression or there is none.
func (i Item) DefaultJSON() any { return i.defaultJSON }

// Presence says what happens where a parameter is not given.
func (i Item) Presence() string {
	switch {
	case i.Default != nil:
		return *i.Default + " by default"
	case i.Optional:
		return "optional"
	case i.Bound:
		return "by default as the shapes have it"
	}
	return "required"
}

// Fact is one more thing to know: a class's rows, a model's condition.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Fact gives a fact's text, or "".
func (e Entry) Fact(name string) string {
	for _, f := range e.Facts {
		if f.Name == name {
			return f.Text
		}
	}
	return ""
}

// Summary is the first sentence of the doc, without its full stop.
func (e Entry) Summary() string {
	text := strings.Join(strings.Fields(e.Doc), " ")
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '.' && text[i+1] == ' ' && !strings.HasSuffix(text[:i], ".") {
			return text[:i]
		}
	}
	return strings.TrimSuffix(text, ".")
}

// Signature is how the name is called, in one line: `rope(x, offset; dims, base, traditional = false) -> y`. Optional
// inputs and parameters have a question mark.
func (e Entry) Signature() string {
	var inputs, params []string
	for _, in := range e.Inputs {
		switch {
		case in.Variadic:
			inputs = append(inputs, in.Name+"…")
		case in.Optional:
			inputs = append(inputs, in.Name+"?")
		default:
			inputs = append(inputs, in.Name)
		}
	}
	for _, p := range e.Params {
		switch {
		case p.Default != nil:
			params = append(params, p.Name+" = "+*p.Default)
		case !p.Required():
			params = append(params, p.Name+"?")
		default:
			params = append(params, p.Name)
		}
	}
	inside := strings.Join(inputs, ", ")
	if len(params) > 0 {
		if inside != "" {
			inside += "; "
		}
		inside += strings.Join(params, ", ")
	}
	out := e.Name + "(" + inside + ")"
	if e.Kind == Class || e.Kind == State || e.Kind == Variant || e.Kind == Rules {
		return strings.TrimSuffix(out, "()")
	}
	var results []string
	for _, o := range e.Outputs {
		if o.Optional {
			results = append(results, o.Name+"?")
		} else {
			results = append(results, o.Name)
		}
	}
	if len(results) > 0 {
		out += " -> " + strings.Join(results, ", ")
	}
	return out
}
