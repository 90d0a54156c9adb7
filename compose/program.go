package compose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/shape"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// maxPrograms bounds the guard combinations of one entry.
const maxPrograms = 64

// textEntry is the entry that a model's own nodes are.
const textEntry = "text"

// entriesOf lists a model's graphs: its own nodes as the text entry, then those under entries.
func entriesOf(doc *syntax.Document) []*syntax.Entry {
	var out []*syntax.Entry
	if len(doc.Nodes) > 0 || len(doc.Entries) == 0 {
		out = append(out, &syntax.Entry{Name: syntax.Word{Text: textEntry, At: doc.NodesAt}, Body: syntax.Body{Nodes: doc.Nodes, NodesAt: doc.NodesAt}, In: doc.In, Out: doc.Out})
	}
	return append(out, doc.Entries...)
}

// entries expands every entry that is offered, binds the ports of all, and adds their programs to the plan.
func (c *composer) entries(doc *syntax.Document) bool {
	c.reset()
	var all [][]*expanded
	for _, entry := range entriesOf(doc) {
		c.entry = entry.Name.Text
		expand := c.expandEntries
		if entry.Requires != nil {
			expand = c.optionalEntry
		}
		done, ok := expand(doc, entry)
		if !ok {
			return false
		}
		if len(done) > 0 {
			c.offeredEntries = append(c.offeredEntries, c.entry)
			all = append(all, done)
		}
	}
	if len(all) == 0 {
		return false
	}
	c.plan.Layers = all[0][0].x.layers
	if !c.groupPorts() || !c.bind() {
		return false
	}
	if c.uncalled() {
		return true
	}
	c.plan.Dropped = droppedIn(all)
	for _, done := range all {
		writes := c.keptWrites(done)
		for _, e := range done {
			for _, results := range asked(e.results) {
				c.plan.Programs = append(c.plan.Programs, c.byRows(e, e.program(results, writes))...)
			}
		}
	}
	return true
}

// uncalled tells that no programs are made.
func (c *composer) uncalled() bool { return c.req.Check && len(c.req.Rules) == 0 }

// droppedIn lists the nodes that are left out, of every entry: each once, those that the guards of some programs leave out
// as such.
func droppedIn(all [][]*expanded) []plan.Dropped {
	type key struct{ path, what, why, at string }
	var out []plan.Dropped
	seen := map[key]int{}
	for _, done := range all {
		times := map[key]int{}
		for _, e := range done {
			for _, d := range e.x.dropped {
				k := key{d.Path, d.What, d.Why, d.At.String()}
				times[k]++
				if _, ok := seen[k]; !ok {
					seen[k] = len(out)
					out = append(out, d)
				}
			}
		}
		for k, n := range times {
			out[seen[k]].Some = out[seen[k]].Some || n < len(done)
		}
	}
	return out
}

// asked are the sets of outputs that programs are made for: all, each alone, and none, for a prompt's chunks.
func asked(results []plan.Named) [][]plan.Named {
	out := [][]plan.Named{results}
	if len(results) > 1 {
		for i := range results {
			out = append(out, results[i:i+1])
		}
	}
	return append(out, nil)
}

// expandEntries expands an entry under every answer to its guards; again where one program needs a state that another does
// not write.
func (c *composer) expandEntries(doc *syntax.Document, entry *syntax.Entry) ([]*expanded, bool) {
	var keep map[string]bool
	for {
		var done []*expanded
		for _, given := range givenSets(entry.In) {
			some, ok := c.expandAnswers(doc, entry, given, keep)
			if !ok {
				return nil, false
			}
			if done = append(done, some...); len(done) > maxPrograms {
				c.list.Errorf("too-many-programs", entry.Name.At, "the entry %s has more than %d programs: each set of its optional inputs has its own", entry.Name.Text, maxPrograms).Helped("make inputs that come together one, or give them always")
				return nil, false
			}
		}
		if len(done) == 1 { // all its states are in all programs
			return done, true
		}
		kept, all := c.keptStates(done)
		if all || len(kept) == len(keep) {
			return done, true
		}
		keep = kept
	}
}

