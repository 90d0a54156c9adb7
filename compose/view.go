package compose

import (
	"fmt"
	"maps"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/pattern"
	"github.com/graphrun/graphrun/trellis"
	"github.com/graphrun/graphrun/weights/view"
)

// viewScope evaluates a step's expressions: the model's lets, and what is known of a match.
type viewScope struct {
	place
	facts map[string]expr.Value
}

func (s viewScope) TypeOf(name string) (*expr.Type, bool) {
	if v, ok := s.facts[name]; ok {
		return v.Type, true
	}
	return s.place.TypeOf(name)
}

func (s viewScope) ValueOf(name string) (expr.Value, error) {
	if v, ok := s.facts[name]; ok {
		return v, nil
	}
	return s.place.ValueOf(name)
}

func (s viewScope) Names() []string { return append(sortedKeys(s.facts), s.place.Names()...) }

// root is the place that a model's view and text entry begin from: its parameters and lets.
func (c *composer) root(x *expansion, doc *syntax.Document) (place, bool) {
	p := place{newFrame(x, doc, nil, ""), nil}
	if c.rootScalars != nil { // they are those of every entry
		maps.Copy(p.scalars, c.rootScalars)
		return p, true
	}
	good := true
	for i := range doc.Params {
		good = x.blockDefault(p, &doc.Params[i], &syntax.Call{Callee: doc.Name}) && good
	}
	if good = p.declareLets(doc.Let) && good; good {
		c.rootScalars = maps.Clone(p.scalars)
	}
	return p, good
}

// applyView makes the canonical tensors of the checkpoint's.
func (c *composer) applyView(doc *syntax.Document) bool {
	c.reset()
	if c.viewed == nil {
		c.storedQuant = c.quant
	}
	c.quant, c.viewDropped = c.storedQuant, nil
	p, ok := c.root(&expansion{c: c}, doc)
	if !ok {
		return false
	}
	b := &viewBuilder{c: c, scope: viewScope{p, nil}}
	b.all(doc.View)
	if b.failed {
		return false
	}
	if c.req.Checkpoint == nil {
		return true
	}
	result, errs := view.Apply(c.req.Checkpoint.Tensors, c.quant, b.steps)
	for _, e := range errs {
		step := b.origin[e.Step]
		at := step.At
		if k := step.Key(e.Field); k != nil && k.Value != nil {
			at = k.Value.At()
		} else if e.Field == "when" && step.When != nil {
			at = step.When.At()
		}
		c.list.Errorf("view", at, "%s: %v", e.Tensor, e.Err)
	}
	if len(errs) > 0 {
		return false
	}
	if m := c.quant.Method; m != "" && m != trellis.TileStorage && c.quant.Default == nil && len(c.quant.ByPath) == 0 && hasCodes(result.Tensors) {
		c.list.Errorf("quantization", diag.Range{File: c.req.Checkpoint.Config.Path}, "the weights are quantised by the method %q, which MLX's modes cannot stand for, and the view of %s leaves them so", m, doc.Name.Text).
			Helped("convert the checkpoint with a tool that writes MLX's quantization table, or dequantise them in the view (derive)")
		return false
	}
	c.viewed, c.recipes, c.quant = result, result.Tensors, result.Quantization
	for _, d := range result.Dropped {
		c.viewDropped = append(c.viewDropped, d.Name)
	}
	return true
}

// hasCodes tells whether a tensor holds integers: the codes of a quantised weight.
func hasCodes(tensors map[string]*view.Recipe) bool {
	for _, r := range tensors {
		if r.Dtype.IsInteger() {
			return true
		}
	}
	return false
}

// viewBuilder makes typed steps of a view's documents.
type viewBuilder struct {
	c      *composer
	scope  viewScope
	steps  []view.Step
	origin []*syntax.ViewStep // of each step
	within []string           // models whose views are taken over, on the way down
	failed bool
}

// all makes the steps of a view; `view: NAME` stands for another model's.
func (b *viewBuilder) all(steps []syntax.ViewStep) {
	for i := range steps {
		s := &steps[i]
		if s.Verb.Text != "view" {
			b.step(s)
			for len(b.origin) < len(b.steps) {
				b.origin = append(b.origin, s)
			}
			continue
		}
		if len(s.Patterns) != 1 {
			b.fail(s.Verb.At, "the step view names one model").Helped("write a step for each, as in `- {view: llama}`")
			continue
		}
		w := s.Patterns[0]
		if containsString(b.within, w.Text) {
			b.fail(w.At, "the view of %s takes over itself", w.Text).Helped("name another model, or write its steps here")
			continue
		}
		other := b.c.lib.model(w.Text, b.c.model)
		if other == nil {
			b.fail(w.At, "there is no model %s whose view could be taken over", w.Text).Among(w.Text, b.c.lib.shippedNames("models"), "shipped")
			continue
		}
		if s.When != nil {
			is, ok := b.scope.truth(s.When)
			b.failed = b.failed || !ok
			if !is {
				continue
			}
		}
		b.within = append(b.within, w.Text)
		b.all(other.View)
		b.within = b.within[:len(b.within)-1]
	}
}

