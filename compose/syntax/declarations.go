package syntax

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/port"
)

var (
	headerKeys = []string{"graphrun", "kind", "name", "doc", "imports"}
	bodyKeys   = []string{"let", "ports", "groups", "weights", "state", "nodes"}

	documentKeys = map[string][]string{
		"model": join(headerKeys, bodyKeys, []string{"params", "recognises", "extends", "view", "in", "out", "entries", "examples"}),
		"block": join(headerKeys, bodyKeys, []string{"params", "in", "out", "compiled"}),
		"variant": join(headerKeys, []string{"of", "requires", "default", "entries", "let", "classes", "set", "bind", "states", "submit",
			"native", "fuse", "verify_cost", "examples"}),
		"rules": join(headerKeys, []string{"let", "rules", "examples"}),
	}
	entryKeys = join(bodyKeys, []string{"of", "requires", "in", "out"})
)

func join(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func (p *parser) documentKey(d *Document, kv pair, keys []string) {
	k, v := kv.key, kv.value
	if !contains(keys, k.Text) {
		p.unknown(k, "a "+d.Kind, keys)
		return
	}
	if !contains(headerKeys, k.Text) && k.Text != "examples" {
		switch d.Kind {
		case "variant":
			p.variantKey(d.Variant, kv)
			return
		case "rules":
			p.rulesKey(d.Rules, kv)
			return
		}
	}
	switch k.Text {
	case "name":
		if w := p.word(k, v); w != nil {
			d.Name = *w
		}
	case "doc":
		d.Doc = p.text(k, v)
	case "imports":
		d.Imports = p.words(k, v)
	case "params":
		d.Params = p.params(v)
	case "recognises":
		d.Recognises = p.need(k, v)
	case "extends":
		d.Extends = p.word(k, v)
	case "view":
		d.View = p.view(v)
	case "compiled":
		if d.Compiled = p.word(k, v); d.Compiled != nil && !contains([]string{"shapeless", "by_shape"}, d.Compiled.Text) {
			p.list.Errorf("bad-word", d.Compiled.At, "compiled is shapeless or by_shape, not %s", d.Compiled.Text).Among(d.Compiled.Text, []string{"shapeless", "by_shape"}, "one of")
		}
	case "in":
		d.In = p.inputs(v)
	case "out":
		d.Out = p.outputs(v)
	case "entries":
		for _, e := range p.pairs(v, "entries") {
			d.Entries = append(d.Entries, p.entry(e))
		}
	case "examples":
		d.Examples = p.items(v, "examples")
	default:
		p.bodyKey(&d.Body, kv)
	}
}

func (p *parser) entry(kv pair) *Entry {
	p.declared(kv.key, "an entry")
	e := &Entry{Name: kv.key}
	for _, x := range p.pairs(kv.value, "an entry") {
		switch x.key.Text {
		case "of":
			e.Of = p.word(x.key, x.value)
		case "requires":
			e.Requires = p.need(x.key, x.value)
		case "in":
			e.In = p.inputs(x.value)
		case "out":
			e.Out = p.outputs(x.value)
		default:
			if !contains(bodyKeys, x.key.Text) {
				p.unknown(x.key, "an entry", entryKeys)
				continue
			}
			p.bodyKey(&e.Body, x)
		}
	}
	return e
}

// bodyKey reads what declares names; the key is one of bodyKeys.
func (p *parser) bodyKey(b *Body, kv pair) {
	switch kv.key.Text {
	case "let":
		b.Let = p.letsOf(kv.value)
	case "ports":
		for _, x := range p.pairs(kv.value, "ports") {
			if decl, ok := p.port(x); ok {
				b.Ports = append(b.Ports, decl)
			}
		}
	case "groups":
		for _, x := range p.pairs(kv.value, "groups") {
			p.declaredPath(x.key, "a group")
			b.Groups = append(b.Groups, Group{x.key, p.words(x.key, x.value)})
		}
	case "weights":
		for _, x := range p.pairs(kv.value, "weights") {
			b.Weights = append(b.Weights, p.weight(x))
		}
	case "state":
		for _, x := range p.pairs(kv.value, "state") {
			if s, ok := p.state(x); ok {
				b.States = append(b.States, s)
			}
		}
	case "nodes":
		b.NodesAt = kv.key.At
		b.Nodes = p.nodes(kv.value)
	}
}

var paramTypes = []string{"int", "float", "bool", "string", "map", "dims", "ints", "floats", "bools", "strings"}

func (p *parser) params(n *yaml.Node) []Param {
	var out []Param
	for _, x := range p.pairs(n, "params") {
		p.declared(x.key, "a parameter")
		if contains(reservedKeys, x.key.Text) {
			p.list.Errorf("reserved-name", x.key.At, "%s is a key of every call and cannot be a parameter", x.key.Text).Helped("give it another name")
		}
		param := Param{Name: x.key}
		switch v := x.value; {
		case v.Kind == yaml.ScalarNode && !isNull(v):
			param.Type = Word{v.Value, p.at(v)}
		case v.Kind == yaml.MappingNode && len(v.Content) == 2:
			kv := p.pairs(v, "a parameter")[0]
			param.Type = kv.key
			if param.Default = p.expr(kv.value); param.Default == nil {
				p.list.Errorf("missing-value", kv.key.At, "the default of %s has no value", x.key.Text).Helped("write `%s: %s` for a parameter that must be given", x.key.Text, kv.key.Text)
			}
		default:
			p.list.Errorf("bad-parameter", p.at(orNull(v)), "a parameter is a type, or {type: default}").Helped("for example `%s: int` or `%s: {int: 0}`", x.key.Text, x.key.Text)
			continue
		}
		if !contains(paramTypes, param.Type.Text) {
			d := p.list.Errorf("unknown-type", param.Type.At, "no parameter has the type %q", param.Type.Text)
			if is := defaultType(x.value); is != "" {
				d.Helped("a default stands behind its type: `%s: {%s: %s}`", x.key.Text, is, x.value.Value)
			} else {
				d.Helped("%s", amongAll(param.Type.Text, paramTypes, "types"))
			}
			param.Type.Text = "any" // what uses it is not at fault
		}
		out = append(out, param)
	}
	return out
}

// defaultType is the type of a value that stands where a type does; "": it is a word.
func defaultType(n *yaml.Node) string {
	return map[string]string{"!!bool": "bool", "!!int": "int", "!!float": "float"}[n.ShortTag()]
}

func (p *parser) inputs(n *yaml.Node) []Input {
	var out []Input
	for _, x := range p.pairs(n, "in") {
		in := Input{Name: x.key}
		p.declared(x.key, "an input")
		in.Dims, in.Dtype, in.Optional = p.typed(x, "an input")
		out = append(out, in)
	}
	return out
}

func (p *parser) outputs(n *yaml.Node) []Output {
	var out []Output
	for _, x := range p.pairs(n, "out") {
		o := Output{Name: x.key}
		o.Dims, o.Dtype, o.Optional = p.typed(x, "an output")
		out = append(out, o)
	}
	return out
}

// typed is a list of dims, `int32 [B, T]`'s long form {shape, dtype, optional}, or nothing.
func (p *parser) typed(x pair, what string) (dims []*Expr, dtype *Word, optional bool) {
	if x.value.Kind != yaml.MappingNode {
		return p.exprs(x.value, what), nil, false
	}
	for _, kv := range p.pairs(x.value, what) {
		switch kv.key.Text {
		case "shape":
			dims = p.exprs(kv.value, "shape")
		case "dtype":
			dtype = p.word(kv.key, kv.value)
		case "optional":
			optional = p.boolean(kv.key, kv.value)
		default:
			p.unknown(kv.key, what, []string{"shape", "dtype", "optional"})
		}
	}
	return dims, dtype, optional
}

func (p *parser) weight(x pair) Weight {
	p.declaredPath(x.key, "a weight")
	w := Weight{Name: x.key}
	if x.value.Kind != yaml.MappingNode {
		w.Dims = p.exprs(x.value, "a weight's shape")
		return w
	}
	for _, kv := range p.pairs(x.value, "a weight") {
		switch kv.key.Text {
		case "shape":
			w.Dims = p.exprs(kv.value, "shape")
		case "dtype":
			w.Dtype = p.word(kv.key, kv.value)
		case "when":
			w.When = p.need(kv.key, kv.value)
		case "optional":
			w.Optional = p.boolean(kv.key, kv.value)
		default:
			p.unknown(kv.key, "a weight", []string{"shape", "dtype", "when", "optional"})
		}
	}
	return w
}

// states: {cache: {heads, dim}} or {array: [dims], dtype: float32}.
func (p *parser) state(x pair) (State, bool) {
	p.declared(x.key, "a state")
	s := State{Name: x.key}
	for _, kv := range p.pairs(x.value, "a state") {
		switch kv.key.Text {
		case "cache":
			s.Kind = kv.key
			for _, f := range p.pairs(kv.value, "cache") {
				s.Fields = append(s.Fields, Arg{f.key, p.expr(f.value)})
			}
		case "array":
			s.Kind = kv.key
			s.Dims = p.exprs(kv.value, "array")
		case "dtype":
			s.Dtype = p.word(kv.key, kv.value)
		default:
			p.unknown(kv.key, "a state", []string{"cache", "array", "dtype"})
			return s, false
		}
	}
	if s.Kind.Text == "" {
		p.list.Errorf("missing-key", x.key.At, "the state %s says no kind", x.key.Text).Helped("write {cache: {heads, dim}} or {array: [dims]}")
		return s, false
	}
	return s, true
}

var portKinds = port.Declared()

func (p *parser) port(x pair) (Port, bool) {
	p.declaredPath(x.key, "a port")
	port := Port{Name: x.key}
	pairs := p.pairs(x.value, "a port")
	for _, kv := range pairs {
		if contains(portKinds, kv.key.Text) {
			if port.Kind.Text != "" {
				p.list.Errorf("port-kind", kv.key.At, "the port %s has two kinds", x.key.Text).Because(port.Kind.At, "the first").Helped("declare a port for each: `a: {linear: …}`, `b: {head: …}`")
				return port, false
			}
			port.Kind, port.Dims = kv.key, p.exprs(kv.value, kv.key.Text)
		}
	}
	if port.Kind.Text == "" {
		d := p.list.Errorf("port-kind", x.key.At, "the port %s says no kind", x.key.Text)
		for _, kv := range pairs {
			if help := diag.DidYouMean(kv.key.Text, portKinds); help != "" {
				d.At = kv.key.At
				d.Helped("%s", help)
				return port, false
			}
		}
		d.Helped("write it as in `%s: {linear: [in, out]}`; kinds: %s", x.key.Text, strings.Join(portKinds, ", "))
		return port, false
	}
	valid := portKeys[port.Kind.Text]
	for _, kv := range pairs {
		switch k := kv.key.Text; {
		case k == port.Kind.Text:
		case !contains(valid, k):
			p.unknown(kv.key, "a port of kind "+port.Kind.Text, valid)
		case k == "at":
			port.At = p.template(kv.key, kv.value)
		case k == "bias":
			port.Bias = p.need(kv.key, kv.value)
		case k == "count":
			port.Count = p.need(kv.key, kv.value)
		case k == "tied":
			port.Tied = p.template(kv.key, kv.value)
		case k == "when_tied":
			port.WhenTied = p.need(kv.key, kv.value)
		case k == "activation":
			port.Activation = p.activations(kv.key, kv.value)
		case k == "parts":
			port.Parts = p.parts(kv.value)
		}
	}
	return port, true
}

func (p *parser) parts(n *yaml.Node) []Part {
	var out []Part
	for _, kv := range p.pairs(n, "parts") {
		if !contains([]string{"gate", "up", "down", "gate_up"}, kv.key.Text) {
			p.unknown(kv.key, "parts", []string{"gate", "up", "down", "gate_up"})
			continue
		}
		if w := p.word(kv.key, kv.value); w != nil {
			out = append(out, Part{kv.key, *w})
		}
	}
	return out
}

func (p *parser) activations(k Word, n *yaml.Node) []Activation {
	if n.Kind == yaml.SequenceNode {
		var out []Activation
		for _, c := range p.items(n, "activation") {
			out = append(out, p.activation(k, c)...)
		}
		return out
	}
	return p.activation(k, n)
}

func (p *parser) activation(k Word, n *yaml.Node) []Activation {
	if n.Kind != yaml.MappingNode {
		if w := p.word(k, n); w != nil {
			return []Activation{{Name: *w}}
		}
		return nil
	}
	var a Activation
	for _, kv := range p.pairs(n, "activation") {
		switch {
		case kv.key.Text == "when":
			a.When = p.need(kv.key, kv.value)
		case a.Name.Text != "":
			p.list.Errorf("unknown-key", kv.key.At, "an activation is one name with its parameters; this is a second").Because(a.Name.At, "the first").Helped("its parameters stand below its name, as in `{swiglu_oai: {limit: 7.0}}`; a choice is a list: `[{silu: {}, when: …}, gelu]`")
		default:
			a.Name = kv.key
			for _, f := range p.pairs(source.Deref(kv.value), "the activation's parameters") {
				a.Args = append(a.Args, Arg{f.key, p.expr(f.value)})
			}
		}
	}
	if a.Name.Text == "" {
		help(p.list.Errorf("missing-key", p.at(n), "this activation has no name"), "activation")
		return nil
	}
	return []Activation{a}
}
