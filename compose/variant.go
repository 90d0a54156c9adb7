package compose

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/pattern"
)

// variant is a variant document that is in force, its lets evaluated.
type variant struct {
	doc   *syntax.Document
	scope facts
	sets  []*setLine
}

// setLine is a line of set with its compiled patterns and whether it found anything.
type setLine struct {
	spec     *syntax.SetLine
	owner    *variant
	patterns []*pattern.Pattern // none: the model's own parameters
	used     map[string]bool    // parameters that some block at the path has
}

// facts is the scope of a variant's expressions: its lets, the records of the device, the checkpoint and the request,
// and those of a port or state where a line speaks of one.
type facts map[string]expr.Value

func (f facts) TypeOf(name string) (*expr.Type, bool) {
	v, ok := f[name]
	return v.Type, ok
}

func (f facts) ValueOf(name string) (expr.Value, error) {
	v, ok := f[name]
	if !ok {
		return v, fmt.Errorf("%s is not a name here", name)
	}
	return v, nil
}

func (f facts) Names() []string { return sortedKeys(f) }

// with is the scope with more names.
func (f facts) with(more facts) facts {
	out := facts{}
	for _, m := range []facts{f, more} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// known are the facts that every variant and rule may ask.
func (c *composer) known() facts {
	d, u := c.req.Device, c.req.Use
	fingerprint, format := "", ""
	if e := c.declared; e != nil {
		fingerprint, format = e.Fingerprint, e.Format
	}
	if c.req.Checkpoint != nil {
		format = or(format, c.req.Checkpoint.Format)
		if fingerprint == "" {
			fingerprint = c.fingerprint()
		}
	}
	return facts{
		"device":     expr.Record("device", map[string]any{"kind": or(d.Kind, "cpu"), "arch": d.Arch, "ane": d.ANE, "memory": d.Memory}),
		"checkpoint": expr.Record("checkpoint", map[string]any{"fingerprint": fingerprint, "format": format}),
		"request": expr.Record("request", map[string]any{"context": or(u.Context, 4096), "batch": or(u.Batch, 1), "draft_tokens": u.DraftTokens,
			"chunk": or(u.Chunk, 2048), "memory_budget": u.MemoryBudget, "adapters": u.Adapters, "kv": u.KV}),
	}
}

// loadVariants reads the variants that are in force: the shipped defaults whose condition holds, then those asked for.
func (c *composer) loadVariants(model *syntax.Document) bool {
	base := c.known()
	good := true
	if !c.req.Exact && c.req.Shipped != nil {
		files, _ := fs.ReadDir(c.req.Shipped, "variants")
		for _, f := range files {
			text, _ := fs.ReadFile(c.req.Shipped, "variants/"+f.Name())
			if !bytes.Contains(text, []byte("\ndefault:")) { // most are not, and need not be read for it
				continue
			}
			doc := c.lib.readShipped("variants/" + f.Name())
			if doc == nil || c.asks(doc) || doc.Kind != "variant" || doc.Variant == nil || !doc.Variant.Default || !c.isOf(doc, model) {
				continue
			}
			if !c.checkBesides(doc) {
				good = false
				continue
			}
			ok, holds := c.addVariant(doc, base, false)
			good = good && (ok || !holds)
		}
	}
	asked := make([]*syntax.Document, 0, len(c.req.Variants)+1)
	for _, name := range c.req.Variants {
		asked = append(asked, c.variantDocument(name))
	}
	if c.besides != nil && c.besides.Kind == "variant" {
		asked = append(asked, c.besides)
	}
	for _, doc := range asked {
		if doc == nil || !c.checkBesides(doc) {
			good = false
			continue
		}
		if !c.isOf(doc, model) {
			c.list.Errorf("variant-of-another", doc.Name.At, "the variant %s is of %s; this model is %s", doc.Name.Text, wordList(doc.Variant.Of), model.Name.Text).
				Helped("if its lines hold for %s too, write `of: [%s, %s]`", model.Name.Text, wordList(doc.Variant.Of), model.Name.Text)
			good = false
			continue
		}
		ok, _ := c.addVariant(doc, base, true)
		good = good && ok
	}
	for _, v := range c.variants {
		c.plan.Variants = append(c.plan.Variants, v.doc.Name.Text)
	}
	return good
}

// asks tells whether the request names a variant itself, so that it is not taken by default as well.
func (c *composer) asks(doc *syntax.Document) bool {
	return c.besides != nil && c.besides.Kind == "variant" && c.besides.Name.Text == doc.Name.Text || containsString(c.req.Variants, doc.Name.Text)
}

func (c *composer) isOf(doc, model *syntax.Document) bool {
	for _, w := range doc.Variant.Of {
		if w.Text == "*" || w.Text == model.Name.Text || model.Extends != nil && w.Text == model.Extends.Text {
			return true
		}
	}
	return false
}

func wordList(words []syntax.Word) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return strings.Join(out, ", ")
}

