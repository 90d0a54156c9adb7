package compose

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// binder decides what the ports run. Ports of one sort differ in nothing that a line can ask but their path: a line's
// condition holds for all of them or for none, and those that the same lines speak of run the same classes. So each is
// asked once for a sort, unless it may ask the path.
type binder struct {
	*composer
	lines   []*boundLine
	base    *cover // of no line
	sorts   map[portSort]*portSort
	sort    []*portSort                // of each port
	covers  []*cover                   // likewise
	decided []*decision                // likewise, when it is filled
	speaks  [][]*boundLine             // likewise: the lines whose patterns match it
	tails   map[[2]string][]*boundLine // by their last segments
	scopes  map[scopeKey]facts
	holds   map[holdsKey]bool
	fills   map[fillKey]*decision
	count   int // of covers and decisions
	numbers map[string]int

	accepted map[acceptKey]error
}

// portSort is what lines and classes can ask of a port beside its path.
type portSort struct {
	entry, kind string
	in, out     int
	exact       string
	activation  *plan.Activation
	topK        int
	odd         bool
	weights     string // their roles and the numbers of their facts
}

type (
	scopeKey struct {
		of   *variant
		sort *portSort
	}
	holdsKey struct {
		line *boundLine
		sort *portSort
	}
	acceptKey struct {
		class *registry.Class
		sort  *portSort
	}
	fillKey struct {
		sort  *portSort
		cover *cover
		parts string // what the ports that it is made of run, by the numbers of their covers and decisions
	}
)

// cover is the segments that some lines make of a port's rows, one laid over the other.
type cover struct {
	number   int
	segments []segment
	single   bool // one of the lines may ask a port's path
	next     map[*boundLine]*cover
}

// decision is what a port runs, range by range.
type decision struct {
	number int
	rows   []decided
	made   []plan.RowClass // of the last port
}

type decided struct {
	first, last  int
	own, adapted *picked // own is nil where the exact class runs
	form         *picked // of the parts, where that is the exact class
	at           diag.Range

	runs, adapts int // of a port's ranges those with equal numbers run one instance
}

func newBinder(c *composer, lines []*boundLine) *binder {
	b := &binder{composer: c, lines: lines, sorts: map[portSort]*portSort{}, tails: map[[2]string][]*boundLine{}, scopes: map[scopeKey]facts{}, holds: map[holdsKey]bool{}, fills: map[fillKey]*decision{}, numbers: map[string]int{}, accepted: map[acceptKey]error{}}
	b.decided = make([]*decision, len(c.plan.Ports))
	b.covers = make([]*cover, len(c.plan.Ports))
	b.speaks = make([][]*boundLine, len(c.plan.Ports))
	b.base = &cover{segments: []segment{{first: 1, last: endless}}}
	b.sort = make([]*portSort, len(c.plan.Ports))
	for i := range b.sort {
		b.sort[i] = b.sortOf(i)
	}
	return b
}

func (b *binder) sortOf(index int) *portSort {
	p := &b.plan.Ports[index]
	exact := &b.plan.Instances[p.Rows[0].Instance]
	s := portSort{entry: p.Entry, kind: p.Kind, in: p.Dims[0], out: p.Dims[1], exact: exact.Class, activation: exact.Activation, topK: b.notes[index].topK, odd: b.notes[index].odd != nil}
	key := make([]byte, 0, 64)
	for i, w := range p.Weights {
		key = strconv.AppendInt(append(key, p.Roles[i]...), int64(b.facts[w]), 10)
	}
	s.weights = string(key)
	known := b.sorts[s]
	if known == nil {
		one := s
		known = &one
		b.sorts[s] = known
	}
	return known
}

// cover finds what the lines that speak of a port make of its rows.
func (b *binder) cover(index int) bool {
	at, good := b.base, true
	for _, line := range b.speaking(index) {
		is, ok := b.lineHolds(line, index)
		good = good && ok
		if is {
			at = b.under(at, line)
		}
	}
	b.covers[index] = at
	return good
}

func (b *binder) under(o *cover, line *boundLine) *cover {
	if o.next[line] == nil {
		if o.next == nil {
			o.next = map[*boundLine]*cover{}
		}
		b.count++
		o.next[line] = &cover{number: b.count, segments: overlay(o.segments, line), single: o.single || line.single}
	}
	return o.next[line]
}

// speaking are the lines whose patterns match a port; a part of an mlp also has the path of its tensor.
func (b *binder) speaking(index int) []*boundLine {
	if twin := b.notes[index].twin; twin >= 0 {
		b.speaks[index] = b.speaks[twin]
		return b.speaks[index]
	}
	path, second := b.plan.Ports[index].Path, b.notes[index].second
	found := make([]*boundLine, 0, 32)
	for _, line := range b.mayMatch(path, second) {
		if matchesAny(line.patterns, path) || second != "" && second != path && matchesAny(line.patterns, second) {
			found = append(found, line)
		}
	}
	b.speaks[index] = slices.Clone(found)
	return b.speaks[index]
}

