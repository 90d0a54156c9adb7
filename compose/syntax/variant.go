package syntax

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/diag"
)

// Variant is what a variant document says beside its header.
type Variant struct {
	Of       []Word
	Requires *Expr
	Default  bool
	Entries  []Word
	Let      []Let
	Classes  []NamedClass
	Set      []SetLine
	Bind     []BindLine
	States   []StateLine
	Native   []Word // operators that the device's own kernels compute
	Fuse     []Word // operators that classes take into their own calls
	Submit   []SubmitRow
	Verify   []VerifyCost
}

// NamedClass is a name for a class with its parameters.
type NamedClass struct {
	Name  Word
	Class ClassSpec
}

// ClassSpec is a class with parameters, or a choice of these by condition.
type ClassSpec struct {
	Choices []ClassChoice
	At      diag.Range
}

// ClassChoice is one class that holds where its condition does.
type ClassChoice struct {
	Name    Word
	Args    []Arg
	When    *Expr
	Adapted *ClassSpec
}

// SetLine gives parameters of the blocks at a path, or without At the model's own.
type SetLine struct {
	Patterns []Word
	Args     []Arg
	At       diag.Range
}

// BindLine binds classes to ports.
type BindLine struct {
	Patterns []Word
	Kinds    []Word
	Entries  []Word
	When     *Expr
	Rows     []RowEntry // `class: C` is one entry for all rows
	At       diag.Range
}

// Row is one key of a row table: a count, a range, or `else`. A bound is a number or the name of an int let.
type Row struct {
	First, Last Word
	Open        bool // n..
	Else        bool
	All         bool // `class:`
	At          diag.Range
}

// RowEntry is a row count's class.
type RowEntry struct {
	Row   Row
	Class ClassSpec
}

// StateLine says how states are read, and rolled back.
type StateLine struct {
	Patterns []Word
	When     *Expr
	Read     []RowEntry
	Rollback *Word
	Scheme   *Word // how a cache is stored
	At       diag.Range
}

var stateSchemes = []string{"plain", "float16", "bfloat16"}

// SubmitRow is when the work of a forward is handed to the device.
type SubmitRow struct {
	Row  Row
	Args []Arg
}

// VerifyCost is the cost of a forward of so many rows, of one step's.
type VerifyCost struct {
	Rows Word
	Cost *Expr
}

func (p *parser) variantKey(v *Variant, kv pair) {
	k, n := kv.key, kv.value
	switch k.Text {
	case "of":
		v.Of = p.words(k, n)
	case "requires":
		v.Requires = p.need(k, n)
	case "default":
		v.Default = p.boolean(k, n)
	case "entries":
		v.Entries = p.words(k, n)
	case "let":
		v.Let = p.letsOf(n)
	case "classes":
		for _, x := range p.pairs(n, "classes") {
			p.declared(x.key, "a class")
			v.Classes = append(v.Classes, NamedClass{x.key, p.classSpec(x.key, x.value)})
		}
	case "set":
		for _, item := range p.items(n, "set") {
			v.Set = append(v.Set, p.setLine(item))
		}
	case "bind":
		for _, item := range p.items(n, "bind") {
			v.Bind = append(v.Bind, p.bindLine(item))
		}
	case "states":
		for _, item := range p.items(n, "states") {
			v.States = append(v.States, p.stateLine(item))
		}
	case "native":
		v.Native = p.words(k, n)
	case "fuse":
		v.Fuse = p.words(k, n)
	case "submit":
		p.submit(v, n)
	case "verify_cost":
		for _, x := range p.pairs(n, "verify_cost") {
			v.Verify = append(v.Verify, VerifyCost{x.key, p.need(x.key, x.value)})
		}
	}
}

// classSpec is a name, {name: {parameters}}, a list of these with `when`, or in a table {class: C, adapted: D}.
func (p *parser) classSpec(k Word, n *yaml.Node) ClassSpec {
	n = source.Deref(n)
	spec := ClassSpec{At: p.at(orNull(n))}
	switch {
	case isNull(n):
		p.list.Errorf("missing-value", k.At, "%s names no class", k.Text).Helped("write it as in `%s: affine.dense`", k.Text)
	case n.Kind == yaml.SequenceNode:
		for _, item := range p.items(n, "a class") {
			spec.Choices = append(spec.Choices, p.classSpec(k, item).Choices...)
		}
	case n.Kind == yaml.ScalarNode:
		spec.Choices = []ClassChoice{{Name: Word{n.Value, p.at(n)}}}
	default:
		if c, ok := p.classChoice(n); ok {
			spec.Choices = append(spec.Choices, c...)
		}
	}
	return spec
}