func (b *viewBuilder) fail(at diag.Range, format string, args ...any) *diag.Diagnostic {
	b.failed = true
	return b.c.list.Errorf("view", at, format, args...)
}

// stepForms show how the steps of a view are written.
var stepForms = map[string]string{
	"drop": "- {drop: '**.inv_freq'}", "rename": "- {rename: 'transformer.h.{i}.*', to: 'model.layers.{i}.*'}", "each": "- {each: '**.norm.weight', do: [{add: 1.0}]}",
	"split": "- {split: '**.qk.weight', axis: 0, sizes: [n, m], into: ['**.q.weight', '**.k.weight']}", "stack": "- {stack: '**.experts.{e}.w1.weight', over: e, to: '**.experts.gate_proj.weight'}",
	"join": "- {join: ['**.q.weight', '**.k.weight'], axis: 0, to: '**.qk.weight'}", "derive": "- {derive: {w: '**.w'}, nodes: [y: {multiply: [w, 2.0]}], to: {y: '**.y'}}",
}

// badTarget reports a name that cannot be filled, at what cannot be.
func (b *viewBuilder) badTarget(file *source.File, n *yaml.Node, err error) {
	at, message := file.Range(n), err.Error()
	if pe, ok := err.(*pattern.Error); ok {
		at, message = file.Within(n, pe.Column-1, 1), pe.Message
	}
	b.fail(at, "%s", message).Helped("`to` and `into` take what the pattern captures: {names} by name, stars in order")
}

// without reports a key that a step needs.
func (b *viewBuilder) without(s *syntax.ViewStep, key string) {
	b.fail(s.Verb.At, "this step %s has no key %s", s.Verb.Text, key).Helped("write it as in `%s`", stepForms[s.Verb.Text])
}

func (b *viewBuilder) pattern(w syntax.Word) *pattern.Pattern {
	p, ok := b.c.compilePattern(w)
	b.failed = b.failed || !ok
	return p
}

func (b *viewBuilder) step(s *syntax.ViewStep) {
	var from []*pattern.Pattern
	for _, w := range s.Patterns {
		if p := b.pattern(w); p != nil {
			from = append(from, p)
		}
	}
	if len(from) == 0 && s.Verb.Text != "derive" {
		b.failed = true
		return
	}
	var when view.When
	if s.When != nil {
		when = func(m view.Match) (bool, error) {
			v, err := b.evalFor(s.When, m)
			if err != nil {
				return false, err
			}
			t, ok := v.Bool()
			if !ok {
				return false, fmt.Errorf("the condition is a %s", expr.TypeName(v.Type))
			}
			return t, nil
		}
	}
	to := func(key string) string {
		k := s.Key(key)
		if k == nil || k.Value == nil || k.Value.Node.Kind != yaml.ScalarNode {
			b.without(s, key)
			return ""
		}
		if key == "to" {
			for _, p := range from {
				if err := p.CheckTarget(k.Value.Node.Value); err != nil {
					b.badTarget(k.Value.File, k.Value.Node, err)
				}
			}
		}
		return k.Value.Node.Value
	}
	axis := func() int {
		k := s.Key("axis")
		if k == nil || k.Value == nil {
			b.without(s, "axis")
			return 0
		}
		n, ok := b.scope.integer(k.Value, "axis")
		b.failed = b.failed || !ok
		return n
	}
	switch s.Verb.Text {
	case "derive":
		b.derive(s, when)
	case "drop":
		as := ""
		if s.Key("as") != nil {
			as = to("as")
		}
		b.steps = append(b.steps, view.Drop{From: from, As: as, When: when})
	case "rename":
		b.steps = append(b.steps, view.Rename{From: from, To: to("to"), When: when})
	case "stack":
		b.steps = append(b.steps, view.Stack{From: from, Over: to("over"), To: to("to"), When: when})
	case "join":
		b.steps = append(b.steps, view.Join{From: from, Axis: axis(), To: to("to"), When: when})
	case "each":
		b.steps = append(b.steps, view.Each{From: from, Do: b.changes(s), When: when})
	case "split":
		step := view.Split{From: from, Axis: axis(), When: when}
		if k := s.Key("sizes"); k != nil {
			step.Sizes = b.ints(k.Value)
		}
		if k := s.Key("interleave"); k != nil && k.Value != nil {
			v, ok := b.scope.eval(k.Value)
			b.failed = b.failed || !ok
			step.Interleave, _ = v.Bool()
		}
		if k := s.Key("into"); k != nil {
			for _, e := range listItems(k.Value) {
				step.Into = append(step.Into, e.Node.Value)
			}
		}
		if len(step.Into) < 2 {
			b.fail(s.Verb.At, "this step split has no key into: a list of two or more names").Helped("write it as in `%s`", stepForms["split"])
		}
		b.steps = append(b.steps, step)
	}
}

