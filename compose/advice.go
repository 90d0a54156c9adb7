package compose

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/weights/header"
)

// badNumber reports a number that cannot be read; what could be written stands behind the semicolon.
func badNumber(list *diag.List, at diag.Range, bad string) *diag.Diagnostic {
	message, instead, has := strings.Cut(bad, "; ")
	d := list.Errorf("bad-number", at, "%s", message)
	if has {
		d.Helped("%s", instead)
	}
	return d
}

// otherType advises on a value that is of another type than its place wants.
func otherType(d *diag.Diagnostic, want, have string) *diag.Diagnostic {
	switch {
	case want == "bool" && (have == "int" || have == "float"):
		d.Helped("compare it, as in `x > 0`")
	case want == "bool" && have == "string":
		d.Helped("compare it, as in `x == 'word'`")
	case want == "bool" && have == "map":
		d.Helped("ask a key of it, as in `x.has('key')`")
	case want == "bool":
		d.Helped("write true, false or a comparison, as in `x > 0`")
	case want == "int" && have == "float":
		d.Helped("`int(floor(x))` is the int below x")
	case (want == "int" || want == "float") && have == "string":
		d.Helped("write a number, or a name of one, without quotes of its own: `'abc'` inside an expression is text")
	case want == "int" && have == "bool", want == "float" && have == "bool":
		d.Helped("`x ? 1 : 0` makes a number of it")
	case want == "map":
		d.Helped("write a mapping, as in `{rope_type: linear, factor: 4.0}`, or `config.dict('key', {})`")
	case want+"s" == have:
		d.Helped("take one of the list, as in `x[i]`")
	case want == have+"s", want == "dims" && have == "int":
		d.Helped("write a list, as in `[x]`")
	}
	return d
}

// parameterTypes are what a parameter's value looks like, by its type.
var parameterTypes = map[string]string{"int": "an int", "float": "a number", "bool": "true or false", "string": "text", "map": "a mapping", "dims": "a list of dims, as [B, T, hidden]", "dtype": "a dtype, as float32",
	"class": "a class", "ints": "a list of ints", "floats": "a list of numbers", "bools": "a list of true and false", "strings": "a list of texts"}

// missingParameter advises on a parameter that must be given.
func missingParameter(d *diag.Diagnostic, p registry.Param) *diag.Diagnostic {
	what := parameterTypes[p.Type]
	if len(p.OneOf) > 0 {
		what = strings.Join(p.OneOf, " or ")
	}
	if p.Doc != "" {
		what += ": " + p.Doc
	}
	return d.Helped("write `%s: …` (%s), or `%s` alone for the value of that name in scope", p.Name, what, p.Name)
}

// missingInput advises on an input that must be given: by its place in a list, or as a key.
func missingInput(d *diag.Diagnostic, callee string, inputs []registry.Input, name string) *diag.Diagnostic {
	var names []string
	at, doc := 0, ""
	for i, in := range inputs {
		if in.Name == name {
			at, doc = i, in.Doc
		}
		if !in.Optional && !in.Variadic {
			names = append(names, in.Name)
		}
	}
	if doc = strings.TrimSuffix(doc, "."); doc != "" {
		doc = " (" + doc + ")"
	}
	if at == 0 {
		return d.Helped("the first input stands behind the name that is called, as in `%s: x`%s", callee, doc)
	}
	return d.Helped("write `%s: …`%s, or a list of the inputs in order: [%s]", name, doc, strings.Join(names, ", "))
}

// noParameter advises on a parameter that a class or operator does not have.
func noParameter(d *diag.Diagnostic, word string, names []string) *diag.Diagnostic {
	if len(names) == 0 {
		return d.Helped("it has no parameters")
	}
	return d.Among(word, names, "it has")
}

// settable lists the parameters with a default of the blocks that were read, and tells which block has one without.
func (c *composer) settable(name string) (with []string, without *syntax.Document) {
	for _, key := range sortedKeys(c.lib.docs) {
		doc := c.lib.docs[key]
		if doc == nil || doc.Kind != "block" {
			continue
		}
		for _, p := range doc.Params {
			switch {
			case p.Default != nil:
				with = append(with, p.Name.Text)
			case p.Name.Text == name:
				without = doc
			}
		}
	}
	return with, without
}

