package syntax

import "gopkg.in/yaml.v3"

// Rules is what a rules document says beside its header.
type Rules struct {
	Let   []Let
	Rules []Rule
}

// Rule is what a plan must hold.
type Rule struct {
	Name     Word
	Doc      string
	Severity string // error, warning, note
	When     *Expr
	Let      []Let
	Each     *Expr
	As       *Word
	Assert   *Expr
	Message  *Template
}

var ruleKeys = []string{"name", "doc", "severity", "when", "let", "each", "as", "assert", "message"}

func (p *parser) rulesKey(r *Rules, kv pair) {
	switch kv.key.Text {
	case "let":
		r.Let = p.letsOf(kv.value)
	case "rules":
		for _, item := range p.items(kv.value, "rules") {
			r.Rules = append(r.Rules, p.rule(item))
		}
	}
}

func (p *parser) letsOf(n *yaml.Node) []Let {
	var out []Let
	for _, x := range p.pairs(n, "let") {
		p.declared(x.key, "a let")
		if isNull(x.value) {
			p.list.Errorf("missing-value", x.key.At, "%s has no value", x.key.Text).Helped("write an expression, as in `%s: config.int('hidden_size')`", x.key.Text)
			continue
		}
		out = append(out, Let{x.key, p.expr(x.value)})
	}
	return out
}

func (p *parser) rule(n *yaml.Node) Rule {
	r := Rule{Severity: "error"}
	pairs := p.pairs(n, "a rule")
	for _, kv := range pairs {
		switch kv.key.Text {
		case "name":
			if w := p.word(kv.key, kv.value); w != nil {
				r.Name = *w
			}
		case "doc":
			r.Doc = p.text(kv.key, kv.value)
		case "severity":
			if w := p.word(kv.key, kv.value); w != nil {
				r.Severity = w.Text
				if !contains([]string{"error", "warning", "note"}, w.Text) {
					p.list.Errorf("bad-word", w.At, "severity is error, warning or note, not %s", w.Text).Among(w.Text, []string{"error", "warning", "note"}, "one of")
				}
			}
		case "when":
			r.When = p.need(kv.key, kv.value)
		case "let":
			r.Let = p.letsOf(kv.value)
		case "each":
			r.Each = p.need(kv.key, kv.value)
		case "as":
			if r.As = p.word(kv.key, kv.value); r.As != nil {
				p.declared(*r.As, "an item")
			}
		case "assert":
			r.Assert = p.need(kv.key, kv.value)
		case "message":
			r.Message = p.template(kv.key, kv.value)
		default:
			p.unknown(kv.key, "a rule", ruleKeys)
		}
	}
	at := p.at(n)
	switch {
	case misspelt(pairs, "name", ruleKeys) || misspelt(pairs, "assert", ruleKeys) || misspelt(pairs, "each", ruleKeys):
	case r.Name.Text == "":
		help(p.missingKey(at, "this rule", "name"), "a rule")
	case r.Assert == nil:
		help(p.missingKey(r.Name.At, "the rule "+r.Name.Text, "assert"), "assert")
	case (r.Each == nil) != (r.As == nil):
		has, lacks := "each", "as"
		if r.Each == nil {
			has, lacks = lacks, has
		}
		p.list.Errorf("missing-key", r.Name.At, "the rule %s has %s and no key %s", r.Name.Text, has, lacks).Helped("write both, as in `each: plan.ports`, `as: p`: then assert is asked of each p")
	}
	return r
}
