package ops

import (
	"encoding/json"
	"fmt"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

// recurrent are the operators that carry one array from forward to forward.
func recurrent() []*registry.Operator {
	return []*registry.Operator{causalConv(), tokenShift(), gatedDelta(), ssm(), wkv7()}
}

// carries checks that the state is an array of the shape that the operator carries along.
func carries(c *registry.Infer, want shape.Shape) error {
	got, err := arrayDims(c)
	if err == nil && !got.Equal(want) {
		err = registry.Wrong("state", "%s is an array of %s; %s is wanted", c.State.Path, got, want)
	}
	return err
}

func arrayDims(c *registry.Infer) (shape.Shape, error) {
	switch {
	case c.State == nil:
		return nil, registry.Wrong("state", "no state is given; an array is wanted")
	case c.State.Kind != "array":
		return nil, registry.Wrong("state", "%s is of kind %s; an array is wanted", c.State.Path, c.State.Kind)
	}
	return c.State.Args.Dims("shape"), nil
}

// carriesFloat32 is carries of a recurrence whose state is float32 whatever the activations are.
func carriesFloat32(c *registry.Infer, want shape.Shape) error {
	err := carries(c, want)
	if err == nil && c.State.Dtype != dtype.Float32 {
		err = &registry.ArgError{Arg: "state", Message: fmt.Sprintf("%s is %s; this recurrence is kept in float32", c.State.Path, c.State.Dtype),
			Help: "declare it with `dtype: float32`"}
	}
	return err
}

// arrayAt is the call's array state; nil, with the error in the scope, where the state is another.
func arrayAt(c *registry.Call, state int) registry.ArrayValue {
	if a, ok := c.States[state].(registry.ArrayValue); ok {
		return a
	}
	c.Fail(fmt.Errorf("the state is no array but %T", c.States[state]))
	return nil
}

// carried is what the forward before left; at first zeros in dtype d, as mlx-lm makes them, whatever the declaration says.
func carried(c *registry.Call, a registry.ArrayValue, d dtype.Dtype, size ...int) mlx.Array {
	if fresh(a) {
		return c.Zeros(size, d)
	}
	return a.Value(c.Scope, size[0])
}

func fresh(a registry.ArrayValue) bool { return len(a.Arrays()) == 0 }

// step is the MLX calls of one step of a recurrence.
type step func(s *mlx.Scope, in []mlx.Array) []mlx.Array

// compiledSteps is a step as mlx-lm runs it: compiled for its shapes on a GPU, where fusing may change bits, and call by
// call on the CPU, where it changes none.
func compiledSteps(b *registry.Build, name string, f step) (step, error) {
	if b.Device.Kind != "gpu" {
		return f, nil
	}
	text, err := json.Marshal(b.Args)
	if err != nil {
		return nil, err
	}
	compiled, err := shared(b.Memo, any(stepKey{name, string(text)}), func() (*mlx.Compiled, error) {
		fn, err := mlx.Compile(func(s *mlx.Scope, in []mlx.Array) ([]mlx.Array, error) { return f(s, in), s.Err() }, false)
		if err == nil && b.Cleanup != nil {
			b.Cleanup(fn.Free)
		}
		return fn, err
	})
	if err != nil {
		return nil, err
	}
	return func(s *mlx.Scope, in []mlx.Array) []mlx.Array { return compiled.Call(s, in) }, nil
}

type stepKey struct{ name, args string }

// overTime runs a step for each token: f of the inputs [B, T, ..] at t, without that axis, and the state gives y and the
// next state. It gives [B, T, ..] of y. What a step made is let go of at once, the graph holds what it needs.
func overTime(c *registry.Call, f step, in []mlx.Array, state mlx.Array) (y, last mlx.Array) {
	tokens := in[0].Dim(1)
	ys, now := make([]mlx.Array, 0, tokens), make([]mlx.Array, len(in)+1)
	for t := range tokens {
		mark := c.Mark()
		for i, x := range in {
			now[i] = c.SqueezeAxis(along(c.Scope, x, 1, t, t+1), 1)
		}
		now[len(in)] = state
		out := f(c.Scope, now)
		if c.Err() != nil || len(out) != 2 {
			return mlx.Array{}, mlx.Array{}
		}
		ys, state = append(ys, out[0]), out[1]
		c.ReleaseTo(mark, out...)
	}
	return c.StackAxis(ys, 1), state
}

// headed checks [B, T, heads, D] of each input, that all have B and T of the first, and that heads and D are known.
func headed(c *registry.Infer, names ...string) ([]plan.Type, error) {
	out := make([]plan.Type, len(names))
	for i, name := range names {
		t, err := ranked(c, i, name, 4, "[B, T, heads, D]")
		if err != nil {
			return nil, err
		}
		if err := floating(name, t); err != nil {
			return nil, err
		}
		out[i] = t
		if !t.Shape[:2].Equal(out[0].Shape[:2]) {
			return nil, registry.Wrong(name, "%s is not of %s's sequences and tokens, %s", t.Shape, names[0], out[0].Shape[:2])
		}
		for j, what := range []string{"the heads axis", "the last axis"} {
			n, err := known(name, t.Shape[2+j], what)
			if err != nil {
				return nil, err
			}
			if n < 1 {
				return nil, registry.Wrong(name, "%s has an empty axis", t.Shape)
			}
		}
	}
	return out, nil
}

// dimOf is a dim that is known.
func dimOf(t plan.Type, axis int) int {
	n, _ := t.Shape[axis].Known()
	return n
}
