package reference

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/port"
	"github.com/graphrun/graphrun/registry"
)

// inputTypes are what inputs take, as a reader of a file sees it.
var inputTypes = map[registry.InputKind]string{registry.Value: "value", registry.Weight: "weight", registry.State: "state", registry.TypeOf: "dtype"}

// OfOperator describes an operator.
func OfOperator(o *registry.Operator) Entry {
	e := Entry{Kind: Operator, Name: o.Name, Doc: o.Doc, Params: items(o.Params), Each: o.Each}
	for _, in := range o.Inputs {
		e.Inputs = append(e.Inputs, Item{Name: in.Name, Type: inputTypes[in.Kind], Doc: in.Doc, Optional: in.Optional, Variadic: in.Variadic})
	}
	for _, name := range o.Outputs {
		e.Outputs = append(e.Outputs, Item{Name: name})
	}
	switch o.State {
	case registry.OptionalState:
		e.State = "optional"
	case registry.RequiredState:
		e.State = "required"
	}
	e.Example = []string{"- " + e.resultNames() + ": " + e.call()}
	if text, ok := examples[o.Name]; ok {
		e.Example = []string{text}
	}
	return e
}

// examples are of operators that do nothing, or are an error, with what must be given alone.
var examples = map[string]string{
	"astype":       "- y: {astype: x, dtype: float32}",
	"attend":       "- y: {attend: {q, k, v}, state: kv, scale: 'pow(head_dim, -0.5)'}",
	"broadcast":    "- y: {broadcast: x, shape: [B, T, hidden]}",
	"clip":         "- y: {clip: x, min: -65504, max: 65504}",
	"constant":     "- y: {constant: 1.0, dtype: float32, shape: [hidden]}",
	"mask_scores":  "- s: {mask_scores: [s, mask]}",
	"moveaxis":     "- y: {moveaxis: x, source: -1, destination: 1}",
	"read_cache":   "- k, v: {read_cache: kv}",
	"reshape":      "- y: {reshape: x, shape: [B, T, heads, head_dim]}",
	"slice":        "- y: {slice: x, axis: -1, start: 0, stop: top_k}",
	"slice_update": "- y: {slice_update: [x, update], axis: 0, start: 1}",
	"split":        "- a, b: {split: x, parts: 2, axis: -1}",
	"swapaxes":     "- y: {swapaxes: x, axes: [-1, -2]}",
	"take":         "- y: {take: x, axis: 0, index: 0}",
	"transpose":    "- y: {transpose: x, axes: [0, 2, 1]}",
	"update_cache": "- k, v: {update_cache: [k, v], state: kv}",
}

// resultNames are the results of an example; where their number depends on the call, there is one.
func (e Entry) resultNames() string {
	var out []string
	for _, o := range e.Outputs {
		if !o.Optional {
			out = append(out, o.Name)
		}
	}
	if len(out) == 0 {
		return "y"
	}
	return strings.Join(out, ", ")
}

// call is a call with everything that must be given, and a weight where one may be: keys without a value take what has
// their name in scope.
func (e Entry) call() string {
	var first []string
	var rest []string
	weight := false
	for _, in := range e.Inputs {
		switch {
		case in.Variadic:
			first = append(first, in.Name, "y")
		case in.Type == "weight" && in.Optional && weight:
		case in.Type == "weight":
			weight = true
			if in.Name == "weight" || in.Name == "bias" {
				rest = append(rest, in.Name+": norm."+in.Name)
			} else {
				rest = append(rest, in.Name)
			}
		case in.Optional:
		case in.Type == "state" && len(first) > 0:
			rest = append(rest, in.Name+": kv")
		case in.Type == "state":
			first = append(first, "kv")
		default:
			first = append(first, in.Name)
		}
	}
	var b strings.Builder
	b.WriteString("{" + e.Name + ": ")
	switch {
	case len(first) == 1:
		b.WriteString(first[0])
	case len(first) > 1:
		b.WriteString("[" + strings.Join(first, ", ") + "]")
	}
	if e.State == "optional" || e.State == "required" {
		rest = append(rest, "state: "+e.stateName())
	}
	for _, p := range e.Params {
		switch {
		case p.Required() && p.Type == "dtype":
			rest = append(rest, p.Name+": float32")
		case p.Required() && p.Name == "axis":
			rest = append(rest, "axis: -1")
		case p.Required():
			rest = append(rest, p.Name)
		}
	}
	for _, r := range rest {
		b.WriteString(", " + r)
	}
	return b.String() + "}"
}

// stateName is what an example calls its state: a cache where there are keys, else what it may be.
func (e Entry) stateName() string {
	for _, in := range e.Inputs {
		if in.Name == "k" && e.State == "optional" || in.Name == "cache" {
			return "kv"
		}
	}
	return "own"
}

// items describes parameters.
func items(params []registry.Param) []Item {
	var out []Item
	for _, p := range params {
		item := Item{Name: p.Name, Type: p.Type, Doc: p.Doc, Optional: p.Optional, OneOf: p.OneOf}
		if p.Default != nil {
			text := p.Default.Text()
			if p.Default.Kind == plan.Map && len(p.Default.Map) == 0 {
				text = "{}"
			}
			item.Default, item.defaultJSON = &text, *p.Default
		}
		out = append(out, item)
	}
	return out
}

