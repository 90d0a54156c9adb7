package schema

import (
	"strings"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/schema/reference"
)

// bodies defines what a body declares, and its lines.
func (b *builder) bodies() {
	b.define("dtype", oneOf("An element type.", dtype.Names()...))
	b.define("ports", named("`name: {kind: [dims], …}`. The weight's path is the name, below the caller's prefix.", pathName, ref("port")))
	b.define("port", b.port())
	members := list("Names of linear ports of the same body, each in one group alone.", &Schema{Type: Types{"string"}, Pattern: pathName})
	members.MinItems = 2
	b.define("groups", named("`name: [port, port, …]`: they are called on one value. Its path is the name, below the caller's prefix.", pathName, members))
	one, all := b.activation()
	b.define("activation.one", one)
	b.define("activation", all)
	weight := closed("The shape of a weight, or {shape, dtype, when, optional}.",
		key("shape", ref("dims")),
		key("dtype", described("dtype", "The element type that it must have.")),
		key("when", expression("Where false the weight is absent, and so is an optional input that it is given to.", "bool")),
		key("optional", truth("Whether the checkpoint may lack it."))).or("array")
	weight.Items = ref("dim")
	b.define("weights", named("`name: [dims]`, or {shape, dtype, when, optional}.", pathName, weight))
	b.define("states", declared("`name: {cache: {heads, dim}}` or `name: {array: [dims]}`. A state's path is its name, below the caller's prefix.", b.state()))
	b.define("nodes", list("The dataflow, a line each: `result: call`, or `result: name`. Names are rebound freely; what nothing needs is dropped.", ref("node")))
	b.define("node", &Schema{
		Description:          "`result: call`, `a, b: call` or `result: name`.",
		Type:                 Types{"object"},
		MinProperties:        1,
		MaxProperties:        1,
		PropertyNames:        &Schema{Pattern: results, Not: words(reservedNames)},
		AdditionalProperties: &Schema{If: &Schema{Type: Types{"object"}}, Then: ref("call"), Else: described("name", "The name of a value: an alias.")},
	})
	b.define("name", &Schema{Type: Types{"string"}, Place: Name})
	b.call()
}

// portKeys documents the keys of a port beside its kind.
func (b *builder) portKey(kind, name string) *Schema {
	switch name {
	case "at":
		return text("The path below the prefix, where it is not the port's name: `at: 'altup_projections.{j}'`.").at(Template)
	case "bias":
		return expression("Whether the checkpoint has a bias beside the weight.", "bool")
	case "count":
		what := map[string]string{"experts": "How many experts there are.", "multi_linear": "How many heads there are."}[kind]
		return expression(what, "int")
	case "tied":
		return text("The path, from the root, of the embedding whose matrix is this one: `tied: model.embed_tokens`.").at(Template)
	case "when_tied":
		return expression("Whether the matrix is the embedding's (true where only `tied` is said).", "bool")
	case "activation":
		return described("activation", "What is between gate and up, and down: a name, {name: {parameters}}, or a list of these with `when`.")
	case "parts":
		return closed("Names of the tensors: by default gate_proj, up_proj, down_proj. With gate_up one tensor holds both, gate first.",
			key("gate", text("Tensor of the gate.")), key("up", text("Tensor of up.")), key("down", text("Tensor of down.")),
			key("gate_up", text("Tensor that holds gate and up.")))
	}
	return &Schema{}
}

func (b *builder) port() *Schema {
	s := &Schema{Description: "A place where weights meet a class.", Type: Types{"object"}}
	for _, name := range port.Declared() {
		k := port.Kinds[name]
		dims := "[" + strings.Join(k.Dims, ", ") + "]"
		s.Properties = append(s.Properties, key(name, &Schema{Description: k.Doc + " Declared " + dims + "."}))
		s.OneOf = append(s.OneOf, &Schema{Required: []string{name}})
		s.AllOf = append(s.AllOf, when(name, ref("port."+name)))
		one := closed(k.Doc, key(name, &Schema{Description: k.Doc + " Lengths: " + dims + ".", Type: Types{"array"}, Items: ref("dim"), MinItems: len(k.Dims), MaxItems: len(k.Dims)})).require(name)
		for _, x := range k.Keys {
			one.Properties = append(one.Properties, key(x, b.portKey(name, x)))
			if x == "activation" || x == "count" {
				one.Required = append(one.Required, x)
			}
		}
		b.define("port."+name, one)
	}
	return s
}

// activation is what may stand between gate and up: an operator of one or two arrays.
func (b *builder) activation() (one, all *Schema) {
	var names []string
	with := closed("An activation: its name, or {name: {parameters}}; of a list the first whose `when` holds.", key("when", expression("Where false the next of the list is taken.", "bool")))
	for _, e := range b.lib.Of(reference.Operator) {
		if !canActivate(e) {
			continue
		}
		names = append(names, e.Name)
		params := closed(e.Doc, paramKeys(e.Params)...)
		params.Required = required(e.Params)
		with.Properties = append(with.Properties, key(e.Name, params.or("null")))
	}
	with.MinProperties, with.MaxProperties = 1, 2
	one = with.orWord(names)
	choice := *one
	choice.Items = ref("activation.one")
	return one, choice.or("array")
}

// canActivate tells whether an operator takes gate, or gate and up: the composer's own condition.
func canActivate(e reference.Entry) bool {
	n := 0
	for _, in := range e.Inputs {
		if !in.Optional {
			n++
		}
	}
	return (n == 1 || n == 2) && e.State != "required"
}

func (b *builder) state() *Schema {
	s := &Schema{Description: "What a forward leaves for the next.", Type: Types{"object"}}
	for _, k := range b.lib.Of(reference.State) {
		s.OneOf = append(s.OneOf, &Schema{Required: []string{k.Name}})
		value := closed(k.Doc, paramKeys(k.Params)...)
		value.Required = required(k.Params)
		keys := Properties{}
		if k.Name == "array" { // its one field, the shape, is the value itself
			value = described("dims", k.Doc)
			keys = append(keys, key("dtype", described("dtype", "The element type; none: that of the activations.")))
		}
		s.Properties = append(s.Properties, key(k.Name, &Schema{Description: k.Doc}))
		s.AllOf = append(s.AllOf, when(k.Name, closed(k.Doc, append(Properties{key(k.Name, value)}, keys...)...)))
	}
	return s
}
