package syntax

import (
	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/port"
)

// reservedKeys are keys of every call.
var reservedKeys = []string{"at", "when", "unless", "repeat", "collect", "state", "doc"}

var portKeys = func() map[string][]string {
	out := map[string][]string{}
	for name, kind := range port.Kinds {
		out[name] = kind.Keys
	}
	return out
}()

func (p *parser) nodes(n *yaml.Node) []Node {
	var out []Node
	for _, item := range p.items(n, "nodes") {
		if item.Kind != yaml.MappingNode {
			p.list.Errorf("bad-node", p.at(item), "a node is `result: call`; this is a %s", source.KindName(item)).Helped("write it as in `- h: {add: [h, r]}`")
			continue
		}
		pairs := p.pairs(item, "a node")
		if len(pairs) == 0 {
			continue
		}
		if len(pairs) > 1 {
			p.list.Errorf("bad-node", pairs[1].key.At, "a node is one `result: call`; %s is a second key", pairs[1].key.Text).
				Because(pairs[0].key.At, "the node's results").
				Helped("begin a new line with `- `, indent %s below the call, or put the call's keys in braces", pairs[1].key.Text)
			continue
		}
		node := Node{Results: p.results(pairs[0].key), At: p.at(item)}
		if seen := duplicate(node.Results); seen != nil {
			p.list.Errorf("bad-node", seen.At, "%s is named twice among the results", seen.Text).Helped("give each result a name of its own")
			continue
		}
		switch v := pairs[0].value; {
		case isNull(v):
			p.list.Errorf("missing-value", pairs[0].key.At, "%s is given no value", pairs[0].key.Text).
				Helped("write the call behind it, as in `- %s: {add: [h, r]}`; below it, its keys are indented further than %s", pairs[0].key.Text, pairs[0].key.Text)
			continue
		case v.Kind == yaml.ScalarNode:
			node.Alias = &Word{v.Value, p.at(v)}
			if len(node.Results) != 1 {
				p.list.Errorf("bad-node", pairs[0].key.At, "an alias has one result, this names %d", len(node.Results)).Helped("write a line for each: `- %s: %s`", node.Results[0].Text, v.Value)
				continue
			}
		default:
			if node.Call = p.call(v); node.Call == nil {
				continue
			}
		}
		out = append(out, node)
	}
	return out
}

// ParseNodes reads a list of nodes that stands in an expression's place, as a derivation's does.
func ParseNodes(e *Expr, list *diag.List) []Node {
	p := &parser{e.File, list}
	return p.nodes(e.Node)
}

func duplicate(words []Word) *Word {
	seen := map[string]bool{}
	for i, w := range words {
		if seen[w.Text] {
			return &words[i]
		}
		seen[w.Text] = true
	}
	return nil
}

func (p *parser) call(n *yaml.Node) *Call {
	pairs := p.pairs(n, "a call")
	if len(pairs) == 0 {
		if n.Kind == yaml.MappingNode {
			help(p.list.Errorf("bad-node", p.at(n), "this call names nothing"), "a call")
		}
		return nil
	}
	c := &Call{Range: p.at(n)}
	for _, kv := range pairs {
		if kv.key.Text == "nodes" {
			c.Anonymous = &Body{}
		}
	}
	for i, kv := range pairs {
		switch {
		case contains(reservedKeys, kv.key.Text) && !(c.Anonymous != nil && kv.key.Text == "state"):
			if i == 0 && c.Anonymous == nil {
				d := p.list.Errorf("bad-node", kv.key.At, "a call's first key names what is called; %s is a key of every call", kv.key.Text)
				for _, other := range pairs {
					if !contains(reservedKeys, other.key.Text) {
						d.Helped("put %s first", other.key.Text)
						break
					}
				}
				return nil
			}
			p.reserved(c, kv)
		case c.Anonymous != nil:
			if !contains(bodyKeys, kv.key.Text) {
				p.unknown(kv.key, "an anonymous body", join(bodyKeys, reservedKeys))
				continue
			}
			p.bodyKey(c.Anonymous, kv)
		case i == 0:
			c.Callee, c.Input = kv.key, p.expr(kv.value)
		default:
			c.Args = append(c.Args, Arg{kv.key, p.expr(kv.value)})
		}
	}
	return c
}

// rejoin finds an unquoted call or list whose comma ended the value inside braces: `eps: pow(10, -5)` reads as a value
// `pow(10` and a key `-5)`.
func (p *parser) rejoin(pairs []pair) []pair {
	out := pairs[:0]
	for i := 0; i < len(pairs); i++ {
		kv := pairs[i]
		out = append(out, kv)
		if isNull(kv.value) || kv.value.Kind != yaml.ScalarNode || kv.value.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			continue
		}
		text, end := kv.value.Value, i
		for open(text) > 0 && end+1 < len(pairs) && isNull(pairs[end+1].value) {
			end++
			text += ", " + pairs[end].key.Text
		}
		if end == i {
			continue
		}
		at := p.at(kv.value)
		at.EndLine, at.EndCol = pairs[end].key.At.EndLine, pairs[end].key.At.EndCol
		p.list.Errorf("yaml-syntax", at, "an unquoted call with a comma: inside braces the comma ends the value").Helped("quote the expression: '%s'", text)
		whole := *kv.value // so that nothing is said of a key that is not there
		whole.Value = text
		out[len(out)-1].value = &whole
		i = end
	}
	return out
}