// givenSets are the sets of an entry's inputs that may be given: with and without each optional one, all first.
func givenSets(inputs []syntax.Input) [][]syntax.Input {
	sets := [][]syntax.Input{nil}
	for _, in := range inputs {
		more := make([][]syntax.Input, 0, 2*len(sets))
		for _, s := range sets {
			more = append(more, append(slices.Clip(s), in))
		}
		if in.Optional && len(more) <= maxPrograms {
			more = append(more, sets...)
		}
		sets = more
	}
	if len(inputs) > 0 && len(sets[len(sets)-1]) == 0 {
		sets = sets[:len(sets)-1] // nothing at all has no B and no T
	}
	return sets
}

func (c *composer) expandAnswers(doc *syntax.Document, entry *syntax.Entry, given []syntax.Input, keep map[string]bool) ([]*expanded, bool) {
	todo := [][]answer{nil}
	var done []*expanded
	for len(todo) > 0 {
		answers := todo[0]
		todo = todo[1:]
		if !possible(answers) {
			continue
		}
		e, undecided := c.expandEntry(doc, entry, given, answers, keep)
		if undecided != nil {
			yes := append(append([]answer(nil), answers...), answer{undecided.on, true})
			no := append(append([]answer(nil), answers...), answer{undecided.on, false})
			todo = append([][]answer{yes, no}, todo...)
			if len(done)+len(todo) > maxPrograms {
				c.list.Errorf("too-many-programs", undecided.at, "the entry %s has more than %d programs: its guards split it at %s", entry.Name.Text, maxPrograms, answersText(answers)).
					Helped("each number that B, T or S is compared with splits it: compare with fewer, or once with a range")
				return nil, false
			}
			continue
		}
		if e == nil {
			return nil, false
		}
		e.name = entry.Name.Text
		done = append(done, e)
	}
	return done, len(done) > 0
}

// byRows cuts a program at the row counts where any of its ports changes its class.
func (c *composer) byRows(e *expanded, p plan.Program) []plan.Program {
	starts := []int{1}
	for i := range p.Calls {
		call := &p.Calls[i]
		if call.Port >= 0 {
			starts = append(starts, c.starts(call.Port)...)
			if group := c.groupOf(call.Port); group >= 0 {
				starts = append(starts, c.starts(group)...)
			}
		} else if c.reads(call) {
			for _, r := range c.plan.States[call.State].Reads {
				if r.Entry == p.Entry {
					starts = append(starts, r.First)
					if r.Last > 0 {
						starts = append(starts, r.Last+1)
					}
				}
			}
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	bLo, bHi := bounds(e.x.answers, "B")
	tLo, tHi := bounds(e.x.answers, "T")
	var out []plan.Program
	for i, first := range starts {
		q := p
		q.First, q.Last = first, 0
		if i+1 < len(starts) {
			q.Last = starts[i+1] - 1
		}
		if q.Last != 0 && q.Last < bLo*tLo || bHi < endless && tHi < endless && first > bHi*tHi {
			continue // no forward that the guards allow has so many rows
		}
		q.Calls = slices.Clone(p.Calls)
		for k := range q.Calls {
			call := &q.Calls[k]
			if call.Port >= 0 {
				call.Instance = c.plan.Ports[call.Port].At(first).Instance
			} else if c.reads(call) {
				call.Read = 1 + c.plan.States[call.State].ReadAt(p.Entry, first)
			}
		}
		c.fuse(&q)
		out = append(out, q)
	}
	return out
}

// starts are the row counts at which a port changes its class.
func (c *composer) starts(port int) []int {
	var out []int
	for _, r := range c.plan.Ports[port].Rows {
		out = append(out, r.First)
	}
	return out
}

// reads tells whether a call reads a state by the class that a variant binds to it.
func (c *composer) reads(call *plan.Call) bool {
	if call.State < 0 || len(c.plan.States[call.State].Reads) == 0 {
		return false
	}
	op := c.reg.Operator(call.Operator)
	return op != nil && !op.Opens
}

func answersText(answers []answer) string {
	parts := make([]string, len(answers))
	for i, a := range answers {
		parts[i] = a.on.String()
	}
	return strings.Join(parts, ", ")
}

// expanded is one expansion of an entry with all its outputs.
type expanded struct {
	name    string
	x       *expansion
	inputs  []plan.Named
	results []plan.Named
}

// expandEntry expands the entry, or tells which comparison it hangs on.
func (c *composer) expandEntry(doc *syntax.Document, entry *syntax.Entry, given []syntax.Input, answers []answer, keep map[string]bool) (e *expanded, open *undecided) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case undecided:
			e, open = nil, &r
		default:
			panic(r)
		}
	}()
	x := &expansion{c: c, answers: answers, keeps: keep, uncalled: c.uncalled() && len(answers) == 0 && len(givenSets(entry.In)) == 1}
	p, ok := c.root(x, doc)
	if !ok {
		return nil, nil
	}
	e = &expanded{x: x}
	for _, in := range entry.In {
		p.inputs[in.Name.Text] = false // where it is not given
	}
	in := given
	if in == nil {
		in = []syntax.Input{{Name: syntax.Word{Text: "tokens", At: entry.NodesAt}}}
	}
	for i := range in {
		t, ok := x.entryInput(p, &in[i])
		if !ok {
			return nil, nil
		}
		r := x.slot(t)
		e.inputs = append(e.inputs, plan.Named{Name: in[i].Name.Text, Slot: r.operand.Index, Dtype: t.Dtype, Shape: t.Shape})
		p.inputs[in[i].Name.Text] = true
		p = p.bind(in[i].Name.Text, known(r))
	}
	if !x.declare(p, &syntax.Body{Ports: doc.Ports, Weights: doc.Weights, States: doc.States}) {
		return nil, nil
	}
	if entry.Name.Text != textEntry && !x.declare(p, &entry.Body) {
		return nil, nil
	}
	p, ok = x.nodes(p, entry.Nodes)
	outs := entry.Out
	if outs == nil {
		outs = []syntax.Output{{Name: syntax.Word{Text: "logits", At: entry.NodesAt}}}
	}
	for i := range outs {
		if v := p.value(outs[i].Name.Text); outs[i].Optional && (v == nil || v.none()) {
			continue
		}
		r, good := x.entryResult(p, entry, &outs[i])
		if ok = ok && good; good {
			e.results = append(e.results, plan.Named{Name: outs[i].Name.Text, Slot: r.operand.Index, Dtype: r.typ.Dtype, Shape: r.typ.Shape})
		}
	}
	ok = ok && x.sameInputs()
	if ok {
		x.keep()
	}
	if !ok || c.list.HasErrors() {
		return nil, nil
	}
	return e, nil
}