// variantDocument finds a variant by the path of its file or the name of a shipped one.
func (c *composer) variantDocument(name string) *syntax.Document {
	var doc *syntax.Document
	switch {
	case strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.ContainsAny(name, `/\`):
		doc = c.lib.open(name)
	default:
		doc = c.lib.readShipped("variants/" + name + ".yaml")
		if doc == nil {
			d := c.list.Errorf("unknown-variant", diag.Range{File: name}, "no variant %s is shipped; a file of your own is named by its path", name)
			d.Among(name, c.lib.shippedNames("variants"), "shipped")
			return nil
		}
	}
	if doc == nil {
		return nil
	}
	if doc.Kind != "variant" || doc.Variant == nil {
		c.list.Errorf("not-a-variant", doc.Name.At, "%s is a %s, not a variant", doc.File.Path, doc.Kind).Helped("name a file with `kind: variant`")
		return nil
	}
	return doc
}

// addVariant takes a variant into force where its condition holds; one that was asked for must hold.
func (c *composer) addVariant(doc *syntax.Document, base facts, asked bool) (ok, holds bool) {
	v := &variant{doc: doc, scope: base.with(nil)}
	spec := doc.Variant
	if spec.Requires != nil {
		is, good := c.truth(spec.Requires, v.scope, "requires")
		switch {
		case !good:
			return false, true
		case !is && !asked:
			return true, false
		case !is:
			d := c.list.Errorf("variant-requires", spec.Requires.At(), "the variant %s does not hold here: %s is false", doc.Name.Text, spec.Requires.Node.Value)
			for _, name := range c.ex.Names(spec.Requires.Node.Value) {
				if fields := showRecord(v.scope[name]); fields != "" {
					d.Helped("%s is %s", name, fields)
				}
			}
			return false, false
		}
	}
	good := true
	for _, l := range spec.Let {
		if _, twice := v.scope[l.Name.Text]; twice {
			c.list.Errorf("name-hidden", l.Name.At, "the let %s hides a name that is there already", l.Name.Text).Helped("give it another name")
			good = false
			continue
		}
		val, ok := c.evalFacts(l.Value, v.scope)
		if !ok {
			good = false
			continue
		}
		v.scope[l.Name.Text] = val
	}
	for i := range spec.Set {
		line := &setLine{spec: &spec.Set[i], owner: v, used: map[string]bool{}}
		for _, w := range spec.Set[i].Patterns {
			p, ok := c.compilePattern(w)
			good = good && ok
			line.patterns = append(line.patterns, p)
		}
		v.sets = append(v.sets, line)
	}
	if good {
		c.variants = append(c.variants, v)
	}
	return good, true
}

func showRecord(v expr.Value) string {
	if v.Type == nil {
		return ""
	}
	fields := expr.RecordFields(v.Type.String())
	var parts []string
	for _, name := range sortedKeys(fields) {
		parts = append(parts, fmt.Sprintf("%s: %s", name, expr.Field(v, name).Show()))
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// evalFacts evaluates an expression of a variant or rule.
func (c *composer) evalFacts(e *syntax.Expr, scope expr.Scope) (expr.Value, bool) {
	if v, is, bad := literal(e.Node); is {
		if bad != "" {
			badNumber(c.list, e.At(), bad)
		}
		return v, bad == ""
	}
	v, err := c.ex.Eval(e.Node.Value, scope)
	if err != nil {
		c.exprError(e.File, e.Node, 0, err)
		return v, false
	}
	return v, true
}

// truth is the value of a condition, what by name; not ok: it has none, which is reported.
func (c *composer) truth(e *syntax.Expr, scope expr.Scope, what string) (holds, ok bool) {
	v, ok := c.evalFacts(e, scope)
	if !ok {
		return false, false
	}
	if holds, ok = v.Bool(); !ok {
		otherType(c.list.Errorf("parameter-type", e.At(), "%s is of type bool; this is of type %s", what, expr.TypeName(v.Type)), "bool", expr.TypeName(v.Type))
	}
	return holds, ok
}

func (c *composer) compilePattern(w syntax.Word) (*pattern.Pattern, bool) {
	p, err := pattern.Compile(w.Text)
	if err != nil {
		at, message := w.At, err.Error()
		if pe, ok := err.(*pattern.Error); ok {
			at.Col += pe.Column - 1
			at.EndCol, message = at.Col+1, pe.Message
		}
		d := c.list.Errorf("bad-pattern", at, "%s", message)
		if strings.Contains(message, "{") {
			d.Helped("in a pattern `{i}` captures one segment and `{a,b}` are alternatives")
		}
		return nil, false
	}
	return p, true
}

// overrides gives the last line of set that speaks of a parameter at a path; root is the model's own.
func (c *composer) overrides(prefix string, root bool, name string) (*syntax.Arg, *variant) {
	for i := len(c.variants) - 1; i >= 0; i-- {
		v := c.variants[i]
		for k := len(v.sets) - 1; k >= 0; k-- {
			line := v.sets[k]
			if root != (len(line.patterns) == 0) || !root && !matchesAny(line.patterns, prefix) {
				continue
			}
			for a := range line.spec.Args {
				if line.spec.Args[a].Name.Text == name {
					line.used[name] = true
					return &line.spec.Args[a], v
				}
			}
		}
	}
	return nil, nil
}

func matchesAny(patterns []*pattern.Pattern, name string) bool {
	for _, p := range patterns {
		if p != nil && p.Matches(name) {
			return true
		}
	}
	return false
}

// setsModel tells whether a variant sets parameters of the model itself.
func (c *composer) setsModel() bool {
	for _, v := range c.variants {
		for _, line := range v.sets {
			if len(line.patterns) == 0 {
				return true
			}
		}
	}
	return false
}

// checkSets reports lines of set that found no such parameter.
func (c *composer) checkSets() {
	for _, v := range c.variants {
		for _, line := range v.sets {
			for _, a := range line.spec.Args {
				if !line.used[a.Name.Text] {
					where := "the model has none"
					if len(line.patterns) > 0 {
						where = "no block at " + wordList(line.spec.Patterns) + " has one"
					}
					d := c.list.Errorf("set-no-match", a.Name.At, "nothing takes the parameter %s: %s with a default", a.Name.Text, where)
					var with []string
					var without *syntax.Document
					if len(line.patterns) > 0 {
						with, without = c.settable(a.Name.Text)
					} else {
						with = blockParams(c.model)
					}
					if without != nil {
						d.Because(without.Name.At, "%s has it, without a default: its calls give it", without.Name.Text)
					}
					if containsString(with, a.Name.Text) && len(line.patterns) > 0 {
						d.Among(line.spec.Patterns[0].Text, c.places(), "blocks and ports stand at")
						continue
					}
					d.Among(a.Name.Text, with, "parameters with a default")
				}
			}
		}
	}
}
