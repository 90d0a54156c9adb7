package syntax

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

type parser struct {
	file *source.File
	list *diag.List
}

type pair struct {
	key   Word
	value *yaml.Node
}

func (p *parser) at(n *yaml.Node) diag.Range { return p.file.Range(n) }

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// pairs are the keys of a mapping in order, without those that strict reading refused.
func (p *parser) pairs(n *yaml.Node, what string) []pair {
	n = source.Deref(n)
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		p.wanted(n, what, yaml.MappingNode)
		return nil
	}
	out := make([]pair, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := source.Deref(n.Content[i])
		if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" || slices.ContainsFunc(out, func(p pair) bool { return p.key.Text == k.Value }) {
			continue
		}
		out = append(out, pair{Word{k.Value, p.at(n.Content[i])}, source.Deref(n.Content[i+1])})
	}
	if n.Style&yaml.FlowStyle != 0 {
		return p.rejoin(out)
	}
	return out
}

// list of items, each with its node.
func (p *parser) items(n *yaml.Node, what string) []*yaml.Node {
	n = source.Deref(n)
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		p.wanted(n, what, yaml.SequenceNode)
		return nil
	}
	out := make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out[i] = source.Deref(c)
	}
	return out
}

// unknown reports a key that has no meaning where it stands.
func (p *parser) unknown(k Word, where string, valid []string) {
	d := p.list.Errorf("unknown-key", k.At, "%s has no key %q", where, k.Text)
	if len(valid) > 0 {
		d.Helped("%s", amongAll(k.Text, valid, "its keys"))
	}
}

func (p *parser) expr(n *yaml.Node) *Expr {
	if isNull(n) {
		return nil
	}
	return &Expr{source.Deref(n), p.file}
}

// need is an expression that must be there.
func (p *parser) need(k Word, n *yaml.Node) *Expr {
	if isNull(n) {
		p.missingValue(k, "%s has no value", k.Text)
		return nil
	}
	return p.expr(n)
}

func (p *parser) exprs(n *yaml.Node, what string) []*Expr {
	var out []*Expr
	for _, c := range p.items(n, what) {
		if isNull(c) {
			p.list.Errorf("missing-value", p.at(c), "an item of %s has no value", what).Helped("remove it, or write what it is")
			continue
		}
		out = append(out, p.expr(c))
	}
	return out
}

func (p *parser) template(k Word, n *yaml.Node) *Template {
	n = source.Deref(n)
	if isNull(n) || n.Kind != yaml.ScalarNode {
		help(p.list.Errorf("want-text", k.At, "%s is text with {expressions}", k.Text), k.Text)
		return nil
	}
	return &Template{n.Value, n, p.file}
}

// word is one of a fixed list, or a name.
func (p *parser) word(k Word, n *yaml.Node) *Word {
	n = source.Deref(n)
	if isNull(n) || n.Kind != yaml.ScalarNode {
		help(p.list.Errorf("want-word", k.At, "%s is a word; this is %s", k.Text, article(source.KindName(orNull(n)))), k.Text)
		return nil
	}
	return &Word{n.Value, p.at(n)}
}

func orNull(n *yaml.Node) *yaml.Node {
	if n == nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return n
}

func (p *parser) text(k Word, n *yaml.Node) string {
	if w := p.word(k, n); w != nil {
		return w.Text
	}
	return ""
}

func (p *parser) boolean(k Word, n *yaml.Node) bool {
	if n != nil && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		return n.Value == "true"
	}
	if isNull(n) {
		p.missingValue(k, "%s has no value", k.Text)
		return false
	}
	d := p.list.Errorf("want-bool", p.at(n), "%s is true or false; this is %s", k.Text, orNull(n).Value)
	switch strings.ToLower(n.Value) {
	case "yes", "on", "1", "true":
		d.Helped("did you mean true?")
	default:
		d.Helped("write `%s: true`, or leave it out", k.Text)
	}
	return false
}

// words is a word or a list of words.
func (p *parser) words(k Word, n *yaml.Node) []Word {
	if n != nil && n.Kind == yaml.SequenceNode {
		var out []Word
		for _, c := range p.items(n, k.Text) {
			if w := p.word(k, c); w != nil {
				out = append(out, *w)
			}
		}
		return out
	}
	w := p.word(k, n)
	if w == nil {
		return nil
	}
	if strings.Contains(w.Text, ",") && several().MatchString(w.Text) {
		p.list.Errorf("want-list", w.At, "%s names several: they are a list", k.Text).Helped("write `%s: [%s]`", k.Text, w.Text)
		return nil
	}
	return []Word{*w}
}

