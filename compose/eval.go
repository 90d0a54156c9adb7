package compose

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/compose/expr"
	"github.com/graphrun/graphrun/compose/source"
	"github.com/graphrun/graphrun/compose/syntax"
	"github.com/graphrun/graphrun/diag"
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/shape"
)

// errSilent stands for a failure that is reported already.
var errSilent = errors.New("reported elsewhere")

// exprError reports an expression's error at its place in the file; offset is where the expression begins in the node.
func (c *composer) exprError(file *source.File, node *yaml.Node, offset int, err *expr.Error) {
	if strings.HasPrefix(err.Message, errSilent.Error()) { // behind it may stand the values of an expression
		return
	}
	at := file.Within(node, offset+err.Offset, max(err.Length, 1))
	if err.Offset == 0 && err.Length == 0 && offset == 0 {
		at = file.Range(node)
	}
	d := c.list.Errorf(err.Code, at, "%s", err.Message)
	if err.Help != "" {
		d.Helped("%s", err.Help)
	}
	if name, _, unknown := strings.Cut(err.Message, " is not a name here"); unknown && err.Code == "unknown-name" {
		c.unknownInExpression(d, name)
	}
}

// eval gives the value of what stands in an expression's place.
func (p place) eval(e *syntax.Expr) (expr.Value, bool) {
	return p.evalNode(e.File, e.Node)
}

func (p place) evalNode(file *source.File, n *yaml.Node) (expr.Value, bool) {
	c := p.x.c
	n = source.Deref(n)
	switch n.Kind {
	case yaml.SequenceNode:
		var list []ref.Val
		of := expr.Dyn
		for i, item := range n.Content {
			v, ok := p.evalNode(file, item)
			if !ok {
				return v, false
			}
			if i == 0 {
				of = v.Type
			} else if of.String() != v.Type.String() {
				of = expr.Dyn
			}
			list = append(list, v.Val)
		}
		return expr.Value{Type: expr.List(of), Val: types.NewRefValList(types.DefaultTypeAdapter, list)}, true
	case yaml.MappingNode:
		m := map[ref.Val]ref.Val{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, ok := p.evalNode(file, n.Content[i+1])
			if !ok {
				return v, false
			}
			m[types.String(n.Content[i].Value)] = v.Val
		}
		return expr.Value{Type: expr.Dict, Val: types.NewRefValMap(types.DefaultTypeAdapter, m)}, true
	}
	if v, literal, err := literal(n); literal {
		if err != "" {
			badNumber(c.list, file.Range(n), err)
			return v, false
		}
		return v, true
	}
	before := p.x.trace.count()
	v, err := c.ex.Eval(n.Value, p)
	if err != nil {
		c.exprError(file, n, 0, err)
		return v, false
	}
	p.x.trace.asked(before, func() bool { again, err := c.ex.Eval(n.Value, p); return err == nil && again.Same(v) })
	return v, true
}

// literal reads a YAML number or boolean, which is itself.
func literal(n *yaml.Node) (v expr.Value, isLiteral bool, bad string) {
	switch n.ShortTag() {
	case "!!int":
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil {
			if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
				return v, true, fmt.Sprintf("%s is not a decimal integer; write %d", n.Value, i)
			}
			return v, true, fmt.Sprintf("%s is not a decimal integer of 64 bits", n.Value)
		}
		return expr.Of(i), true, ""
	case "!!float":
		f, err := strconv.ParseFloat(strings.TrimPrefix(strings.ToLower(n.Value), "."), 64)
		if err != nil {
			f, err = strconv.ParseFloat(n.Value, 64)
		}
		if strings.HasPrefix(strings.ToLower(n.Value), "-.inf") {
			f, err = math.Inf(-1), nil
		}
		if err == nil && strings.HasPrefix(n.Value, ".") && n.Value[1] >= '0' && n.Value[1] <= '9' {
			f, err = strconv.ParseFloat("0"+n.Value, 64)
		}
		if err != nil {
			return v, true, fmt.Sprintf("%s is not a number", n.Value)
		}
		return expr.Of(f), true, ""
	case "!!bool":
		return expr.Of(n.Value == "true"), true, ""
	case "!!null":
		return v, true, "a value is missing here"
	}
	return v, false, ""
}

