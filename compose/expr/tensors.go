package expr

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/graphrun/graphrun/diag"
)

func nearest(word string, among []string) string { return diag.Nearest(word, among) }

// Tensor is a tensor of the checkpoint.
type Tensor struct {
	Name  string
	Shape []int
	Dtype string
}

// Finder finds the tensors that a pattern names.
type Finder func(pattern string) ([]Tensor, error)

// tensorList is the type of tensors('glob').
var tensorList = List(TensorType)

// tensors is tensors('glob'): a list of {name, shape, dtype}.
func (e *Engine) tensors() cel.EnvOption {
	return cel.Function("tensors", cel.Overload("tensors_glob", []*Type{String}, tensorList, cel.UnaryBinding(func(a ref.Val) ref.Val {
		if e.find == nil {
			return types.NewRefValList(types.DefaultTypeAdapter, nil)
		}
		found, err := e.find(string(a.(types.String)))
		if err != nil {
			return types.WrapErr(err)
		}
		out := make([]ref.Val, len(found))
		for i, t := range found {
			out[i] = TensorValue(t).Val
		}
		return types.NewRefValList(types.DefaultTypeAdapter, out)
	})))
}

// TensorValue makes the facts of a tensor.
func TensorValue(t Tensor) Value {
	return Value{TensorType, record{kind: TensorType, fields: map[string]ref.Val{
		"name": types.String(t.Name), "shape": Of(t.Shape).Val, "dtype": types.String(t.Dtype)}}}
}
