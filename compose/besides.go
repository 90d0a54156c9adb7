package compose

import (
	"strconv"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/registry"
)

// checkBesides checks a variant or rules for what needs no model and no facts: names, patterns, classes, the types of all
// expressions. Each file is looked at once.
func (c *composer) checkBesides(doc *syntax.Document) bool {
	if good, done := c.lib.besides[doc]; done {
		return good
	}
	b := &besides{c: c, doc: doc, good: !c.lib.list.In(doc.File.Path)} // what reading found must be mended first
	scope := facts{}
	for _, name := range []string{"device", "checkpoint", "request"} {
		scope[name] = expr.Record(name, nil)
	}
	switch {
	case doc.Variant != nil:
		b.variant(doc.Variant, scope)
	case doc.Rules != nil:
		number := expr.Value{Type: expr.Float}
		b.rules(doc.Rules, scope.with(facts{"plan": expr.Record("plan", nil), "KiB": number, "MiB": number, "GiB": number}))
	}
	c.lib.besides[doc] = b.good
	return b.good
}

// besides checks one document; its scopes have types and no values.
type besides struct {
	c    *composer
	doc  *syntax.Document
	good bool
}

func (b *besides) errorf(code string, at diag.Range, format string, args ...any) *diag.Diagnostic {
	b.good = false
	return b.c.list.Errorf(code, at, format, args...)
}

// typeOf is the type of what stands in an expression's place.
func (b *besides) typeOf(e *syntax.Expr, scope expr.Scope) (*expr.Type, bool) {
	if v, is, bad := literal(e.Node); is {
		if bad != "" {
			b.good = false
			badNumber(b.c.list, e.At(), bad)
		}
		return v.Type, bad == ""
	}
	t, err := b.c.ex.Check(e.Node.Value, scope)
	if err != nil {
		b.good = false
		b.c.exprError(e.File, e.Node, 0, err)
		return nil, false
	}
	return t, true
}

// typed holds an expression to a type; nil is none.
func (b *besides) typed(e *syntax.Expr, scope facts, want, what string) {
	if e == nil {
		return
	}
	t, ok := b.typeOf(e, scope)
	if !ok || t == expr.Dyn {
		return
	}
	if have := expr.TypeName(t); have != want && !(want == "float" && have == "int") {
		otherType(b.errorf("parameter-type", e.At(), "%s is of type %s; this is of type %s", what, want, have), want, have)
	}
}

func (b *besides) lets(lets []syntax.Let, scope facts) facts {
	out := scope.with(nil)
	for _, l := range lets {
		if _, twice := out[l.Name.Text]; twice {
			b.errorf("name-hidden", l.Name.At, "the let %s hides a name that is there already", l.Name.Text).Helped("give it another name")
			continue
		}
		t, ok := b.typeOf(l.Value, out)
		if !ok {
			t = expr.Dyn // reported; what uses it is not
		}
		out[l.Name.Text] = expr.Value{Type: t}
	}
	return out
}

func (b *besides) patterns(words []syntax.Word) {
	for _, w := range words {
		if _, ok := b.c.compilePattern(w); !ok {
			b.good = false
		}
	}
}

func (b *besides) variant(v *syntax.Variant, scope facts) {
	b.typed(v.Requires, scope, "bool", "requires")
	scope = b.lets(v.Let, scope)
	weight := expr.Record("weight", nil)
	port := scope.with(facts{"port": expr.Record("port", nil), "weight": weight, "gate_proj": weight, "up_proj": weight, "down_proj": weight, "gate_up": weight})
	for i := range v.Classes {
		b.class(v, &v.Classes[i].Class, port)
	}
	for i := range v.Set {
		b.patterns(v.Set[i].Patterns)
	}
	for i := range v.Bind {
		line := &v.Bind[i]
		b.patterns(line.Patterns)
		for _, k := range line.Kinds {
			if !containsString(kindNames, k.Text) {
				b.errorf("bad-word", k.At, "there is no kind of port %s", k.Text).Among(k.Text, kindNames, "kinds")
			}
		}
		b.typed(line.When, port, "bool", "a condition")
		b.table(v, line.Rows, scope, port)
	}
	for i := range v.States {
		line := &v.States[i]
		b.patterns(line.Patterns)
		inner := scope.with(facts{"state": expr.Record("state", nil)})
		b.typed(line.When, inner, "bool", "a condition")
		b.table(v, line.Read, scope, inner)
	}
	for _, r := range v.Submit {
		b.row(v, r.Row, scope)
		for _, a := range r.Args {
			want := "int"
			if a.Name.Text == "states" {
				want = "bool"
			}
			b.typed(a.Value, scope, want, a.Name.Text)
		}
	}
	for _, cost := range v.Verify {
		b.typed(cost.Cost, scope, "float", "a cost")
	}
}

