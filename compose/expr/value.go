package expr

import (
	"sort"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/graphrun/graphrun/plan"
)

// Value is what an expression gives, with its static type.
type Value struct {
	Type *Type
	Val  ref.Val
}

// Of wraps a Go value: int, float64, bool, string, or lists and maps of these.
func Of(v any) Value {
	switch x := v.(type) {
	case int:
		return Value{Int, types.Int(x)}
	case int64:
		return Value{Int, types.Int(x)}
	case float64:
		return Value{Float, types.Double(x)}
	case bool:
		return Value{Bool, types.Bool(x)}
	case string:
		return Value{String, types.String(x)}
	case []int:
		return Value{List(Int), types.DefaultTypeAdapter.NativeToValue(x)}
	case map[string]bool:
		return Value{GivenType, types.DefaultTypeAdapter.NativeToValue(x)}
	case []string:
		return Value{List(String), types.DefaultTypeAdapter.NativeToValue(x)}
	}
	return Value{Dyn, types.DefaultTypeAdapter.NativeToValue(v)}
}

// Int is the integer that v is.
func (v Value) Int() (int64, bool) { x, ok := v.Val.(types.Int); return int64(x), ok }

// Bool is the truth that v is.
func (v Value) Bool() (bool, bool) { x, ok := v.Val.(types.Bool); return bool(x), ok }

// Text is the string that v is.
func (v Value) Text() (string, bool) { x, ok := v.Val.(types.String); return string(x), ok }

// Number is the float that v is; an int counts.
func (v Value) Number() (float64, bool) { return number(v.Val) }

// Plan is the decided parameter that v is.
func (v Value) Plan() plan.Value { return toPlan(v.Val) }

func toPlan(v ref.Val) plan.Value {
	switch x := v.(type) {
	case types.Int:
		return plan.Value{Kind: plan.Int, Int: int64(x)}
	case types.Double:
		return plan.Value{Kind: plan.Float, Float: float64(x)}
	case types.Bool:
		return plan.Value{Kind: plan.Bool, Bool: bool(x)}
	case types.String:
		return plan.Value{Kind: plan.String, Str: string(x)}
	case *dict:
		x.askAll()
		return mapper(x)
	case traits.Lister:
		out := plan.Value{Kind: plan.List}
		for i := range int(x.Size().(types.Int)) {
			out.List = append(out.List, toPlan(x.Get(types.Int(i))))
		}
		return out
	case traits.Mapper:
		return mapper(x)
	}
	return plan.Value{}
}

func mapper(m traits.Mapper) plan.Value {
	out := plan.Value{Kind: plan.Map}
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		if name, ok := k.(types.String); ok {
			out.Map = append(out.Map, plan.Entry{Key: string(name), Value: toPlan(m.Get(k))})
		}
	}
	sort.Slice(out.Map, func(i, j int) bool { return out.Map[i].Key < out.Map[j].Key })
	return out
}

// Same tells whether two values are alike for all that may be asked of them. Of maps it says no: to compare them would ask
// all their keys.
func (v Value) Same(w Value) bool { return sameType(v.Type, w.Type) && same(v.Val, w.Val) }

func same(a, b ref.Val) bool {
	switch x := a.(type) {
	case types.Int, types.Double, types.Bool, types.String:
		return a == b
	case traits.Lister:
		y, is := b.(traits.Lister)
		if !is || x.Size() != y.Size() {
			return false
		}
		for i := range x.Size().(types.Int) {
			if !same(x.Get(i), y.Get(i)) {
				return false
			}
		}
		return true
	}
	return false
}

// Show prints a value for a message, shortened.
func (v Value) Show() string {
	if v.Val == nil {
		return "?"
	}
	if s, ok := v.Val.(types.String); ok {
		return "'" + string(s) + "'"
	}
	text := v.Plan().Text()
	if len(text) > 60 {
		text = text[:57] + "…"
	}
	return text
}

// FromPlan makes a decided parameter a value of expressions again.
func FromPlan(v plan.Value) Value {
	switch v.Kind {
	case plan.Int:
		return Of(v.Int)
	case plan.Float:
		return Of(v.Float)
	case plan.Bool:
		return Of(v.Bool)
	case plan.String:
		return Of(v.Str)
	case plan.List:
		list := make([]ref.Val, len(v.List))
		for i, item := range v.List {
			list[i] = FromPlan(item).Val
		}
		return Value{List(Dyn), types.NewRefValList(types.DefaultTypeAdapter, list)}
	case plan.Dims:
		list := make([]ref.Val, len(v.Dims))
		for i, d := range v.Dims {
			list[i] = types.Int(d.Const)
		}
		return Value{List(Int), types.NewRefValList(types.DefaultTypeAdapter, list)}
	case plan.Map:
		m := map[ref.Val]ref.Val{}
		for _, e := range v.Map {
			m[types.String(e.Key)] = FromPlan(e.Value).Val
		}
		return Value{Dict, types.NewRefValMap(types.DefaultTypeAdapter, m)}
	}
	return Value{Dyn, types.NullValue}
}

// ElementOf is the type of a list's members; false where it is no list.
func ElementOf(list *Type) (*Type, bool) {
	if list.Kind() != types.ListKind {
		return Dyn, false
	}
	return list.Parameters()[0], true
}