// dim gives a dim: an int, or a linear form of B, T and S.
func (p place) dim(e *syntax.Expr) (shape.Dim, bool) {
	if s := p.scalar(e.Node.Value); e.Node.Kind == yaml.ScalarNode && s != nil && s.dim != nil {
		return *s.dim, true
	}
	if e.Node.Kind != yaml.ScalarNode || e.Node.ShortTag() != "!!str" {
		v, ok := p.eval(e)
		if !ok {
			return shape.Dim{}, false
		}
		n, isInt := v.Int()
		if !isInt {
			otherType(p.x.c.list.Errorf("expression-type", e.At(), "a dim is an int; this is a %s", expr.TypeName(v.Type)), "int", expr.TypeName(v.Type))
			return shape.Dim{}, false
		}
		return shape.Int(int(n)), true
	}
	before := p.x.trace.count()
	d, err := p.x.c.ex.Dim(e.Node.Value, p)
	if err != nil {
		p.x.c.exprError(e.File, e.Node, 0, err)
		return d, false
	}
	p.x.trace.asked(before, func() bool { again, err := p.x.c.ex.Dim(e.Node.Value, p); return err == nil && again.Equal(d) })
	return d, true
}

func (p place) dims(list []*syntax.Expr) (shape.Shape, bool) {
	out, good := make(shape.Shape, 0, len(list)), true
	for _, e := range list {
		d, ok := p.dim(e)
		good = good && ok
		out = append(out, d)
	}
	return out, good
}

// integer gives an int that is known when composing.
func (p place) integer(e *syntax.Expr, what string) (int, bool) {
	v, ok := p.eval(e)
	if !ok {
		return 0, false
	}
	n, isInt := v.Int()
	if !isInt {
		otherType(p.x.c.list.Errorf("expression-type", e.At(), "%s is an int; this is a %s (%s)", what, expr.TypeName(v.Type), v.Show()), "int", expr.TypeName(v.Type))
		return 0, false
	}
	if n > math.MaxInt32 || n < math.MinInt32 {
		p.x.c.list.Errorf("expression-value", e.At(), "%s is %d, which is beyond what an array holds", what, n)
		return 0, false
	}
	return int(n), true
}

// truth gives a condition's value. An open guard stops the expansion: it goes on once for each answer.
func (p place) truth(e *syntax.Expr) (value, ok bool) {
	if e.Node.Kind == yaml.ScalarNode && e.Node.ShortTag() == "!!str" {
		before := p.x.trace.count()
		v, open, err := p.x.c.ex.Condition(e.Node.Value, p, p.x.decide)
		if err != nil {
			p.x.c.exprError(e.File, e.Node, 0, err)
			return false, false
		}
		if open != nil {
			panic(undecided{open.On, e.At()})
		}
		p.x.trace.asked(before, func() bool {
			again, open, err := p.x.c.ex.Condition(e.Node.Value, p, p.x.decide)
			return err == nil && open == nil && again == v
		})
		return v, true
	}
	v, good := p.eval(e)
	if !good {
		return false, false
	}
	b, isBool := v.Bool()
	if !isBool {
		otherType(p.x.c.list.Errorf("expression-type", e.At(), "a condition is true or false; this is a %s", expr.TypeName(v.Type)), "bool", expr.TypeName(v.Type))
	}
	return b, isBool
}

// there tells whether a call is there, and if not, why.
func (p place) there(call *syntax.Call) (is bool, why string, ok bool) {
	for _, k := range []struct {
		e    *syntax.Expr
		want bool
		name string
	}{{call.When, true, "when"}, {call.Unless, false, "unless"}} {
		if k.e == nil {
			continue
		}
		v, good := p.truth(k.e)
		if !good {
			return false, "", false
		}
		if v != k.want {
			return false, fmt.Sprintf("%s: %s is %v", k.name, k.e.Node.Value, v), true
		}
	}
	return true, "", true
}