func (b *besides) table(v *syntax.Variant, rows []syntax.RowEntry, scope, inner facts) {
	for i := range rows {
		b.row(v, rows[i].Row, scope)
		b.class(v, &rows[i].Class, inner)
	}
}

// row holds the names in a row table's key to int lets.
func (b *besides) row(v *syntax.Variant, r syntax.Row, scope facts) {
	for _, w := range []syntax.Word{r.First, r.Last} {
		if _, err := strconv.Atoi(w.Text); err == nil || w.Text == "" {
			continue
		}
		known, ok := scope[w.Text]
		switch {
		case !ok || letIndex(v.Let, w.Text) < 0:
			b.errorf("unknown-name", w.At, "%s is no int let of the variant", w.Text).Among(w.Text, letNames(v.Let), "lets")
		case known.Type != expr.Int && known.Type != expr.Dyn:
			otherType(b.errorf("parameter-type", w.At, "a row count is an int; %s is of type %s", w.Text, expr.TypeName(known.Type)), "int", expr.TypeName(known.Type))
		}
	}
}

// class checks the names, parameters and conditions of a class or of a choice among some.
func (b *besides) class(v *syntax.Variant, spec *syntax.ClassSpec, scope facts) {
	for i := range spec.Choices {
		choice := &spec.Choices[i]
		b.typed(choice.When, scope, "bool", "a condition")
		if choice.Adapted != nil {
			b.class(v, choice.Adapted, scope)
		}
		if named := namedIn(v, choice.Name.Text); named != nil {
			if len(choice.Args) > 0 {
				b.errorf("unknown-parameter", choice.Args[0].Name.At, "%s is a class with its parameters already", choice.Name.Text).Because(named.Name.At, "named here").
					Helped("write them there, or name the class itself")
			}
			continue
		}
		class := b.c.reg.Class(choice.Name.Text)
		if class == nil {
			b.c.unknownClass(v, choice.Name)
			b.good = false
			continue
		}
		b.args(class, choice.Args, scope)
	}
}

func (b *besides) args(class *registry.Class, args []syntax.Arg, scope facts) {
	for _, a := range args {
		var p *registry.Param
		for i := range class.Params {
			if class.Params[i].Name == a.Name.Text {
				p = &class.Params[i]
			}
		}
		switch {
		case p == nil:
			noParameter(b.errorf("unknown-parameter", a.Name.At, "%s has no parameter %s", class.Name, a.Name.Text), a.Name.Text, paramNames(class.Params))
		case a.Value != nil && p.Type != "class" && p.Type != "string":
			b.typed(a.Value, scope, p.Type, class.Name+"'s parameter "+p.Name)
		}
	}
}

// namedIn finds a variant's own name of a class.
func namedIn(v *syntax.Variant, name string) *syntax.NamedClass {
	for i := range v.Classes {
		if v.Classes[i].Name.Text == name {
			return &v.Classes[i]
		}
	}
	return nil
}

func (b *besides) rules(r *syntax.Rules, scope facts) {
	scope = b.lets(r.Let, scope)
	for i := range r.Rules {
		rule := &r.Rules[i]
		b.typed(rule.When, scope, "bool", "when")
		inner := b.lets(rule.Let, scope)
		if rule.Each != nil && rule.As != nil {
			if t, ok := b.typeOf(rule.Each, inner); ok && t != expr.Dyn {
				item, isList := expr.ElementOf(t)
				if !isList {
					b.errorf("parameter-type", rule.Each.At(), "each is a list; this is of type %s", expr.TypeName(t)).Helped("the plan's lists are plan.ports, plan.states and plan.entries")
				}
				inner = inner.with(facts{rule.As.Text: {Type: item}})
			} else {
				continue // what the members are is not known
			}
		}
		b.typed(rule.Assert, inner, "bool", "assert")
		b.template(rule.Message, inner)
	}
}

// template checks the expressions in a message.
func (b *besides) template(t *syntax.Template, scope facts) {
	if t == nil {
		return
	}
	parts, open := templateParts(t.Text)
	if open >= 0 {
		b.errorf("template", t.File.Within(t.Node, open, 1), "this brace is not closed").Helped("close it, or write {{ for a brace of the text")
	}
	for _, part := range parts {
		if _, err := b.c.ex.Check(part.text, scope); err != nil {
			b.good = false
			b.c.exprError(t.File, t.Node, part.at, err)
		}
	}
}

// part is an {expression} of a template, with where it begins in the text.
type part struct {
	text string
	at   int
}

// templateParts are the expressions of a template, and where a brace begins that is not closed; -1: there is none.
func templateParts(text string) (out []part, open int) {
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		if runes[i] != '{' {
			continue
		}
		if i+1 < len(runes) && runes[i+1] == '{' {
			i++
			continue
		}
		end := i + 1
		for end < len(runes) && runes[end] != '}' {
			end++
		}
		if end == len(runes) {
			return out, i
		}
		out = append(out, part{string(runes[i+1 : end]), i + 1})
		i = end
	}
	return out, -1
}
