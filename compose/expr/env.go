// Package expr evaluates the language's expressions: CEL with the language's own arithmetic, functions and config
// accessors. Each distinct expression is compiled once; a bare name, a number and `name == 'word'` need no program.
// It knows nothing of graphs: a Scope says what names are.
package expr

import (
	"fmt"
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
)

// Type is the static type of an expression.
type Type = cel.Type

// The types of the language.
var (
	Int    = cel.IntType
	Float  = cel.DoubleType
	Bool   = cel.BoolType
	String = cel.StringType
	Dict   = cel.MapType(cel.StringType, cel.DynType)
	Dyn    = cel.DynType
	// ArrayType is a value of the graph, of which shape and dtype may be asked.
	ArrayType = cel.ObjectType("array")
	// TensorType is a tensor of the checkpoint, as tensors('glob') gives it.
	TensorType = cel.ObjectType("tensor")
	// GivenType is the type of `given`.
	GivenType = cel.MapType(cel.StringType, cel.BoolType)
)

// List is the type of a list.
func List(of *Type) *Type { return cel.ListType(of) }

// costLimit bounds one evaluation; a list macro over a large checkpoint stays far below.
const costLimit = 200_000

// TypeName writes a type as graph files name it.
func TypeName(t *Type) string {
	switch t.Kind() {
	case types.DoubleKind:
		return "float"
	case types.ListKind:
		switch t.Parameters()[0].Kind() {
		case types.IntKind:
			return "ints"
		case types.DoubleKind:
			return "floats"
		case types.StringKind:
			return "strings"
		case types.BoolKind:
			return "bools"
		}
		return "list"
	case types.MapKind:
		return "map"
	}
	return t.String()
}

// ParamType is the type that a parameter's type name stands for.
func ParamType(name string) *Type {
	switch name {
	case "int":
		return Int
	case "float":
		return Float
	case "bool":
		return Bool
	case "string":
		return String
	case "map":
		return Dict
	case "ints", "dims":
		return List(Int)
	case "floats":
		return List(Float)
	case "bools":
		return List(Bool)
	case "strings":
		return List(String)
	}
	return Dyn
}

// environment is CEL's standard library with + - * / replaced (ints and floats mix; inexact integer division and
// overflow are errors), the language's functions and the accessors.
func (e *Engine) environment() (*cel.Env, error) {
	without := env.NewLibrarySubset()
	for _, name := range []string{"_+_", "_-_", "_*_", "_/_"} {
		without.AddExcludedFunctions(env.NewFunction(name))
	}
	elem := cel.TypeParamType("A")
	list := cel.ListType(elem)
	opts := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(without)), cel.CrossTypeNumericComparisons(true), ext.Lists(ext.ListsMaxRangeSize(4096)), ext.Strings(),
		cel.CustomTypeProvider(newProvider()),
		arithmetic("_+_", addInts, func(a, b float64) float64 { return a + b },
			cel.Overload("add_strings", []*Type{String, String}, String), cel.Overload("add_lists", []*Type{list, list}, list)),
		arithmetic("_-_", subInts, func(a, b float64) float64 { return a - b }),
		arithmetic("_*_", mulInts, func(a, b float64) float64 { return a * b }),
		arithmetic("_/_", divInts, func(a, b float64) float64 { return a / b }),
		extremum("min", func(a, b float64) bool { return a <= b }), extremum("max", func(a, b float64) bool { return a >= b }),
		toFloat("log", math.Log), toFloat("sqrt", math.Sqrt), toFloat("floor", math.Floor), toFloat("ceil", math.Ceil),
		absolute(), power(), e.tensors(),
	}
	return cel.NewCustomEnv(append(append(opts, accessors()...), methods()...)...)
}

func addInts(a, b int64) ref.Val { return types.Int(a).Add(types.Int(b)) }
func subInts(a, b int64) ref.Val { return types.Int(a).Subtract(types.Int(b)) }
func mulInts(a, b int64) ref.Val { return types.Int(a).Multiply(types.Int(b)) }

func divInts(a, b int64) ref.Val {
	if b == 0 {
		return types.NewErr("division by zero: %d / 0", a)
	}
	if a%b != 0 {
		return types.NewErr("%d / %d is not a whole number", a, b)
	}
	return types.Int(a).Divide(types.Int(b))
}