// argument gives a parameter's decided value by its declared type.
func (p place) argument(kind string, arg syntax.Arg, owner string) (plan.Value, bool) {
	c := p.x.c
	e := arg.Value
	if e == nil { // punning: the value of that name in scope
		s := p.scalar(arg.Name.Text)
		if s == nil {
			if kind == "dtype" || p.value(arg.Name.Text) != nil {
				c.list.Errorf("no-value", arg.Name.At, "the parameter %s of %s has no value, and no number of that name is in scope", arg.Name.Text, owner).
					Helped("write `%s: …`", arg.Name.Text)
				return plan.Value{}, false
			}
			c.list.Errorf("unknown-name", arg.Name.At, "%s has no value here, and nothing in scope has its name", arg.Name.Text).
				Helped("write `%s: value`, or declare %s", arg.Name.Text, arg.Name.Text)
			return plan.Value{}, false
		}
		p.x.trace.hands(s)
		return p.convert(kind, s.value, arg.Name.At, owner+"'s parameter "+arg.Name.Text)
	}
	what := owner + "'s parameter " + arg.Name.Text
	switch kind {
	case "string":
		if e.Node.Kind != yaml.ScalarNode {
			c.list.Errorf("want-text", e.At(), "%s is text", what)
			return plan.Value{}, false
		}
		text, ok := p.template(&syntax.Template{Text: e.Node.Value, Node: e.Node, File: e.File})
		return plan.Value{Kind: plan.String, Str: text}, ok
	case "dtype":
		d, ok := dtype.Parse(e.Node.Value)
		if !ok {
			c.list.Errorf("unknown-dtype", e.At(), "%s is no dtype", e.Node.Value).Among(e.Node.Value, dtype.Names(), "dtypes")
		}
		return plan.Value{Kind: plan.Dtype, Dtype: d}, ok
	case "dims":
		if e.Node.Kind != yaml.SequenceNode {
			break
		}
		var list []*syntax.Expr
		for _, n := range e.Node.Content {
			list = append(list, &syntax.Expr{Node: source.Deref(n), File: e.File})
		}
		dims, ok := p.dims(list)
		return plan.Value{Kind: plan.Dims, Dims: dims}, ok
	}
	v, ok := p.eval(e)
	if !ok {
		return plan.Value{}, false
	}
	return p.convert(kind, v, e.At(), what)
}

// convert checks a value against a parameter's type: an int is welcome where a float is wanted, nothing else converts.
func (p place) convert(kind string, v expr.Value, at diag.Range, what string) (plan.Value, bool) {
	out := v.Plan()
	ok := false
	switch kind {
	case "int":
		ok = out.Kind == plan.Int
	case "float":
		var f float64
		if f, ok = out.Number(); ok {
			out = plan.Value{Kind: plan.Float, Float: f}
		}
	case "bool":
		ok = out.Kind == plan.Bool
	case "string":
		ok = out.Kind == plan.String
	case "map":
		ok = out.Kind == plan.Map
	case "ints", "floats", "bools", "strings", "dims":
		if ok = out.Kind == plan.List; ok {
			for i, item := range out.List {
				f, num := item.Number()
				switch kind {
				case "ints", "dims":
					ok = ok && item.Kind == plan.Int
				case "floats":
					ok = ok && num
					out.List[i] = plan.Value{Kind: plan.Float, Float: f}
				case "bools":
					ok = ok && item.Kind == plan.Bool
				case "strings":
					ok = ok && item.Kind == plan.String
				}
			}
			if ok && kind == "dims" {
				dims := make(shape.Shape, len(out.List))
				for i, item := range out.List {
					dims[i] = shape.Int(int(item.Int))
				}
				out = plan.Value{Kind: plan.Dims, Dims: dims}
			}
		}
	}
	if !ok {
		otherType(p.x.c.list.Errorf("parameter-type", at, "%s is of type %s; this is %s (%s)", what, kind, expr.TypeName(v.Type), v.Show()).In(p.prefix), kind, expr.TypeName(v.Type))
	}
	return out, ok
}

// declareLets evaluates a body's lets in order.
func (p place) declareLets(lets []syntax.Let) bool {
	good := true
	for _, l := range lets {
		v, ok := p.eval(l.Value)
		if !ok {
			good = false
			v = expr.Value{Type: expr.Dyn, Val: types.NewErr("%v", errSilent)}
		}
		p.scalars[l.Name.Text] = &scalar{value: v, at: l.Name.At}
	}
	return good
}