// open is the number of brackets that are not closed.
func open(text string) int {
	n := 0
	for _, c := range text {
		switch c {
		case '(', '[':
			n++
		case ')', ']':
			n--
		}
	}
	return n
}

func (p *parser) reserved(c *Call, kv pair) {
	switch kv.key.Text {
	case "at":
		c.Path = p.template(kv.key, kv.value)
	case "when":
		c.When = p.need(kv.key, kv.value)
	case "unless":
		c.Unless = p.need(kv.key, kv.value)
	case "doc":
		c.Doc = p.text(kv.key, kv.value)
	case "repeat":
		pairs := p.pairs(kv.value, "repeat")
		if len(pairs) != 1 && kv.value.Kind != yaml.MappingNode {
			if isNull(kv.value) {
				p.missingValue(kv.key, "repeat has no value")
			}
			return
		}
		if len(pairs) != 1 {
			p.list.Errorf("bad-repeat", kv.key.At, "repeat is {index: count} or {index: [first, stop]}").Helped("one repeat has one index; another is a call inside it: `repeat: {i: layers}`, `nodes: [h: {…, repeat: {j: n}}]`")
			return
		}
		p.declared(pairs[0].key, "an index")
		r := &Repeat{Index: pairs[0].key}
		if v := pairs[0].value; v.Kind == yaml.SequenceNode {
			bounds := p.exprs(v, "repeat")
			if len(bounds) != 2 {
				p.list.Errorf("bad-repeat", p.at(v), "repeat takes a count or [first, stop]; this list has %d", len(bounds)).Helped("write it as in `repeat: {%s: [1, layers]}`", pairs[0].key.Text)
				return
			}
			r.First, r.Stop = bounds[0], bounds[1]
		} else {
			r.Stop = p.need(pairs[0].key, v)
		}
		if r.Stop != nil {
			c.Repeat = r
		}
	case "collect":
		for _, x := range p.pairs(kv.value, "collect") {
			p.declared(x.key, "a list of values")
			if w := p.word(x.key, x.value); w != nil {
				c.Collect = append(c.Collect, Pair{x.key, *w})
			}
		}
	case "state":
		if kv.value.Kind != yaml.MappingNode {
			if isNull(kv.value) {
				c.State = &Word{"state", kv.key.At}
			} else {
				c.State = p.word(kv.key, kv.value)
			}
			return
		}
		for _, x := range p.pairs(kv.value, "state") {
			if t := p.template(x.key, x.value); t != nil {
				c.States = append(c.States, Bind{x.key, t})
			}
		}
	}
}

var viewVerbs = map[string][]string{
	"drop":   {"as", "when"},
	"rename": {"to", "when"},
	"each":   {"do", "when"},
	"split":  {"axis", "sizes", "interleave", "into", "when"},
	"stack":  {"over", "to", "when"},
	"join":   {"axis", "to", "when"},
	"derive": {"to", "nodes", "when"},
	"view":   {"when"},
}

func (p *parser) view(n *yaml.Node) []ViewStep {
	var out []ViewStep
	for _, item := range p.items(n, "view") {
		pairs := p.pairs(item, "a view step")
		if len(pairs) == 0 {
			continue
		}
		verbs := registryVerbs()
		s := ViewStep{Verb: pairs[0].key, At: p.at(item)}
		valid, ok := viewVerbs[s.Verb.Text]
		if !ok {
			p.list.Errorf("unknown-view-step", s.Verb.At, "a view has no step %q", s.Verb.Text).Helped("%s", amongAll(s.Verb.Text, verbs, "steps"))
			continue
		}
		if s.Verb.Text != "derive" {
			s.Patterns = p.words(s.Verb, pairs[0].value)
		} else {
			s.Keys = append(s.Keys, Arg{s.Verb, p.expr(pairs[0].value)})
		}
		for _, kv := range pairs[1:] {
			switch {
			case kv.key.Text == "when":
				s.When = p.need(kv.key, kv.value)
			case !contains(valid, kv.key.Text):
				p.unknown(kv.key, "the view step "+s.Verb.Text, valid)
			default:
				s.Keys = append(s.Keys, Arg{kv.key, p.expr(kv.value)})
			}
		}
		out = append(out, s)
	}
	return out
}

func registryVerbs() []string {
	return []string{"drop", "rename", "each", "split", "stack", "join", "derive", "view"}
}
