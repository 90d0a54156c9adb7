package ops

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// execute runs a call whose types are inferred, where the build has MLX, and holds MLX's shapes and dtypes to them.
var execute func(t *testing.T, op *registry.Operator, inf *registry.Infer, types []plan.Type)

// inferCase is one call: inputs as "bfloat16[B, T, 64]", "" for one that is not given, or a number.
type inferCase struct {
	name  string
	op    string
	in    []any
	args  plan.Args
	state *plan.State
	want  string // "bfloat16[B, T, 64]; …"
	err   string // the whole error
}

func runInfer(t *testing.T, cases []inferCase) {
	t.Helper()
	r, err := Default()
	require.NoError(t, err)
	for _, c := range cases {
		t.Run(c.op+"/"+c.name, func(t *testing.T) {
			op := r.Operator(c.op)
			require.NotNil(t, op, "no operator %s", c.op)
			inf := inferOf(t, op, c.in, c.args, c.state)
			types, err := op.Infer(inf)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			texts := make([]string, len(types))
			for i, typ := range types {
				texts[i] = typ.Dtype.String() + typ.Shape.String()
			}
			require.Equal(t, c.want, strings.Join(texts, "; "))
			if op.Outputs != nil {
				require.Len(t, types, len(op.Outputs))
			}
			if execute != nil {
				execute(t, op, inf, types)
			}
		})
	}
}

// inferOf makes what the composer would.
func inferOf(t testing.TB, op *registry.Operator, in []any, args plan.Args, state *plan.State) *registry.Infer {
	t.Helper()
	inputs := make([]registry.Arg, 0, len(op.Inputs))
	for _, x := range in {
		inputs = append(inputs, argOf(t, x))
	}
	for len(inputs) < len(op.Inputs) && !op.Inputs[len(op.Inputs)-1].Variadic {
		inputs = append(inputs, registry.Arg{})
	}
	inf := &registry.Infer{Inputs: inputs, Args: withDefaults(op.Params, args), State: state}
	inf.Weight = func(input string, want shape.Shape, _ dtype.Dtype) (plan.Type, error) {
		for i := range op.Inputs {
			if got := inputs[i].Type; op.Inputs[i].Name == input {
				if !got.Shape.Equal(want) {
					return got, registry.Wrong(input, "%s, where %s is wanted", got.Shape, want)
				}
				return got, nil
			}
		}
		return plan.Type{}, fmt.Errorf("no input %s", input)
	}
	inf.Fresh = func(s *plan.State) shape.Dim { return shape.Sym("len(" + s.Path + ")") }
	return inf
}

func withDefaults(params []registry.Param, args plan.Args) plan.Args {
	out := append(plan.Args(nil), args...)
	for _, p := range params {
		if !out.Has(p.Name) && p.Default != nil {
			out = append(out, plan.Arg{Name: p.Name, Value: *p.Default})
		}
	}
	return out
}

func argOf(t testing.TB, x any) registry.Arg {
	t.Helper()
	switch x := x.(type) {
	case string:
		if x == "" {
			return registry.Arg{}
		}
		return registry.Arg{Given: true, Type: typeOf(t, x)}
	case *plan.State:
		return registry.Arg{Given: true, State: x}
	}
	v := valueOf(x)
	return registry.Arg{Given: true, Scalar: &v}
}

func typeOf(t testing.TB, text string) plan.Type {
	t.Helper()
	name, rest, ok := strings.Cut(strings.TrimSuffix(text, "]"), "[")
	require.True(t, ok, "type %q", text)
	d, ok := dtype.Parse(name)
	require.True(t, ok, "dtype %q", name)
	return plan.Type{Dtype: d, Shape: dims(rest)}
}

// dims reads "B, 2*T, 64".
func dims(text string) shape.Shape {
	var out shape.Shape
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		if n, err := strconv.Atoi(word); err == nil {
			out = append(out, shape.Int(n))
			continue
		}
		factor := 1
		if f, s, ok := strings.Cut(word, "*"); ok {
			factor, _ = strconv.Atoi(f)
			word = s
		}
		out = append(out, shape.Sym(word).Mul(factor))
	}
	return out
}

// args are parameters by name and value in turn.
func args(pairs ...any) plan.Args {
	var out plan.Args
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, plan.Arg{Name: pairs[i].(string), Value: valueOf(pairs[i+1])})
	}
	return out
}

func valueOf(x any) plan.Value {
	switch x := x.(type) {
	case plan.Value:
		return x
	case nil:
		return plan.Value{}
	case int:
		return intValue(int64(x))
	case float64:
		return floatValue(x)
	case bool:
		return boolValue(x)
	case string:
		return stringValue(x)
	case dtype.Dtype:
		return plan.Value{Kind: plan.Dtype, Dtype: x}
	case shape.Shape:
		return plan.Value{Kind: plan.Dims, Dims: x}
	case []int:
		v := plan.Value{Kind: plan.List}
		for _, n := range x {
			v.List = append(v.List, valueOf(n))
		}
		return v
	case []float64:
		v := plan.Value{Kind: plan.List}
		for _, n := range x {
			v.List = append(v.List, valueOf(n))
		}
		return v
	case []any: // name and value in turn
		v := plan.Value{Kind: plan.Map}
		for i := 0; i+1 < len(x); i += 2 {
			v.Map = append(v.Map, plan.Entry{Key: x[i].(string), Value: valueOf(x[i+1])})
		}
		return v
	}
	panic(fmt.Sprintf("no value of %T", x))
}

// cacheState declares a cache at path kv.
func cacheState(pairs ...any) *plan.State {
	return &plan.State{Path: "kv", Kind: "cache", Args: args(pairs...), Dtype: dtype.Bfloat16}
}
