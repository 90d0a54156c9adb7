package cursor

import "strings"

// Function is what an expression may call, or a fact that it may ask.
type Function struct{ Name, Signature, Doc string }

// functions are those of every expression.
var functions = []Function{
	{"min", "min(a, b) or min(list)", "The smaller; of two numbers or of a list."},
	{"max", "max(a, b) or max(list)", "The larger; of two numbers or of a list."},
	{"abs", "abs(x)", "Without its sign; the type is kept."},
	{"pow", "pow(x, y)", "x to the power of y, a double."},
	{"log", "log(x)", "Natural logarithm, a double."},
	{"sqrt", "sqrt(x)", "Square root, a double."},
	{"floor", "floor(x)", "The next whole number not above x, a double."},
	{"ceil", "ceil(x)", "The next whole number not below x, a double."},
	{"size", "size(list)", "How many members a list, or characters a text, has."},
	{"int", "int(x)", "As a whole number; a text must be one."},
	{"double", "double(x)", "As a float."},
	{"string", "string(x)", "As text."},
	{"lists", "lists.range(n)", "The list 0 … n - 1."},
}

// modelRoots are what an expression of a model's own may begin with; other files do not see them.
var modelRoots = []Function{
	{"config", "config.int('key', default)", "config.json: config.int, float, bool, string, dict, ints, floats, strings, bools; has, is_null. Without a default an absent key is an error."},
	{"tensors", "tensors('glob')", "The checkpoint's tensors by their own names: {name, shape, dtype} each."},
}

// lengths are those of a forward.
var lengths = []Function{
	{"B", "B", "The number of sequences. Not known when a file is composed: it stands in dims, and in `when` beside an int."},
	{"T", "T", "The number of new tokens of each sequence. Not known when a file is composed: it stands in dims, and in `when` beside an int."},
	{"S", "S", "T plus the positions taken before. Not known when a file is composed: it stands in dims, and in `when` beside an int."},
	{"given", "given.x", "Whether an optional input, or a name that a line may leave without value, has one at this line."},
}

// members are what stands behind a dot, by what stands before it.
var members = map[string][]Function{
	"config": {
		{"int", "int(key, default)", "A whole number of config.json."},
		{"float", "float(key, default)", "A number of config.json."},
		{"bool", "bool(key, default)", "A boolean of config.json."},
		{"string", "string(key, default)", "A text of config.json."},
		{"dict", "dict(key, default)", "An object of config.json, to be read in the same way."},
		{"ints", "ints(key, default)", "Whole numbers; one value is a list of one."},
		{"floats", "floats(key, default)", "Numbers; one value is a list of one."},
		{"bools", "bools(key, default)", "Booleans; one value is a list of one."},
		{"strings", "strings(key, default)", "Texts; one value is a list of one."},
		{"has", "has(key)", "Whether the key is there and not null."},
		{"is_null", "is_null(key)", "Whether the key is there and null."},
	},
	"value": {
		{"shape", "shape[i]", "The lengths of the value's axes."},
		{"dtype", "dtype", "The value's element type, as 'bfloat16'."},
	},
	"lists": {{"range", "range(n)", "The list 0 … n - 1."}},
	"list": {
		{"map", "map(i, f)", "A list of f for each member i."},
		{"filter", "filter(i, is)", "The members i for which it is true."},
		{"exists", "exists(i, is)", "Whether it is true for a member i."},
		{"all", "all(i, is)", "Whether it is true for every member i."},
		{"reverse", "reverse()", "The members from the last."},
	},
	"port":       facts("The port of this line.", "path kind entry count top_k"),
	"weight":     facts("The port's weight.", "storage dtype bits group mode layout axis inputs outputs bytes bias"),
	"state":      facts("The state of this line.", "kind dtype opened scheme bits group"),
	"device":     facts("The machine.", "kind arch ane memory"),
	"checkpoint": facts("The checkpoint.", "fingerprint format"),
	"request":    facts("What is asked of the plan.", "context batch draft_tokens chunk memory_budget adapters kv"),
	"plan":       facts("The plan.", "ports states entries memory"),
}

// bindRoots are the facts that a variant's conditions may ask, ruleRoots those of rules, viewRoots those of a view's step.
var (
	bindRoots = roots("port weight state device checkpoint request")
	ruleRoots = append(roots("plan device checkpoint request"), Function{"KiB", "KiB", "1024 bytes."}, Function{"MiB", "MiB", "1024 KiB."}, Function{"GiB", "GiB", "1024 MiB."})
	viewRoots = []Function{
		{"name", "name", "The tensor's name as this step sees it."},
		{"shape", "shape[i]", "The lengths of the tensor's axes."},
		{"dtype", "dtype", "The tensor's element type."},
	}
)

func facts(doc, names string) []Function {
	var out []Function
	for _, n := range strings.Fields(names) {
		out = append(out, Function{n, n, doc})
	}
	return out
}

func roots(names string) []Function {
	var out []Function
	for _, n := range strings.Fields(names) {
		out = append(out, Function{n, n + ".…", members[n][0].Doc})
	}
	return out
}
