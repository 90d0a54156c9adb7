package schema

import (
	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/schema/reference"
)

// variant is a file of kind variant.
func (b *builder) variant() *Schema {
	keys := append(documented("variant"),
		key("of", textOrList("The model, models, or '*' that this is a variant of; models that extend them count.").at(ModelName)),
		key("default", truth("Whether it is taken without being asked for, whenever `requires` holds (unless --exact).")),
		key("requires", expression("Where false the variant is not for this machine, checkpoint or request: `device.kind == 'gpu'`.", "bool")),
		key("entries", textOrList("The entries that it is for; none: all.")),
		key("let", described("let", "Names for expressions.")),
		key("classes", declared("Names for classes with parameters, to be used in `bind`.", ref("class"))),
		key("set", list("Parameters with a default, given to every block at a path that has them. Without `at` the model's own.", b.setLine())),
		key("bind", list("Which class computes with which port's weights, at which row counts. Later lines win; what no line says is exact.", b.bindLine())),
		key("states", list("How states are read and rolled back.", b.stateLine())),
		key("native", textOrList("Operators that the CPU's own kernels compute, where they serve the call: bounded, not exact.")),
		key("fuse", textOrList("Operators that a class beside them takes into its own call where it can, rms_norm before a product, add after one; and operators that take in those around them: attend. No bit changes.")),
		key("submit", submit()),
		key("verify_cost", named("The cost of verifying n tokens, of one step, for choosing the depth of a draft.", `^[0-9]+$`, typed("float"))),
		key("examples", ref("examples")),
	)
	return closed("A variant of a model: which class computes with each weight, at which row counts.", keys...).require("graphrun", "kind", "name", "of")
}

func (b *builder) setLine() *Schema {
	return &Schema{Description: "Parameters by name.", Type: Types{"object"},
		Properties:           Properties{key("at", described("pattern", "The paths of the blocks."))},
		AdditionalProperties: ref("expression")}
}

func (b *builder) bindLine() *Schema {
	kinds := port.Bound()
	s := closed("A bind line.",
		key("ports", described("pattern", "The ports, by path.")),
		key("kind", list("Only ports of this kind, or these.", words(kinds)).orWord(kinds)),
		key("entries", textOrList("Only in these entries.")),
		key("when", expression("Only ports for which this holds, by facts of port, weight, state, device, checkpoint and request: "+
			"`weight.storage == 'affine' && weight.bits == 4`.", "bool")),
		key("class", described("class", "The class at every row count.")),
		key("rows", described("rows", "The class by row count.")),
		key("adapted", described("class", "The class while an adapter touches one of the weights; none: the exact one.")),
	).require("ports")
	s.OneOf = []*Schema{{Required: []string{"class"}}, {Required: []string{"rows"}}}
	return s
}

func (b *builder) stateLine() *Schema {
	return closed("A line about states.",
		key("states", described("pattern", "The states, by path.")),
		key("when", expression("Only states for which this holds: `state.scheme == 'affine' && state.bits == 4`.", "bool")),
		key("read", closed("What reads the state.", key("rows", ref("rows")))),
		key("rollback", oneOf("How rejected tokens are taken back.", "replay", "snapshot")),
		key("scheme", oneOf("How a cache that `attend` alone reads keeps keys and values: as they are written, or narrowed and, where they are read, widened again.",
			"plain", "float16", "bfloat16")),
	).require("states")
}

func submit() *Schema {
	whole := func(doc string) *Schema { return expression(doc, "int") }
	return closed("When a forward's work is handed to the device, by row count. Layers are the indices of the entry's outermost repeat.",
		key("rows", named("Row count to policy.", rowRange, closed("A policy.",
			key("schedule_every", whole("Work is handed over after every so many layers.")),
			key("evaluate_every", whole("Work is waited for after every so many layers.")),
			key("states", expression("Whether the states are evaluated too.", "bool"))))))
}

// classes defines what stands where a class is wanted.
func (b *builder) classes() {
	one := &Schema{Description: "A class, {class: {parameters}}, or a name of `classes`.", Type: Types{"object", "string"}, MinProperties: 1, MaxProperties: 3,
		Properties: Properties{
			key("when", expression("Where false the next of the list is taken.", "bool")),
			key("class", &Schema{Description: "A class, beside what stands in for it: {class: C, adapted: D}."}),
			key("adapted", described("class", "The class while an adapter touches one of the weights; none: the exact one.")),
		},
		AdditionalProperties: &Schema{Type: Types{"object", "null"}}}
	var names []string
	for _, c := range b.lib.Of(reference.Class) {
		names = append(names, c.Name)
		params := closed(c.Doc, paramKeys(c.Params)...)
		params.Required = required(c.Params)
		one.Properties = append(one.Properties, key(c.Name, params.or("null")))
	}
	one.Place = ClassName
	one.If = &Schema{Type: Types{"string"}}
	one.Then = &Schema{AnyOf: []*Schema{words(names), {Pattern: pathName}}} // the words are suggestions
	one.Else = when("class", closed("A class and what stands in for it.",
		key("class", ref("class")), key("adapted", ref("class")), key("when", typed("bool"))))
	b.define("class.one", one)
	all := *one
	all.Description = "A class, {class: {parameters}}, a name of `classes`, or a list of these with `when`, of which the first that holds is taken."
	all.Items, all.MinItems = ref("class.one"), 1
	b.define("class", all.or("array"))
	b.define("rows", named("Row count to class: keys are n, a..b, n.. and else, of numbers or lets. What no key names is exact.", rowRange, ref("class")))
}

// rules is a file of kind rules.
func (b *builder) rules() *Schema {
	rule := closed("A rule.",
		key("name", text("The rule's name.")),
		key("doc", text("Why it is wanted.")),
		key("severity", oneOf("How much it matters.", "error", "warning", "note")),
		key("let", described("let", "Names for expressions.")),
		key("when", expression("Where false the rule is not asked.", "bool")),
		key("each", expression("A list; the rule is asked for each member: `plan.ports`.", "strings")),
		key("as", &Schema{Description: "The member's name in the expressions.", Type: Types{"string"}, Pattern: identifier}),
		key("assert", expression("What must hold.", "bool")),
		key("message", text("What is said where it does not, with {expressions}.").at(Template)),
	).require("name", "assert")
	rule.If, rule.Then = &Schema{AnyOf: []*Schema{{Required: []string{"each"}}, {Required: []string{"as"}}}}, &Schema{Required: []string{"each", "as"}}
	keys := append(documented("rules"),
		key("let", described("let", "Names for expressions.")),
		key("rules", list("What a plan must hold.", rule)),
		key("examples", ref("examples")),
	)
	return closed("Rules that a plan must hold.", keys...).require("graphrun", "kind", "name", "rules")
}
