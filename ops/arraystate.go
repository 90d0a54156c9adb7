package ops

import (
	"fmt"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/plan"
	"github.com/graphrun/graphrun/registry"
	"github.com/graphrun/graphrun/shape"
)

func arrayKind() *registry.StateKind {
	return &registry.StateKind{
		Name: "array",
		Doc: "One array that a forward leaves for the next, zeros at first: what recurrent and convolution layers carry along. " +
			"It takes no token back by itself (rollback `none`); a variant may choose `snapshot` or `replay`.",
		Fields: []registry.Param{
			required("shape", "dims", "of the array; may hold B"),
		},
		New: func(decl plan.State) (registry.StateValue, error) {
			dims := decl.Args.Dims("shape")
			if err := checkArrayState(dims); err != nil {
				return nil, err
			}
			return &arrayState{decl: decl, dims: dims}, nil
		},
		Rollback: func(plan.State) registry.Rollback {
			return registry.Rollback{Self: "none", Choices: []string{"replay", "snapshot"}}
		},
		Bytes: func(decl plan.State) (perPosition, fixed int64) {
			dims := decl.Args.Dims("shape")
			if checkArrayState(dims) != nil {
				return 0, 0
			}
			n := int64(decl.Dtype.Size())
			for _, d := range dims {
				if k, ok := d.Known(); ok {
					n *= int64(k)
				}
			}
			return 0, n
		},
	}
}

// checkArrayState lets B stand for whole dims only, and bounds the numbers of one sequence.
func checkArrayState(dims shape.Shape) error {
	total := 1
	for _, d := range dims {
		n, ok := d.Known()
		switch {
		case !ok && !d.Equal(shape.Sym("B")):
			return fmt.Errorf("an array state's dims are integers and B; %s has %s", dims, d)
		case ok && (n < 0 || n > 0 && total > mostStateEntries/n):
			return fmt.Errorf("an array state of %s is none: dims are 0 or more and %d numbers at most", dims, mostStateEntries)
		case ok:
			total *= max(n, 1)
		}
	}
	return nil
}

const mostStateEntries = 1 << 30

type arrayState struct {
	decl  plan.State
	dims  shape.Shape
	array mlx.Array
}

func (a *arrayState) Begin()      {}
func (a *arrayState) Offset() int { return 0 } // it holds no positions
func (a *arrayState) Reset()      { a.Free() }

func (a *arrayState) Arrays() []mlx.Array {
	if a.array.Valid() {
		return []mlx.Array{a.array}
	}
	return nil
}

func (a *arrayState) Free() {
	a.array.Free()
	a.array = mlx.Array{}
}

func (a *arrayState) Value(s *mlx.Scope, b int) mlx.Array {
	if a.array.Valid() {
		return s.Own(a.array.Clone())
	}
	size := make([]int, len(a.dims))
	for i, d := range a.dims {
		if n, ok := d.Known(); ok {
			size[i] = n
		} else {
			size[i] = b
		}
	}
	return s.Zeros(size, a.decl.Dtype)
}

func (a *arrayState) Set(s *mlx.Scope, v mlx.Array) {
	if s.Err() != nil || !v.Valid() {
		return
	}
	fresh := v.Clone()
	a.Free()
	a.array = fresh
}