// OfClass describes a class.
func OfClass(c *registry.Class) Entry {
	e := Entry{Kind: Class, Name: c.Name, Doc: c.Doc, Params: items(c.Params)}
	fact := func(name, text string) { e.Facts = append(e.Facts, Fact{name, text}) }
	fact("kinds", strings.Join(c.Kinds, " "))
	fact("rows", rows(c))
	if c.Numerics == "" {
		fact("numerics", "exact: the very MLX calls that mlx-lm makes")
	} else {
		fact("numerics", "bounded: "+c.Numerics)
	}
	if c.Needs != "" {
		fact("needs", Needs[c.Needs])
	}
	fact("kernel", c.KernelText())
	if len(c.Activations) > 0 {
		fact("activation", strings.Join(c.Activations, " "))
	}
	if len(c.Parts) > 0 {
		fact("parts", strings.Join(c.Parts, " ")+", each by its own binding")
	}
	var takes []string
	for _, name := range c.Before {
		takes = append(takes, name+" before it")
	}
	for _, name := range c.After {
		takes = append(takes, name+" after it")
	}
	if takes != nil {
		fact("takes in", strings.Join(takes, ", ")+", where `fuse` of a variant says so")
	}
	if len(c.ExactFor) > 0 {
		fact("exact for", "weights stored as "+strings.Join(c.ExactFor, ", ")+": what an unbound port runs")
	}
	value := c.Name
	var given []string
	for _, p := range e.Params {
		if p.Required() {
			given = append(given, p.Name+": …")
		}
	}
	if len(given) > 0 {
		value = "{" + c.Name + ": {" + strings.Join(given, ", ") + "}}"
	}
	how := "class: " + value
	if c.MinRows > 1 || c.MaxRows > 0 || c.OneRow {
		how = "rows: {" + rowKey(c) + ": " + value + "}"
	}
	if c.Kinds[0] == registry.StateRead {
		e.Example = []string{"- {states: '**.kv', read: {rows: {" + rowKey(c) + ": " + value + "}}}"}
		return e
	}
	e.Example = []string{fmt.Sprintf("- {ports: '**', kind: %s, %s}", c.Kinds[0], how)}
	return e
}

// Needs says what a device is that a class needs.
var Needs = map[string]string{"cpu": "a CPU", "gpu": "a GPU", "ane": "a Neural Engine"}

func rows(c *registry.Class) string {
	switch {
	case c.OneRow:
		return "the one count that it is bound to"
	case c.MinRows <= 1 && c.MaxRows == 0:
		return "any"
	}
	return rowKey(c)
}

func rowKey(c *registry.Class) string {
	first := max(c.MinRows, 1)
	switch {
	case c.OneRow:
		return "2048"
	case c.MaxRows == 0 && first == 1:
		return "else"
	case c.MaxRows == 0:
		return fmt.Sprintf("%d..", first)
	case c.MaxRows == first:
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d..%d", first, c.MaxRows)
}

// OfState describes a kind of state.
func OfState(s *registry.StateKind) Entry {
	e := Entry{Kind: State, Name: s.Name, Doc: s.Doc, Params: items(s.Fields)}
	if s.Name == "array" {
		e.Example = []string{"conv: {array: [B, 3, hidden], dtype: float32}"}
		return e
	}
	var fields []string
	for _, f := range e.Params {
		if f.Required() {
			fields = append(fields, f.Name)
		}
	}
	e.Example = []string{"kv: {" + s.Name + ": {" + strings.Join(fields, ", ") + "}}"}
	return e
}

// OfPort describes a kind of port.
func OfPort(k *port.Kind) Entry {
	e := Entry{Kind: Port, Name: k.Name, Doc: k.Doc, Outputs: []Item{{Name: "y"}}}
	for _, in := range k.Inputs {
		e.Inputs = append(e.Inputs, Item{Name: in, Type: "value"})
	}
	dims := "[" + strings.Join(k.Dims, ", ") + "]"
	e.Facts = append(e.Facts, Fact{"lengths", dims})
	if len(k.Keys) > 0 {
		e.Facts = append(e.Facts, Fact{"keys", strings.Join(k.Keys, " ")})
	}
	if k.Derived != "" {
		e.Facts = append(e.Facts, Fact{"declared", "never: it is " + k.Derived + ", and a variant binds it"})
		return e
	}
	more := ""
	for _, x := range k.Keys {
		switch x {
		case "activation":
			more += ", activation: swiglu"
		case "count":
			more += ", count: 8"
		case "tied":
			more += ", tied: model.embed_tokens"
		}
	}
	input := k.Inputs[0]
	if len(k.Inputs) > 1 {
		input = "[" + strings.Join(k.Inputs, ", ") + "]"
	}
	e.Example = []string{"ports:", "  proj: {" + k.Name + ": " + dims + more + "}", "nodes:", "- y: {proj: " + input + "}"}
	return e
}
