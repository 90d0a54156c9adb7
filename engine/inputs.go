package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/shape"
)

// Tensor is an array in Go's memory: elements in row order, in the machine's byte order, of the dtype that the plan
// computed in.
type Tensor struct {
	Dtype dtype.Dtype
	Shape []int
	Data  []byte
}

// Float32s converts the elements of a real floating dtype; every conversion is exact but that from float64.
func (t Tensor) Float32s() ([]float32, error) {
	a, err := mlx.FromBytes(t.Data, t.Shape, t.Dtype)
	if err != nil {
		return nil, err
	}
	defer a.Free()
	return a.Float32s()
}

func tensorOf(a mlx.Array) (Tensor, error) {
	data, err := a.Bytes()
	return Tensor{Dtype: a.Dtype(), Shape: a.Shape(), Data: data}, err
}

// Inputs of a forward, by the entry that takes them. B and T are those of the tokens, or of an entry without tokens
// what its inputs' declared shapes say.
type Inputs struct {
	Entry  string            // "": text
	Tokens [][]int32         // of sequences of equal length; nil where the entry takes none
	Others map[string]Tensor // the entry's other inputs by name
}

// Tokens is an input of one sequence.
func Tokens(ids ...int32) Inputs { return Inputs{Tokens: [][]int32{ids}} }

const (
	textEntry  = "text"
	tokenInput = "tokens"
)

// lookup finds the table for the inputs and outputs, and B and T.
func lookup(tables []*table, in Inputs, outputs []string) (t *table, b, n int, err error) {
	entry := in.Entry
	if entry == "" {
		entry = textEntry
	}
	var given []string
	if len(in.Tokens) > 0 {
		given = append(given, tokenInput)
	}
	for name := range in.Others {
		given = append(given, name)
	}
	if len(given) == 0 || len(in.Tokens) > 0 && len(in.Tokens[0]) == 0 {
		return nil, 0, 0, errors.New("no tokens are given")
	}
	slices.Sort(given)
	if t, err = find(tables, entry, given, outputs); err != nil {
		return nil, 0, 0, err
	}
	if len(in.Tokens) > 0 {
		return t, len(in.Tokens), len(in.Tokens[0]), nil
	}
	b, n, err = in.sizes(t)
	return t, b, n, err
}

// sizes are B and T as the shapes of the inputs tell them.
func (in Inputs) sizes(t *table) (b, n int, err error) {
	for _, want := range t.choices[0].program.inputs {
		given := in.Others[want.Name].Shape
		if len(given) != len(want.Shape) {
			return 0, 0, fmt.Errorf("input %s: has shape %v, the plan has %s", want.Name, given, want.Shape)
		}
		for i, d := range want.Shape {
			switch {
			case d.Equal(shape.Sym("B")):
				b = given[i]
			case d.Equal(shape.Sym("T")):
				n = given[i]
			}
		}
	}
	if b < 1 || n < 1 {
		return 0, 0, fmt.Errorf("entry %s: the shapes of its inputs say B = %d and T = %d", t.name, b, n)
	}
	return b, n, nil
}

// arrays makes the inputs of a table's programs, in their order. They belong to sc.
func (in Inputs) arrays(sc *mlx.Scope, t *table, z sizes) ([]mlx.Array, error) {
	p := t.choices[0].program // the inputs of all are alike
	out := make([]mlx.Array, len(p.inputs))
	for i := range p.inputs {
		want := &p.inputs[i]
		var a mlx.Array
		var err error
		if want.Name == tokenInput {
			a, err = tokenArray(in.Tokens, z.t, want.limit)
		} else {
			a, err = otherArray(in.Others[want.Name], want, z)
		}
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", want.Name, err)
		}
		out[i] = sc.Own(a)
	}
	return out, nil
}

// tokenArray is the tokens as int32 [B, T].
func tokenArray(rows [][]int32, n, limit int) (mlx.Array, error) {
	flat := rows[0]
	if len(rows) > 1 {
		flat = make([]int32, 0, len(rows)*n)
		for i, row := range rows {
			if len(row) != n {
				return mlx.Array{}, fmt.Errorf("sequence %d has %d tokens, the first has %d; sequences are of equal length", i, len(row), n)
			}
			flat = append(flat, row...)
		}
	}
	if err := checkTokens(rows, limit); err != nil {
		return mlx.Array{}, err
	}
	return mlx.FromInt32s(flat, len(rows), n)
}

// checkTokens holds tokens to the vocabulary; limit 0: none known.
func checkTokens(rows [][]int32, limit int) error {
	if limit == 0 {
		return nil
	}
	for i, row := range rows {
		for j, id := range row {
			if id < 0 || int(id) >= limit {
				return fmt.Errorf("token %d at position %d of sequence %d is not within the vocabulary of %d", id, j, i, limit)
			}
		}
	}
	return nil
}

func otherArray(t Tensor, want *input, z sizes) (mlx.Array, error) {
	if t.Dtype != want.Dtype {
		return mlx.Array{}, fmt.Errorf("is %s, the plan has %s", t.Dtype, want.Dtype)
	}
	shape := make([]int, len(want.Shape))
	for i := range want.Shape {
		shape[i] = int(z.elements(want.Shape[i : i+1]))
	}
	if !slices.Equal(shape, t.Shape) {
		return mlx.Array{}, fmt.Errorf("has shape %v, the plan has %v here (%s)", t.Shape, shape, want.Shape)
	}
	return mlx.FromBytes(t.Data, t.Shape, t.Dtype)
}
