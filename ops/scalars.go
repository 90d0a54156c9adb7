package ops

import (
	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
)

// operands are a call's weak scalars as arrays, made at load; null where the forward gives the array.
type operands []mlx.Array

func (o operands) at(in []mlx.Array, i int) mlx.Array {
	if o[i].Valid() {
		return o[i]
	}
	return in[i]
}

// weakScalars makes the call's numbers, each in the dtype that a Python number takes beside the call's arrays.
func weakScalars(b *registry.Build) (operands, error) {
	beside := besideDtype(b.Inputs)
	out := make(operands, len(b.Inputs))
	for i, in := range b.Inputs {
		if in.Scalar == nil {
			continue
		}
		a, err := scalarOf(b, scalarNumber(*in.Scalar), registry.ScalarDtype(*in.Scalar, beside))
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	return out, nil
}

// besideDtype is the promoted dtype of a call's arrays: bool ones (a condition) count only where there are no others.
func besideDtype(inputs []registry.Arg) dtype.Dtype {
	var out dtype.Dtype // Bool, which every promotion leaves
	for _, in := range inputs {
		if in.Given && in.Scalar == nil && in.State == nil {
			out = dtype.Promote(out, in.Type.Dtype)
		}
	}
	return out
}

func scalarNumber(v plan.Value) float64 {
	if v.Kind == plan.Bool {
		if v.Bool {
			return 1
		}
		return 0
	}
	n, _ := v.Number()
	return n
}

type scalarKey struct {
	v float64
	d dtype.Dtype
}

// scalarOf is the number v in dtype d, made once per plan.
func scalarOf(b *registry.Build, v float64, d dtype.Dtype) (mlx.Array, error) {
	return shared(b.Memo, any(scalarKey{v, d}), func() (mlx.Array, error) { return b.Scalar(v, d) })
}

// shared makes a value once per memo: per plan, or per forward.
func shared[T any](memo map[any]any, key any, make func() (T, error)) (T, error) {
	if v, ok := memo[key].(T); ok {
		return v, nil
	}
	v, err := make()
	if err == nil && memo != nil {
		memo[key] = v
	}
	return v, err
}
