package weights

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/weights/header"
	"github.com/graphrun/graphrun/weights/view"
)

// evaluateAt is how many bytes of computed weights are evaluated together: what they are made of goes at once.
const evaluateAt = 256 << 20

// build makes the arrays on the calling thread.
func (l *loader) build(ctx context.Context, sc *mlx.Scope, recipes []*view.Recipe) ([]mlx.Array, error) {
	b := &builder{loader: l, scope: mlx.NewScope(sc.Stream()), owned: map[mlx.Array]bool{}, made: map[*view.Recipe]mlx.Array{}, tensors: map[*header.Tensor]mlx.Array{}}
	defer b.free()
	out := make([]mlx.Array, len(recipes))
	var waiting []mlx.Array
	bytes := int64(0)
	for i, r := range recipes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a, err := b.array(r)
		if err != nil {
			return nil, err
		}
		if out[i] = a; r.Op != view.OpSource {
			waiting = append(waiting, a)
			bytes += r.Bytes()
		}
		if bytes > evaluateAt || i == len(recipes)-1 && len(waiting) > 0 {
			if err := mlx.Eval(waiting...); err != nil {
				return nil, fmt.Errorf("making weights: %w", err)
			}
			waiting, bytes = waiting[:0], 0
		}
	}
	for _, a := range out {
		b.give(a, sc)
	}
	return out, nil
}

// builder carries out recipes; what is asked for twice is made once. It owns what it makes until it is given away.
type builder struct {
	loader  *loader
	scope   *mlx.Scope // of scalars, and for its stream
	owned   map[mlx.Array]bool
	made    map[*view.Recipe]mlx.Array
	tensors map[*header.Tensor]mlx.Array
}

func (b *builder) array(r *view.Recipe) (mlx.Array, error) {
	if a, ok := b.made[r]; ok {
		return a, nil
	}
	a, err := b.make(r)
	if err != nil {
		return mlx.Array{}, err
	}
	b.made[r] = a
	return a, nil
}

func (b *builder) make(r *view.Recipe) (mlx.Array, error) {
	if r.Op == view.OpSource {
		return b.stored(r.Tensor)
	}
	in := make([]mlx.Array, len(r.Inputs))
	for i, x := range r.Inputs {
		a, err := b.array(x)
		if err != nil {
			return mlx.Array{}, err
		}
		in[i] = a
	}
	if len(in) == 0 && r.Op != view.OpConstant {
		return mlx.Array{}, fmt.Errorf("a recipe's %s has no input", r.Op)
	}
	a := b.operation(r, in)
	b.scope.Keep(a) // it was made last, so this is quick
	b.own(a)
	if err := b.scope.Err(); err != nil {
		return mlx.Array{}, fmt.Errorf("%s of %v: %w", r.Op, r.Shape, err)
	}
	return a, nil
}

func (b *builder) operation(r *view.Recipe, in []mlx.Array) mlx.Array {
	sc := b.scope
	if r.Op == view.OpConstant {
		return b.constant(r)
	}
	x := in[0]
	switch r.Op {
	case view.OpProduct:
		return sc.Multiply(x, in[1])
	case view.OpSum:
		return sc.Add(x, in[1])
	case view.OpFP8:
		return b.fp8(r, x, in[1])
	case view.OpDequantize:
		biases := mlx.Array{}
		if len(in) > 2 {
			biases = in[2]
		}
		return sc.Dequantize(x, in[1], biases, r.Quant.GroupSize, r.Quant.Bits, r.Quant.Mode, mlx.Array{}, mlx.Opt[mlx.Dtype]{})
	case view.OpQuantize:
		parts := sc.Quantize(sc.Contiguous(x, false), r.Quant.GroupSize, r.Quant.Bits, r.Quant.Mode, mlx.Array{})
		if r.Part >= len(parts) {
			return mlx.Array{}
		}
		return parts[r.Part]
	case view.OpAdd:
		return sc.Add(x, b.scalar(r.Number, r))
	case view.OpMultiply:
		return sc.Multiply(x, b.scalar(r.Number, r))
	case view.OpClip:
		return sc.Clip(x, b.scalar(r.Low, r), b.scalar(r.High, r))
	case view.OpAstype:
		return sc.Astype(x, r.Dtype)
	case view.OpView:
		return sc.View(x, r.Dtype)
	case view.OpReshape:
		return sc.Reshape(x, r.Shape)
	case view.OpTranspose:
		return sc.TransposeAxes(x, r.Axes)
	case view.OpMoveaxis:
		return sc.Moveaxis(x, r.Axes[0], r.Axes[1])
	case view.OpSlice:
		shape := r.Inputs[0].Shape
		start, stop, strides := make([]int, len(shape)), append([]int(nil), shape...), make([]int, len(shape))
		for i := range strides {
			strides[i] = 1
		}
		start[r.Axis], stop[r.Axis], strides[r.Axis] = r.Start, r.Stop, r.Stride
		return sc.Slice(x, start, stop, strides)
	case view.OpContiguous:
		return sc.Contiguous(x, false)
	case view.OpStack:
		return sc.StackAxis(in, 0)
	case view.OpConcatenate:
		return sc.ConcatenateAxis(in, r.Axis)
	}
	sc.Fail(fmt.Errorf("no way to make %q", r.Op))
	return mlx.Array{}
}

// scalar is a number of the array's own element type, as Python's weak scalars become.
func (b *builder) scalar(v float64, r *view.Recipe) mlx.Array {
	a, err := mlx.ScalarOf(v, r.Dtype)
	b.scope.Fail(err)
	return b.scope.Own(a)
}

// stored wraps a stored tensor's memory.
func (b *builder) stored(t *header.Tensor) (mlx.Array, error) {
	if a, ok := b.tensors[t]; ok {
		return a, nil
	}
	s := b.loader.sources[t]
	s.region.hold()
	a, err := mlx.FromMapped(s.data, t.Shape, t.Dtype, s.region.release)
	if err != nil {
		s.region.release()
		return mlx.Array{}, fmt.Errorf("tensor %s: %w", t.Name, err)
	}
	b.own(a)
	b.tensors[t] = a
	return a, nil
}

func (b *builder) own(a mlx.Array) {
	if a.Valid() {
		b.owned[a] = true
	}
}

// give makes an array the scope's; one that is asked for twice is given once.
func (b *builder) give(a mlx.Array, sc *mlx.Scope) {
	if b.owned[a] {
		delete(b.owned, a)
		sc.Own(a)
	}
}

// free frees what was not given away: what was made on the way or, after an error, all.
func (b *builder) free() {
	b.scope.Free()
	mlx.FreeAll(slices.Collect(maps.Keys(b.owned))...)
}
