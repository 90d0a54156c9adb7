package expr

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// methods are what rules may ask of a plan beside its fields: port.at(rows), plan.memory(context, batch).
func methods() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("at", cel.MemberOverload("port_at", []*Type{PlanPort, Int}, RowClass, cel.BinaryBinding(func(p, rows ref.Val) ref.Val {
			r, ok := p.(record)
			n, isInt := rows.(types.Int)
			if !ok || !isInt || r.call == nil {
				return types.NewErr("at(rows) asks a port of the plan")
			}
			if n < 1 {
				return types.NewErr("at(%d): a row count is 1 or more", n)
			}
			return r.call(int(n))
		}))),
		cel.Function("memory", cel.MemberOverload("plan_memory", []*Type{PlanType, Int, Int}, Memory, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			r, ok := args[0].(record)
			context, isInt := args[1].(types.Int)
			batch, isInt2 := args[2].(types.Int)
			if !ok || !isInt || !isInt2 || r.call == nil {
				return types.NewErr("memory(context, batch) asks the plan")
			}
			if context < 1 || batch < 1 {
				return types.NewErr("memory(%d, %d): both are 1 or more", context, batch)
			}
			return r.call(int(context), int(batch))
		}))),
	}
}

// The record types that rules see.
var (
	PlanType = cel.ObjectType("plan")
	PlanPort = cel.ObjectType("planport")
	RowClass = cel.ObjectType("rowclass")
	Memory   = cel.ObjectType("memory")
)

// planRecords are the facts of rules.
var planRecords = map[string]map[string]*Type{
	"plan":       {"ports": List(PlanPort), "states": List(cel.ObjectType("planstate")), "entries": List(cel.ObjectType("planentry"))},
	"planport":   {"path": String, "kind": String, "entry": String, "weights": List(cel.ObjectType("weight")), "bytes": Int, "rows": List(Int)},
	"planstate":  {"path": String, "kind": String, "entry": String, "rollback": String},
	"planentry":  {"name": String},
	"rowclass":   {"class": String, "form": String, "numerics": String, "adapted": String},
	"memory":     {"total": Int, "largest": cel.ObjectType("memoryline")},
	"memoryline": {"name": String, "bytes": Int},
}

// WithCall gives a record its method.
func WithCall(v Value, call func(args ...int) Value) Value {
	r, ok := v.Val.(record)
	if !ok {
		return v
	}
	r.call = func(args ...int) ref.Val {
		return call(args...).Val
	}
	return Value{v.Type, r}
}

// Records makes a list of records.
func Records(kind string, items []Value) Value {
	list := make([]ref.Val, len(items))
	for i, v := range items {
		list[i] = v.Val
	}
	return Value{List(types.NewObjectType(kind)), types.NewRefValList(types.DefaultTypeAdapter, list)}
}

// Items are the members of a list, with its element type.
func (v Value) Items() ([]Value, bool) {
	l, ok := v.Val.(interface {
		Size() ref.Val
		Get(ref.Val) ref.Val
	})
	if !ok {
		return nil, false
	}
	of := Dyn
	if v.Type != nil && len(v.Type.Parameters()) == 1 {
		of = v.Type.Parameters()[0]
	}
	n, ok := l.Size().(types.Int)
	if !ok {
		return nil, false
	}
	out := make([]Value, int(n))
	for i := range out {
		out[i] = Value{of, l.Get(types.Int(i))}
	}
	return out, true
}

// Failure is an error in a value's place.
func Failure(err error) Value { return Value{Dyn, types.WrapErr(err)} }