// mayMatch are the lines whose patterns may match a port, as far as the last segments of its paths tell.
func (b *binder) mayMatch(path, second string) []*boundLine {
	tails := [2]string{path[strings.LastIndexByte(path, '.')+1:], second[strings.LastIndexByte(second, '.')+1:]}
	lines, ok := b.tails[tails]
	if !ok {
		for _, line := range b.lines {
			if slices.ContainsFunc(line.patterns, func(p *pattern.Pattern) bool { return p.MayEnd(tails[0]) || second != "" && p.MayEnd(tails[1]) }) {
				lines = append(lines, line)
			}
		}
		b.tails[tails] = lines
	}
	return lines
}

// lineHolds tells whether a line whose patterns match a port speaks of it.
func (b *binder) lineHolds(line *boundLine, index int) (is, ok bool) {
	p := &b.plan.Ports[index]
	if (len(line.spec.Kinds) > 0 || p.Kind == "group") && !hasWord(line.spec.Kinds, p.Kind) {
		return false, true // lines that mean the members' weights say no kind
	}
	line.matched = true // in some entry: those that are not offered here have no ports
	if !inEntries(line.spec.Entries, p.Entry) || !inEntries(line.owner.doc.Variant.Entries, p.Entry) {
		return false, true
	}
	if line.spec.When == nil {
		line.held = true
		return true, true
	}
	key := holdsKey{line, b.sort[index]}
	if holds, known := b.holds[key]; known && !line.single {
		return holds, true
	}
	holds, ok := b.truth(line.spec.When, b.scope(line, index), "a condition")
	line.held = line.held || holds
	if ok {
		b.holds[key] = holds
	}
	return holds, ok
}

// scope is that of a line's expressions at a port: its weights' facts under their roles.
func (b *binder) scope(line *boundLine, index int) facts {
	key := scopeKey{line.owner, b.sort[index]}
	if known := b.scopes[key]; known != nil && !line.single {
		return known
	}
	p := &b.plan.Ports[index]
	more := facts{}
	count := 0
	var common plan.Facts
	for i, w := range p.Weights {
		f := b.plan.Weights[w].Facts
		count = f.Count
		if i == 0 {
			common = f
		}
		if f.Storage != common.Storage {
			common.Storage, common.Mode = "", ""
		}
		if f.Mode != common.Mode {
			common.Mode = ""
		}
		more[p.Roles[i]] = weightRecord(f)
	}
	more["port"] = expr.Record("port", map[string]any{"path": p.Path, "kind": p.Kind, "entry": p.Entry, "count": count, "top_k": b.notes[index].topK,
		"storage": common.Storage, "mode": common.Mode, "activation": activationOf(&b.plan.Instances[p.Rows[0].Instance])})
	b.scopes[key] = line.owner.scope.with(more)
	return b.scopes[key]
}

// fill decides what a port runs.
func (b *binder) fill(index int) bool {
	p, o := &b.plan.Ports[index], b.covers[index]
	alike, parts := !o.single, make([]byte, 0, 64)
	for _, role := range formRoles(p) {
		part := b.part(index, role)
		if part < 0 {
			continue
		}
		alike = alike && b.decided[part] != nil // nil: it could not be filled
		if alike {
			parts = strconv.AppendInt(append(parts, ' '), int64(b.decided[part].number), 10)
			parts = strconv.AppendInt(append(parts, ' '), int64(b.covers[part].number), 10)
		}
	}
	key := fillKey{b.sort[index], o, string(parts)}
	d := b.fills[key]
	if d == nil || !alike {
		segments := o.segments
		if p.Members != nil {
			var of [][]segment
			for _, m := range p.Members {
				of = append(of, b.covers[m].segments)
			}
			segments = b.yielded(segments, of)
		}
		var ok bool
		if d, ok = b.decide(index, cutAt(segments, b.partStarts(index))); !ok {
			return false
		}
		b.count++
		d.number = b.count
		if alike {
			b.fills[key] = d
		}
	}
	b.decided[index] = d
	if d.made == nil || !b.uncalled() { // where no program is made, those that run alike have the same instances
		d.made = b.rows(index, d)
	}
	p.Rows = d.made
	return true
}