// nearTensor advises on a tensor that is not there: one of the same end elsewhere, one of nearly that name, or those of
// the same parent.
func nearTensor(d *diag.Diagnostic, name string, names []string) {
	for _, n := range names {
		switch {
		case strings.HasSuffix(n, "."+name):
			d.Helped("it has %s: paths count from the root, or the view renames them", n)
			return
		case strings.HasSuffix(name, "."+n):
			d.Helped("it has %s, without %s", n, strings.TrimSuffix(name, n))
			return
		}
	}
	if near := diag.Nearest(name, names); near != "" {
		d.Helped("the nearest that it has is %s", near)
		return
	}
	for parent := name; strings.Contains(parent, "."); {
		parent = strings.TrimSuffix(parent, path.Ext(parent))
		var below []string
		for _, n := range names {
			if rest, is := strings.CutPrefix(n, parent+"."); is {
				below = append(below, rest)
			}
		}
		if len(below) > 0 {
			d.Helped("%s", diag.Listed(strings.TrimPrefix(name, parent+"."), below, "below "+parent+" it has"))
			return
		}
	}
	if len(names) > 0 {
		d.Helped("%s", diag.Listed(name, names, "it has"))
	}
}

// keyOfConfig matches what asks a key of the config without a type.
var keyOfConfig = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^config(?:\.([A-Za-z_]\w*)|\[['"]([^'"]+)['"]\])$`)
})

// typedRead is how a let reads what it wants with a type.
func (c *composer) typedRead(src string) string {
	m := keyOfConfig().FindStringSubmatch(strings.TrimSpace(src))
	if m == nil {
		return "config.json's keys are read with a type: config.int('key'), config.float, config.string …"
	}
	key := m[1] + m[2]
	if config := c.someConfig(); config != nil {
		if reader := expr.Reader(config.Values[key]); reader != "" {
			return "write `config." + reader + "('" + key + "')`"
		}
	}
	return "write `config.int('" + key + "')`, or config.float, config.bool, config.string …"
}

// readFromConfig advises on a name that stands for nothing and is a key of the config: a let is missing.
func (c *composer) readFromConfig(d *diag.Diagnostic, name string) bool {
	config := c.someConfig()
	if config == nil {
		return false
	}
	reader := expr.Reader(config.Values[name])
	if reader != "" {
		d.Helped("%s has a key of that name: a model reads it by a let, `%s: config.%s('%s')`, and a block takes it as a parameter", config.Path, name, reader, name)
	}
	return reader != ""
}

// unknownInExpression advises on a name of an expression: where nothing is near, a let may be missing.
func (c *composer) unknownInExpression(d *diag.Diagnostic, name string) {
	if c.readFromConfig(d, name) || len(name) < 3 || strings.HasPrefix(strings.Join(d.Help, ""), "did you mean") {
		return
	}
	if doc := c.checking; doc != nil && doc.Kind == "model" && d.At.File == doc.File.Path {
		d.Helped("a number of the model's own is declared by a let: `%s: config.int('key')`", name)
	}
}

// someConfig is the config that is composed for, else that of the model's first example; nil where there is none.
func (c *composer) someConfig() *header.Config {
	if c.req.Config != nil || c.checking == nil {
		return c.req.Config
	}
	for _, n := range c.checking.Examples {
		if n.Kind != yaml.ScalarNode {
			continue
		}
		if config, err := c.exampleConfig(c.checking, n.Value); err == nil {
			return config
		}
	}
	return nil
}

// innerInput advises on an input that is written as a mapping or a list.
func innerInput(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode {
		return "give the inner call a line of its own above, and name its result here"
	}
	return "several inputs are one list of names, as in `{add: [a, b]}`"
}

// with writes the numbers that an expression used: " (with a = 1)".
func (c *composer) with(p place, e *syntax.Expr) string {
	if e.Node.Kind != yaml.ScalarNode || e.Node.ShortTag() != "!!str" {
		return ""
	}
	var parts []string
	for _, name := range c.ex.Names(e.Node.Value) {
		if s := p.scalar(name); s != nil && s.dim == nil && s.value.Val != nil {
			parts = append(parts, name+" = "+s.value.Show())
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (with " + strings.Join(parts, ", ") + ")"
}

// ofTheirs are the shipped models that recognise the config.
func (c *composer) ofTheirs() []string {
	var out []string
	for _, m := range c.lib.headers() {
		if is, bad := c.recognises(m); is && bad == nil {
			out = append(out, m.Name.Text)
		}
	}
	slices.Sort(out)
	return out
}

// otherwise names the operators and ways of the language for what other libraries call so.
var otherwise = map[string]string{
	"cat": "concatenate", "permute": "transpose", "view": "reshape", "unsqueeze": "expand_dims", "mul": "multiply", "sub": "subtract", "div": "divide", "pow": "power", "neg": "negative",
	"sdpa": "attend", "scaled_dot_product_attention": "attend", "gather": "take_along_axis", "cast": "astype", "to": "astype", "chunk": "split", "relu": "maximum", "full": "constant", "zeros": "zeros_like",
	"layernorm": "layer_norm", "rmsnorm": "rms_norm", "rotary": "rope", "max": "maximum", "min": "minimum", "expand": "broadcast", "broadcast_to": "broadcast", "scatter": "put_along_axis",
}

// activations are the operators that an mlp may have between its parts: of one array, or of gate and up, and of no more.
func (c *composer) activations() []string {
	var out []string
	for _, o := range c.reg.Operators() {
		names := make([]string, len(o.Inputs))
		for i, in := range o.Inputs {
			names[i] = in.Name
		}
		inputs := strings.Join(names, " ")
		if strings.Contains(o.Doc, "ctivation") || inputs == "gate up" {
			out = append(out, o.Name)
		}
	}
	return out
}

// portName is what a port of a kind could be called: some kinds' names are usual ones.
func portName(kind string) string {
	if kind == "mlp" || kind == "experts" {
		return kind
	}
	return "name"
}

// places are the paths that ports stand below.
func (c *composer) places() []string {
	var out []string
	for i := range c.plan.Ports {
		if at := strings.LastIndex(c.plan.Ports[i].Path, "."); at > 0 {
			out = append(out, generalised(c.plan.Ports[i].Path[:at]))
		}
	}
	return out
}

// taking are the classes that take a port's weights as they are stored.
func (c *composer) taking(p *plan.Port) []string {
	var out []string
	for _, name := range c.fitting(p.Kind) {
		if c.accepts(c.reg.Class(name), p) == nil {
			out = append(out, name)
		}
	}
	return out
}

// callWhat advises on what is called and is nothing that can be.
func (c *composer) callWhat(d *diag.Diagnostic, word string, ports, names []string) {
	if kind := port.Kinds[strings.ToLower(word)]; kind != nil {
		more := ""
		if slices.Contains(kind.Keys, "activation") {
			more = ", activation: swiglu"
		}
		if slices.Contains(kind.Keys, "count") {
			more = ", count: n" + more
		}
		d.Helped("%s is a kind of port: declare one, as in `ports: {%s: {%s: [%s]%s}}`, and call it by its name", kind.Name, portName(kind.Name), kind.Name, strings.Join(kind.Dims, ", "), more)
		return
	}
	if help := diag.DidYouMean(word, append(append([]string(nil), ports...), names...)); help != "" {
		d.Helped("%s", help)
		return
	}
	if other := otherwise[strings.ToLower(word)]; other != "" && c.reg.Operator(other) != nil {
		d.Helped("did you mean %s?", other)
		return
	}
	if len(ports) > 0 {
		d.Helped("%s", diag.Listed(word, ports, "ports in scope"))
	}
	var kin []string
	for _, n := range names {
		if len(word) > 2 && (strings.Contains(n, word) || strings.Contains(word, n) && len(n) > 2) {
			kin = append(kin, n)
		}
	}
	switch {
	case len(kin) > 0:
		d.Helped("%s", diag.Listed(word, kin, "of that name there are"))
	default:
		d.Helped("`graphrun ops` lists the operators; a block of your own lies in %s.yaml beside this file", word)
	}
}