func (p *parser) classChoice(n *yaml.Node) ([]ClassChoice, bool) {
	var c ClassChoice
	var whole *ClassSpec
	for _, kv := range p.pairs(n, "a class") {
		switch {
		case kv.key.Text == "when":
			c.When = p.need(kv.key, kv.value)
		case kv.key.Text == "adapted":
			s := p.classSpec(kv.key, kv.value)
			c.Adapted = &s
		case kv.key.Text == "class":
			s := p.classSpec(kv.key, kv.value)
			whole = &s
		case c.Name.Text != "":
			p.list.Errorf("unknown-key", kv.key.At, "a class is one name with its parameters; %s is a second", kv.key.Text).Because(c.Name.At, "the first").
				Helped("its parameters stand below its name, as in `{affine.rows: {tile: 4}}`; a choice is a list: `[{affine.rows: {}, when: …}, affine.dense]`")
		default:
			c.Name = kv.key
			for _, a := range p.pairs(kv.value, "the class's parameters") {
				c.Args = append(c.Args, Arg{a.key, p.expr(a.value)})
			}
		}
	}
	if whole != nil {
		out := append([]ClassChoice(nil), whole.Choices...)
		for i := range out {
			if out[i].Adapted == nil {
				out[i].Adapted = c.Adapted
			}
		}
		return out, true
	}
	if c.Name.Text == "" {
		help(p.list.Errorf("missing-key", p.at(n), "this names no class"), "a class")
		return nil, false
	}
	return []ClassChoice{c}, true
}

func (p *parser) setLine(n *yaml.Node) SetLine {
	line := SetLine{At: p.at(n)}
	for _, kv := range p.pairs(n, "a line of set") {
		if kv.key.Text == "at" {
			line.Patterns = p.words(kv.key, kv.value)
			continue
		}
		line.Args = append(line.Args, Arg{kv.key, p.need(kv.key, kv.value)})
	}
	if len(line.Args) == 0 {
		help(p.list.Errorf("missing-key", line.At, "this line of set gives no parameter"), "a line of set")
	}
	return line
}

var bindKeys = []string{"ports", "kind", "entries", "when", "class", "adapted", "rows"}

func (p *parser) bindLine(n *yaml.Node) BindLine {
	line := BindLine{At: p.at(n)}
	var class, rows, adapted *pair
	pairs := p.pairs(n, "a bind line")
	for i, kv := range pairs {
		switch kv.key.Text {
		case "ports":
			line.Patterns = p.words(kv.key, kv.value)
		case "kind":
			line.Kinds = p.words(kv.key, kv.value)
		case "entries":
			line.Entries = p.words(kv.key, kv.value)
		case "when":
			line.When = p.need(kv.key, kv.value)
		case "class":
			class = &pairs[i]
		case "adapted":
			adapted = &pairs[i]
		case "rows":
			rows = &pairs[i]
		default:
			p.unknown(kv.key, "a bind line", bindKeys)
		}
	}
	switch {
	case len(line.Patterns) == 0 && (misspelt(pairs, "ports", bindKeys) || len(pairs) == 0), class == nil && rows == nil && (misspelt(pairs, "class", bindKeys) || misspelt(pairs, "rows", bindKeys)):
	case len(line.Patterns) == 0:
		p.missingKey(line.At, "this bind line", "ports").Helped("write `ports: 'model.layers.*.mlp'`")
	case class == nil && rows == nil:
		p.list.Errorf("missing-key", line.At, "this bind line has neither class nor rows").Helped("write `class: affine.dense` for every row count, or `rows: {1..8: affine.rows}`")
	case class != nil && rows != nil:
		p.list.Errorf("bind-both", rows.key.At, "a bind line says `class` or `rows`, not both").Because(class.key.At, "class").
			Helped("a class for the rest is the table's `else`: `rows: {1..8: C, else: D}`")
	case class != nil:
		spec := p.classSpec(class.key, class.value)
		if adapted != nil {
			a := p.classSpec(adapted.key, adapted.value)
			for i := range spec.Choices {
				spec.Choices[i].Adapted = &a
			}
		}
		line.Rows = []RowEntry{{Row{All: true, At: class.key.At}, spec}}
	default:
		line.Rows = p.rowTable(rows.value)
	}
	return line
}

