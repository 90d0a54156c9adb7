package ops

import (
	"bytes"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/mlx/native"
	"github.com/graphrun/graphrun/registry"
)

// inOrder is the product of an exact class by kernels that sum in the order of MLX's own and round where these round, many
// outputs at a time. What MLX computes is up to how it was compiled, so an engine tries each kind of product once beside MLX's
// (agrees) and leaves to MLX what has not the same bits.
type inOrder struct {
	workers  *native.Workers
	products *native.Products
	kind     productKind
	count    int // matrices of experts
	agreed   map[any]any
}

// productKind is what decides how a product is computed. Bits is 16 for numbers, which are of the dtype sums.
type productKind struct {
	bits, group int
	sums        dtype.Dtype // what sums, or of a dense weight results, are rounded to
}

const inOrderDoc = " On CPUs with AVX2, products of float32, float16 and bfloat16 are computed by kernels of our own on all threads, " +
	"if a trial when the engine first meets the kind of product gives MLX's bits."

// newInOrder is nil where MLX's product has to be taken.
func newInOrder(b *registry.ClassBuild, w registry.Opened) (*inOrder, error) {
	if b.Kind != "linear" && b.Kind != "head" {
		return nil, nil
	}
	return orderedOf(b, w)
}

// newInOrderExperts takes stacked matrices with codes, [count, out, in].
func newInOrderExperts(b *registry.ClassBuild, w registry.Opened) (*inOrder, error) {
	if b.Workers == nil || !native.InOrderRuns() {
		return nil, nil
	}
	if ok, err := codesInRows(w); !ok || err != nil {
		return nil, err
	}
	count := w.Weight.Dim(0)
	for _, a := range []*mlx.Array{&w.Weight, &w.Scales, &w.Biases} {
		*a = b.Keep(b.Scope.Reshape(*a, []int{-1, a.Dim(-1)}))
	}
	if err := b.Scope.Err(); err != nil {
		return nil, err
	}
	o, err := orderedOf(b, w)
	if o != nil {
		o.count = count
	}
	return o, err
}

// orderedOf takes a matrix with codes, or one of half-precision numbers.
func orderedOf(b *registry.ClassBuild, w registry.Opened) (*inOrder, error) {
	if b.Workers == nil || !native.InOrderRuns() || w.Weight.Ndim() != 2 {
		return nil, nil
	}
	p := &native.Product{Workers: b.Workers, Weight: w.Weight, Scales: w.Scales, Biases: w.Biases, Form: native.InOrder}
	kind := productKind{bits: 16, sums: w.Weight.Dtype()}
	var ok bool
	var err error
	switch {
	case w.Scales.Valid():
		kind = productKind{bits: w.Facts.Bits, group: w.Facts.Group, sums: w.Scales.Dtype()}
		ok, err = codesInRows(w)
	case (kind.sums == dtype.Float16 || kind.sums == dtype.Bfloat16) && (!w.Bias.Valid() || w.Bias.Dtype() == kind.sums):
		p.Bias = w.Bias // added before the sum is rounded, as addmm does; a quantised product's is a sum of its own
		ok, err = inRowsAll(w.Weight, w.Bias)
	}
	if !ok || err != nil {
		return nil, err
	}
	p.Bits, p.Group = kind.bits, kind.group
	products, err := ready(b, []*native.Product{p}, native.Around{})
	if err != nil {
		return nil, err
	}
	return &inOrder{workers: b.Workers, products: products, kind: kind, agreed: b.Memo}, nil
}

// of is the product; false where it is MLX's to compute.
func (o *inOrder) of(c *registry.Call, x mlx.Array) (mlx.Array, bool) {
	if !o.takes(c, x) {
		return mlx.Array{}, false
	}
	return o.products.Apply(c.Scope, []mlx.Array{x})[0], true
}

// gather is the product of x [.., 1, in] with the experts that indices name; false where it is MLX's to compute.
func (o *inOrder) gather(c *registry.Call, x, indices mlx.Array) (mlx.Array, bool) {
	if !o.takes(c, x) {
		return mlx.Array{}, false
	}
	return o.products.Gather(c.Scope, o.count, x, indices), true
}

func (o *inOrder) takes(c *registry.Call, x mlx.Array) bool {
	if o == nil || !x.Valid() {
		return false
	}
	kind := o.kind
	kind.sums = dtype.Promote(x.Dtype(), kind.sums)
	return (kind.bits != 16 || kind == o.kind) && kind.sums.IsFloat() && o.agrees(c.Stream(), kind)
}

// agrees tells whether a product of a kind has MLX's bits, and tries it where nobody has.
func (o *inOrder) agrees(s mlx.Stream, kind productKind) bool {
	if same, tried := o.agreed[kind].(bool); tried {
		return same
	}
	same, err := o.try(s, kind)
	same = same && err == nil
	o.agreed[kind] = same
	return same
}

// try computes a product of more than a tile of inputs and outputs both ways.
func (o *inOrder) try(s mlx.Stream, kind productKind) (bool, error) {
	const rows, outputs = 7, 24
	inputs := 256 + max(kind.group, 29)
	sc := mlx.NewScope(s)
	defer sc.Free()
	state := uint32(1)
	draw := func() uint32 { state = state*1664525 + 1013904223; return state>>8 ^ state<<13 }
	numbers := func(scale float32, shape ...int) mlx.Array {
		n := make([]float32, shape[0]*shape[1])
		for i := range n {
			n[i] = scale * (float32(draw()>>8)/(1<<23) - 1)
		}
		a, err := mlx.FromFloat32s(n, shape...)
		if err != nil {
			sc.Fail(err)
		}
		return sc.Astype(sc.Own(a), kind.sums)
	}
	p := &native.Product{Workers: o.workers, Bits: kind.bits, Group: kind.group, Form: native.InOrder}
	x := numbers(3, rows, inputs)
	var want mlx.Array
	if kind.bits == 16 {
		p.Weight, p.Bias = numbers(1, outputs, inputs), numbers(1, 1, outputs)
		want = sc.Addmm(p.Bias, x, sc.Transpose(p.Weight), 1, 1)
	} else {
		codes := make([]int32, outputs*inputs*kind.bits/32)
		for i := range codes {
			codes[i] = int32(draw())
		}
		a, err := mlx.FromInt32s(codes, outputs, len(codes)/outputs)
		if err != nil {
			return false, err
		}
		p.Weight = sc.View(sc.Own(a), mlx.Uint32)
		p.Scales, p.Biases = numbers(0.1, outputs, inputs/kind.group), numbers(1, outputs, inputs/kind.group)
		want = sc.QuantizedMatmul(x, p.Weight, p.Scales, p.Biases, true, kind.group, kind.bits, "affine")
	}
	if sc.Err() != nil {
		return false, sc.ResetErr()
	}
	products, err := native.NewProducts([]*native.Product{p}, native.Around{})
	if err != nil {
		return false, err
	}
	defer products.Free()
	got := products.Apply(sc, []mlx.Array{x})[0]
	if err := sc.ResetErr(); err != nil {
		return false, err
	}
	a, err := want.Bytes()
	if err != nil {
		return false, err
	}
	b, err := got.Bytes()
	return bytes.Equal(a, b), err
}