// entryInput is the type of an input; tokens are int32 [B, T] unless the file says otherwise.
func (x *expansion) entryInput(p place, in *syntax.Input) (plan.Type, bool) {
	t := plan.Type{Dtype: dtype.Int32, Shape: shape.Shape{shape.Sym("B"), shape.Sym("T")}}
	if in.Dims != nil {
		dims, ok := p.dims(in.Dims)
		if !ok {
			return t, false
		}
		t.Shape = dims
	}
	if in.Dtype != nil {
		d, ok := dtype.Parse(in.Dtype.Text)
		if !ok {
			x.c.list.Errorf("unknown-dtype", in.Dtype.At, "%s is no dtype", in.Dtype.Text).Among(in.Dtype.Text, dtype.Names(), "dtypes")
			return t, false
		}
		t.Dtype = d
	} else if in.Dims != nil && in.Name.Text != "tokens" {
		t.Dtype = x.c.activation
	}
	return t, true
}

func (x *expansion) entryResult(p place, entry *syntax.Entry, o *syntax.Output) (*result, bool) {
	v := p.value(o.Name.Text)
	if v == nil || v.isAbsent() {
		d := x.c.list.Errorf("absent-value", o.Name.At, "nothing gives %s, which the entry %s gives", o.Name.Text, entry.Name.Text)
		for _, why := range p.why(o.Name.Text) {
			d.Helped("the node that gives it is not there: %s", why)
		}
		return nil, false
	}
	r := v.force()
	if r == nil {
		return nil, false
	}
	if r.operand.Kind != plan.FromSlot {
		x.c.list.Errorf("absent-value", o.Name.At, "%s is not computed by any node", o.Name.Text).Helped("an output is what a call gives; %s is an input, a weight or a number", o.Name.Text)
		return nil, false
	}
	if o.Dims != nil {
		return r, x.match(p, r, o.Dims, o.Dtype, "the output "+o.Name.Text, o.Name.At, o.Name.At)
	}
	if len(r.typ.Shape) != 3 || !r.typ.Shape[0].Equal(shape.Sym("B")) || !r.typ.Shape[1].Equal(shape.Sym("T")) {
		at := o.Name.At
		for i := range entry.Nodes {
			for _, w := range entry.Nodes[i].Results {
				if w.Text == o.Name.Text {
					at = w.At
				}
			}
		}
		x.c.list.Errorf("shape-mismatch", at, "%s is %s; a text entry gives logits [B, T, vocab]", o.Name.Text, r.typ.Shape).Helped("declare what it gives, as in `out: {%s: [%s]}`, or let the last call be the head's", o.Name.Text, strings.Trim(r.typ.Shape.String(), "[]"))
		return nil, false
	}
	return r, true
}

