package schema

// model is a file of kind model.
func (b *builder) model() *Schema {
	keys := append(documented("model"),
		key("extends", text("Another model whose keys this one takes over: lets by name, other keys whole.").at(ModelName)),
		key("recognises", expression("Whether this model is meant, asked of a checkpoint's config: `config.string('model_type') == 'llama'`. "+
			"Exactly one shipped model may say true.", "bool")),
		key("params", described("params", "Settings of the model, each with a default, that a variant's `set` gives.")),
		key("let", described("let", "Names for expressions, in order; they see config, tensors and the parameters.")),
		key("view", described("view", "Steps that make the canonical tensors of the checkpoint's, each seeing the names that the last one left.")),
		key("in", described("inputs", "Inputs of the text entry, where not {tokens: int32 [B, T]}.")),
	)
	keys = append(keys, bodyKeys()...)
	keys = append(keys,
		key("out", described("outputs", "Results of the text entry, where not {logits: [B, T, vocab]}.")),
		key("entries", named("Further graphs over the same paths: a path is the same port, weight or state in whatever entry it is named.", identifier, ref("entry"))),
		key("examples", ref("examples")),
	)
	s := closed("A model: a config's facts, a checkpoint's names, and the network between tokens and logits.", keys...).require("graphrun", "kind", "name")
	s.If = &Schema{Required: []string{"extends"}}
	s.Else = &Schema{Required: []string{"recognises"}, If: &Schema{Required: []string{"entries"}}, Else: &Schema{Required: []string{"nodes"}}}
	return s
}

// block is a file of kind block.
func (b *builder) block() *Schema {
	keys := append(documented("block"),
		key("compiled", oneOf("Wraps the block, and the blocks it calls, in MLX's compile: for any shape, or once per shape. For blocks without ports, weights and states.",
			"shapeless", "by_shape")),
		key("params", described("params", "What a call gives besides inputs.")),
		letKey(),
		key("in", described("inputs", "Inputs with their shapes. A bare name that is no parameter is bound by the first shape that holds it.")),
	)
	keys = append(keys, bodyKeys()...)
	keys = append(keys, key("out", described("outputs", "Results with their shapes.")))
	return closed("A block: a named dataflow with inputs, parameters, ports, weights and states, called like an operator.", keys...).
		require("graphrun", "kind", "name", "in", "nodes", "out")
}

func letKey() Property {
	return key("let", described("let", "Names for expressions, in order; each sees those above."))
}

// bodyKeys are what declares names and lists nodes, in a file's order, behind `let`.
func bodyKeys() Properties {
	return Properties{
		key("ports", described("ports", "Places where weights meet a class, called by their names.")),
		key("groups", described("groups", "Ports that read one value, so that a variant may bind one class to all of them.")),
		key("weights", described("weights", "Weights that are used as plain operands.")),
		key("state", described("states", "What a forward leaves for the next: caches and arrays.")),
		key("nodes", ref("nodes")),
	}
}

func (b *builder) common() {
	params := declared("Parameters: `name: type`, or `name: {type: default}`.", paramSchema())
	params.PropertyNames.Not = words(append(append([]string(nil), reservedNames...), reservedKeys...))
	b.define("params", params)
	b.define("let", declared("`name: expression`, in order.", ref("expression")))
	b.define("expression", &Schema{Description: "A number, a boolean, a list or map of expressions, or text that is an expression (CEL).",
		Type: Types{"string", "number", "boolean", "array", "object"}, Place: Expression})
	b.define("inputs", declared("`name: [dims]`, or {shape, dtype, optional}.", array("an input")))
	b.define("outputs", declared("`name: [dims]`, or {shape, dtype, optional}.", array("a result")))
	b.define("dims", &Schema{Description: "Lengths: numbers, expressions, linear forms of B (sequences), T (new tokens) and S (all positions); '...' stands once for any axes.",
		Type: Types{"array"}, Items: ref("dim")})
	b.define("dim", typed("int"))
	b.define("entry", closed("One more graph over the model's paths.", append(append(Properties{
		key("of", text("The entry whose requested outputs this one continues, as a draft continues text.")),
		key("requires", expression("Where false the entry is not there.", "bool")),
		letKey(),
		key("in", described("inputs", "Inputs of the entry.")),
	}, bodyKeys()...), key("out", described("outputs", "Results of the entry.")))...))
	b.define("examples", list("What `validate` composes the file with; paths count from this file.",
		closed("A config's path, or a config with further facts.",
			key("name", text("What `--example` may call it; none: its config's path.")),
			key("config", text("Path of a config.json.")),
			key("tensors", text("Path of a JSON file, name to {dtype, shape}, as `graphrun weights --json` writes it. None: each weight is as the graph needs it.")),
			key("device", deviceFacts()), key("checkpoint", checkpointFacts()), key("request", requestFacts())).require("config").or("string")))
	b.define("pattern", &Schema{Description: "A pattern of paths, or a list of them: `*` is any text within one segment, `**` any number of segments, `{e}` one segment captured, `{a,b}` alternatives.",
		Type: Types{"string", "array"}, Items: &Schema{Type: Types{"string"}, Place: Pattern}, Place: Pattern})
	b.define("view", list("Steps over the checkpoint's names.", b.viewStep()))
	b.bodies()
}

func paramSchema() *Schema {
	var names []string
	defaults := closed("The type of a parameter that must be given, or {type: default}; the default may be an expression.")
	for _, t := range paramTypes {
		names = append(names, t.name)
		s := typed(t.name)
		s.Description = "The default: " + t.doc + "."
		defaults.Properties = append(defaults.Properties, key(t.name, s))
	}
	defaults.MinProperties, defaults.MaxProperties = 1, 1
	return defaults.orWord(names)
}

// array is a shape, or one with more said.
func array(what string) *Schema {
	s := closed("The shape of "+what+", or {shape, dtype, optional}.",
		key("shape", ref("dims")),
		key("dtype", described("dtype", "The element type that it must have.")),
		key("optional", truth("Whether it may be absent."))).or("array", "null")
	s.Items = ref("dim")
	return s
}

func deviceFacts() *Schema {
	return closed("The machine that is planned for.",
		key("kind", oneOf("cpu or gpu.", "cpu", "gpu")),
		key("arch", text("As MLX names it, for example applegpu_g16s.")),
		key("ane", truth("Whether it has a Neural Engine.")),
		key("memory", &Schema{Description: "Bytes.", Type: Types{"integer"}}))
}

func checkpointFacts() *Schema {
	return closed("Facts of the checkpoint.",
		key("fingerprint", text("16 hex digits over the canonical tensors, as `explain` prints it.")),
		key("format", text("safetensors or gguf.")))
}

func requestFacts() *Schema {
	whole := func(doc string) *Schema { return &Schema{Description: doc, Type: Types{"integer"}} }
	return closed("What is asked of the plan.",
		key("context", whole("Positions (4096 by default).")),
		key("batch", whole("Sequences (1 by default).")),
		key("draft_tokens", whole("Tokens drafted at once (0 by default).")),
		key("chunk", whole("Tokens of a prompt's chunk (2048 by default).")),
		key("memory_budget", whole("Bytes; 0: no limit (the default).")),
		key("adapters", truth("Whether adapters may be active.")),
		key("kv", &Schema{Description: "How caches are stored: empty, as they are written, or affineBgG, as affine4g64: B bits in groups of G.", Type: Types{"string"},
			Pattern: `^(|affine(2|3|4|5|6|8)g(32|64|128))$`}))
}
