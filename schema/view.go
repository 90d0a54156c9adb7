package schema

// verb is a kind of view step: what its first key takes, and its other keys; `when` goes with all.
type verb struct {
	name, doc string
	value     *Schema
	keys      Properties
	required  []string
}

func verbs() []verb {
	to := key("to", text("The new name; it takes the pattern's captures by name and its stars in order."))
	axis := key("axis", expression("The axis, from 0, or from the end where negative.", "int"))
	pattern := ref("pattern")
	return []verb{
		{"drop", "Tensors that the model does not use.", pattern, Properties{
			key("as", text("An entry: the tensors are kept out of the audit as that entry's."))}, nil},
		{"rename", "Gives tensors another name.", pattern, Properties{to}, []string{"to"}},
		{"each", "Changes each tensor, in order.", pattern, Properties{key("do", list("Changes, one {verb: value} each.", change()))}, []string{"do"}},
		{"split", "Cuts a tensor along an axis.", pattern, Properties{
			axis,
			key("sizes", expression("Lengths of the pieces; none: equal ones.", "ints")),
			key("interleave", expression("Pieces alternate (a, b, a, b …).", "bool")),
			key("into", &Schema{Description: "Names of the pieces.", Type: Types{"array"}, Items: &Schema{Type: Types{"string"}}, MinItems: 2}),
		}, []string{"axis", "into"}},
		{"stack", "Stacks tensors that differ in one capture into one.", pattern, Properties{
			key("over", text("The capture, for example e: its values are the new first axis.")), to}, []string{"over", "to"}},
		{"join", "Concatenates the tensors that the patterns match, in order.", pattern, Properties{axis, to}, []string{"axis", "to"}},
		{"derive", "Makes tensors of tensors by nodes, as a block does.", named("Names, in the nodes, of the tensors that the patterns match.", identifier, &Schema{Type: Types{"string"}}), Properties{
			key("nodes", ref("nodes")),
			key("to", named("The tensors that results become.", identifier, &Schema{Type: Types{"string"}}))}, []string{"nodes", "to"}},
		{"view", "Another model's steps.", text("The model's name."), nil, nil},
	}
}

// viewStep is one step; which it is, its first key says.
func (b *builder) viewStep() *Schema {
	s := &Schema{Description: "A step of a view.", Type: Types{"object"}}
	for _, step := range verbs() {
		value := *step.value
		value.Description = step.doc
		s.Properties = append(s.Properties, key(step.name, &Schema{Description: step.doc}))
		s.OneOf = append(s.OneOf, &Schema{Required: []string{step.name}})
		keys := append(Properties{key(step.name, &value)}, step.keys...)
		keys = append(keys, key("when", expression("Asked for each match, with its name, shape, dtype and captures; where false the tensor is left as it is.", "bool")))
		b.define("view."+step.name, closed(step.doc, keys...).require(step.name).require(step.required...))
		s.AllOf = append(s.AllOf, when(step.name, ref("view."+step.name)))
	}
	return s
}

// change is one of the changes of `each … do`.
func change() *Schema {
	number := &Schema{Type: Types{"number", "string", "array"}, Items: typed("float")}
	with := func(doc string, s *Schema) *Schema {
		out := *s
		out.Description = doc
		return &out
	}
	one := closed("One change.",
		key("add", with("Adds a number.", number)),
		key("multiply", with("Multiplies by a number.", number)),
		key("clip", with("Clips to [low, high].", typed("floats"))),
		key("astype", described("dtype", "Converts to a dtype.")),
		key("moveaxis", with("Moves an axis: [from, to].", typed("ints"))),
		key("transpose", with("Orders the axes anew.", typed("ints"))),
		key("reshape", with("Gives the elements another shape; -1 once for what is left.", typed("ints"))),
		key("view", described("dtype", "Reads the bytes as another dtype.")),
		key("dequantize", &Schema{Description: "Makes a dense tensor of a quantised one."}),
		key("fp8_dequantize", &Schema{Description: "Makes a dense tensor of float8 codes and their scales."}))
	one.MinProperties, one.MaxProperties = 1, 1
	return one
}
