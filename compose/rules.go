package compose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/plan"
)

// checkRules holds the plan to the rules files of the request.
func (c *composer) checkRules() {
	if len(c.req.Rules) == 0 && (c.besides == nil || c.besides.Kind != "rules") || c.list.HasErrors() {
		return
	}
	base := c.known().with(facts{"plan": c.planFacts(), "KiB": expr.Of(1024.0), "MiB": expr.Of(1048576.0), "GiB": expr.Of(1073741824.0)})
	var docs []*syntax.Document
	for _, name := range c.req.Rules {
		before := c.list.Len()
		if doc := c.rulesDocument(name); doc != nil && c.list.Len() == before { // what reading found must be mended first
			docs = append(docs, doc)
		}
	}
	if c.besides != nil && c.besides.Kind == "rules" {
		docs = append(docs, c.besides)
	}
	for _, doc := range docs {
		if !c.checkBesides(doc) {
			continue
		}
		scope, ok := c.letFacts(doc.Rules.Let, base)
		if !ok {
			continue
		}
		for i := range doc.Rules.Rules {
			c.rule(&doc.Rules.Rules[i], scope)
		}
	}
}

func (c *composer) rulesDocument(name string) *syntax.Document {
	var doc *syntax.Document
	if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.ContainsAny(name, `/\`) {
		doc = c.lib.open(name)
	} else if doc = c.lib.readShipped("rules/" + name + ".yaml"); doc == nil {
		d := c.list.Errorf("unknown-rules", diag.Range{File: name}, "no rules %s are shipped; a file of your own is named by its path", name)
		d.Among(name, c.lib.shippedNames("rules"), "shipped")
	}
	if doc == nil {
		return nil
	}
	if doc.Kind != "rules" || doc.Rules == nil {
		c.list.Errorf("not-rules", doc.Name.At, "%s is a %s, not rules", doc.File.Path, doc.Kind).Helped("name a file with `kind: rules`")
		return nil
	}
	return doc
}

// letFacts evaluates lets once: they do not hang on an item.
func (c *composer) letFacts(lets []syntax.Let, scope facts) (facts, bool) {
	out, good := scope.with(nil), true
	for _, l := range lets {
		if _, twice := out[l.Name.Text]; twice {
			c.list.Errorf("name-hidden", l.Name.At, "the let %s hides a name that is there already", l.Name.Text).Helped("give it another name")
			good = false
			continue
		}
		v, ok := c.evalFacts(l.Value, out)
		good = good && ok
		if ok {
			out[l.Name.Text] = v
		}
	}
	return out, good
}

func (c *composer) rule(r *syntax.Rule, scope facts) {
	if r.When != nil {
		if holds, _ := c.truth(r.When, scope, "when"); !holds {
			return
		}
	}
	scope, ok := c.letFacts(r.Let, scope)
	if !ok {
		return
	}
	if r.Each == nil {
		c.assert(r, scope, diag.Range{})
		return
	}
	v, ok := c.evalFacts(r.Each, scope)
	if !ok {
		return
	}
	items, isList := v.Items()
	if !isList {
		c.list.Errorf("parameter-type", r.Each.At(), "each is a list; this is of type %s", expr.TypeName(v.Type))
		return
	}
	if _, twice := scope[r.As.Text]; twice {
		c.list.Errorf("name-hidden", r.As.At, "%s hides a name that is there already", r.As.Text).Helped("give it another name")
		return
	}
	for _, item := range items {
		if !c.assert(r, scope.with(facts{r.As.Text: item}), c.itemPlace(item)) {
			return
		}
	}
}

// itemPlace is where a port was declared.
func (c *composer) itemPlace(item expr.Value) diag.Range {
	path, _ := expr.Field(item, "path").Text()
	for i := range c.plan.Ports {
		if c.plan.Ports[i].Path == path {
			return c.plan.Ports[i].Place
		}
	}
	for i := range c.plan.States {
		if c.plan.States[i].Path == path {
			return c.plan.States[i].At
		}
	}
	return diag.Range{}
}

// assert reports what does not hold; false: the expression itself is at fault, so the rest is not asked.
func (c *composer) assert(r *syntax.Rule, scope facts, declared diag.Range) bool {
	holds, ok := c.truth(r.Assert, scope, "assert")
	if holds || !ok {
		return ok
	}
	message := "does not hold: " + r.Assert.Node.Value
	if r.Message != nil {
		f := newFrame(&expansion{c: c}, c.model, nil, "")
		for name, v := range scope {
			f.scalars[name] = &scalar{value: v}
		}
		text, ok := place{f, nil}.template(r.Message)
		if !ok {
			return false
		}
		message = text
	}
	severity := map[string]diag.Severity{"warning": diag.Warning, "note": diag.Note}[r.Severity]
	d := c.list.Add(severity, "rule", r.Name.At, "%s: %s", r.Name.Text, message)
	if !declared.IsZero() {
		d.Because(declared, "declared here")
	}
	if r.Doc != "" {
		d.Helped("%s", r.Doc)
	}
	return true
}

// planFacts is the plan as rules see it.
func (c *composer) planFacts() expr.Value {
	ports := make([]expr.Value, len(c.plan.Ports))
	for i := range c.plan.Ports {
		ports[i] = c.portRecord(&c.plan.Ports[i])
	}
	var states, entries []expr.Value
	for _, used := range c.usedStates() {
		entries = append(entries, expr.Record("planentry", map[string]any{"name": used.entry}))
		for _, i := range used.states {
			s := c.plan.States[i]
			states = append(states, expr.Record("planstate", map[string]any{"path": s.Path, "kind": s.Kind, "entry": used.entry, "rollback": c.rollback(s)}))
		}
	}
	v := expr.Record("plan", map[string]any{"ports": expr.Records("planport", ports), "states": expr.Records("planstate", states),
		"entries": expr.Records("planentry", entries)})
	return expr.WithCall(v, func(args ...int) expr.Value { return c.memory(args[0], args[1]) })
}

// entryStates are the states that the programs of an entry use, in the plan's order.
type entryStates struct {
	entry  string
	states []int
}

// usedStates lists the plan's entries with their states.
func (c *composer) usedStates() []entryStates {
	var out []entryStates
	for i := range c.plan.Programs {
		g := &c.plan.Programs[i]
		if n := len(out); n == 0 || out[n-1].entry != g.Entry { // programs of an entry stand together
			out = append(out, entryStates{entry: g.Entry})
		}
		used := &out[len(out)-1]
		for k := range g.Calls {
			if s := g.Calls[k].State; s >= 0 && !slices.Contains(used.states, s) {
				used.states = append(used.states, s)
			}
		}
	}
	for _, u := range out {
		slices.Sort(u.states)
	}
	return out
}

// rollback is how a state takes back rejected tokens: as a variant says, else as its kind does by itself.
func (c *composer) rollback(s plan.State) string {
	if s.Rollback != "" {
		return s.Rollback
	}
	return c.reg.State(s.Kind).RollbackOf(s)
}

func (c *composer) portRecord(p *plan.Port) expr.Value {
	var weights []expr.Value
	var bytes int64
	for _, w := range p.Weights {
		f := c.plan.Weights[w].Facts
		weights = append(weights, weightRecord(f))
		bytes += f.Bytes
	}
	var rows []int
	for _, r := range p.Rows {
		rows = append(rows, r.First)
	}
	v := expr.Record("planport", map[string]any{"path": p.Path, "kind": p.Kind, "entry": p.Entry, "weights": expr.Records("weight", weights), "bytes": bytes, "rows": rows})
	return expr.WithCall(v, func(args ...int) expr.Value {
		r := p.At(args[0])
		if r == nil {
			return expr.Record("rowclass", map[string]any{"class": "", "form": "", "numerics": "", "adapted": ""})
		}
		adapted := "exact"
		if r.Adapted >= 0 {
			adapted = c.className(r.Adapted)
		} else if r.Exact {
			adapted = c.className(r.Instance)
		}
		return expr.Record("rowclass", map[string]any{"class": c.className(r.Instance), "form": c.plan.Instances[r.Instance].Class, "numerics": c.numerics(r.Instance), "adapted": adapted})
	})
}

// className is a class with its parameters.
func (c *composer) className(instance int) string {
	in := c.plan.Instances[instance]
	if len(in.Args) == 0 {
		return in.Class
	}
	return in.Class + " " + showArgs(in.Args)
}

// numerics is exact, or for a bounded class its name and parameters; a form's is that of its parts.
func (c *composer) numerics(instance int) string {
	in := c.plan.Instances[instance]
	class := c.reg.Class(in.Class)
	if class == nil || class.Parts == nil {
		if class != nil && class.Numerics == "" {
			return "exact"
		}
		return c.className(instance)
	}
	var bounded []string
	for _, p := range in.Parts {
		if n := c.numerics(p.Instance); n != "exact" {
			bounded = append(bounded, n)
		}
	}
	if len(bounded) == 0 {
		return "exact"
	}
	return strings.Join(bounded, ", ")
}

func (c *composer) memory(context, batch int) expr.Value {
	if c.req.Memory == nil {
		return expr.Failure(fmt.Errorf("the plan's memory is not estimated here"))
	}
	lines, err := c.req.Memory(c.plan, context, batch)
	if err != nil {
		return expr.Failure(err)
	}
	var total int64
	var largest MemoryLine
	for _, l := range lines {
		total += l.Bytes
		if l.Bytes > largest.Bytes {
			largest = l
		}
	}
	return expr.Record("memory", map[string]any{"total": total, "largest": expr.Record("memoryline", map[string]any{"name": largest.Name, "bytes": largest.Bytes})})
}