// evalFor evaluates an expression for a match: name, shape, dtype and captures as that step sees them.
func (b *viewBuilder) evalFor(e *syntax.Expr, m view.Match) (expr.Value, error) {
	return b.nodeFor(e.File, e.Node, m)
}

func (b *viewBuilder) nodeFor(file *source.File, n *yaml.Node, m view.Match) (expr.Value, error) {
	if v, is, bad := literal(n); is {
		if bad != "" {
			return v, fmt.Errorf("%s", bad)
		}
		return v, nil
	}
	facts := map[string]expr.Value{"name": expr.Of(m.Name), "shape": expr.Of(m.Shape), "dtype": expr.Of(m.Dtype.String())}
	for k, v := range m.Named {
		facts[k] = expr.Of(v)
		if n, err := strconv.Atoi(v); err == nil {
			facts[k] = expr.Of(n)
		}
	}
	v, err := b.c.ex.Eval(n.Value, viewScope{b.scope.place, facts})
	if err != nil {
		return v, err
	}
	return v, nil
}

// ints are numbers that may hang on the match.
func (b *viewBuilder) ints(e *syntax.Expr) view.Ints {
	if e == nil {
		return nil
	}
	return func(m view.Match) ([]int, error) {
		items := listItems(e)
		if items == nil {
			items = []*syntax.Expr{e}
		}
		var out []int
		for _, item := range items {
			v, err := b.evalFor(item, m)
			if err != nil {
				return nil, err
			}
			n, ok := v.Int()
			if !ok {
				return nil, fmt.Errorf("%s is no int", v.Show())
			}
			out = append(out, int(n))
		}
		return out, nil
	}
}

func (b *viewBuilder) floats(e *syntax.Expr) view.Floats {
	return func(m view.Match) ([]float64, error) {
		items := listItems(e)
		if items == nil {
			items = []*syntax.Expr{e}
		}
		var out []float64
		for _, item := range items {
			v, err := b.evalFor(item, m)
			if err != nil {
				return nil, err
			}
			f, ok := v.Number()
			if !ok {
				return nil, fmt.Errorf("%s is no number", v.Show())
			}
			out = append(out, f)
		}
		return out, nil
	}
}

// changes are the verbs of `each … do`.
func (b *viewBuilder) changes(s *syntax.ViewStep) []view.Change {
	k := s.Key("do")
	if k == nil || k.Value == nil {
		b.without(s, "do")
		return nil
	}
	var out []view.Change
	for _, item := range listItems(k.Value) {
		n := item.Node
		if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
			b.fail(item.At(), "a change is one {verb: value}").Helped("write it as in `do: [{add: 1.0}, {astype: float32}]`")
			continue
		}
		verb, value := n.Content[0].Value, &syntax.Expr{Node: source.Deref(n.Content[1]), File: item.File}
		switch verb {
		case "add":
			out = append(out, view.NewAdd(b.floats(value)))
		case "multiply":
			out = append(out, view.NewMultiply(b.floats(value)))
		case "clip":
			out = append(out, view.NewClip(b.floats(value)))
		case "reshape":
			out = append(out, view.NewReshape(b.ints(value)))
		case "transpose":
			out = append(out, view.NewTranspose(b.ints(value)))
		case "moveaxis":
			out = append(out, view.NewMoveaxis(b.ints(value)))
		case "astype", "view":
			d, ok := dtype.Parse(value.Node.Value)
			if !ok {
				b.fail(value.At(), "%s is no dtype", value.Node.Value).Among(value.Node.Value, dtype.Names(), "dtypes")
				continue
			}
			if verb == "astype" {
				out = append(out, view.NewAstype(d))
			} else {
				out = append(out, view.NewView(d))
			}
		default:
			d := b.c.list.Errorf("view", item.At(), "each cannot %s", verb)
			d.Among(verb, []string{"add", "multiply", "clip", "astype", "moveaxis", "transpose", "reshape", "view"}, "it can")
			b.failed = true
		}
	}
	return out
}