func number(v ref.Val) (float64, bool) {
	switch x := v.(type) {
	case types.Int:
		return float64(x), true
	case types.Double:
		return float64(x), true
	}
	return 0, false
}

func arithmetic(name string, ints func(a, b int64) ref.Val, floats func(a, b float64) float64, more ...cel.FunctionOpt) cel.EnvOption {
	bind := func(a, b ref.Val) ref.Val {
		x, xi := a.(types.Int)
		y, yi := b.(types.Int)
		if xi && yi {
			return ints(int64(x), int64(y))
		}
		if f, ok := number(a); ok {
			if g, ok := number(b); ok {
				return types.Double(floats(f, g))
			}
		}
		if adder, ok := a.(traits.Adder); ok && name == "_+_" && a.Type() == b.Type() {
			return adder.Add(b)
		}
		return types.NewErr("no such operation on %s and %s", a.Type().TypeName(), b.Type().TypeName())
	}
	return cel.Function(name, append(more,
		cel.Overload(name+"_ii", []*Type{Int, Int}, Int), cel.Overload(name+"_dd", []*Type{Float, Float}, Float),
		cel.Overload(name+"_id", []*Type{Int, Float}, Float), cel.Overload(name+"_di", []*Type{Float, Int}, Float),
		cel.SingletonBinaryBinding(bind))...)
}

// extremum is min or max of two numbers or of one list; it keeps the type.
func extremum(name string, better func(a, b float64) bool) cel.EnvOption {
	pick := func(a, b ref.Val) ref.Val {
		x, _ := number(a)
		y, _ := number(b)
		_, ai := a.(types.Int)
		_, bi := b.(types.Int)
		if !better(x, y) {
			x, a = y, b
		}
		if ai != bi {
			return types.Double(x)
		}
		return a
	}
	two := func(l, r *Type, out *Type) cel.FunctionOpt {
		return cel.Overload(fmt.Sprintf("%s_%s_%s", name, l, r), []*Type{l, r}, out, cel.BinaryBinding(pick))
	}
	one := func(of *Type) cel.FunctionOpt {
		return cel.Overload(fmt.Sprintf("%s_list_%s", name, of), []*Type{List(of)}, of, cel.UnaryBinding(func(v ref.Val) ref.Val {
			l := v.(traits.Lister)
			n := int(l.Size().(types.Int))
			if n == 0 {
				return types.NewErr("%s of an empty list", name)
			}
			out := l.Get(types.Int(0))
			for i := 1; i < n; i++ {
				out = pick(out, l.Get(types.Int(i)))
			}
			return out
		}))
	}
	return cel.Function(name, two(Int, Int, Int), two(Float, Float, Float), two(Int, Float, Float), two(Float, Int, Float), one(Int), one(Float))
}

func toFloat(name string, f func(float64) float64) cel.EnvOption {
	bind := cel.UnaryBinding(func(a ref.Val) ref.Val { x, _ := number(a); return types.Double(f(x)) })
	return cel.Function(name, cel.Overload(name+"_int", []*Type{Int}, Float, bind), cel.Overload(name+"_double", []*Type{Float}, Float, bind))
}

func absolute() cel.EnvOption {
	return cel.Function("abs",
		cel.Overload("abs_int", []*Type{Int}, Int, cel.UnaryBinding(func(a ref.Val) ref.Val {
			if x := a.(types.Int); x < 0 {
				return x.Negate()
			}
			return a
		})),
		cel.Overload("abs_double", []*Type{Float}, Float, cel.UnaryBinding(func(a ref.Val) ref.Val {
			return types.Double(math.Abs(float64(a.(types.Double))))
		})))
}

func power() cel.EnvOption {
	bind := cel.BinaryBinding(func(a, b ref.Val) ref.Val {
		x, _ := number(a)
		y, _ := number(b)
		return types.Double(math.Pow(x, y))
	})
	return cel.Function("pow",
		cel.Overload("pow_ii", []*Type{Int, Int}, Float, bind), cel.Overload("pow_id", []*Type{Int, Float}, Float, bind),
		cel.Overload("pow_di", []*Type{Float, Int}, Float, bind), cel.Overload("pow_dd", []*Type{Float, Float}, Float, bind))
}