func (p *parser) rowTable(n *yaml.Node) []RowEntry {
	var out []RowEntry
	for _, kv := range p.pairs(n, "rows") {
		if row, ok := p.row(kv.key); ok {
			out = append(out, RowEntry{row, p.classSpec(kv.key, kv.value)})
		}
	}
	return out
}

// row reads `n`, `a..b`, `n..`, `else`.
func (p *parser) row(k Word) (Row, bool) {
	row := Row{At: k.At}
	if k.Text == "else" {
		row.Else = true
		return row, true
	}
	first, last, ranged := strings.Cut(k.Text, "..")
	part := func(text string, from int) (Word, bool) {
		w := Word{strings.TrimSpace(text), k.At}
		w.At.Col += from
		w.At.EndCol = w.At.Col + len([]rune(text))
		if _, err := strconv.Atoi(w.Text); err == nil || isIdentifier(w.Text) {
			return w, true
		}
		d := p.list.Errorf("bad-rows", w.At, "%q is no row count", k.Text)
		if a, b, dash := strings.Cut(k.Text, "-"); dash && isWord(a) && isWord(b) {
			d.Helped("write `%s..%s`", a, b)
			return w, false
		}
		d.Helped("a row table's keys are n, a..b, n.., else; n is a number or the name of an int let")
		return w, false
	}
	var ok bool
	if row.First, ok = part(first, 0); !ok {
		return row, false
	}
	switch {
	case !ranged:
		row.Last = row.First
	case strings.TrimSpace(last) == "":
		row.Open = true
	default:
		if row.Last, ok = part(last, len([]rune(first))+2); !ok {
			return row, false
		}
	}
	return row, true
}

func (p *parser) stateLine(n *yaml.Node) StateLine {
	line := StateLine{At: p.at(n)}
	for _, kv := range p.pairs(n, "a line of states") {
		switch kv.key.Text {
		case "states":
			line.Patterns = p.words(kv.key, kv.value)
		case "when":
			line.When = p.need(kv.key, kv.value)
		case "read":
			for _, r := range p.pairs(kv.value, "read") {
				if r.key.Text != "rows" {
					p.unknown(r.key, "read", []string{"rows"})
					continue
				}
				line.Read = p.rowTable(r.value)
			}
		case "rollback":
			if line.Rollback = p.word(kv.key, kv.value); line.Rollback != nil && !contains([]string{"replay", "snapshot"}, line.Rollback.Text) {
				p.list.Errorf("bad-word", line.Rollback.At, "rollback is replay or snapshot, not %s", line.Rollback.Text).Among(line.Rollback.Text, []string{"replay", "snapshot"}, "one of")
			}
		case "scheme":
			if line.Scheme = p.word(kv.key, kv.value); line.Scheme != nil && !contains(stateSchemes, line.Scheme.Text) {
				p.list.Errorf("bad-word", line.Scheme.At, "a cache is stored as plain (as it is written), float16 or bfloat16, not as %s", line.Scheme.Text).
					Among(line.Scheme.Text, stateSchemes, "one of")
			}
		default:
			p.unknown(kv.key, "a line of states", []string{"states", "when", "read", "rollback", "scheme"})
		}
	}
	if len(line.Patterns) == 0 {
		help(p.missingKey(line.At, "this line of states", "states"), "a line of states")
	}
	return line
}

var submitKeys = []string{"schedule_every", "evaluate_every", "states"}

func (p *parser) submit(v *Variant, n *yaml.Node) {
	for _, kv := range p.pairs(n, "submit") {
		if kv.key.Text != "rows" {
			p.unknown(kv.key, "submit", []string{"rows"})
			continue
		}
		for _, r := range p.pairs(kv.value, "rows") {
			row, ok := p.row(r.key)
			if !ok {
				continue
			}
			s := SubmitRow{Row: row}
			for _, a := range p.pairs(r.value, "a line of submit") {
				if !contains(submitKeys, a.key.Text) {
					p.unknown(a.key, "a line of submit", submitKeys)
					continue
				}
				s.Args = append(s.Args, Arg{a.key, p.need(a.key, a.value)})
			}
			v.Submit = append(v.Submit, s)
		}
	}
}