// live are the calls that the results and the kept state writes need, in order.
func (e *expanded) live(results []plan.Named, writes func(*plan.Call) bool) []*plan.Call {
	need := make([]bool, e.x.slots)
	for _, r := range results {
		need[r.Slot] = true
	}
	keep := make([]bool, len(e.x.calls))
	for i := len(e.x.calls) - 1; i >= 0; i-- {
		call := &e.x.calls[i]
		wanted := writes != nil && writes(call)
		for _, o := range call.Out {
			wanted = wanted || need[o]
		}
		if !wanted {
			continue
		}
		keep[i] = true
		for _, in := range call.In {
			if in.Kind == plan.FromSlot {
				need[in.Index] = true
			}
		}
	}
	var out []*plan.Call
	for i, k := range keep {
		if k {
			out = append(out, &e.x.calls[i])
		}
	}
	return out
}

// program is the flat list for some of the outputs, its slots numbered anew and freed at their last use.
func (e *expanded) program(results []plan.Named, writes func(*plan.Call) bool) plan.Program {
	p := plan.Program{Entry: e.name, Guards: guards(e.x.answers), First: 1}
	slots := map[int]int{}
	number := func(s int) int {
		if n, ok := slots[s]; ok {
			return n
		}
		slots[s] = len(slots)
		return slots[s]
	}
	for _, in := range e.inputs {
		in.Slot = number(in.Slot)
		p.Inputs = append(p.Inputs, in)
	}
	last := map[int]int{} // slot -> call
	groups := map[int]int{0: 0}
	for _, call := range together(e.live(results, writes)) {
		c := *call
		if _, ok := groups[c.Group]; !ok {
			p.Groups = append(p.Groups, e.x.groups[c.Group-1])
			groups[c.Group] = len(p.Groups)
		}
		c.Group = groups[c.Group]
		c.In, c.Out, c.Free = append([]plan.Operand(nil), call.In...), nil, nil
		for i := range c.In {
			if c.In[i].Kind == plan.FromSlot {
				c.In[i].Index = number(c.In[i].Index)
				last[c.In[i].Index] = len(p.Calls)
			}
		}
		for _, o := range call.Out {
			c.Out = append(c.Out, number(o))
			last[number(o)] = len(p.Calls)
		}
		p.Calls = append(p.Calls, c)
	}
	for _, r := range results {
		r.Slot = number(r.Slot)
		delete(last, r.Slot)
		p.Results = append(p.Results, r)
	}
	for slot := range len(slots) {
		if at, ok := last[slot]; ok {
			p.Calls[at].Free = append(p.Calls[at].Free, slot)
		}
	}
	p.Slots = len(slots)
	return p
}

// audit holds the checkpoint to what the graph uses: a tensor that nothing uses is an error.
func (c *composer) audit() {
	if c.req.Config != nil {
		c.auditConfig()
	}
	if c.recipes == nil {
		return
	}
	var unused []string
	for _, name := range sortedKeys(c.recipes) {
		if i, ok := c.tensorIndex[name]; (!ok || i < 0) && !c.offTensors[name] {
			unused = append(unused, name)
		}
	}
	if len(unused) == 0 {
		return
	}
	at := c.model.Name.At
	d := c.list.Errorf("unused-tensor", at, "%s of the checkpoint %s used by nothing: %s", count(len(unused), "tensor"), isAre(len(unused)), shorten(unused, 8))
	for _, name := range unused[:min(3, len(unused))] {
		d.Because(diag.Range{File: sourceFile(c.recipes[name])}, "%s %v %s", name, c.recipes[name].Shape, c.recipes[name].Dtype)
	}
	d.Helped("a view step drops what is not needed: - {drop: '%s'}", generalised(unused[0]))
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func shorten(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s … (%d more)", strings.Join(names[:most], ", "), len(names)-most)
}

func sourceFile(r *view.Recipe) string {
	file := ""
	r.Sources(func(t *header.Tensor) { file = t.File })
	return file
}