// partStarts are the row counts at which the parts of a port's forms change.
func (b *binder) partStarts(index int) []int {
	var out []int
	for _, role := range formRoles(&b.plan.Ports[index]) {
		if i := b.part(index, role); i >= 0 && b.decided[i] != nil {
			for _, r := range b.decided[i].rows {
				out = append(out, r.first)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// decide chooses the classes of a port's rows.
func (b *binder) decide(index int, segments []segment) (*decision, bool) {
	p := &b.plan.Ports[index]
	exact := &picked{class: b.reg.Class(b.plan.Instances[p.Rows[0].Instance].Class), at: p.Place}
	d, good := &decision{}, true
	for _, s := range segments {
		r := decided{first: s.first, last: s.last}
		ok := true
		switch {
		case s.line != nil:
			s.line.won = true
			spec := &s.line.spec.Rows[s.entry].Class
			r.at = spec.At
			r.own, r.adapted, ok = b.classOf(s.line, index, spec, s)
		case exact.class.Parts != nil:
			r.form = exact
		}
		for _, by := range []*picked{r.own, r.form} {
			ok = ok && !(by != nil && by.class.Parts != nil && b.lacksPart(by, index))
		}
		if ok && r.adapted != nil {
			ok = !(r.adapted.class.Parts != nil && b.lacksPart(r.adapted, index)) && b.carries(r.adapted, index)
		}
		if good = good && ok; !good {
			continue
		}
		r.runs = b.number(cmp.Or(r.own, exact), index, r.first)
		if r.adapted != nil {
			r.adapts = b.number(r.adapted, index, r.first)
		}
		if n := len(d.rows); n > 0 && d.rows[n-1].runs == r.runs && d.rows[n-1].adapts == r.adapts && d.rows[n-1].at == r.at {
			d.rows[n-1].last = r.last
			continue
		}
		d.rows = append(d.rows, r)
	}
	return d, good
}

// number is that of what a picked class makes of a port, at the rows from first on.
func (b *binder) number(by *picked, index, first int) int {
	key := appendArgs([]byte(by.class.Name), by.args)
	if by.class.Parts != nil {
		_, ports := b.partsOf(by, index)
		for _, part := range ports {
			key = strconv.AppendInt(append(key, ' '), int64(b.runs(part, first)), 10)
		}
	}
	n, ok := b.numbers[string(key)]
	if !ok {
		n = 1 + len(b.numbers)
		b.numbers[string(key)] = n
	}
	return n
}

// runs is the number of what a part runs at a row count; 0: it could not be decided.
func (b *binder) runs(part, rows int) int {
	if d := b.decided[part]; d != nil {
		for _, r := range d.rows {
			if rows <= r.last {
				return r.runs
			}
		}
	}
	return 0
}

// classOf chooses among a class's conditions, and which class runs while adapted.
func (b *binder) classOf(line *boundLine, index int, spec *syntax.ClassSpec, s segment) (own, adapted *picked, ok bool) {
	scope := b.scope(line, index)
	choice, ok := b.chosen(spec, scope)
	if !ok {
		return nil, nil, false
	}
	own, ok = b.pick(line, index, choice, scope, s)
	if !ok || choice.Adapted == nil {
		return own, nil, ok
	}
	other, ok := b.chosen(choice.Adapted, scope)
	if !ok {
		return own, nil, false
	}
	adapted, ok = b.pick(line, index, other, scope, s)
	return own, adapted, ok
}

// rows makes the instances of a decision for a port.
func (b *binder) rows(index int, d *decision) []plan.RowClass {
	rows := make([]plan.RowClass, len(d.rows))
	for i, s := range d.rows {
		r := plan.RowClass{First: s.first, Last: unending(s.last), Instance: b.plan.Ports[index].Rows[0].Instance, Exact: s.own == nil, Adapted: -1, At: s.at}
		if by := cmp.Or(s.own, s.form); by != nil {
			r.Instance = b.instance(by, index, s.first)
		}
		if s.adapted != nil {
			r.Adapted = b.instance(s.adapted, index, s.first)
		}
		rows[i] = r
	}
	return rows
}

// asksPath tells whether an expression of a line may ask for the port's path: whether one has that word.
func asksPath(line *syntax.BindLine) bool {
	return mentions(line.When, "path") || slices.ContainsFunc(line.Rows, func(r syntax.RowEntry) bool { return specMentions(&r.Class, "path") })
}

func specMentions(spec *syntax.ClassSpec, word string) bool {
	return spec != nil && slices.ContainsFunc(spec.Choices, func(choice syntax.ClassChoice) bool {
		return mentions(choice.When, word) || specMentions(choice.Adapted, word) ||
			slices.ContainsFunc(choice.Args, func(a syntax.Arg) bool { return a.Name.Text == word || mentions(a.Value, word) })
	})
}

func mentions(e *syntax.Expr, word string) bool { return e != nil && nodeMentions(e.Node, word) }

func nodeMentions(n *yaml.Node, word string) bool {
	return n != nil && (strings.Contains(n.Value, word) || nodeMentions(n.Alias, word) ||
		slices.ContainsFunc(n.Content, func(n *yaml.Node) bool { return nodeMentions(n, word) }))
}