// several are names that stand in a row without brackets.
var several = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.-]+(?:, *[\w.-]+)+$`) })

// isWord tells whether a text is letters, digits and underscores.
func isWord(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// isIdentifier tells whether a text is a word that begins with no digit.
func isIdentifier(text string) bool { return isWord(text) && (text[0] < '0' || text[0] > '9') }

// reservedNames cannot be declared: CEL's own words and the language's.
var reservedNames = func() map[string]string {
	out := map[string]string{}
	for _, w := range strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while") {
		out[w] = "a word of CEL"
	}
	for w, what := range map[string]string{"B": "the number of sequences", "T": "the number of new tokens", "S": "the number of positions",
		"config": "config.json", "tensors": "the checkpoint's tensors", "given": "whether an optional input is there"} {
		out[w] = what
	}
	return out
}()

// declared checks a name that a file gives to something.
func (p *parser) declared(w Word, what string) {
	if !isIdentifier(w.Text) {
		d := p.list.Errorf("bad-name", w.At, "%q cannot be the name of %s", w.Text, what)
		if name, _, brace := strings.Cut(w.Text, "{"); brace && isIdentifier(strings.TrimSpace(name)) {
			d.Helped("a colon is missing: write `%s: {…}`", strings.TrimSpace(name))
			return
		}
		d.Helped("a name is letters, digits and underscores, and begins with no digit")
		return
	}
	if why, ok := reservedNames[w.Text]; ok {
		p.list.Errorf("reserved-name", w.At, "%s cannot be the name of %s: it is %s", w.Text, what, why).Helped("give it another name")
	}
}

// declaredPath checks a name that is also a path below the prefix: it may have dots.
func (p *parser) declaredPath(w Word, what string) {
	first, rest, dotted := strings.Cut(w.Text, ".")
	for _, part := range strings.Split(rest, ".") {
		dotted = dotted && isWord(part)
	}
	if !dotted || !isIdentifier(first) {
		p.declared(w, what)
	}
}

// results splits `k, v`.
func (p *parser) results(k Word) []Word {
	var out []Word
	col := 0
	for _, part := range strings.Split(k.Text, ",") {
		lead := len(part) - len(strings.TrimLeft(part, " "))
		name := strings.TrimSpace(part)
		at := k.At
		if k.At.Line == k.At.EndLine && k.At.EndCol-k.At.Col >= len([]rune(k.Text)) {
			quoted := (k.At.EndCol - k.At.Col - len([]rune(k.Text))) / 2
			at.Col = k.At.Col + quoted + col + lead
			at.EndCol = at.Col + len([]rune(name))
		}
		w := Word{name, at}
		if name == "" {
			p.list.Errorf("bad-name", k.At, "%q names a result that is empty", k.Text).Helped("write the names with one comma between them: `q, k`")
		} else {
			p.declared(w, "a result")
		}
		out = append(out, w)
		col += len([]rune(part)) + 1
	}
	return out
}

// Parse makes a typed document of a file. What it cannot read it reports; it gives nil only for a file without a
// readable header.
func Parse(file *source.File, list *diag.List) *Document {
	if file.Root == nil {
		return nil
	}
	p := &parser{file, list}
	pairs := p.pairs(file.Root, "a graph file")
	d := &Document{File: file, keys: map[string]bool{}}
	var version *pair
	for i, kv := range pairs {
		d.keys[kv.key.Text] = true
		switch kv.key.Text {
		case "graphrun":
			version = &pairs[i]
		case "kind":
			d.Kind, d.KindAt = p.text(kv.key, kv.value), p.at(kv.value)
		}
	}
	top := diag.Range{File: file.Path, Line: 1, Col: 1, EndLine: 1, EndCol: 1}
	if len(pairs) > 0 {
		top = pairs[0].key.At
	}
	switch {
	case version == nil:
		list.Errorf("no-version", top, "the file does not say `graphrun: v1`").Helped("a graph file begins with `graphrun: v1`, `kind:` and `name:`")
		return nil
	case p.text(version.key, version.value) != "v1":
		list.Errorf("wrong-version", p.at(version.value), "this graphrun reads version v1, not %s", version.value.Value).Helped("write `graphrun: v1`")
		return nil
	}
	keys, ok := documentKeys[d.Kind]
	if !ok {
		kinds := []string{"model", "block", "variant", "rules"}
		if d.KindAt.IsZero() {
			list.Errorf("unknown-kind", top, "the file does not say what kind it is").Helped("add `kind: model`, or block, variant or rules")
			return nil
		}
		list.Errorf("unknown-kind", d.KindAt, "kind %q: a graph file is a model, a block, a variant or rules", d.Kind).Among(d.Kind, kinds, "kinds")
		return nil
	}
	switch d.Kind { // there also where the file says nothing of its own: requireKeys reports it
	case "variant":
		d.Variant = &Variant{}
	case "rules":
		d.Rules = &Rules{}
	}
	for _, kv := range pairs {
		p.documentKey(d, kv, keys)
	}
	if d.Name.Text == "" && !misspelt(pairs, "name", keys) {
		list.Errorf("no-name", d.KindAt, "the file has no name").Helped("add `name: …`, the file's name without .yaml")
	}
	p.requireKeys(d, pairs)
	return d
}

func (p *parser) requireKeys(d *Document, pairs []pair) {
	var want []string
	switch d.Kind {
	case "model":
		if !d.Has("extends") {
			want = []string{"recognises"}
			if !d.Has("entries") {
				want = append(want, "nodes")
			}
		}
	case "block":
		want = []string{"in", "nodes", "out"}
	case "variant":
		want = []string{"of"}
	case "rules":
		want = []string{"rules"}
	}
	for _, k := range want {
		if !d.Has(k) && !misspelt(pairs, k, documentKeys[d.Kind]) {
			what := "this " + d.Kind
			if d.Kind == "rules" {
				what = "this rules file"
			}
			e := p.missingKey(d.KindAt, what, k)
			switch {
			case k == "recognises" && d.Name.Text != "":
				e.Helped("write `recognises: config.string('model_type') == '%s'`: it tells which config.json are this model's", d.Name.Text)
			case k == "of":
				e.Helped("write `of: llama`, the model that it is for; `of: '*'` is for all")
			default:
				help(e, k)
			}
		}
	}
}
