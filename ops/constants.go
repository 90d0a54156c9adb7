package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// constants are the operators that make arrays of numbers, or change the dtype of one.
func constants() []*registry.Operator {
	return []*registry.Operator{
		{
			Name:    "astype",
			Doc:     "x in another dtype: `dtype`, or that of `like`. Floats are rounded to nearest even; floats become integers by truncation.",
			Inputs:  []registry.Input{value("x", "any shape"), likeInput()},
			Outputs: []string{"y"},
			Params:  []registry.Param{optional("dtype", "dtype", "the new one")},
			Each:    true,
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				t, err := array(c, 0, "x")
				if err != nil {
					return nil, err
				}
				if c.Args.Has("dtype") == c.In(1).Given {
					return nil, registry.Wrong("dtype", "astype wants dtype or like, one of the two")
				}
				d, _ := wantedDtype(c)
				return one(d, t.Shape)
			},
			Build: func(b *registry.Build) (registry.Run, error) {
				d := b.Types[0].Dtype
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.Astype(x, d) }), nil
			},
		},
		{
			Name: "constant",
			Doc: "A number or a list of numbers as an array, made once at load. A list gives [n], or with `repeats` each entry as often as it says; " +
				"`shape` fills a shape with one number. The dtype is `dtype`, that of `like`, or float32, int32 or bool by the kind of number.",
			Inputs:  []registry.Input{value("value", "an expression: a number, a bool or a list of numbers"), likeInput()},
			Outputs: []string{"y"},
			Params: []registry.Param{optional("dtype", "dtype", "of the result"), optional("shape", "dims", "of the result; may hold B, T and S"),
				optional("repeats", "ints", "how often each entry of the list stands")},
			Infer: inferConstant, Build: buildConstant,
		},
		{
			Name:    "zeros_like",
			Doc:     "Zeros of x's shape and dtype.",
			Inputs:  []registry.Input{value("x", "any shape")},
			Outputs: []string{"y"},
			Infer: func(c *registry.Infer) ([]plan.Type, error) {
				t, err := array(c, 0, "x")
				if err != nil {
					return nil, err
				}
				return one(t.Dtype, t.Shape)
			},
			Build: func(*registry.Build) (registry.Run, error) {
				return unary(func(c *registry.Call, x mlx.Array) mlx.Array { return c.ZerosLike(x) }), nil
			},
		},
	}
}

// wantedDtype is the dtype parameter's, or that of input 1, like.
func wantedDtype(c *registry.Infer) (dtype.Dtype, bool) {
	if c.Args.Has("dtype") {
		return c.Args.Dtype("dtype"), true
	}
	return c.Type(1).Dtype, c.In(1).Given
}

// mostEntries bounds what a list of repeats may become: 64 Mi numbers.
const mostEntries = 1 << 26

func inferConstant(c *registry.Infer) ([]plan.Type, error) {
	v := c.In(0).Scalar
	if v == nil {
		return nil, registry.Wrong("value", "is an array; constant takes a number, a bool or a list of numbers")
	}
	if c.Args.Has("dtype") && c.In(1).Given {
		return nil, registry.Wrong("dtype", "constant wants dtype or like, not both")
	}
	entries := []plan.Value{*v}
	if v.Kind == plan.List {
		entries = v.List
	}
	kind := plan.Bool
	for _, e := range entries {
		if err := number("value", e); err != nil {
			return nil, err
		}
		kind = wider(kind, e.Kind)
	}
	d, ok := wantedDtype(c)
	if !ok {
		d = map[plan.Kind]dtype.Dtype{plan.Bool: dtype.Bool, plan.Int: dtype.Int32, plan.Float: dtype.Float32}[kind]
	}
	if c.Args.Has("shape") {
		if v.Kind == plan.List || c.Args.Has("repeats") {
			return nil, registry.Wrong("shape", "fills with one number; a list has its own shape")
		}
		return filledShape(c, d)
	}
	if v.Kind != plan.List {
		if c.Args.Has("repeats") {
			return nil, registry.Wrong("repeats", "is for a list; %s is one number", v.Text())
		}
		return one(d, nil)
	}
	if len(entries) == 0 {
		return nil, registry.Wrong("value", "is an empty list")
	}
	n := len(entries)
	if c.Args.Has("repeats") {
		repeats := c.Args.Ints("repeats")
		if len(repeats) != len(entries) {
			return nil, registry.Wrong("repeats", "%s are %d; the list has %d", intsText(repeats), len(repeats), len(entries))
		}
		n = 0
		for _, r := range repeats {
			if r < 0 || r > mostEntries || n+r > mostEntries {
				return nil, registry.Wrong("repeats", "%s cannot be made: counts are from 0 to %d in all", intsText(repeats), mostEntries)
			}
			n += r
		}
	}
	return one(d, shape.Of(n))
}

// filledShape bounds what is known of the shape before anything is made of it.
func filledShape(c *registry.Infer, d dtype.Dtype) ([]plan.Type, error) {
	s := c.Args.Dims("shape")
	if err := possible("shape", s); err != nil {
		return nil, err
	}
	total := 1
	for _, dim := range s {
		n, ok := dim.Known()
		if ok && n > 0 && total > mostEntries/n {
			return nil, registry.Wrong("shape", "%s has more than %d entries, the most that a constant may have", s, mostEntries)
		}
		if ok {
			total *= max(n, 1)
		}
	}
	return one(d, s)
}

func wider(a, b plan.Kind) plan.Kind {
	if a == plan.Float || b == plan.Float {
		return plan.Float
	}
	if a == plan.Int || b == plan.Int {
		return plan.Int
	}
	return plan.Bool
}

func buildConstant(b *registry.Build) (registry.Run, error) {
	v, d := *b.Inputs[0].Scalar, b.Types[0].Dtype
	if v.Kind == plan.List {
		a, err := constantList(b, v, d)
		if err != nil {
			return nil, err
		}
		return again(a), nil
	}
	a, err := scalarOf(b, scalarNumber(v), d)
	if err != nil {
		return nil, err
	}
	if !b.Args.Has("shape") {
		return again(a), nil
	}
	s, err := newSizes(b, b.Args.Dims("shape"))
	if err != nil {
		return nil, err
	}
	return func(c *registry.Call, in []mlx.Array) []mlx.Array {
		return []mlx.Array{c.Full(s.of(c, in), a, d)}
	}, nil
}

// constantList makes [n], each entry as often as repeats says.
func constantList(b *registry.Build, v plan.Value, d dtype.Dtype) (mlx.Array, error) {
	repeats := b.Args.Ints("repeats")
	pieces := make([]mlx.Array, len(v.List))
	for i, e := range v.List {
		a, err := scalarOf(b, scalarNumber(e), d)
		if err != nil {
			return mlx.Array{}, err
		}
		n := 1
		if i < len(repeats) {
			n = repeats[i]
		}
		pieces[i] = b.Scope.Full([]int{n}, a, d)
	}
	out := b.Scope.ConcatenateAxis(pieces, 0)
	if err := b.Scope.Err(); err != nil {
		return mlx.Array{}, err
	}
	return b.Keep(out), nil
}

// again makes a Run that gives an array of the plan: a handle of the forward's own each time.
func again(a mlx.Array) registry.Run {
	return func(c *registry.Call, _ []mlx.Array) []mlx.Array { return []mlx.Array{c.Own(a.Clone())} }
}
