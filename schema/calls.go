package schema

import (
	"fmt"

	"github.com/graphrun/graphrun/schema/reference"
)

const (
	stateDoc = "The state that the call uses, by name; of a block also {inner name: path from the root}. Of an anonymous body: the states it declares."
	nodesDoc = "Lines of an anonymous body, which sees the names around it."
)

// reserved are the keys of every call. state is told apart: where a callee has none, it is no key.
func reserved() Properties {
	return Properties{
		key("at", ref("call.at")), key("when", ref("call.when")), key("unless", ref("call.unless")),
		key("repeat", ref("call.repeat")), key("collect", ref("call.collect")), key("doc", ref("call.doc")),
	}
}

// call defines calls: an anonymous body where there are nodes, else what the operator or shipped block that is named
// takes. What calls a port of the body or a block of the user's is open.
func (b *builder) call() {
	b.define("call.at", text("The path prefix of what the call declares, below the caller's: `at: 'model.layers.{i}'`.").at(Template))
	b.define("call.when", expression("Where false the node is not there.", "bool"))
	b.define("call.unless", expression("Where true the node is not there.", "bool"))
	b.define("call.doc", text("What the line does."))
	repeat := declared("Runs the call for each index: {i: count} or {i: [first, stop]}. The results are carried from one index to the next.",
		&Schema{Type: Types{"integer", "string", "array"}, Items: typed("int"), MinItems: 2, MaxItems: 2, Place: Expression})
	repeat.MinProperties, repeat.MaxProperties = 1, 1
	b.define("call.repeat", repeat)
	b.define("call.collect", declared("Also gives the list of a result after each index: {taps: h}.", ref("name")))
	b.define("call.state", &Schema{Description: stateDoc,
		Type: Types{"string", "object", "null"}, AdditionalProperties: &Schema{Type: Types{"string"}, Place: Template}, Place: Name})
	b.define("input", &Schema{Description: "A name in scope (a value, weight, number or state), or a number.", Type: Types{"string", "number", "boolean"}, Place: Name})

	anonymous := closed("An anonymous block: it sees the names around it.", append(append(reserved(), letKey()), bodyKeys()...)...).require("nodes")
	b.define("anonymous", anonymous)

	named := &Schema{Properties: Properties{key("state", ref("call.state"))}}
	open := &Schema{
		Description: "A call. The first key names what is called: a port in scope, an operator or a block; its value is the input, by name, by position or as a map.",
		Type:        Types{"object"},
		Properties:  append(reserved(), key("state", &Schema{Description: stateDoc}), key("nodes", &Schema{Description: nodesDoc})),
		If:          &Schema{Required: []string{"nodes"}},
		Then:        ref("anonymous"),
		Else:        named,
	}
	for _, e := range b.callees() {
		open.Properties = append(open.Properties, key(e.Name, &Schema{Description: e.Doc}))
		named.AllOf = append(named.AllOf, when(e.Name, ref(string(e.Kind)+"."+e.Name)))
	}
	b.define("call", open)
}

// callees are the operators and the shipped blocks.
func (b *builder) callees() []reference.Entry {
	return append(b.lib.Of(reference.Operator), b.lib.Of(reference.Block)...)
}

// signatures defines a call of each operator and each shipped block, and the parameters of each class.
func (b *builder) signatures() {
	for _, e := range b.callees() {
		b.define(string(e.Kind)+"."+e.Name, b.callee(e))
	}
	b.classes()
}

// callee is a call of an operator or a shipped block.
func (b *builder) callee(e reference.Entry) *Schema {
	first := input(e)
	if e.Name == "constant" { // its input alone is an expression
		first = ref("expression")
	}
	first.Description = e.Doc
	s := closed(e.Doc, key(e.Name, first))
	s.Title = e.Name
	for _, in := range e.Inputs {
		s.Properties = append(s.Properties, key(in.Name, namedInput(in)))
	}
	s.Properties = append(s.Properties, paramKeys(e.Params)...)
	s.Properties = append(s.Properties, reserved()...)
	s.Required = required(e.Params)
	if e.State != "" || e.Kind == reference.Block {
		s.Properties = append(s.Properties, key("state", ref("call.state")))
	}
	if e.State == "required" {
		s.Required = append(s.Required, "state")
	}
	return s
}

// input is what a call's first key takes: one name, a list by position (of an operator marked so: one node per name),
// or a map by name.
func input(e reference.Entry) *Schema {
	s := closed("")
	variadic := e.Each
	for _, in := range e.Inputs {
		s.Properties = append(s.Properties, key(in.Name, namedInput(in)))
		variadic = variadic || in.Variadic
	}
	s.Items = ref("input")
	if !variadic {
		s.MaxItems = max(len(e.Inputs), 1)
	}
	return s.or("array", "string", "number", "boolean", "null").at(Name)
}

func namedInput(in reference.Item) *Schema {
	kind := in.Type
	if in.Optional {
		kind += ", optional"
	}
	return &Schema{Description: fmt.Sprintf("%s (%s)", sentence(in.Doc), kind), Type: Types{"string", "number", "boolean", "null"}, Place: Name}
}

func paramKeys(params []reference.Item) Properties {
	var out Properties
	for _, p := range params {
		out = append(out, key(p.Name, param(p)))
	}
	return out
}

func required(params []reference.Item) []string {
	var out []string
	for _, p := range params {
		if p.Required() {
			out = append(out, p.Name)
		}
	}
	return out
}

// checkNames holds what telling calls apart by their keys rests on: no input, parameter or reserved key has the name of
// an operator or a shipped block.
func (b *builder) checkNames() error {
	callees := map[string]bool{}
	for _, e := range b.callees() {
		if callees[e.Name] {
			return fmt.Errorf("the shipped block %s has the name of an operator", e.Name)
		}
		callees[e.Name] = true
	}
	for _, e := range b.callees() {
		for _, item := range append(append([]reference.Item(nil), e.Inputs...), e.Params...) {
			if callees[item.Name] || contains(reservedKeys, item.Name) {
				return fmt.Errorf("the %s %s: a key of its calls, %s, is also an operator, a block or a key of every call", e.Kind, e.Name, item.Name)
			}
		}
	}
	return nil
}
